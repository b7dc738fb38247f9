"""The numbers of parts into which cores may cut a sum, `T(c,8)@core`, and the problems for which they are tried."""

from __future__ import annotations

from math import prod

from tiling.problem import Problem
from tiling.rewrite import parts
from tiling.rewrite.parts import unshared_reason
from tiling.scheme.compose import divisors

# With more vectors of outputs for every thread, each thread has enough register tiles, and there is nothing to add up.
FEW_OUTPUTS = 64
# The least number of products in a part. Adding up shorter parts takes longer than computing them.
LEAST_PRODUCTS = 64
# The most parts for a thread. More parts only add additions.
MOST_PARTS = 4


def part_counts(problem: Problem, lanes: int, threads: int) -> tuple[tuple[str, int], ...]:
    """The pairs (summed dim, number of parts) worth trying; none where every thread has enough outputs."""
    vectors = prod(problem.output.shape) / lanes
    if threads == 1 or vectors > FEW_OUTPUTS * threads:
        return ()
    dims = [dim for dim in problem.reductions if not unshared_reason(problem, dim)]
    found: dict[tuple[str, int], None] = {}
    for dim in dims:
        extent, others = problem.extents[dim], problem.reduction_length // problem.extents[dim]
        counts = [
            count
            for count in divisors(extent)
            if 1 < count <= min(MOST_PARTS * threads, parts.MOST_PARTS) and extent // count * others >= LEAST_PRODUCTS
        ]
        # The least number that gives threads equal work, and the least that occupies all threads; else the largest.
        even = [count for count in counts if count % threads == 0]
        enough = [count for count in counts if count >= threads]
        found |= {(dim, count): None for count in (even[:1] + enough[:1] or counts[-1:])}
    return tuple(found)[:2]
