"""What the register tiles of a kernel prefetch, as data that the pass writes as statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tiling.loops.index import ZERO, Index
from tiling.loops.language import Body, For
from tiling.loops.lowering import nest
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
from tiling.loops.walk import inside
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor


@dataclass(frozen=True)
class Plan:
    """What the tiles at one place of a nest prefetch.

    pieces: of the next weights and rows of x, line by line with a cursor. past_l1: whether the weights of later steps
    come to L1. apart: lines of x that lie far apart. next_panel: pixels that the next tiles read. next_outputs: lines
    of y that the next tile stores to. outputs: those that this tile stores to.
    """

    tile: nest.Around
    pieces: tuple[Piece, ...]
    past_l1: bool
    apart: Apart | None
    next_panel: NextPanel | None
    next_outputs: NextOutputs | None
    outputs: Places


def plan_prefetches(scheme: Scheme, stream: bool) -> tuple[Plan, ...]:
    """The plan of every register tile of a scheme, in the order of its text. stream: stores may bypass the caches."""
    problem = scheme.problem
    decide = (pieces, streams_past_l1, apart, next_panel, next_outputs, outputs)
    plans = (Plan(tile, *(each(problem, tile) for each in decide)) for tile in nest.tiles(nest.nest_of(scheme)))
    return tuple(replace(plan, next_outputs=None, outputs=()) if stream else plan for plan in plans)


def element(tensor: Tensor, at: Mapping[str, Index]) -> tuple[Index, ...]:
    """The index of each axis of a tensor at a position."""
    return tuple(
        sum((at.get(dim, ZERO) * coefficient for dim, coefficient in index.terms), ZERO) + index.offset
        for index in tensor.indices
    )


def unrolled(body: Body) -> dict[str, Index]:
    """Zero for each variable of an unrolled loop and for the lane."""
    found = {}
    for statement in body:
        if isinstance(statement, For):
            found[statement.name] = ZERO
        for block in inside(statement):
            found |= unrolled(block)
    return found
