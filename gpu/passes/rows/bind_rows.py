"""Binds rows to teams of threads: a long row to a block, a short one to a warp.

    for i in 0..100:                    for block in 0..25, block:
      …                           ->      for warp in 0..4, warp:
      e[768] in its own memory              row = 4*block + warp
                                            i = row
                                            …
                                            e[768] in its own memory

A row whose arrays do not fit into shared memory needs memory of its own for each block, so few blocks take many rows.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.reading import most_points
from gpu.passes.facts.workers import BLOCK, BLOCKS, WARP, WARPS, over
from gpu.passes.rows.place_rows import MOST_SHARED, bytes_of_rows
from gpu.passes.threads.bind_points import places_of, total
from tiling.loops.facts.nests import chain
from tiling.loops.index import applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Define, For, If, Inside, Statement

ROW = "row"
SHORT = 1024  # points of a row that a warp takes by itself: 32 for each of its threads
FEW_BLOCKS = 264  # where each needs memory of its own: two for each multiprocessor of the largest GPU we know


def bind_rows(kernel: Kernel) -> Kernel:
    """The kernel with every launch bound to blocks."""

    def bound(statement: Statement) -> Statement:
        if not isinstance(statement, For) or statement.kind == BLOCKS:
            return statement
        return _bound(*chain(statement), kernel)

    return replace(kernel, body=tuple(map(bound, kernel.body)))


def _bound(loops: list[For], body: Body, kernel: Kernel) -> For:
    rows, needed = total(loops), bytes_of_rows(body)
    inside: Body = (*places_of(loops, variable(ROW)), *body)
    if needed > MOST_SHARED:
        blocks = min(FEW_BLOCKS, rows.within(kernel.ranges)[1])
        return over(BLOCK, blocks, (For(ROW, variable(BLOCK), rows, blocks, inside),))
    if most_points(body, kernel.ranges) > SHORT or WARPS * needed > MOST_SHARED or rows == constant(1):
        return over(BLOCK, rows, (*places_of(loops, variable(BLOCK)), *body))
    number = variable(BLOCK) * WARPS + variable(WARP)
    if not (rows.is_constant and rows.offset % WARPS == 0):
        inside = (If((Inside(variable(ROW) - rows, None, 0),), inside),)
    blocks_of_warps = applied("/", rows + (WARPS - 1), constant(WARPS))
    return over(BLOCK, blocks_of_warps, (over(WARP, WARPS, (Define(ROW, number), *inside)),))
