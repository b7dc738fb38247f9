"""Gives each accumulator that begins with a bias a register of its own.

    acc_0_0 = load(e_b)          acc_0_0 = load(e_b)
    acc_1_0 = load(e_b)    ->    own(acc_0_0)
                                 acc_1_0 = load(e_b)
                                 own(acc_1_0)

A compiler that sees several accumulators begin with one bias keeps it, in a register that an accumulator needs.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.instructions import Instructions
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Address, Body, Do, Invoke, Let, Register, Set, Statement, Value
from tiling.loops.walk import with_blocks


def own_registers(kernel: Kernel, instructions: Instructions, bias: str) -> Kernel:
    """The kernel with such accumulators owned. bias: the array that sums begin with; "" for none."""

    def of(function: Function) -> Function:
        views = frozenset(view for view, array in function.views if array == bias)
        return replace(function, body=_owned(function.body, instructions, views)) if views else function

    return replace(kernel, functions=tuple(map(of, kernel.functions)))


def _owned(body: Body, instructions: Instructions, views: frozenset[str]) -> Body:
    """views: the views of the bias."""
    found: list[Statement] = []
    for statement in body:
        found.append(with_blocks(statement, lambda block: _owned(block, instructions, views)))
        if isinstance(statement, (Let, Set)) and _is_read(statement.value, views):
            found.append(Do(Invoke(instructions.own, (("acc", Register(statement.name)),))))
    return tuple(found)


def _is_read(value: Value | None, views: frozenset[str]) -> bool:
    """Whether a value is read from one of these views."""
    operands = value.operands if isinstance(value, Invoke) else ()
    return any(isinstance(operand, Address) and operand.buffer in views for _, operand in operands)
