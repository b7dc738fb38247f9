"""Where prefetches point: to an element of a tensor, and to where the loops of a tile begin."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.index import ZERO, Index
from tiling.loops.language import Body, For
from tiling.loops.walk import inside
from tiling.tensor import Tensor


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
