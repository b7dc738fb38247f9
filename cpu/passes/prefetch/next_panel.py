"""Brings the panel of x beside this one into L2, where x is read in place.

next = X + [0, 0, 0, 16*w + 16]
…
  prefetch next[0, c, h, 0] to L2
"""

from __future__ import annotations

from cpu.passes.prefetch.addresses import IN_LINE, TileStep, element
from tiling.loops.index import ZERO, variable
from tiling.loops.language import Address, Body, Prefetch, View
from tiling.loops.lowering.nest import position, positions
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.problem import Problem

NEXT = "next"  # the pointer to the next panel


def view_of_panel(problem: Problem, plan: PrefetchPlan) -> tuple[View, ...]:
    """Where the lines of the next panel begin that a tile prefetches. Tiles in other rows prefetch other lines."""
    panel = plan.next_panel
    if not panel:
        return ()
    turns, first = panel.turns, ZERO
    if panel.tiles > 1:
        first = variable(position(turns)) // turns.step % panel.tiles
    here = positions(plan.tile.outer)
    here[problem.vector_dim] = here[problem.vector_dim] + panel.loop.step + first * IN_LINE
    return (View(NEXT, Address("X", element(problem.vector, here))),)


def next_panel(step: TileStep) -> Body:
    """The lines of the next panel that one step prefetches."""
    panel = step.plan.next_panel
    if not panel:
        return ()
    *channel, pixel = element(step.problem.vector, positions(step.plan.tile.inner))
    lines = range(0, panel.lines * panel.tiles * IN_LINE, panel.tiles * IN_LINE)
    return tuple(Prefetch(Address(NEXT, (*channel, pixel + at)), 2) for at in lines)
