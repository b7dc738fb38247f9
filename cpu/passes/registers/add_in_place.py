"""Adds to each sum in its own register, in steps that need all registers.

    x_0 = broadcast(x_c)
    acc_0_0 = fma(x: x_0, w: w_0, acc: acc_0_0)
    acc_0_1 = fma(x: x_0, w: w_1, acc: acc_0_1)
    ->
    x_0 = broadcast(x_c)
    acc_0_0 = fma_in_place(x: x_0, w: w_0, acc: acc_0_0)
    acc_0_1 = fma_in_place(x: x_0, w: w_1, acc: acc_0_1)

A step has fences where its vectors do not fit beside the accumulators (`order_step`). There gcc puts some sums in the
registers of an x or a weight, moves them back, and spills one of them.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.instructions import Instructions
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Invoke, Set, Statement
from tiling.loops.machines import Fence
from tiling.loops.walk import with_blocks


def add_in_place(kernel: Kernel, instructions: Instructions) -> Kernel:
    """The kernel whose steps with fences add in place."""

    def adds(statement: Statement) -> bool:
        value = statement.value if isinstance(statement, Set) else None
        return isinstance(value, Invoke) and value.instruction == instructions.fma

    def changed(statement: Statement) -> Statement:
        if isinstance(statement, Set) and isinstance(statement.value, Invoke) and adds(statement):
            return replace(statement, value=replace(statement.value, instruction=instructions.fma_in_place))
        return statement

    def in_place(body: Body) -> Body:
        # What a single multiplication reads, gcc has it read from memory. It needs no register, and no load.
        shared = sum(map(adds, body)) > 1
        return tuple(with_blocks(changed(s) if shared else s, in_place) for s in body)

    def walk(body: Body) -> Body:
        return in_place(body) if any(isinstance(s, Fence) for s in body) else tuple(with_blocks(s, walk) for s in body)

    return replace(kernel, functions=tuple(replace(f, body=walk(f.body)) for f in kernel.functions))
