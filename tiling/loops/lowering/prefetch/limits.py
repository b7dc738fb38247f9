"""What prefetches have in common: their limits, the lines of a tile, and the loops that move it."""

from __future__ import annotations

from itertools import product

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around
from tiling.problem import Problem
from tiling.tensor import Tensor

# Bytes. Cores with AVX-512 have an L2 of 1 to 2 MiB; these are half of the smallest and of the largest. Fewer weights,
# or a smaller x, stay in L2 anyway.
FEW_WEIGHTS, SMALL_X = 1 << 19, 1 << 20
# Bytes of a piece, at most: half of the largest L2 of cores with AVX-512, half of the 512 KiB that most others have.
# The first lines of a larger one would leave L2 before their turn, and drive out what tiles read meanwhile: on a Zen 3
# with a piece of 544 KB one scheme of yolo9000:Y5 reaches 45 % of the peak, without prefetches 63 (decision 016).
LARGEST_PIECE, LARGEST_OF_SHORT_VECTORS = 1 << 20, 1 << 18
# Bytes of weights that tiles of short vectors read again and again from L2, at most: the L2 of most such cores.
HELD = 1 << 19
# Lanes of a vector, at least, that tell a core with AVX-512 from others, whose vectors are short.
LONG_VECTOR = 16
# Bytes of the largest L1 of a core with AVX-512. `python -m bench.prefetch` on Sapphire Rapids, with and without the
# prefetch: 1.05 times the speed for mobilenet:M9 and resnet18:R10, 1.03 for yolo9000:Y23. Distances of 4 to 24 steps
# are alike. Panels that fit L1 lose as much by it.
LARGEST_L1 = 48 << 10
PREFETCH_DISTANCE = 8  # steps
# Bytes of the largest x whose pixels are prefetched for the next tile: L2 holds it. A larger one comes from too far
# away, and its lines in too many streams at once. MobileNet-V2's D2, channels first on two threads, 4.7 MB, took 1.07
# times as long.
LARGEST_L2 = 1 << 20
# FMAs of a vector between two prefetches, at most; they take some 500 cycles. Beyond, the wait for a line hardly shows:
# with a line every 300 FMAs yolo9000:Y2 gains 7 %, with one every 600 Y4 loses 1 %, with one every 1300 Y8 loses 1 %.
MOST_A_LINE = 1024
# Tiles of short vectors, at most, that prefetch the same weights one after another. On a Zen 3 each of them brings the
# lines to L1 again. Products of Winograd's algorithm with 2 to 10 such tiles take 0.86 to 1.04 times as long as without
# the prefetch, those with 18 to 143 take 1.00 to 1.14 times as long (decision 018). 12 lies between
# the two; what 11 to 17 tiles gain is not known.
MOST_OF_A_PANEL = 12
# FMAs of a vector for each line of a tile that reads x by vectors, at most. Depthwise tiles of 3 x 3 taps and stride 2
# have 1.7 and take 3 to 16 % less time with prefetches; those of stride 1 have 4 and take 4 % more (decision 059).
MOST_A_LINE_OF_LANES = 2
# Loads that a core starts for each FMA of vectors: two of each in a cycle. Tiles whose steps have no room for one more
# lose by the next rows of x: products of 16 columns in 22 to 24 rows took 1.02 to 1.04 times as long (decision 055).
LOADS_AN_FMA = 1
# Arrays like x that a call reads in turn, at least, where the next rows are prefetched. Winograd's algorithm has 16 or
# 36. Six products of one x of 1.6 to 11 MB gain nothing: 0.996 to 1.007 times the time (decision 055).
LEAST_IN_TURN = 2
# FMAs of a vector for each prefetched line of y, at least. `python -m bench.prefetch --layout nchw` on Sapphire Rapids,
# into L2: with 108 to 864 FMAs yolo9000:Y2 gains 4 % (28 % with h innermost), Y4 5 %, Y8 and Y12 nothing. With 55
# resnet18:R1 loses 2 %.
LEAST_A_LINE = 80

# The lines of a tensor: for each, how far along some dims it lies from the tile's first point, and how many elements
# further along the last axis.
Places = tuple[tuple[tuple[tuple[str, int], ...], int], ...]


def lines_of(problem: Problem, tensor: Tensor, extents: dict[str, int], aligned: bool) -> Places:
    """The lines of a tensor that the points of a register tile lie in. Rows that several points share count once.

    aligned: every run of neighbours begins with a line.
    """
    along = dict(tensor.indices[-1].terms)
    run = 1 + sum((extents[dim] - 1) * step for dim, step in along.items())
    others = [dim for dim in problem.extents if dim in tensor.dims and dim not in along and extents[dim] > 1]
    points = (tuple(zip(others, at)) for at in product(*(range(extents[dim]) for dim in others)))
    starts = {sum(tensor.stride(dim) * at for dim, at in point): point for point in points}.values()
    # Where a run does not begin with a line, its last element may lie in one more.
    in_line = LINE // access_of(problem).bytes_of(tensor)
    places = dict.fromkeys((*range(0, run, in_line), *([] if aligned else [run - 1])))
    return tuple((start, place) for start in starts for place in places)


def moves(problem: Problem, tile: Around, place: int, dims: tuple[str, ...]) -> bool:
    """Whether the loop at `place` takes several parts of one of these dims in turn, or is one of L's branches."""
    loop = tile.outer[place]
    whole = covered_at(problem, tile, place - 1)
    return loop.dim in dims and loop.worker is None and loop.step < whole[loop.dim]


def covered_at(problem: Problem, tile: Around, place: int) -> dict[str, int]:
    """Points of each dim in one iteration of the loop at `place`."""
    return problem.extents | {loop.dim: loop.step for loop in tile.outer[: place + 1]}
