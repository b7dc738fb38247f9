"""The rows of x that a register tile prefetches because the next tile multiplies them, and no other tile reads them."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around, Loop
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


@dataclass(frozen=True)
class NextRows:
    """The rows of x that the next iteration of `loop` is the first to read: `rows` of `lines` cache lines each.

    `step` is the loop over the steps of a tile; each prefetches one line, into L1. in_line: the elements of a line.
    """

    loop: Loop
    step: Loop
    rows: int
    lines: int
    in_line: int


def next_rows(problem: Problem, tile: Around, in_turn: int) -> NextRows | None:
    """The rows that a tile prefetches. in_turn: arrays like x that a call reads in turn, as Winograd's algorithm does.

    None where there is one such array, or L2 keeps them all (fewer bytes than `SMALL_X`), and where another tile reads
    the same rows. None where a step has no room for a prefetch, and where the tile has fewer steps than lines.
    """
    access, x, extents = access_of(problem), problem.broadcast, tile.register.extents
    if access.by_matrix or access.lanewise or access.weights_broadcast:
        return None
    size = access.bytes_of(x)
    if in_turn < limits.LEAST_IN_TURN or in_turn * x.elements * size < limits.SMALL_X:
        return None
    if extents[problem.vector_dim] < problem.extents[problem.vector_dim]:
        return None  # tiles of other columns read these rows too
    loops, steps = ([loop for loop in part if loop.trips > 1] for part in (tile.outer, tile.inner))
    if not loops or loops[-1].worker or len(steps) != 1 or tile.shared is not None:
        return None
    loop, step = loops[-1], steps[0]
    if step.step > 1 or step.trips < problem.reduction_length or x.stride(step.dim) != 1:
        return None  # rows overlap, a part of each is read, or they have gaps
    if loop.dim not in x.dims or loop.step != extents[loop.dim]:
        return None  # the next tile has other rows than those beside this one's
    if any(extents[dim] > 1 for dim in x.dims if dim not in (loop.dim, step.dim)):
        return None  # the tile has rows at several places
    in_line = LINE // size
    lines = ceil(step.trips / in_line)
    fits = loop.step * lines <= step.trips and _room(problem, tile, loop.step)
    return NextRows(loop, step, loop.step, lines, in_line) if fits else None


def _room(problem: Problem, tile: Around, rows: int) -> bool:
    """Whether a step has room for one more load. It loads an element of each row and its vectors of weights.

    In tiles of one vector these loads outnumber the FMAs, of which each row has one.
    """
    vectors = tile.register.extents[problem.vector_dim] // tile.register.lanes
    return rows + vectors + 1 <= limits.LOADS_AN_FMA * rows * vectors
