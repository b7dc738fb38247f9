"""Brings lines of x that lie far apart into L1: those of a later step, or of the next tile.

prefetch X[0, c + 8, h + h_u, 8*w] to L1
"""

from __future__ import annotations

from cpu.passes.prefetch.addresses import TileStep, unrolled
from tiling.loops.index import constant, variable
from tiling.loops.language import Address, Body, Prefetch
from tiling.loops.lowering.nest import counter
from tiling.loops.lowering.prefetch.limits import PREFETCH_DISTANCE


def later_x(step: TileStep) -> Body:
    """The lines of x that a later step or the next tile reads."""
    apart = step.plan.apart
    if not apart or "X" not in step.loads:  # nothing is planned, or this tile reads what another one packed
        return ()
    dim, found = apart.dim, []
    for start, at in apart.lines:
        there = unrolled(step.body) | {counter(d): constant(offset) for d, offset in start}
        if dim:
            there |= {dim: variable(dim) + PREFETCH_DISTANCE}
        *outer, last = (index.replaced(there) for index in step.loads["X"].at)
        found.append(Prefetch(Address("X", (*outer, last + at)), 1))
    return tuple(found)
