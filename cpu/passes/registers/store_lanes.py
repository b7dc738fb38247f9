"""Stores the lanes of a mask by plain stores of 4, 2 and 1 lanes.

    store_tail(p: y, lanes: 6, v: t[0, lane])
    ->
    store_lanes(p: y, lanes: 6, v: t[0, lane])

Where a masked store takes long, several plain ones take less. A mask is a constant in memory besides. gcc loads it
before the loops of a tile, and keeps it in a register for the stores behind them: a sum is spilled in each step.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.instructions import Instructions
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Do, Immediate, Invoke, Mask, Operand, Statement
from tiling.loops.walk import with_statements


def store_lanes(kernel: Kernel, instructions: Instructions) -> Kernel:
    """The kernel without masked stores, where the row has plain ones of fewer lanes."""
    plain = instructions.store_lanes
    if plain is None:
        return kernel

    def changed(statement: Statement) -> Body | None:
        if not isinstance(statement, Do) or statement.invoke.instruction != instructions.store_tail:
            return None
        return (Do(Invoke(plain, tuple((name, _number(given)) for name, given in statement.invoke.operands))),)

    return replace(kernel, functions=tuple(replace(f, body=with_statements(f.body, changed)) for f in kernel.functions))


def _number(operand: Operand) -> Operand:
    """The number of lanes in place of their mask."""
    return Immediate(operand.lanes) if isinstance(operand, Mask) else operand
