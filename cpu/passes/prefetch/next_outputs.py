"""Brings the lines of y that the next tile of matrix instructions stores to into L1.

y_next = Y + [0, h, w + 16, 0]
…
  prefetch y_next[0, 0, 0, 0] to L1, to be written
  y_next += [0, 0, 0, 16]
"""

from __future__ import annotations

from cpu.passes.prefetch.addresses import TileStep, element
from tiling.loops.index import ZERO, constant
from tiling.loops.language import Address, Body, For, Move, Prefetch, Statement, View
from tiling.loops.lowering.nest import positions
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.problem import Problem

NEXT_OUTPUTS = "y_next"  # the pointer to what the next tile stores to


def view_of_outputs(problem: Problem, plan: PrefetchPlan) -> tuple[View, ...]:
    """Where the outputs of the next tile begin."""
    if not plan.next_outputs:
        return ()
    here, loop = positions(plan.tile.outer), plan.next_outputs.loop
    here[loop.dim] = here[loop.dim] + loop.step
    return (View(NEXT_OUTPUTS, Address("Y", element(problem.output, here))),)


def next_outputs(step: TileStep) -> Body:
    """The lines of the next tile's outputs that one step prefetches. The next step continues after them."""
    following = step.plan.next_outputs
    if not following:
        return ()
    prefetches: list[Statement] = []
    for start, at in following.places:
        *outer, last = element(step.problem.output, {dim: constant(offset) for dim, offset in start})
        prefetches.append(Prefetch(Address(NEXT_OUTPUTS, (*outer, last + at)), 1, write=True))
    further = Move(NEXT_OUTPUTS, (*(ZERO for _ in outer), constant(following.in_line)))
    body = (*prefetches, further)
    return (For("line", ZERO, constant(following.lines), 1, body),) if following.lines > 1 else body
