"""Reads the zero of an epilogue such as relu once a tile, when its sums are done.

    store(p: y, v: epilogue(y: acc_0_0, zero: zeros()))
    store(p: y + […], v: epilogue(y: acc_1_0, zero: zeros()))
    ->
    zero = zeros()
    store(p: y, v: epilogue(y: acc_0_0, zero: zero))
    store(p: y + […], v: epilogue(y: acc_1_0, zero: zero))

Stores follow one another, so one register is enough for all of a tile.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.language import (
    Block,
    Body,
    Do,
    Invoke,
    Kernel,
    Let,
    Operand,
    Register,
    Statement,
)
from tiling.loops.rewrite import with_operands
from tiling.loops.walk import with_blocks

ZEROS, NAME = "zeros", "zero"


def load_zero(kernel: Kernel) -> Kernel:
    """The kernel with one load of zero for all stores that follow one another."""
    return replace(kernel, functions=tuple(replace(f, body=_shared(f.body)) for f in kernel.functions))


def _shared(body: Body) -> Body:
    found: list[Statement] = []
    read = False
    for statement in body:
        changed, values = _named(statement)
        if values and not read:
            found.append(Let(NAME, values[0]))
            read = True
        found.append(changed)
    return tuple(found)


def _named(statement: Statement) -> tuple[Statement, list[Invoke]]:
    """The statement with the register in place of each zero, and these zeros. A block runs once, like a store."""
    values: list[Invoke] = []

    def change(part: Operand) -> Operand | None:
        if isinstance(part, Invoke) and part.instruction.name == ZEROS:
            values.append(part)
            return Register(NAME)
        return None

    def named(inner: Statement) -> Statement:
        if isinstance(inner, Do):
            return Do(with_operands(inner.invoke, change))
        return with_blocks(inner, (lambda body: tuple(map(named, body))) if isinstance(inner, Block) else _shared)

    return named(statement), values
