"""What comes to L2 before it is multiplied.

Every iteration of a loop around register tiles reads a *piece* of the packed weights, or of x, that tiles inside it
read again and again, and the next iteration reads the next piece, which lies further out. The first tile to meet it
would wait for all of it: yolo9000:Y23 has 116 MB of weights in pieces of 98 KB, which memory of 17 GB/s takes 6 us to
bring and which are multiplied for 70. So every tile brings its share of the next piece nearer, a line every few steps.

    weights   the innermost loop over weights inside which rows loop; packed, they lie in the order of the loops
    x         the innermost loop over rows, with none over weights around it, whose tiles inside cover all further axes
              of x and one point of those before: what an iteration is the first to meet of x are then neighbours in
              memory, the last rows that its windows reach; where x is copied strip by strip, the loop over strips

The last piece that a tile asks for is the one after its worker's last, which is another worker's or nobody's.

Where vectors are read from x in place (`tiling.pointwise`), those of a tile are no neighbours but a few lines of every
channel: each step asks for one of the panel of pixels that comes next (`next_panel`).

From L2 to L1 it is not far, but a tile whose packed vectors, of the weights or of a panel of x, are more than L1 holds
streams them, and asks for every step's a few steps before. So does one whose steps read x at places far apart, as of
channels-first images (`apart`): the hardware's prefetchers follow no such strides.

A tile that is turned as it is stored (`Problem.crosswise`) writes to a line or two of every point of the vectorised
dim, far apart again: it asks for them before it sums, where these are not in L2 anyway (`outputs`). A tile of matrix
instructions stores all its sums at once, as many lines as wait in a core's store buffer: where it takes few steps, each
asks for some that the next tile stores to (`next_outputs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, prod

from tiling.nest import Around, Loop
from tiling.problem import Problem, Tensor

# Bytes. Half of an L2 of 1 and of 2 MiB, the least and the most that cores with AVX-512 have: fewer weights stay there
# anyway, and of larger pieces the first lines would be gone again before their turn. A smaller x stays there, too.
FEW_WEIGHTS, LARGEST_PIECE, SMALL_X = 1 << 19, 1 << 20, 1 << 20
LINE = 64
# Bytes of the largest L1 of a core with AVX-512. `python -m bench.ahead` on Sapphire Rapids, with and without: 1.05
# times the speed for mobilenet:M9 and resnet18:R10, 1.03 for yolo9000:Y23; 4 to 24 steps are alike. Panels that fit
# lose as much.
LARGEST_L1 = 48 << 10
STEPS_AHEAD = 8
# Products of a vector (FMAs) that take so long that a line more or less does not show, some 500 cycles: with a line
# every 300 yolo9000:Y2 gains 7 %, with one every 600 Y4 and with one every 1300 Y8 pay 1 % for having asked.
MOST_A_LINE = 1024


# Products of a vector for each line of outputs that is asked for, at least: with 108 to 864 yolo9000:Y2 gains 4 % and
# with h innermost 28, Y4 5, Y8 and Y12 nothing (`python -m bench.ahead --layout nchw` on Sapphire Rapids, what comes to
# L2); with 55 resnet18:R1 lost 2.
LEAST_A_LINE = 80

# Of lines: offsets per dim, and elements along the last axis of their tensor.
Places = tuple[tuple[tuple[tuple[str, int], ...], int], ...]


@dataclass(frozen=True)
class Piece:
    """An iteration of `loop` reads `elements` neighbours of `array` (w or x) that the one before did not, and the next
    iteration as many. In every step of a tile at which the loop variable `dim` is a multiple of `every` (with a `dim`
    of "", in every step) so many `lines` of those come to L2.
    """

    array: str
    loop: Loop
    elements: int
    lines: int
    dim: str
    every: int


def pieces(problem: Problem, tile: Around) -> tuple[Piece, ...]:
    """What the tiles at a place of a nest bring nearer; nothing where it is near anyway, or where one tile alone would
    read it.
    """
    return tuple(piece for piece in (_of_weights(problem, tile), _of_x(problem, tile)) if piece)


def streams_past_l1(problem: Problem, tile: Around) -> bool:
    """Whether a register tile reads more packed vectors than L1 holds, in each step few: then it asks for those of the
    step that is STEPS_AHEAD. Where steps unroll several points their own loads run ahead far enough.

    Packed vectors are those of the weights, or of a panel of x: yolo9000:Y19 gains 2 % in tiles of 9 x 3 and 14 x 2,
    8 in 6 x 4 (`python -m bench.ahead --layout nchw --scheme …`, beside what comes to L2).
    """
    steps = prod(loop.trips for loop in tile.inner)
    points = prod(tile.register.extents[d] for d in problem.reductions)
    size = steps * tile.register.extents[problem.vector_dim] * problem.bytes_of(problem.vector)
    packed = tile.shared is not None or not problem.in_place
    return points == 1 and size > LARGEST_L1 and not problem.blocked and packed


@dataclass(frozen=True)
class Apart:
    """The lines of x that a step reads, each at a place of a register tile. The next step along `dim` reads others."""

    dim: str
    lines: Places


def apart(problem: Problem, tile: Around) -> Apart | None:
    """What a register tile reads of x in a step, where steps are a line apart or more, so that it asks for the lines of
    the step that is STEPS_AHEAD; none where L1 holds x, or steps are few.
    """
    x, looping = problem.tensors[0], [loop for loop in tile.inner if loop.trips > 1]
    size = problem.bytes_of(x)
    if problem.blocked or problem.lanewise or not looping or x.elements * size <= LARGEST_L1:
        return None
    loop, extents = looping[-1], tile.register.extents
    if loop.trips < 2 * STEPS_AHEAD or x.stride(loop.dim) * size < LINE or extents[loop.dim] > 1:
        return None
    whole = tile.register.lanes * size % LINE == 0 and x.shape[-1] * size % LINE == 0
    return Apart(loop.dim, _places(problem, x, extents, problem.in_place and whole))


def outputs(problem: Problem, tile: Around) -> Places:
    """The lines of y that a register tile writes for each point of the vectorised dim, where these lie apart: it asks
    for them before it sums. Nothing where y is small enough to be near, or the sums are too short to wait for it.
    """
    y, size, extents = problem.output, problem.bytes_of(problem.output), tile.register.extents
    if not problem.crosswise or y.elements * size < SMALL_X:
        return ()
    places = _places(problem, y, extents | {problem.vector_dim: 1}, False)
    products = prod(extents.values()) // tile.register.lanes * prod(loop.trips for loop in tile.inner)
    return places if products >= LEAST_A_LINE * extents[problem.vector_dim] * len(places) else ()


@dataclass(frozen=True)
class NextOutputs:
    """The next iteration of `loop` stores to the lines that follow those of this one, of `in_line` elements. Every step
    asks for so many more `lines` at each of `places`.
    """

    loop: Loop
    lines: int
    in_line: int
    places: Places


def next_outputs(problem: Problem, tile: Around) -> NextOutputs | None:
    """What a tile of matrix instructions asks for of y: where it stores to several rows of an image, in each to whole
    pixels side by side, and the next tile to those that follow. None where y is small enough to be near, where its
    steps are more than such lines, and where the next tile is another thread's.

    yolo9000:Y0 in int8, tiles of 2 x 16 pixels: 1.82 to 1.60 ms (`python -m bench.ahead` on Sapphire Rapids). Elsewhere
    it took about as much as it gave, and so it is not asked for: a row of 32 pixels, whose next line has the place in a
    page that a store still waits for; tiles of some of the channels; 1 x 1 layers whose y has 4 MB. All lines asked for
    at once, before the steps or after them, or into L2, gained nothing.
    """
    y, size, extents = problem.output, problem.bytes_of(problem.output), tile.register.extents
    loop, along = next((loop for loop in reversed(tile.outer) if loop.trips > 1), None), problem.row_dims[-1]
    if not problem.blocked or problem.plane or problem.crosswise or y.elements * size < SMALL_X:
        return None
    run = extents[problem.vector_dim] * size
    if loop is None or loop.worker or (loop.dim, loop.step) != (along, extents[along]):
        return None
    if run != y.stride(along) * size or run % LINE:
        return None
    count, in_line = extents[along] * run // LINE, LINE // size
    places = _places(problem, y, extents | {along: 1, problem.vector_dim: in_line}, True)
    steps = prod(inner.trips for inner in tile.inner)
    return NextOutputs(loop, ceil(count / steps), in_line, places) if count >= steps and len(places) > 1 else None


def _places(problem: Problem, tensor: Tensor, extents: dict[str, int], aligned: bool) -> Places:
    """The lines of a tensor that the points of a register tile lie in; `aligned`: runs begin with lines. Rows that
    several points share count once.
    """
    along = dict(tensor.indices[-1].terms)
    run = 1 + sum((extents[dim] - 1) * step for dim, step in along.items())
    others = [dim for dim in problem.extents if dim in tensor.dims and dim not in along and extents[dim] > 1]
    points = (tuple(zip(others, at)) for at in product(*(range(extents[dim]) for dim in others)))
    starts = {sum(tensor.stride(dim) * at for dim, at in point): point for point in points}.values()
    # Where a run does not begin with a line, its last element may lie in one more.
    places = dict.fromkeys((*range(0, run, LINE // problem.bytes_of(tensor)), *([] if aligned else [run - 1])))
    return tuple((start, place) for start in starts for place in places)


@dataclass(frozen=True)
class NextPanel:
    """An iteration of `loop` reads a panel of x in place, which several register tiles share, and the next iteration
    the one beside it. Tiles ask for all of that, each for so many `lines` of every reduction point, so many `tiles` in
    turn, as the loop `turns` over the rows of panels goes on.
    """

    loop: Loop
    turns: Loop
    tiles: int
    lines: int


def next_panel(problem: Problem, tile: Around) -> NextPanel | None:
    """The panel of x that tiles at a place of a nest bring to L2; none where x is small enough to be there, one tile
    alone reads a panel, a step reads several reduction points and its loads run ahead by themselves, or S(x) holds all
    of them after the first pass.
    """
    x, extents, panel = problem.vector, tile.register.extents, problem.panel_dim
    points = prod(extents[d] for d in problem.reductions)
    if not problem.in_place or points > 1 or x.elements * problem.bytes_of(x) < SMALL_X:
        return None
    for place in reversed(range(len(tile.outer))):
        loop, pixels = tile.outer[place], extents[problem.vector_dim]
        if _moves(problem, tile, place, (problem.vector_dim,)):
            packed = tile.shared is not None and place >= tile.shared
            if packed or loop.step != pixels or _covered(problem, tile, place)[panel] == extents[panel]:
                return None
            # Of a composed dim each branch asks for all of it.
            turns = max(
                (inside for inside in tile.outer[place + 1 :] if inside.dim == panel), key=lambda loop: loop.trips
            )
            lines = -(-pixels * problem.bytes_of(x) // LINE)
            each = -(-lines // turns.trips)
            return NextPanel(loop, turns, -(-lines // each), each)
    return None


def _of_weights(problem: Problem, tile: Around) -> Piece | None:
    lane, size = problem.panel_dim, problem.bytes_of(problem.packed)
    if problem.extents[lane] * problem.reduction_length * size < FEW_WEIGHTS:
        return None
    for place in reversed(range(len(tile.outer))):
        covered = _covered(problem, tile, place)
        rows = any(covered[d] > tile.register.extents[d] for d in problem.sharing_dims)
        if rows and _moves(problem, tile, place, (lane, *problem.reductions)):
            points = prod(covered[d] for d in problem.reductions)
            if covered[lane] > tile.register.extents[lane] and points < problem.reduction_length:
                return None  # a part of each of several panels
            return _spread(problem, tile, "w", place, covered[lane] * points, size)
    return None


def _of_x(problem: Problem, tile: Around) -> Piece | None:
    x, size = problem.broadcast, problem.bytes_of(problem.broadcast)
    if problem.plane and problem.plane.strip:
        return _of_strips(problem, tile)
    if problem.lanewise or problem.in_place or x.elements * size < SMALL_X:
        return None
    for place in reversed(range(len(tile.outer))):
        loop, covered = tile.outer[place], _covered(problem, tile, place)
        if not _moves(problem, tile, place, problem.row_dims) or loop.dim not in x.dims:
            continue
        again = any(_moves(problem, tile, around, (problem.vector_dim, *problem.reductions)) for around in range(place))
        if not again and _neighbours(problem, loop.dim, covered):
            return _spread(problem, tile, "x", place, loop.step * x.stride(loop.dim), size)
    return None


def _of_strips(problem: Problem, tile: Around) -> Piece | None:
    """The rows of x that the next strip copies, whole rows and so neighbours."""
    plane, x = problem.plane, problem.broadcast
    pixel, size = x.shape[-2], problem.bytes_of(x)
    if plane.height * plane.width * pixel * size < SMALL_X:
        return None
    for place in reversed(range(tile.shared)):
        loop = tile.outer[place]
        if loop.dim in problem.row_dims and loop.trips > 1:
            if loop.dim != "w" or loop.worker:
                return None  # the next strip is another image's, or another core's
            return _spread(problem, tile, "x", place, plane.strip * pixel, size)
    return None


def _neighbours(problem: Problem, dim: str, covered: dict[str, int]) -> bool:
    """Whether the points of x that are met first as `dim` grows lie side by side."""
    x = problem.broadcast
    axis = next(i for i, index in enumerate(x.indices) if index.coefficient(dim))
    before, further = ({d for index in part for d, _ in index.terms} for part in (x.indices[:axis], x.indices[axis:]))
    # Of a window that its stride is wider than, rows in between are never read.
    gaps = any(w.stride > (problem.extents[w.tap] - 1) * w.dilation + 1 for w in problem.windows if w.dim == dim)
    whole = all(covered[d] == problem.extents[d] for d in further - {dim})
    return whole and not gaps and all(covered[d] == 1 for d in before)


def _moves(problem: Problem, tile: Around, place: int, dims: tuple[str, ...]) -> bool:
    """Whether the loop at `place` takes several pieces of one of these dims (a branch of L: one of several) in turn."""
    loop = tile.outer[place]
    whole = _covered(problem, tile, place - 1) if place else problem.extents
    return loop.dim in dims and loop.worker is None and loop.step < whole[loop.dim]


def _covered(problem: Problem, tile: Around, place: int) -> dict[str, int]:
    """Points of each dim in one iteration of the loop at `place`."""
    return problem.extents | {loop.dim: loop.step for loop in tile.outer[: place + 1]}


def _spread(problem: Problem, tile: Around, array: str, place: int, elements: int, size: int) -> Piece | None:
    """The piece of so many elements of `size` bytes, its lines spread evenly over the steps of all tiles inside the
    loop at `place`.

    Of powers of two, since a remainder of those is an AND, `every` is the largest that is often enough. A loop over
    taps may be left out where they fall on padding, so it counts no steps.
    """
    covered = _covered(problem, tile, place)
    shared = (*problem.sharing_dims, problem.panel_dim, *(problem.looped_dims if array == "x" else ()))
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
    return Piece(array, tile.outer[place], elements, ceil(a_step), dim, every * looping[-1].step if dim else 1)
