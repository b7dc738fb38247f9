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

from collections.abc import Callable
from dataclasses import replace

from microkernels.tile.instructions import Instructions
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, Do, Invoke, Let, Operand, Register, Statement
from tiling.loops.rewrite import with_operands
from tiling.loops.walk import with_blocks

NAME = "zero"


def load_zero(kernel: Kernel, instructions: Instructions) -> Kernel:
    """The kernel with one load of zero for all stores that follow one another."""

    def is_zero(part: Operand) -> bool:
        return isinstance(part, Invoke) and part.instruction == instructions.zeros

    return replace(kernel, functions=tuple(replace(f, body=_shared(f.body, is_zero)) for f in kernel.functions))


def _shared(body: Body, is_zero: Callable[[Operand], bool]) -> Body:
    """The block with one load of zero in front of the first statement that needs it."""
    found: list[Statement] = []
    read = False
    for statement in body:
        changed, values = _named(statement, is_zero)
        if values and not read:
            found.append(Let(NAME, values[0]))
            read = True
        found.append(changed)
    return tuple(found)


def _named(statement: Statement, is_zero: Callable[[Operand], bool]) -> tuple[Statement, list[Invoke]]:
    """The statement with the register in place of each zero, and these zeros. A block runs once, like a store."""
    values: list[Invoke] = []

    def change(part: Operand) -> Operand | None:
        if isinstance(part, Invoke) and is_zero(part):
            values.append(part)
            return Register(NAME)
        return None

    def named(inner: Statement) -> Statement:
        if isinstance(inner, Do):
            return Do(with_operands(inner.invoke, change))
        if isinstance(inner, Block):
            return with_blocks(inner, lambda body: tuple(map(named, body)))
        return with_blocks(inner, lambda body: _shared(body, is_zero))

    return named(statement), values
