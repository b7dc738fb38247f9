"""Loads the mask of a store beside the store.

    store_tail(p: y, lanes: 6, v: t[0, lane])
    ->
    store_tail_apart(p: y, lanes: 6, v: t[0, lane])

A mask is a constant in memory. gcc loads it once, before the loops of a tile, and keeps it in a vector register for the
stores behind them: a sum has to leave that register, and is spilled in each step.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.instructions import Instructions
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Do, Statement
from tiling.loops.walk import with_statements


def mask_stores(kernel: Kernel, instructions: Instructions) -> Kernel:
    """The kernel whose masked stores load their masks."""

    def changed(statement: Statement) -> Body | None:
        if not isinstance(statement, Do) or statement.invoke.instruction != instructions.store_tail:
            return None
        return (replace(statement, invoke=replace(statement.invoke, instruction=instructions.store_tail_apart)),)

    return replace(kernel, functions=tuple(replace(f, body=with_statements(f.body, changed)) for f in kernel.functions))
