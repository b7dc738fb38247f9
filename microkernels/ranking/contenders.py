"""The best microkernels are measured again until neighbours in the ranking are told apart beyond the noise.

The model chooses between tiles that differ by a percent, and two visits of one tile differ by as much. So after one
visit the order of the best tiles is random, and so is every choice that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from statistics import median, stdev

from microkernels.scores.catalog import GOOD, Entry
from microkernels.tile.microkernel import Microkernel

# A score whose error is below this share of it is not measured again: a nearer neighbour is equally good. At most MOST
# visits, since the noise only falls with the square root of their number.
TOLERANCE, MOST = 0.004, 4

# Visits differ more than the samples of one visit, since their pages lie elsewhere: AMONG times as much, at most NOISE.
# That was measured while the median of a visit's repetitions counted, not the fastest.
AMONG, NOISE = 4.0, 0.012

Visits = Mapping[Microkernel, Sequence[Entry]]


def undecided(visits: Visits) -> tuple[Microkernel, ...]:
    """The kernels near the best that are not told apart from a neighbour yet, best first.

    visits: the entries of each kernel, one for each visit. Only kernels that are worth composing count.
    """
    scores = {kernel: median(entry.score for entry in found) for kernel, found in visits.items()}
    errors = {kernel: _error(found) for kernel, found in visits.items()}
    least = GOOD * max(scores.values(), default=0.0)
    near = sorted((kernel for kernel in scores if scores[kernel] >= least), key=lambda kernel: -scores[kernel])
    alike = [{a, b} for a, b in pairwise(near) if scores[a] - scores[b] <= errors[a] + errors[b]]
    in_doubt = frozenset[Microkernel]().union(*alike)
    return tuple(
        kernel
        for kernel in near
        if kernel in in_doubt and errors[kernel] > TOLERANCE * scores[kernel] and len(visits[kernel]) < MOST
    )


def typical(visits: Sequence[Entry]) -> Entry:
    """The visit in the middle; of two in the middle the earlier one."""
    middle = median(entry.score for entry in visits)
    return min(visits, key=lambda entry: abs(entry.score - middle))


def _error(visits: Sequence[Entry]) -> float:
    """The standard error of the kernel's score, by what its samples and its visits differ."""
    spreads = [entry.timing.spread for entry in visits if entry.timing]  # one that came with the package has no timing
    within = min(NOISE, AMONG * max(spreads, default=NOISE) / 2) * visits[0].score
    between = stdev(entry.score for entry in visits) if len(visits) > 1 else 0.0
    return max(within, between) / sqrt(len(visits))
