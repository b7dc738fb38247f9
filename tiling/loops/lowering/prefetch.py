"""The prefetches of register tiles: which cache lines a tile prefetches, and how often.

Into L2 come the next piece of the weights or of x (`pieces`), the next panel of x that is read in place
(`next_panel`), and the lines of y that a transposed tile stores to (`outputs`). Into L1 come those that the next tile
stores to (`next_outputs`), and weights that stream past it (`streams_past_l1`). `prefetch_apart`, `prefetch_rows` and
`prefetch_weights` have the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, prod

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around, Loop
from tiling.problem import Problem
from tiling.tensor import Tensor

# Bytes. Cores with AVX-512 have an L2 of 1 to 2 MiB; these are half of the smallest and of the largest. Fewer weights,
# or a smaller x, stay in L2 anyway. The first lines of a larger piece would leave L2 before their turn.
FEW_WEIGHTS, LARGEST_PIECE, SMALL_X = 1 << 19, 1 << 20, 1 << 20
# Bytes of the largest L1 of a core with AVX-512. `python -m bench.prefetch` on Sapphire Rapids, with and without the
# prefetch: 1.05 times the speed for mobilenet:M9 and resnet18:R10, 1.03 for yolo9000:Y23. 4 to 24 steps are alike.
# Panels that fit L1 lose as much by it.
LARGEST_L1 = 48 << 10
PREFETCH_DISTANCE = 8
# FMAs of a vector between two prefetches, at most; they take some 500 cycles. Beyond, the wait for a line hardly shows:
# with a line every 300 FMAs yolo9000:Y2 gains 7 %, with one every 600 Y4 loses 1 %, with one every 1300 Y8 loses 1 %.
MOST_A_LINE = 1024
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


@dataclass(frozen=True)
class Piece:
    """Part of an array, w or x, that one iteration of `loop` is the first to read: `elements` neighbours in memory.

    The tiles of each iteration prefetch the next piece into L2, since the first tile to read it would wait for all of
    it. A tile prefetches `lines` in every step at which the loop variable `dim` is a multiple of `every`. Where `dim`
    is "", it does so in every step. The piece after a worker's last one is another worker's, or nobody's.
    outputs: elements of y that an iteration stores, while it prefetches the next piece.
    """

    array: str
    loop: Loop
    elements: int
    lines: int
    dim: str
    every: int
    outputs: int


def pieces(problem: Problem, tile: Around) -> tuple[Piece, ...]:
    """The pieces that the tiles at a place of a nest prefetch.

    An array that L2 holds, or that one tile reads, has none.
    """
    # There is time for it: yolo9000:Y23 has 116 MB of weights in pieces of 98 KB. A memory of 17 GB/s takes 6 us for a
    # piece, and the tiles multiply with it for 70 us.
    return tuple(piece for piece in (_of_weights(problem, tile), _of_x(problem, tile)) if piece)


def streams_past_l1(problem: Problem, tile: Around) -> str:
    """The array, w or x, whose packed vectors are too many for L1 in one register tile; "" where there is none.

    Packed vectors are weights, or a panel of x. The tile prefetches the vectors of a later step. There is no array
    where a step unrolls several points: then its own loads run far enough ahead.
    """
    # A panel of x: yolo9000:Y19 gains 2 % in tiles of 9 x 3 and 14 x 2, 8 % in 6 x 4, beside what prefetches into L2
    # bring (`python -m bench.prefetch --layout nchw --scheme …`).
    access, steps = access_of(problem), prod(loop.trips for loop in tile.inner)
    points = prod(tile.register.extents[d] for d in problem.reductions)
    size = steps * tile.register.extents[problem.vector_dim] * access.bytes_of(problem.vector)
    packed = tile.shared is not None or not access.weights_broadcast
    past = points == 1 and size > LARGEST_L1 and not access.by_matrix and packed
    return ("x" if access.weights_broadcast else "w") if past else ""


def outputs(problem: Problem, tile: Around) -> Places:
    """The lines of y that a register tile prefetches before it sums, for each point of the vectorised dim.

    A transposed tile stores to a line or two of every such point, far apart. Nothing where y is small enough to stay in
    L2, or where the sums take less time than the lines.
    """
    access, y, extents = access_of(problem), problem.output, tile.register.extents
    size = access.bytes_of(y)
    if not access.transposed_output or y.elements * size < SMALL_X:
        return ()
    places = lines_of(problem, y, extents | {problem.vector_dim: 1}, False)
    products = prod(extents.values()) // tile.register.lanes * prod(loop.trips for loop in tile.inner)
    return places if products >= LEAST_A_LINE * extents[problem.vector_dim] * len(places) else ()


@dataclass(frozen=True)
class NextOutputs:
    """The next iteration of `loop` stores to the lines after those of this one, each of `in_line` elements.

    Every step prefetches so many more `lines` at each of `places`.
    """

    loop: Loop
    lines: int
    in_line: int
    places: Places


def next_outputs(problem: Problem, tile: Around) -> NextOutputs | None:
    """The lines of y that a tile of matrix instructions prefetches for the next tile.

    Such a tile stores all its sums at once, as many lines as fit a core's store buffer. It prefetches where it stores
    to several rows of an image, in each to whole pixels side by side, and the next tile to those that follow. None
    where y is small enough to stay in L2, where the tile has more steps than such lines, or where the next tile is
    another thread's.
    """
    # yolo9000:Y0 in int8, tiles of 2 x 16 pixels: 1.82 to 1.60 ms (`python -m bench.prefetch` on Sapphire Rapids).
    # Three cases gained about what they cost and are left out: a row of 32 pixels, whose next line has the same place
    # in a page as a waiting store; tiles of some of the channels; 1 x 1 layers whose y has 4 MB. All lines at once,
    # before the steps, after them, or into L2, gained nothing.
    access, y, extents = access_of(problem), problem.output, tile.register.extents
    size = access.bytes_of(y)
    loop, along = next((loop for loop in reversed(tile.outer) if loop.trips > 1), None), problem.row_dims[-1]
    if not access.by_matrix or problem.flat_pixels or access.transposed_output or y.elements * size < SMALL_X:
        return None
    run = extents[problem.vector_dim] * size
    if loop is None or loop.worker or (loop.dim, loop.step) != (along, extents[along]):
        return None
    if run != y.stride(along) * size or run % LINE:
        return None
    count, in_line = extents[along] * run // LINE, LINE // size
    places = lines_of(problem, y, extents | {along: 1, problem.vector_dim: in_line}, True)
    steps = prod(inner.trips for inner in tile.inner)
    return NextOutputs(loop, ceil(count / steps), in_line, places) if count >= steps and len(places) > 1 else None


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


@dataclass(frozen=True)
class NextPanel:
    """An iteration of `loop` reads a panel of x in place, which several register tiles share.

    The tiles prefetch the panel beside it, which is next. Iteration i of the loop `turns`, over the rows
    of y, prefetches share i % `tiles` of it: so many `lines` of every reduction point.
    """

    loop: Loop
    turns: Loop
    tiles: int
    lines: int


def next_panel(problem: Problem, tile: Around) -> NextPanel | None:
    """The panel of x that the tiles at a place of a nest prefetch into L2.

    None where x is small enough to stay in L2, and where one tile alone reads a panel. None where a step reads several
    reduction points, whose own loads run early enough, and where S(x) holds all panels after the first pass.
    """
    x, extents, panel = problem.vector, tile.register.extents, access_of(problem).panel_dim
    size = access_of(problem).bytes_of(x)
    points = prod(extents[d] for d in problem.reductions)
    if not access_of(problem).weights_broadcast or points > 1 or x.elements * size < SMALL_X:
        return None
    for place in reversed(range(len(tile.outer))):
        loop, pixels = tile.outer[place], extents[problem.vector_dim]
        if moves(problem, tile, place, (problem.vector_dim,)):
            packed = tile.shared is not None and place >= tile.shared
            if packed or loop.step != pixels or covered_at(problem, tile, place)[panel] == extents[panel]:
                return None
            # Each branch of a composed dim prefetches all of the panel.
            turns = max(
                (inside for inside in tile.outer[place + 1 :] if inside.dim == panel), key=lambda loop: loop.trips
            )
            lines = -(-pixels * size // LINE)
            each = -(-lines // turns.trips)
            return NextPanel(loop, turns, -(-lines // each), each)
    return None


def _of_weights(problem: Problem, tile: Around) -> Piece | None:
    """The piece of the innermost loop over weights with loops over rows inside. Packed weights lie in loop order."""
    access = access_of(problem)
    lane, size = access.panel_dim, access.bytes_of(access.packed)
    if problem.extents[lane] * problem.reduction_length * size < FEW_WEIGHTS:
        return None
    for place in reversed(range(len(tile.outer))):
        covered = covered_at(problem, tile, place)
        rows = any(covered[d] > tile.register.extents[d] for d in access.sharing_dims)
        if rows and moves(problem, tile, place, (lane, *problem.reductions)):
            points = prod(covered[d] for d in problem.reductions)
            if covered[lane] > tile.register.extents[lane] and points < problem.reduction_length:
                return None  # a part of each of several panels
            return _spread(problem, tile, "w", place, covered[lane] * points, size)
    return None


def _of_x(problem: Problem, tile: Around) -> Piece | None:
    """The piece of the innermost loop over rows with no loop over weights around it.

    The rows of x that it is the first to read must be neighbours in memory. Where x is copied strip by strip, it is the
    piece of the loop over strips.
    """
    access, x = access_of(problem), problem.broadcast
    size = access.bytes_of(x)
    if strip := strip_around(problem, tile):
        return _of_strips(problem, tile, strip)
    if access.lanewise or access.weights_broadcast or x.elements * size < SMALL_X:
        return None
    for place in reversed(range(len(tile.outer))):
        loop, covered = tile.outer[place], covered_at(problem, tile, place)
        if not moves(problem, tile, place, problem.row_dims) or loop.dim not in x.dims:
            continue
        again = any(moves(problem, tile, around, (problem.vector_dim, *problem.reductions)) for around in range(place))
        if not again and _neighbours(problem, loop.dim, covered):
            return _spread(problem, tile, "x", place, loop.step * x.stride(loop.dim), size)
    return None


def strip_around(problem: Problem, tile: Around) -> int:
    """How many flattened pixels x is copied by at a time around a tile; 0 where it is not copied strip by strip."""
    flat, outside = problem.flat_pixels, tile.shared
    return covered_at(problem, tile, outside - 1)[flat.dim] if flat and outside is not None else 0


def _of_strips(problem: Problem, tile: Around, strip: int) -> Piece | None:
    """The rows of x that the next strip copies. They are whole rows, and so neighbours."""
    x, flat = problem.broadcast, problem.flat_pixels
    pixel, size = x.shape[-2], access_of(problem).bytes_of(x)
    assert flat and tile.shared is not None  # a strip is of flattened pixels, and is staged
    if flat.height * flat.width * pixel * size < SMALL_X:
        return None
    for place in reversed(range(tile.shared)):
        loop = tile.outer[place]
        if loop.dim in problem.row_dims and loop.trips > 1:
            if loop.dim != flat.dim or loop.worker:
                return None  # the next strip is another image's, or another core's
            return _spread(problem, tile, "x", place, strip * pixel, size)
    return None


def _neighbours(problem: Problem, dim: str, covered: dict[str, int]) -> bool:
    """Whether the points of x that are read first as `dim` grows are neighbours in memory."""
    x = problem.broadcast
    axis = next(i for i, index in enumerate(x.indices) if index.coefficient(dim))
    before, further = ({d for index in part for d, _ in index.terms} for part in (x.indices[:axis], x.indices[axis:]))
    # Where the stride is wider than the window, rows in between are never read.
    gaps = any(w.stride > (problem.extents[w.tap] - 1) * w.dilation + 1 for w in problem.windows if w.dim == dim)
    whole = all(covered[d] == problem.extents[d] for d in further - {dim})
    return whole and not gaps and all(covered[d] == 1 for d in before)


def moves(problem: Problem, tile: Around, place: int, dims: tuple[str, ...]) -> bool:
    """Whether the loop at `place` takes several parts of one of these dims in turn, or is one of L's branches."""
    loop = tile.outer[place]
    whole = covered_at(problem, tile, place - 1)
    return loop.dim in dims and loop.worker is None and loop.step < whole[loop.dim]


def covered_at(problem: Problem, tile: Around, place: int) -> dict[str, int]:
    """Points of each dim in one iteration of the loop at `place`."""
    return problem.extents | {loop.dim: loop.step for loop in tile.outer[: place + 1]}


def _spread(problem: Problem, tile: Around, array: str, place: int, elements: int, size: int) -> Piece | None:
    """The piece of so many elements of `size` bytes; the steps of all tiles inside the loop at `place` share its lines.

    `every` is the largest power of two that is often enough, since the remainder by a power of two is an AND. A loop
    over taps skips those on padding, so its variable does not count steps.
    """
    covered, access = covered_at(problem, tile, place), access_of(problem)
    shared = (*access.sharing_dims, access.panel_dim, *(problem.looped_dims if array == "x" else ()))
    tiles = prod(covered[d] / tile.register.extents[d] for d in shared)
    tiles *= prod(loop.trips for loop in tile.outer[place + 1 :] if loop.dim in problem.reductions)
    a_step = elements * size / LINE / tiles / prod(loop.trips for loop in tile.inner)
    products = prod(tile.register.extents.values()) / tile.register.lanes
    if elements * size > LARGEST_PIECE or a_step * MOST_A_LINE < products:
        return None
    looping = [loop for loop in tile.inner if loop.trips > 1]
    every = 1
    if looping and looping[-1].dim not in [window.tap for window in problem.windows]:
        while 2 * every * a_step <= 1 and 2 * every <= looping[-1].trips:
            every *= 2
    dim = looping[-1].dim if every > 1 else ""
    stored = prod(covered[d] for d in problem.output.dims)
    return Piece(array, tile.outer[place], elements, ceil(a_step), dim, every * looping[-1].step if dim else 1, stored)
