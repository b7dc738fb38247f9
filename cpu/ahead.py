"""Weights that come to L2 before they are multiplied.

Where rows loop inside a loop over weights, every iteration of that loop reads a *piece* of the packed weights again and
again, then moves on to the next piece, which lies further out. The first tile of an iteration would wait for all of it:
yolo9000:Y23 has 116 MB of weights in pieces of 98 KB, which an L3 of 17 GB/s takes 6 us to bring and which are
multiplied for 70. So every tile brings its share of the next piece nearer, a line every few steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from cpu.site import Site
from tiling.nest import Loop

# Bytes, half of an L2 of 1 and of 2 MiB, the least and the most that cores with AVX-512 have: fewer weights stay there
# anyway, and of a larger piece the first lines would be gone again before their turn.
FEW_WEIGHTS, LARGEST_PIECE = 1 << 19, 1 << 20
LINE = 64


@dataclass(frozen=True)
class Ahead:
    """An iteration of `loop` reads `words` neighbouring words of the packed weights, and the next one the `words` at
    its own position. In every step of a tile at which the loop variable `dim` is a multiple of `every` (with a `dim` of
    "", in every step) so many `lines` of these come to L2.
    """

    loop: Loop
    words: int
    lines: int
    dim: str
    every: int


def ahead_of(site: Site) -> Ahead | None:
    """What the tiles of a site bring nearer; None where weights are few, or one tile alone reads each."""
    problem, lane = site.problem, site.problem.vector_dim
    loop = _loop_over_weights(site)
    if loop is None:
        return None
    place = site.outer.index(loop) + 1
    inside = {loop.dim: loop.step for loop in site.outer[:place]}  # points of each dim in one iteration
    covered = {d: inside.get(d, extent) for d, extent in problem.extents.items()}
    points, size = prod(covered[d] for d in problem.reductions), problem.bytes_of(problem.vector)
    several = covered[lane] > site.extents[lane]
    if several and points < problem.reduction_length:
        return None  # a part of each of several panels
    words = covered[lane] * points
    if words * size > LARGEST_PIECE or problem.extents[lane] * problem.reduction_length * size < FEW_WEIGHTS:
        return None
    tiles = prod(covered[d] / site.extents[d] for d in (*problem.row_dims, lane))
    tiles *= prod(loop.trips for loop in site.outer[place:] if loop.dim in problem.reductions)
    steps = prod(loop.trips for loop in site.inner)
    a_step = words * size / LINE / tiles / steps
    dim, every = _spread(site, a_step)
    return Ahead(loop, words, ceil(a_step), dim, every)


def _loop_over_weights(site: Site) -> Loop | None:
    """The innermost loop over weights inside which rows loop, if there is one and threads do not share it."""
    problem, rows = site.problem, False
    for loop in reversed(site.outer):
        over_weights = loop.dim == problem.vector_dim or loop.dim in problem.reductions
        if rows and over_weights and loop.trips > 1 and loop.worker is None:
            return loop
        rows = rows or (loop.dim in problem.row_dims and loop.trips > 1)
    return None


def _spread(site: Site, a_step: float) -> tuple[str, int]:
    """(dim, every) of a tile that needs `a_step` lines in each step: of powers of two, since a remainder of those is
    an AND, the largest that is often enough. A loop over taps may be left out where they fall on padding.
    """
    looping = [loop for loop in site.inner if loop.trips > 1]
    if not looping or looping[-1].dim in [window.tap for window in site.problem.windows]:
        return "", 1
    every = 1
    while 2 * every * a_step <= 1 and 2 * every <= looping[-1].trips:
        every *= 2
    return (looping[-1].dim, every * looping[-1].step) if every > 1 else ("", 1)
