"""What the register tiles of a scheme prefetch, as data. Pass and model read this plan.

    plan_prefetches(scheme) -> (PrefetchPlan, …)        one for each register tile
    prefetched(plans) -> {"w", …}               what all tiles bring to L2
    left(plans, "w") -> 0.0 … 1.0               the share of the work that waits for it

Scheme and problem are those that tiles see. Where numbers are narrow, they are in dot groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tiling.loops.lowering.nest import Around, nest_of, tiles
from tiling.loops.lowering.prefetch import limits
from tiling.loops.lowering.prefetch.apart import Apart, apart
from tiling.loops.lowering.prefetch.limits import Places
from tiling.loops.lowering.prefetch.next_outputs import NextOutputs, next_outputs
from tiling.loops.lowering.prefetch.outputs import outputs
from tiling.loops.lowering.prefetch.panel import NextPanel, next_panel
from tiling.loops.lowering.prefetch.past_l1 import streams_past_l1
from tiling.loops.lowering.prefetch.pieces import Piece, pieces
from tiling.loops.lowering.prefetch.pixels import NextPixels, next_pixels
from tiling.loops.lowering.prefetch.rows import NextRows, next_rows
from tiling.loops.lowering.prefetch.weights import NextWeights, most_rows, next_weights
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class PrefetchPlan:
    """What the tiles at one place of a nest prefetch.

    pieces: the next weights and rows of x, line by line with a cursor. past_l1: "w", "x" (in a panel) or "": packed
    vectors of a later step, into L1. apart: lines of x that lie far apart, into L1. next_panel: the panel of x beside
    this one. outputs: lines of y that this tile stores to. next_outputs: lines of y that the next tile stores to.
    next_rows: rows of x that the next tile alone reads, into L1. next_pixels: those that it is first to read, into L1.
    next_weights: what lies behind this tile's weights.

    The model counts no wait for what tiles prefetch from beyond L2 (`prefetched_from_beyond`). `past_l1`, `apart` and
    `next_pixels` come from L2, which counts as if no tile waited for it (decision 016).
    """

    # Six more prefetches into L1 in each step take no measurable time where the tile has two vectors or more, and 29
    # pairs of kernels with and without them are as the model expects. 28 rows of one vector take 8 % longer with six.
    tile: Around
    pieces: tuple[Piece, ...]
    past_l1: str
    apart: Apart | None
    next_panel: NextPanel | None
    next_outputs: NextOutputs | None
    outputs: Places
    next_rows: NextRows | None
    next_pixels: NextPixels | None
    next_weights: NextWeights | None

    @property
    def prefetched_from_beyond(self) -> frozenset[str]:
        """The arrays, x, w or y, whose lines the tiles prefetch that lie beyond L2."""
        found = {piece.array for piece in self.pieces} | ({"x"} if self.next_panel or self.next_rows else set())
        found |= {"w"} if self.next_weights else set()
        return frozenset(found | ({"y"} if self.next_outputs or self.outputs else set()))

    def left(self, array: str) -> float:
        """The share of these tiles whose x, w or y no tile prefetches: no tile is before the first of a loop."""
        if array == "x" and self.next_rows:
            return 1 / self.next_rows.loop.trips
        return 0.0 if array in self.prefetched_from_beyond else 1.0


def plan_prefetches(
    scheme: Scheme, stream: bool = False, in_turn: int = 1, weights_in_turn: int = 1
) -> tuple[PrefetchPlan, ...]:
    """The plan of every register tile of a scheme, in the order of its text.

    stream: stores may bypass the caches. in_turn: how many arrays like x a call reads in turn. weights_in_turn: how
    many like w, one behind the other.
    """
    around = tuple(tiles(nest_of(scheme)))
    return tuple(_of_tile(scheme.problem, tile, around, stream, in_turn, weights_in_turn) for tile in around)


def _of_tile(
    problem: Problem, tile: Around, around: tuple[Around, ...], stream: bool, in_turn: int, weights_in_turn: int
) -> PrefetchPlan:
    return PrefetchPlan(
        tile,
        pieces(problem, tile),
        streams_past_l1(problem, tile),
        apart(problem, tile),
        next_panel(problem, tile),
        None if stream else next_outputs(problem, tile),
        () if stream else outputs(problem, tile),
        next_rows(problem, tile, in_turn),
        next_pixels(problem, tile),
        _weights(problem, tile, around, in_turn, weights_in_turn),
    )


def _weights(
    problem: Problem, tile: Around, around: tuple[Around, ...], in_turn: int, weights_in_turn: int
) -> NextWeights | None:
    """The weights that a tile prefetches, or those that a tile of more rows prefetches for it.

    None where a cursor brings the panels behind this one already.
    """
    most = most_rows(problem, tile, around)
    if any(piece.array == "w" for piece in pieces(problem, most)):
        return None
    # Tiles of short vectors prefetch the next rows or the next weights, not both. The largest steps of 16 registers are
    # 12 FMAs and 6 broadcasts in 6 cycles. With both prefetches, and the dozen instructions of an address, a step has
    # 36 to 37, and a Zen 3 starts 6 a cycle. There the rows alone are worth more (decision 055).
    if most.register.lanes < limits.LONG_VECTOR and next_rows(problem, most, in_turn):
        return None
    found = next_weights(problem, most, weights_in_turn)
    return found if found is None or most is tile else replace(found, lines=0)


def prefetched(plans: tuple[PrefetchPlan, ...]) -> frozenset[str]:
    """The arrays, x, w or y, that every tile prefetches from beyond L2."""
    return frozenset.intersection(*(plan.prefetched_from_beyond for plan in plans))


def left(plans: tuple[PrefetchPlan, ...], array: str) -> float:
    """The share of the multiplications in tiles whose x, w or y no tile prefetches from beyond L2."""
    work = [prod(loop.trips for loop in p.tile.outer) * prod(p.tile.register.extents.values()) for p in plans]
    return sum(n * plan.left(array) for n, plan in zip(work, plans)) / sum(work)
