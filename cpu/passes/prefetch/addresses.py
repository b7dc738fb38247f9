"""Where prefetches point: to an element of a tensor, and to where the loops of a tile begin; and the step before which
they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tiling.dtypes.products import LANE_BYTES
from tiling.loops.index import ZERO, Index
from tiling.loops.language import LINE, Body, For, Load
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.loops.rewrite import places
from tiling.loops.walk import walk
from tiling.problem import Problem
from tiling.tensor import Tensor

IN_LINE = LINE // LANE_BYTES  # lanes of a cache line


@dataclass(frozen=True)
class TileStep:
    """The statements of a step of a tile, and what the tile prefetches."""

    problem: Problem
    plan: PrefetchPlan
    body: Body

    @cached_property
    def loads(self) -> Mapping[str, Load]:
        """What a step reads from each array."""
        return {place.buffer: place for place in places(self.body) if isinstance(place, Load)}


def element(tensor: Tensor, at: Mapping[str, Index]) -> tuple[Index, ...]:
    """The index of each axis of a tensor at a position."""
    return tuple(
        sum((at.get(dim, ZERO) * coefficient for dim, coefficient in index.terms), ZERO) + index.offset
        for index in tensor.indices
    )


def unrolled(body: Body) -> dict[str, Index]:
    """Zero for each variable of an unrolled loop and for the lane."""
    return {s.name: ZERO for s in walk(body) if isinstance(s, For)}
