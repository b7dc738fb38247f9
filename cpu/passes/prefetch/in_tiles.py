"""The prefetches of a register tile: before its first sums, and in front of each step."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from cpu.passes.prefetch.addresses import TileStep
from cpu.passes.prefetch.cursors import advances
from cpu.passes.prefetch.later_vectors import later_vectors
from cpu.passes.prefetch.later_x import later_x
from cpu.passes.prefetch.next_outputs import next_outputs, view_of_outputs
from cpu.passes.prefetch.next_panel import next_panel, view_of_panel
from cpu.passes.prefetch.next_weights import next_weights
from cpu.passes.prefetch.outputs import outputs
from tiling.loops.language import Block, Body, For, Load, Statement
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.loops.rewrite import places
from tiling.loops.walk import with_blocks
from tiling.problem import Problem

OF_A_STEP = (later_vectors, later_x, next_weights, next_panel, next_outputs, advances)  # in the order of the text


def with_prefetches(tile: Block, plan: PrefetchPlan, problem: Problem) -> Block:
    """The tile with its prefetches."""
    step = _innermost(tile.body) or tuple(s for s in tile.body if _multiplies(s))
    lines = tuple(chain.from_iterable(each(TileStep(problem, plan, step)) for each in OF_A_STEP))

    def change(block: Body) -> Body:
        if block is step:
            return (*lines, *block)
        if block is tile.body and step and step[0] in block:  # one step, without a loop
            place = block.index(step[0])
            return (*block[:place], *lines, *block[place:])
        return tuple(with_blocks(statement, change) for statement in block)

    views = view_of_panel(problem, plan) + view_of_outputs(problem, plan)
    return replace(tile, body=(*views, *outputs(problem, tile.body, plan), *change(tile.body)))


def _multiplies(statement: Statement) -> bool:
    """Whether a statement reads weights."""
    return any(isinstance(place, Load) and place.buffer == "W" for place in places((statement,)))


def _innermost(body: Body) -> Body | None:
    """The statements of a step: the body of the innermost serial loop, or None if the tile has no loop."""
    for statement in body:
        if isinstance(statement, For) and statement.kind == "serial":
            return _innermost(statement.body) or statement.body
    return None
