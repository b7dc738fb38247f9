"""Brings packed vectors of a later step into L1, where a tile reads more of them than L1 holds.

prefetch W[512*n + 16*k + 128] to L1
"""

from __future__ import annotations

from cpu.passes.memory.stage_panels import PANEL
from cpu.passes.prefetch.addresses import IN_LINE, TileStep, unrolled
from tiling.loops.language import Address, Body, Prefetch
from tiling.loops.lowering.prefetch.limits import PREFETCH_DISTANCE


def later_vectors(step: TileStep) -> Body:
    """The packed vectors that the step `PREFETCH_DISTANCE` further reads."""
    load = step.loads.get({"w": "W", "x": PANEL}.get(step.plan.past_l1, ""))
    if load is None:  # nothing is planned, or this is the tile that packs the panel for the others
        return ()
    width = step.plan.tile.register.extents[step.problem.vector_dim]
    (start,) = (index.replaced(unrolled(step.body)) for index in load.at)
    first = start + PREFETCH_DISTANCE * width
    return tuple(Prefetch(Address(load.buffer, (first + at,)), 1) for at in range(0, width, IN_LINE))
