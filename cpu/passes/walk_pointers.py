"""Gives each loop of a tile pointers to what its iteration reads.

    for k in 0..60 by 2:                  for k in 0..60 by 2:
      … x[m, k] …                  ->       x_k = x + [0, k]
                                            … x_k[m, 0] …

What is left of an index is a number, so it becomes the displacement of an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tiling.loops.index import ZERO, Index
from tiling.loops.language import Address, Body, For, Kernel, Load, Operand, Statement, View, with_blocks
from tiling.loops.rewrite import places, with_values


def walk_pointers(kernel: Kernel) -> Kernel:
    """The kernel with a view for each array that moves with a loop."""
    found = []
    for function in kernel.functions:
        views = {view: view for view, _ in function.views}
        found.append(replace(function, body=_body(function.body, views)))
    return replace(kernel, functions=tuple(found))


def _body(body: Body, views: Mapping[str, str]) -> Body:
    """views: the pointer of every array here, and the name that its pointers begin with."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For) and statement.kind == "serial":
            found.append(_loop(statement, views))
        else:
            found.append(with_blocks(statement, lambda block: _body(block, views)))
    return tuple(found)


def _loop(loop: For, views: Mapping[str, str]) -> For:
    moving: dict[str, tuple[Index, ...]] = {}
    for place in places(loop.body):
        if place.buffer in views and any(index.coefficient(loop.name) for index in place.at):
            moving[place.buffer] = tuple(_of(index, loop.name) for index in place.at)
    renamed = {view: f"{views[view]}_{loop.name}" for view in moving}
    pointers = tuple(View(renamed[view], Address(view, at)) for view, at in moving.items())

    def change(operand: Operand) -> Operand | None:
        if isinstance(operand, (Load, Address)) and operand.buffer in moving:
            left = tuple(index - step for index, step in zip(operand.at, moving[operand.buffer]))
            return type(operand)(renamed[operand.buffer], left)
        return None

    body = tuple(with_values(statement, change) for statement in loop.body)
    inner = {renamed.get(view, view): base for view, base in views.items()}
    return replace(loop, body=(*pointers, *_body(body, inner)))


def _of(index: Index, name: str) -> Index:
    """The part of an index that moves with a loop."""
    coefficient = index.coefficient(name)
    return Index(((name, coefficient),)) if coefficient else ZERO
