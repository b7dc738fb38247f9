"""What the register tiles of a scheme prefetch, as data. Pass and model read this plan.

    plan_prefetches(scheme) -> (Plan, …)        one for each register tile
    prefetched(plans) -> {"w", …}               what all tiles bring to L2

Scheme and problem are those that tiles see. Where numbers are narrow, they are in dot groups.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from tiling.loops.lowering.prefetch.weights import NextWeights, next_weights
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class Plan:
    """What the tiles at one place of a nest prefetch.

    pieces: the next weights and rows of x, line by line with a cursor. past_l1: "w", "x" (in a panel) or "": packed
    vectors of a later step, into L1. apart: lines of x that lie far apart, into L1. next_panel: the panel of x beside
    this one. outputs: lines of y that this tile stores to. next_outputs: lines of y that the next tile stores to.
    next_rows: rows of x that the next tile alone reads, into L1. next_pixels: those that it is first to read, into L1.
    next_weights: what lies behind this tile's weights.

    The model counts no wait for what all tiles prefetch (`prefetched_to_l2`). `past_l1`, `apart` and `next_pixels` cost
    0 in it (decision 016). It plans for one x and one w, so it knows no `next_rows` and no `next_weights`.
    """

    # Six more into L1 in each step take no measurable time where the tile has two vectors or more, and 29 pairs of
    # kernels with and without them are as the model expects. 28 rows of one vector take 8 % longer with six.
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
    def prefetched_to_l2(self) -> frozenset[str]:
        """The arrays, x, w or y, whose lines the tiles prefetch into L2, or those of y into L1."""
        found = {piece.array for piece in self.pieces} | ({"x"} if self.next_panel else set())
        found |= {"w"} if self.next_weights else set()
        return frozenset(found | ({"y"} if self.next_outputs or self.outputs else set()))


def plan_prefetches(
    scheme: Scheme, stream: bool = False, in_turn: int = 1, weights_in_turn: int = 1
) -> tuple[Plan, ...]:
    """The plan of every register tile of a scheme, in the order of its text.

    stream: stores may bypass the caches. in_turn: how many arrays like x a call reads in turn. weights_in_turn: how
    many like w, one behind the other.
    """
    around = tuple(tiles(nest_of(scheme)))
    return tuple(_of_tile(scheme.problem, tile, around, stream, in_turn, weights_in_turn) for tile in around)


def _of_tile(
    problem: Problem, tile: Around, around: tuple[Around, ...], stream: bool, in_turn: int, weights_in_turn: int
) -> Plan:
    found = pieces(problem, tile)
    panels = any(piece.array == "w" for piece in found)  # a cursor brings the panels behind this one already
    rows = next_rows(problem, tile, in_turn)
    # Tiles of short vectors prefetch the next rows or the next weights, not both. The largest steps of 16 registers are
    # 12 FMAs and 6 broadcasts in 6 cycles. With both prefetches, and the dozen instructions of an address, a step has
    # 36 to 37, and a Zen 3 starts 6 a cycle. There the rows alone are worth more (decision 055).
    full = rows is not None and tile.register.lanes < limits.LONG_VECTOR
    return Plan(
        tile,
        found,
        streams_past_l1(problem, tile),
        apart(problem, tile),
        next_panel(problem, tile),
        None if stream else next_outputs(problem, tile),
        () if stream else outputs(problem, tile),
        rows,
        next_pixels(problem, tile),
        None if panels or full else next_weights(problem, tile, around, weights_in_turn),
    )


def prefetched(plans: tuple[Plan, ...]) -> frozenset[str]:
    """The arrays, x, w or y, that every tile prefetches into L2."""
    return frozenset.intersection(*(plan.prefetched_to_l2 for plan in plans))
