"""Brings the weights behind those of this tile into L2, where products in turn have weights of their own.

prefetch W[512*n + 16*k + 8192] to L2
"""

from __future__ import annotations

from cpu.passes.prefetch.addresses import TileStep, unrolled
from tiling.loops.language import Address, Body, Prefetch


def next_weights(step: TileStep) -> Body:
    """The lines of a step's weights in the panel, or the product, behind this one."""
    behind = step.plan.next_weights
    if not behind:
        return ()
    (start,) = (index.replaced(unrolled(step.body)) for index in step.loads["W"].at)
    lines = range(0, behind.lines * behind.in_line, behind.in_line)
    return tuple(Prefetch(Address("W", (start + behind.elements + at,)), 2) for at in lines)
