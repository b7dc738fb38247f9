"""The weights that tiles prefetch because the products of a call read theirs in turn, each product its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


@dataclass(frozen=True)
class NextWeights:
    """The weights behind those of this tile: the first ones of the next panel, or of the next product.

    A step prefetches its `lines`, of `in_line` elements each, `elements` further than its own, into L2. It has none
    where tiles with more rows of the same panel do so.
    """

    elements: int
    lines: int
    in_line: int


def next_weights(problem: Problem, tile: Around, in_turn: int) -> NextWeights | None:
    """The weights that a tile prefetches. in_turn: how many products a call computes, each with weights of its own.

    None where it is one, or L2 keeps the weights of all (fewer bytes than `FEW_WEIGHTS`). None where a step has no room
    for its lines, or so many rows read a line that the wait for it hardly shows. None where more tiles of short vectors
    than `MOST_OF_A_PANEL` would prefetch them in turn: that takes longer than the wait.
    """
    access, extents = access_of(problem), tile.register.extents
    if in_turn == 1 or access.by_matrix or access.lanewise or access.weights_broadcast:
        return None
    lane, size = access.panel_dim, access.bytes_of(access.packed)
    if in_turn * problem.extents[lane] * problem.reduction_length * size < limits.FEW_WEIGHTS:
        return None
    rows = prod(problem.extents[dim] for dim in access.sharing_dims)
    vectors = extents[lane] // tile.register.lanes
    lines, a_step = ceil(extents[lane] * size / LINE), prod(extents[dim] for dim in access.sharing_dims)
    if rows > limits.MOST_A_LINE or a_step + vectors + lines > limits.LOADS_AN_FMA * a_step * vectors:
        return None
    if tile.register.lanes < limits.LONG_VECTOR and _iterations(tile, access.sharing_dims) > limits.MOST_OF_A_PANEL:
        return None
    steps = prod(loop.trips for loop in tile.inner) * prod(extents[dim] for dim in problem.reductions)
    return NextWeights(steps * extents[lane], lines, LINE // size)


def most_rows(problem: Problem, tile: Around, around: tuple[Around, ...]) -> Around:
    """The tile of the most rows among those that stand, as this one, in the loops of the same panels of weights."""
    rows = access_of(problem).sharing_dims
    return max(
        (each for each in around if _panels(each, rows) == _panels(tile, rows)), key=lambda each: _rows(each, rows)
    )


def _panels(tile: Around, rows: tuple[str, ...]) -> tuple[tuple[str, int, int, int], ...]:
    """The loops around a tile that are not over rows: tiles inside the same ones read the same weights."""
    return tuple((loop.dim, loop.trips, loop.step, loop.start) for loop in tile.outer if loop.dim not in rows)


def _rows(tile: Around, rows: tuple[str, ...]) -> int:
    """How many rows all iterations of a tile have."""
    return _iterations(tile, rows) * prod(tile.register.extents[dim] for dim in rows)


def _iterations(tile: Around, rows: tuple[str, ...]) -> int:
    """How often a tile takes the same weights."""
    return prod(loop.trips for loop in tile.outer if loop.dim in rows)
