"""The prefetches of a register tile: before its first sums, and in front of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cpu.passes.memory.prefetch_addresses import element, unrolled
from cpu.passes.memory.stage_panels import PANEL
from tiling.dtypes.products import LANE_BYTES
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.language import (
    LINE,
    Address,
    Advance,
    Block,
    Body,
    Buffer,
    Flag,
    For,
    If,
    Inside,
    Load,
    Move,
    Prefetch,
    Statement,
    View,
)
from tiling.loops.lowering.nest import counter, position, positions
from tiling.loops.lowering.prefetch import PREFETCH_DISTANCE, NextOutputs, NextPanel, Piece
from tiling.loops.lowering.prefetch_plan import Plan
from tiling.loops.lowering.tile import FIRST
from tiling.loops.rewrite import places
from tiling.loops.walk import with_blocks
from tiling.problem import Problem

_IN_LINE = LINE // LANE_BYTES
NEXT = "next"  # the pointer to the next panel
NEXT_OUTPUTS = "y_next"  # the pointer to what the next tile stores to
POINT = "point"  # counts the points of the vectorised dim in a tile


@dataclass(frozen=True)
class InTiles:
    """Writes what a tile prefetches. x: the array that tiles read x from."""

    problem: Problem
    x: Buffer

    def tile(self, tile: Block, plan: Plan) -> Block:
        """The tile, with the prefetches in front of each step."""
        step = _innermost(tile.body) or tuple(s for s in tile.body if _multiplies(s))
        lines = self.lines(step, plan)

        def change(block: Body) -> Body:
            if block is step:
                return (*lines, *block)
            if block is tile.body and step and step[0] in block:  # one step, without a loop
                place = block.index(step[0])
                return (*block[:place], *lines, *block[place:])
            return tuple(with_blocks(statement, change) for statement in block)

        views: tuple[View, ...] = (self.next_pixels(plan, plan.next_panel),) if plan.next_panel else ()
        views += (self.next_tile(plan, plan.next_outputs),) if plan.next_outputs else ()
        return replace(tile, body=(*views, *self.of_outputs(tile.body, plan), *change(tile.body)))

    def of_outputs(self, body: Body, plan: Plan) -> Body:
        """What a tile prefetches of y before its first sums, for each point of the vectorised dim."""
        y, dim = self.problem.output, self.problem.vector_dim
        here = positions(plan.tile.outer)
        point = here.get(dim, ZERO) + variable(POINT)
        lines = []
        for start, at in plan.outputs:
            offsets = {d: here.get(d, ZERO) + offset for d, offset in start}
            *outer, last = element(y, {**here, **offsets, dim: point})
            lines.append(Prefetch(Address("Y", (*outer, last + at)), 2, write=True))
        if not lines:
            return ()
        exists = (If((Inside(point, None, self.problem.extents[dim]),), tuple(lines)),)
        width = constant(plan.tile.register.extents[dim])
        loop = For(POINT, ZERO, width, 1, exists)
        again = any(isinstance(s, If) and Flag(FIRST) in s.conditions for s in body)
        return (If((Flag(FIRST),), (loop,)),) if again else (loop,)

    def lines(self, step: Body, plan: Plan) -> Body:
        """What one step prefetches."""
        loads = {place.buffer: place for place in places(step) if isinstance(place, Load)}
        found = [*self.of_later_vectors(loads, step, plan), *self.of_later_x(loads, step, plan)]
        found += self.of_next_weights(loads, step, plan)
        if plan.next_panel:
            found += self.of_next_panel(plan, plan.next_panel)
        if plan.next_outputs:
            found += self.of_next_outputs(plan.next_outputs)
        for piece in plan.pieces:
            found += _advances(piece)
        return tuple(found)

    def of_later_vectors(self, loads: Mapping[str, Load], step: Body, plan: Plan) -> Body:
        """The packed vectors that the step `PREFETCH_DISTANCE` further reads, to L1."""
        load = loads.get({"w": "W", "x": PANEL}.get(plan.past_l1, ""))
        if load is None:  # nothing is planned, or this is the tile that packs the panel for the others
            return ()
        width = plan.tile.register.extents[self.problem.vector_dim]
        (start,) = (index.replaced(unrolled(step)) for index in load.at)
        first = start + PREFETCH_DISTANCE * width
        return tuple(Prefetch(Address(load.buffer, (first + at,)), 1) for at in range(0, width, _IN_LINE))

    def of_next_weights(self, loads: Mapping[str, Load], step: Body, plan: Plan) -> Body:
        """The lines of a step's weights in the panel, or the product, behind this one, to L2."""
        if not plan.next_weights:
            return ()
        (start,) = (index.replaced(unrolled(step)) for index in loads["W"].at)
        first, in_line = start + plan.next_weights.elements, plan.next_weights.in_line
        lines = range(0, plan.next_weights.lines * in_line, in_line)
        return tuple(Prefetch(Address("W", (first + at,)), 2) for at in lines)

    def of_later_x(self, loads: Mapping[str, Load], step: Body, plan: Plan) -> Body:
        """The lines of x that a later step or the next tile reads, where these lie far apart, to L1."""
        if not plan.apart or "X" not in loads:  # nothing is planned, or this tile reads what another one packed
            return ()
        dim, found = plan.apart.dim, []
        for start, at in plan.apart.lines:
            there = unrolled(step) | {counter(d): constant(offset) for d, offset in start}
            if dim:
                there |= {dim: variable(dim) + PREFETCH_DISTANCE}
            *outer, last = (index.replaced(there) for index in loads["X"].at)
            found.append(Prefetch(Address("X", (*outer, last + at)), 1))
        return tuple(found)

    def next_pixels(self, plan: Plan, panel: NextPanel) -> View:
        """Where the lines of the next panel begin that a tile prefetches. Tiles in other rows prefetch other lines."""
        turns, first = panel.turns, ZERO
        if panel.tiles > 1:
            first = variable(position(turns)) // turns.step % panel.tiles
        here = positions(plan.tile.outer)
        here[self.problem.vector_dim] = here[self.problem.vector_dim] + panel.loop.step + first * _IN_LINE
        return View(NEXT, Address("X", element(self.problem.vector, here)))

    def of_next_panel(self, plan: Plan, panel: NextPanel) -> Body:
        """The lines of the next panel that one step prefetches."""
        *channel, pixel = element(self.problem.vector, positions(plan.tile.inner))
        lines = range(0, panel.lines * panel.tiles * _IN_LINE, panel.tiles * _IN_LINE)
        return tuple(Prefetch(Address(NEXT, (*channel, pixel + at)), 2) for at in lines)

    def next_tile(self, plan: Plan, following: NextOutputs) -> View:
        """Where the outputs of the next tile begin."""
        here = positions(plan.tile.outer)
        here[following.loop.dim] = here[following.loop.dim] + following.loop.step
        return View(NEXT_OUTPUTS, Address("Y", element(self.problem.output, here)))

    def of_next_outputs(self, following: NextOutputs) -> Body:
        """The lines of the next tile's outputs that one step prefetches. The next step continues after them."""
        prefetches: list[Statement] = []
        for start, at in following.places:
            *outer, last = element(self.problem.output, {dim: constant(offset) for dim, offset in start})
            prefetches.append(Prefetch(Address(NEXT_OUTPUTS, (*outer, last + at)), 1, write=True))
        further = Move(NEXT_OUTPUTS, (*(ZERO for _ in outer), constant(following.in_line)))
        body = (*prefetches, further)
        return (For("line", ZERO, constant(following.lines), 1, body),) if following.lines > 1 else body


def _advances(piece: Piece) -> Body:
    """The advances of a cursor in one step: so many lines of it, or one in every few steps."""
    advance: Statement = Advance(piece.array)
    if piece.dim:
        advance = If((Inside(variable(piece.dim) % piece.every, 0, 1),), (advance,))
    return (advance,) * piece.lines


def _multiplies(statement: Statement) -> bool:
    """Whether a statement reads weights."""
    return any(isinstance(place, Load) and place.buffer == "W" for place in places((statement,)))


def _innermost(body: Body) -> Body | None:
    """The statements of a step: the body of the innermost serial loop, or None if the tile has no loop."""
    for statement in body:
        if isinstance(statement, For) and statement.kind == "serial":
            return _innermost(statement.body) or statement.body
    return None
