"""The plan of what the register tiles of a scheme prefetch, as data. Pass and model read it.

    plan_prefetches(scheme) -> (Plan, …)        one of each register tile
    prefetched(plans) -> {"w", …}               what all tiles bring to L2

Scheme and problem are those that tiles see: of dot groups, where numbers are narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.loops.lowering.nest import Around, nest_of, tiles
from tiling.loops.lowering.prefetch import (
    Apart,
    NextOutputs,
    NextPanel,
    Piece,
    Places,
    apart,
    next_outputs,
    next_panel,
    outputs,
    pieces,
    streams_past_l1,
)
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class Plan:
    """What the tiles at one place of a nest prefetch.

    pieces: of the next weights and rows of x, line by line with a cursor. past_l1: the array of which a later step's
    packed vectors come to L1: w, or x in a panel; else "". apart: lines of x that lie far apart, of a later step.
    next_panel: pixels that the next tiles read. next_outputs: lines of y that the next tile stores to. outputs: those
    that this tile stores to.

    The model prices what comes to L2. It prices neither `past_l1` nor `apart`, which come to L1 alone: none of its
    costs tells data that L1 awaits from data that it has, so there is nothing to take away. They gain 2 to 8 % where
    that was measured (decision 016); a cost of it has to be fitted first.
    """

    tile: Around
    pieces: tuple[Piece, ...]
    past_l1: str
    apart: Apart | None
    next_panel: NextPanel | None
    next_outputs: NextOutputs | None
    outputs: Places

    @property
    def prefetched_to_l2(self) -> frozenset[str]:
        """The arrays of which the tiles bring lines to L2, x, w or y."""
        found = {piece.array for piece in self.pieces} | ({"x"} if self.next_panel else set())
        return frozenset(found | ({"y"} if self.next_outputs or self.outputs else set()))


def plan_prefetches(scheme: Scheme, stream: bool = False) -> tuple[Plan, ...]:
    """The plan of every register tile of a scheme, in the order of its text. stream: stores may bypass the caches."""
    return tuple(_of_tile(scheme.problem, tile, stream) for tile in tiles(nest_of(scheme)))


def _of_tile(problem: Problem, tile: Around, stream: bool) -> Plan:
    return Plan(
        tile,
        pieces(problem, tile),
        streams_past_l1(problem, tile),
        apart(problem, tile),
        next_panel(problem, tile),
        None if stream else next_outputs(problem, tile),
        () if stream else outputs(problem, tile),
    )


def prefetched(plans: tuple[Plan, ...]) -> frozenset[str]:
    """The arrays, x, w or y, that every tile prefetches into L2."""
    return frozenset.intersection(*(plan.prefetched_to_l2 for plan in plans))
