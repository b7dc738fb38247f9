"""What comes to L2 before it is multiplied.

Weights: where rows loop inside a loop over weights, every iteration of that loop reads a *piece* of the packed weights
again and again, then moves on to the next piece, which lies further out. The first tile of an iteration would wait for
all of it: yolo9000:Y23 has 116 MB of weights in pieces of 98 KB, which an L3 of 17 GB/s takes 6 us to bring and which
are multiplied for 70. So every tile brings its share of the next piece nearer, a line every few steps.

x: where rows loop outermost, every tile meets rows of x that nothing has touched. They stand as far from its own as the
loop around it moves, so the tile asks for those, one line of one row at a time while its step moves along the channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, prod

from cpu.site import Site
from tiling.nest import Loop

# Bytes, half of an L2 of 1 and of 2 MiB, the least and the most that cores with AVX-512 have: fewer weights stay there
# anyway, and of a larger piece the first lines would be gone again before their turn. A smaller x stays there, too.
FEW_WEIGHTS, LARGEST_PIECE, SMALL_X = 1 << 19, 1 << 20, 1 << 20
LINE = 64
# Tiles that read the same x one after the other: more would ask too often for what the first has asked for.
MOST_VISITS = 2


@dataclass(frozen=True)
class WeightsAhead:
    """An iteration of `loop` reads `words` neighbouring words of the packed weights, and the next one the `words` at
    its own position. In every step of a tile at which the loop variable `dim` is a multiple of `every` (with a `dim` of
    "", in every step) so many `lines` of these come to L2.
    """

    loop: Loop
    words: int
    lines: int
    dim: str
    every: int


def weights_ahead(site: Site) -> WeightsAhead | None:
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
    return WeightsAhead(loop, words, ceil(a_step), dim, every)


@dataclass(frozen=True)
class XAhead:
    """The next tile begins `step` points further along `next_dim`. While `dim`, the channel, moves along a line, a tile
    asks for that line of `turns` rows along `row_dim`, for each of `firsts`, where such rows begin: wherever `dim` is a
    multiple of `every` for row number `dim` / every % turns.
    """

    next_dim: str
    step: int
    dim: str
    row_dim: str
    firsts: tuple[dict[str, int], ...]
    turns: int
    every: int


def x_ahead(site: Site) -> XAhead | None:
    """Which x the tiles of a site ask for; None where x is small, or stays near because weights loop around all rows,
    or its channels are not neighbours.
    """
    problem = site.problem
    x, over_weights = problem.broadcast, (problem.vector_dim, *problem.reductions)
    if problem.blocked or problem.lanewise or x.elements * problem.bytes_of(x) < SMALL_X:
        return None
    looping = [loop for loop in site.outer if loop.trips > 1 and loop.worker is None]
    rows = [place for place, loop in enumerate(site.outer) if loop.dim in problem.row_dims]
    channels = [loop for loop in site.inner if loop.trips > 1][-1:]
    if not looping or looping[0].dim not in problem.row_dims or not channels:
        return None
    visits = prod(loop.trips for loop in site.outer[rows[-1] + 1 :] if loop.dim in over_weights)
    line = LINE // problem.bytes_of(x)
    dim = channels[0].dim
    if visits > MOST_VISITS or channels[0].step > 1 or channels[0].trips < line or x.stride(dim) != 1:
        return None
    unrolled = [d for d in problem.row_dims if site.extents[d] > 1] or [site.outer[rows[-1]].dim]
    count = site.extents[unrolled[-1]]
    turns = min(line, 1 << (count - 1).bit_length())
    firsts = [dict(zip(unrolled[:-1], at)) for at in product(*(range(site.extents[d]) for d in unrolled[:-1]))]
    firsts = [at | {unrolled[-1]: first} for at in firsts for first in range(0, count, turns)]
    around = site.outer[rows[-1]]
    return XAhead(around.dim, around.step, dim, unrolled[-1], tuple(firsts), turns, line // turns)


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
