"""The best microkernels are measured again until neighbours in the ranking are told apart beyond the noise.

The model chooses between tiles that differ by a percent, and two visits of one tile differ by as much. So after one
visit the order of the best tiles is random, and so is every choice that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from microkernels.scores.catalog import GOOD, Entry
from microkernels.tile.microkernel import Microkernel

# A score whose error is below this share of it is not measured again: a nearer neighbour is equally good. At most MOST
# visits.
TOLERANCE, MOST = 0.004, 4

# The error of a single visit: AMONG times what its samples differ, at most NOISE, beyond which `DOUBTFUL` of `rank` has
# it measured again. Of 160 visits to 20 tiles on a Zen 3 that other guests disturb, two in five were 1 to 25 % too low.
# The others agree within 0.3 %. Where samples differ by less than 1 %, one of 13 visits was too low.
AMONG, NOISE = 4.0, 0.1

Visits = Mapping[Microkernel, Sequence[Entry]]


def undecided(visits: Visits) -> tuple[Microkernel, ...]:
    """The kernels near the best that are not told apart from a neighbour yet, best first.

    visits: the entries of each kernel, one for each visit. Only kernels that are worth composing count.
    """
    scores = {kernel: best(found).score for kernel, found in visits.items()}
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


def best(visits: Sequence[Entry]) -> Entry:
    """The visit that counts. A disturbance only lowers a score: the best of four misses by 0.2 %, their median by 2.7 %
    (the visits of NOISE).
    """
    return max(visits, key=lambda entry: entry.score)


def _error(visits: Sequence[Entry]) -> float:
    """The error of the kernel's score: what the best two visits differ, or what a single visit may miss."""
    highest, *others = sorted((entry.score for entry in visits), reverse=True)
    if others:
        return highest - others[0]
    timing = visits[0].timing  # a score that came with the package has none
    return min(NOISE, AMONG * timing.spread / 2 if timing else NOISE) * highest
