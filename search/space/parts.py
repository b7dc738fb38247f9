"""Into how many parts cores may cut a sum, `T(c,8)@core`, and for which problems that is looked at."""

from __future__ import annotations

from math import prod

from tiling.problem import Problem
from tiling.rewrite import parts
from tiling.rewrite.parts import unshared_reason
from tiling.scheme.compose import divisors

# With more vectors of outputs for every thread, each has register tiles enough of its own, and nothing to add up.
FEW_OUTPUTS = 64
# A part is at least so many products long: shorter ones are over before they are added up.
LEAST_PRODUCTS = 64
# More parts than so many for a thread only add more.
MOST_PARTS = 4


def part_counts(problem: Problem, lanes: int, threads: int) -> tuple[tuple[str, int], ...]:
    """(summed dim, number of parts) that are worth a look; none where every thread has outputs enough."""
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
        # As many as give all threads equal work alone, else as many as there are threads, else as many as there can be.
        even = [count for count in counts if count % threads == 0]
        enough = [count for count in counts if count >= threads]
        found |= {(dim, count): None for count in (even[:1] + enough[:1] or counts[-1:])}
    return tuple(found)[:2]
