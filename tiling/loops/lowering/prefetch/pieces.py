"""The next piece of the weights or of x, which the tiles at a place of a nest prefetch into L2, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around, Loop
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


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
    # There is time for it: yolo9000:Y23 has 116 MB of weights in pieces of 98 KB. A memory of 17 GB/s takes 6 µs for a
    # piece, and the tiles multiply with it for 70 µs.
    return tuple(piece for piece in (_of_weights(problem, tile), _of_x(problem, tile)) if piece)


def _of_weights(problem: Problem, tile: Around) -> Piece | None:
    """The piece of the innermost loop over weights with loops over rows inside, whose weights L2 does not hold already.

    Packed weights lie in loop order.
    """
    access = access_of(problem)
    lane, size = access.panel_dim, access.bytes_of(access.packed)
    if problem.extents[lane] * problem.reduction_length * size < limits.FEW_WEIGHTS:
        return None
    for place in reversed(range(len(tile.outer))):
        covered = limits.covered_at(problem, tile, place)
        rows = any(covered[d] > tile.register.extents[d] for d in access.sharing_dims)
        moves = limits.moves(problem, tile, place, (lane, *problem.reductions))
        if rows and moves and not _held(problem, tile, place):
            points = prod(covered[d] for d in problem.reductions)
            if covered[lane] > tile.register.extents[lane] and points < problem.reduction_length:
                return None  # a part of each of several panels
            return _spread(problem, tile, "w", place, covered[lane] * points, size)
    return None


def _held(problem: Problem, tile: Around, place: int) -> bool:
    """Whether L2 holds the weights that the loop at `place` comes to, but for the first time: a loop over rows around
    it takes them again.

    Prefetched there, the piece behind the last one would drive them out (docs/decisions/016).
    """
    access = access_of(problem)
    if tile.register.lanes >= limits.LONG_VECTOR:
        return False
    for around in range(place):
        covered = limits.covered_at(problem, tile, around)
        weights = covered[access.panel_dim] * prod(covered[d] for d in problem.reductions)
        again = limits.moves(problem, tile, around, access.sharing_dims)
        if again and weights * access.bytes_of(access.packed) <= limits.HELD:
            return True
    return False


def _of_x(problem: Problem, tile: Around) -> Piece | None:
    """The piece of the innermost loop over rows with no loop over weights around it.

    The rows of x that it is the first to read must be neighbours in memory. Where x is copied strip by strip, it is the
    piece of the loop over strips.
    """
    access, x = access_of(problem), problem.broadcast
    size = access.bytes_of(x)
    if strip := strip_around(problem, tile):
        return _of_strips(problem, tile, strip)
    if access.lanewise or access.weights_broadcast or x.elements * size < limits.SMALL_X:
        return None
    for place in reversed(range(len(tile.outer))):
        loop, covered = tile.outer[place], limits.covered_at(problem, tile, place)
        if not limits.moves(problem, tile, place, problem.row_dims) or loop.dim not in x.dims:
            continue
        again = any(
            limits.moves(problem, tile, around, (problem.vector_dim, *problem.reductions)) for around in range(place)
        )
        if not again and _neighbours(problem, loop.dim, covered):
            return _spread(problem, tile, "x", place, loop.step * x.stride(loop.dim), size)
    return None


def strip_around(problem: Problem, tile: Around) -> int:
    """How many flattened pixels x is copied by at a time around a tile; 0 where it is not copied strip by strip."""
    flat, outside = problem.flat_pixels, tile.shared
    return limits.covered_at(problem, tile, outside - 1)[flat.dim] if flat and outside is not None else 0


def _of_strips(problem: Problem, tile: Around, strip: int) -> Piece | None:
    """The rows of x that the next strip copies. They are whole rows, and so neighbours."""
    x, flat = problem.broadcast, problem.flat_pixels
    pixel, size = x.shape[-2], access_of(problem).bytes_of(x)
    assert flat and tile.shared is not None  # a strip is of flattened pixels, and is staged
    if flat.height * flat.width * pixel * size < limits.SMALL_X:
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


def _spread(problem: Problem, tile: Around, array: str, place: int, elements: int, size: int) -> Piece | None:
    """The piece of so many elements of `size` bytes; the steps of all tiles inside the loop at `place` share its lines.

    `every` is the largest power of two that is often enough, since the remainder by a power of two is an AND. A loop
    over taps skips those on padding, so its variable does not count steps.
    """
    covered, access = limits.covered_at(problem, tile, place), access_of(problem)
    shared = (*access.sharing_dims, access.panel_dim, *(problem.looped_dims if array == "x" else ()))
    tiles = prod(covered[d] / tile.register.extents[d] for d in shared)
    tiles *= prod(loop.trips for loop in tile.outer[place + 1 :] if loop.dim in problem.reductions)
    a_step = elements * size / LINE / tiles / prod(loop.trips for loop in tile.inner)
    products = prod(tile.register.extents.values()) / tile.register.lanes
    short = tile.register.lanes < limits.LONG_VECTOR
    largest = limits.LARGEST_OF_SHORT_VECTORS if short else limits.LARGEST_PIECE
    if elements * size > largest or a_step * limits.MOST_A_LINE < products:
        return None
    looping = [loop for loop in tile.inner if loop.trips > 1]
    every = 1
    if looping and looping[-1].dim not in [window.tap for window in problem.windows]:
        while 2 * every * a_step <= 1 and 2 * every <= looping[-1].trips:
            every *= 2
    dim = looping[-1].dim if every > 1 else ""
    stored = prod(covered[d] for d in problem.output.dims)
    return Piece(array, tile.outer[place], elements, ceil(a_step), dim, every * looping[-1].step if dim else 1, stored)
