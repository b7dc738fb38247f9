"""Gives each accumulator that begins with a bias a register of its own.

    acc_0_0 = load(e_b)     ->     acc_0_0 = load(e_b)
    acc_1_0 = load(e_b)            own(acc_0_0)
                                   acc_1_0 = load(e_b)
                                   own(acc_1_0)

A compiler that sees several accumulators begin with one bias keeps it, in a register that an accumulator needs.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.instructions import Instructions
from tiling.loops.language import (
    Address,
    Body,
    Do,
    Function,
    Invoke,
    Kernel,
    Let,
    Register,
    Set,
    Statement,
)
from tiling.loops.walk import with_blocks

BIAS = "e_"  # views of an epilogue's arrays


def own_registers(kernel: Kernel, instructions: Instructions) -> Kernel:
    """The kernel with such accumulators owned."""
    functions = tuple(replace(f, body=_owned(f.body, instructions)) if _reads_bias(f) else f for f in kernel.functions)
    return replace(kernel, functions=functions)


def _reads_bias(function: Function) -> bool:
    return any(view.startswith(BIAS) for view, _ in function.views)


def _owned(body: Body, instructions: Instructions) -> Body:
    found: list[Statement] = []
    for statement in body:
        found.append(with_blocks(statement, lambda block: _owned(block, instructions)))
        if isinstance(statement, (Let, Set)) and _is_bias(statement):
            found.append(Do(Invoke(instructions.own, (("acc", Register(statement.name)),))))
    return tuple(found)


def _is_bias(statement: Let | Set) -> bool:
    value = statement.value
    if not isinstance(value, Invoke):
        return False
    return any(isinstance(operand, Address) and operand.buffer.startswith(BIAS) for _, operand in value.operands)
