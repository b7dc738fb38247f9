"""The lines of y that a tile with a transposed output stores to, in many places."""

from __future__ import annotations

from math import prod

from tiling.arrays.access import access_of
from tiling.loops.lowering.nest import Around
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


def outputs(problem: Problem, tile: Around) -> limits.Places:
    """The lines of y that a register tile prefetches before it sums, for each point of the vectorised dim.

    A transposed tile stores to a line or two of every such point, far apart. Nothing where y is small enough to stay in
    L2, or where the sums take less time than the lines.
    """
    access, y, extents = access_of(problem), problem.output, tile.register.extents
    size = access.bytes_of(y)
    if not access.transposed_output or y.elements * size < limits.SMALL_X:
        return ()
    places = limits.lines_of(problem, y, extents | {problem.vector_dim: 1}, False)
    products = prod(extents.values()) // tile.register.lanes * prod(loop.trips for loop in tile.inner)
    return places if products >= limits.LEAST_A_LINE * extents[problem.vector_dim] * len(places) else ()
