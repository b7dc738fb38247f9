"""Brings the lines of y that a transposed tile stores to into L2, before its first sums.

for point in 0..16:
  if 16*k + point < 40:
    prefetch Y[0, 16*k + point, h, 8*w] to L2, to be written
"""

from __future__ import annotations

from cpu.passes.prefetch.addresses import element
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.language import Address, Body, Flag, For, If, Inside, Prefetch
from tiling.loops.lowering.nest import positions
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.loops.lowering.tile import FIRST
from tiling.problem import Problem

POINT = "point"  # counts the points of the vectorised dim in a tile


def outputs(problem: Problem, tile: Body, plan: PrefetchPlan) -> Body:
    """What a tile prefetches of y, for each point of the vectorised dim."""
    y, dim = problem.output, problem.vector_dim
    here = positions(plan.tile.outer)
    point = here.get(dim, ZERO) + variable(POINT)
    lines = []
    for start, at in plan.outputs:
        offsets = {d: here.get(d, ZERO) + offset for d, offset in start}
        *outer, last = element(y, {**here, **offsets, dim: point})
        lines.append(Prefetch(Address("Y", (*outer, last + at)), 2, write=True))
    if not lines:
        return ()
    exists = (If((Inside(point, None, problem.extents[dim]),), tuple(lines)),)
    width = constant(plan.tile.register.extents[dim])
    loop = For(POINT, ZERO, width, 1, exists)
    again = any(isinstance(s, If) and Flag(FIRST) in s.conditions for s in tile)
    return (If((Flag(FIRST),), (loop,)),) if again else (loop,)
