"""The lines of y that the next tile of matrix instructions stores to, into L1."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around, Loop
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


@dataclass(frozen=True)
class NextOutputs:
    """The next iteration of `loop` stores to the lines after those of this one, each of `in_line` elements.

    Every step prefetches so many more `lines` at each of `places`.
    """

    loop: Loop
    lines: int
    in_line: int
    places: limits.Places


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
    if not access.by_matrix or problem.flat_pixels or access.transposed_output or y.elements * size < limits.SMALL_X:
        return None
    run = extents[problem.vector_dim] * size
    if loop is None or loop.worker or (loop.dim, loop.step) != (along, extents[along]):
        return None
    if run != y.stride(along) * size or run % LINE:
        return None
    count, in_line = extents[along] * run // LINE, LINE // size
    places = limits.lines_of(problem, y, extents | {along: 1, problem.vector_dim: in_line}, True)
    steps = prod(inner.trips for inner in tile.inner)
    return NextOutputs(loop, ceil(count / steps), in_line, places) if count >= steps and len(places) > 1 else None
