"""Gives each loop of a tile pointers to what its iteration reads.

    for k in 0..60 by 2:                                        for k in 0..60 by 2:
      …                                                   ->      x_k = x + [0, k]
      acc[…] = fma(x: broadcast(x + [m_u, k + k_u]), …            w_k = w + [16*k]
                                                                  …
                                                                  acc[…] = fma(x: broadcast(x_k + [m_u, k_u]), …

The rest of an index is a number, so it becomes the displacement of an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tiling.loops.index import ZERO, Index
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Body, For, Load, Operand, Statement, View
from tiling.loops.rewrite import places, with_own_values
from tiling.loops.walk import with_blocks


@dataclass(frozen=True)
class _Pointer:
    """The pointer that stands for a view: its name, and how far it has moved already."""

    name: str
    moved: tuple[Index, ...] = ()

    def onward(self, name: str, by: tuple[Index, ...]) -> _Pointer:
        """A pointer that has moved farther."""
        return _Pointer(name, tuple(a + b for a, b in zip(self.moved, by)) if self.moved else by)

    def left(self, at: tuple[Index, ...]) -> tuple[Index, ...]:
        """What is left of an index."""
        return tuple([index - moved for index, moved in zip(at, self.moved)]) if self.moved else at


def walk_pointers(kernel: Kernel, but: str = "") -> Kernel:
    """The kernel with a view for each array that moves with a loop. but: a function that keeps its indices."""
    found = []
    for function in kernel.functions:
        if function.name == but:
            found.append(function)
            continue
        pointers = {view: _Pointer(view) for view, _ in function.views}
        found.append(replace(function, body=_body(function.body, pointers)))
    return replace(kernel, functions=tuple(found))


def _body(body: Body, pointers: Mapping[str, _Pointer]) -> Body:
    """pointers: the pointer of every view in this block."""

    def change(operand: Operand) -> Operand | None:
        if isinstance(operand, (Load, Address)) and operand.buffer in pointers:
            pointer = pointers[operand.buffer]
            return type(operand)(pointer.name, pointer.left(operand.at))
        return None

    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For) and statement.kind == "serial":
            found.append(_loop(statement, pointers))
        else:
            found.append(with_blocks(with_own_values(statement, change), lambda block: _body(block, pointers)))
    return tuple(found)


def _loop(loop: For, pointers: Mapping[str, _Pointer]) -> For:
    """A loop whose body begins with a pointer to what moves with the loop. pointers: those around it."""
    moving: dict[str, tuple[Index, ...]] = {}
    for place in places(loop.body):
        if place.buffer in pointers and any(index.coefficient(loop.name) for index in place.at):
            moving[place.buffer] = tuple(_of(index, loop.name) for index in place.at)
    onward = {view: pointers[view].onward(f"{view}_{loop.name}", by) for view, by in moving.items()}
    views = tuple(View(onward[view].name, Address(pointers[view].name, by)) for view, by in moving.items())
    return replace(loop, body=(*views, *_body(loop.body, {**pointers, **onward})))


def _of(index: Index, name: str) -> Index:
    """The part of an index that moves with a loop."""
    coefficient = index.coefficient(name)
    return Index(((name, coefficient),)) if coefficient else ZERO
