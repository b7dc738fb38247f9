"""Brings cache lines near before they are needed. `tiling.loops.lowering.prefetch` plans what a tile prefetches.

    for k in 0..512:                  for k in 0..512:
      acc += X[…] * W[32*k]    ->       prefetch W[32*k + 256] to L1        the panel's vectors of 8 steps later
                                        advance w                           a line of the next panel, to L2
                                        acc += X[…] * W[32*k]

A cursor walks the next panel, or the next rows of x, while the tiles multiply this one. The loop over panels aims it.
Before its first sums a tile asks for the lines of y that it will store to in many places, as a transposed tile does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tiling.dtypes import LANE_BYTES
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.language import (
    Address,
    Advance,
    Aim,
    Block,
    Body,
    Buffer,
    Cursors,
    Flag,
    For,
    If,
    Inside,
    Kernel,
    Load,
    Move,
    Prefetch,
    Statement,
    View,
)
from tiling.loops.lowering import nest
from tiling.loops.lowering.arrays import in_words, shape_of, words_per_group
from tiling.loops.lowering.nest import position
from tiling.loops.lowering.prefetch import (
    LINE,
    PREFETCH_DISTANCE,
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
from tiling.loops.lowering.tile import FIRST
from tiling.loops.rewrite import places
from tiling.loops.walk import buffers, for_each_worker, inside, walk, with_blocks
from tiling.problem import Problem
from tiling.rewrite.laid_out import row_of
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor

_IN_LINE = LINE // LANE_BYTES
NEXT = "next"  # the pointer to the next panel
NEXT_OUTPUTS = "y_next"  # the pointer to what the next tile stores to
POINT = "point"  # counts the points of the vectorised dim in a tile


@dataclass(frozen=True)
class Plan:
    """What the tiles at one place of a nest prefetch."""

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
    plans = (Plan(tile, *(each(problem, tile) for each in decide)) for tile in nest.tiles(nest.lower(scheme)))
    return tuple(replace(plan, next_outputs=None, outputs=()) if stream else plan for plan in plans)


def prefetch(kernel: Kernel, problem: Problem, plans: tuple[Plan, ...]) -> Kernel:
    """The kernel with prefetches. Its tiles come in the order of `plans`."""
    packed = {buffer.name for buffer in buffers(kernel) if buffer.packed}
    x = next(buffer for buffer in kernel.arrays if buffer.name == "X")
    body, _ = _Prefetcher(problem, list(plans), packed, x).body(kernel.body, 0)
    if any(plan.pieces for plan in plans):
        body = for_each_worker(body, lambda block: (Cursors(), *block))
    return replace(kernel, body=body)


class _Prefetcher:
    def __init__(self, problem: Problem, waiting: list[Plan], packed: set[str], x: Buffer):
        self.problem, self.waiting, self.packed, self.x = problem, waiting, packed, x

    def body(self, body: Body, depth: int) -> tuple[Body, list[tuple[Plan, Body]]]:
        """The block inside `depth` loops, and the plans of the tiles in it, each with the tile's own statements."""
        found: list[Statement] = []
        tiles: list[tuple[Plan, Body]] = []
        for statement in body:
            if isinstance(statement, (Block, If)):
                # An If chooses between the kinds of one tile.
                plan = self.waiting.pop(0)
                within = [(plan, kind.body) for kind in walk((statement,)) if isinstance(kind, Block)]
                statement = self.kinds(statement, plan)
            elif isinstance(statement, For):
                inner, within = self.body(statement.body, depth + 1)
                statement = replace(statement, body=(*self.aims(within, depth, looping=True), *inner))
            else:
                within = []
            found += [*self.aims(within, depth, looping=False), statement]
            tiles += within
        return tuple(found), tiles

    # --- inside a tile ------------------------------------------------------------------------------------------------

    def kinds(self, statement: Statement, plan: Plan) -> Statement:
        """A tile, or a choice between kinds of it, with prefetches."""
        if isinstance(statement, Block):
            return self.tile(statement, plan)
        return with_blocks(statement, lambda block: tuple(self.kinds(kind, plan) for kind in block))

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

        views = (self.next_pixels(plan, plan.next_panel),) if plan.next_panel else ()
        views += (self.next_tile(plan, plan.next_outputs),) if plan.next_outputs else ()
        return replace(tile, body=(*views, *self.of_outputs(tile.body, plan), *change(tile.body)))

    def of_outputs(self, body: Body, plan: Plan) -> Body:
        """What a tile prefetches of y before its first sums, for each point of the vectorised dim."""
        y, dim = self.problem.output, self.problem.vector_dim
        here = _positions(plan.tile.outer)
        point = here.get(dim, ZERO) + variable(POINT)
        lines = []
        for start, at in plan.outputs:
            offsets = {d: here.get(d, ZERO) + offset for d, offset in start}
            *outer, last = _element(y, {**here, **offsets, dim: point})
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
        own = _unrolled(step)
        found: list[Statement] = []
        streams = [load for name, load in loads.items() if name in self.packed and load.at[0].coefficient("lane")]
        if plan.past_l1 and streams:
            width = plan.tile.register.extents[self.problem.vector_dim]
            (start,) = (index.replaced(own) for index in streams[0].at)
            ahead = start + PREFETCH_DISTANCE * width
            found += [Prefetch(Address(streams[0].buffer, (ahead + at,)), 1) for at in range(0, width, _IN_LINE)]
        if plan.apart and "X" in loads:
            found += [
                Prefetch(Address("X", self.x_at(loads["X"], own, plan.apart, dict(start), at)), 1)
                for start, at in plan.apart.lines
            ]
        if plan.next_panel:
            found += self.of_next_panel(plan, plan.next_panel)
        if plan.next_outputs:
            found += self.of_next_outputs(plan.next_outputs)
        for piece in plan.pieces:
            advance: Statement = Advance(piece.array)
            if piece.dim:
                advance = If((Inside(variable(piece.dim) % piece.every, 0, 1),), (advance,))
            found += [advance] * piece.lines
        return tuple(found)

    def x_at(
        self, load: Load, own: Mapping[str, Index], lines: Apart, start: Mapping[str, int], at: int
    ) -> tuple[Index, ...]:
        """A line of x that the step `PREFETCH_DISTANCE` further reads."""
        there = {**own, **{f"{dim}_u": constant(offset) for dim, offset in start.items()}}
        there |= {lines.dim: variable(lines.dim) + PREFETCH_DISTANCE}
        *outer, last = (index.replaced(there) for index in load.at)
        return (*outer, last + at)

    def next_pixels(self, plan: Plan, panel: NextPanel) -> View:
        """Where the lines begin that a tile prefetches of the next panel. Tiles of several rows begin with others."""
        turns, first = panel.turns, ZERO
        if panel.tiles > 1:
            first = variable(position(turns)) // turns.step % panel.tiles
        here = _positions(plan.tile.outer)
        here[self.problem.vector_dim] = here[self.problem.vector_dim] + panel.loop.step + first * _IN_LINE
        return View(NEXT, Address("X", _element(self.problem.vector, here)))

    def of_next_panel(self, plan: Plan, panel: NextPanel) -> Body:
        """The lines of the next panel that one step prefetches."""
        *channel, pixel = _element(self.problem.vector, _positions(plan.tile.inner))
        lines = range(0, panel.lines * panel.tiles * _IN_LINE, panel.tiles * _IN_LINE)
        return tuple(Prefetch(Address(NEXT, (*channel, pixel + at)), 2) for at in lines)

    def next_tile(self, plan: Plan, following: NextOutputs) -> View:
        """Where the outputs of the next tile begin."""
        here = _positions(plan.tile.outer)
        here[following.loop.dim] = here[following.loop.dim] + following.loop.step
        return View(NEXT_OUTPUTS, Address("Y", _element(self.problem.output, here)))

    def of_next_outputs(self, following: NextOutputs) -> Body:
        """The lines of the next tile's outputs that one step prefetches. The step after it goes on behind them."""
        asked: list[Statement] = []
        for start, at in following.places:
            *outer, last = _element(self.problem.output, {dim: constant(offset) for dim, offset in start})
            asked.append(Prefetch(Address(NEXT_OUTPUTS, (*outer, last + at)), 1, write=True))
        further = Move(NEXT_OUTPUTS, (*(ZERO for _ in outer), constant(following.in_line)))
        body = (*asked, further)
        return (For("line", ZERO, constant(following.lines), 1, body),) if following.lines > 1 else body

    # --- the loops around tiles ---------------------------------------------------------------------------------------

    def aims(self, tiles: list[tuple[Plan, Body]], depth: int, looping: bool) -> Body:
        """The statements that aim cursors at the piece after this one.

        depth: how many loops stand around. looping: the pieces are those of iterations of the loop at that depth; else
        those of its only iteration, such as a branch of a λ, of which no loop is left.
        """
        found: list[Statement] = []
        for array, at in (("x", self.next_rows), ("w", self.next_weights)):
            for plan, body in tiles:
                piece = next((p for p in plan.pieces if (p.array, *_depth(plan, p)) == (array, depth, looping)), None)
                if piece and array == "x" and self.strip:
                    found.append(self.next_strip(_positions(plan.tile.outer[: plan.tile.outer.index(piece.loop) + 1])))
                    break
                if piece:
                    name, tensor = array.upper(), self.problem.broadcast if array == "x" else self.problem.packed
                    # The loops count the words of a block.
                    words = prod(shape_of(self.problem, tensor)) // tensor.elements
                    found.append(Aim(array, Address(name, at(piece, plan, body)), constant(piece.elements * words)))
                    break
        return tuple(found)

    @property
    def strip(self) -> int:
        """How many flattened pixels x is copied by at a time; 0 where it is not copied strip by strip."""
        return self.problem.flat_pixels.strip if self.problem.flat_pixels else 0

    def next_strip(self, here: Mapping[str, Index]) -> Aim:
        """The cursor of x goes to the rows of x that the strip after this one is the first to copy."""
        flat, point = self.problem.flat_pixels, here["w"] + self.problem.broadcast.shape[-1]
        assert flat
        first, end = row_of(flat, point), row_of(flat, point + self.strip)
        rows = (end - first) * self.x.strides[1]
        return Aim("x", Address(self.x.name, (here.get("n", ZERO), first, ZERO, ZERO)), rows)

    def next_weights(self, piece: Piece, plan: Plan, body: Body) -> tuple[Index, ...]:
        """Where the packed weights begin that the next iteration reads."""
        load = next(place for place in places(body) if isinstance(place, Load) and place.buffer == "W")
        (at,) = _first(load.at, body)
        loops = [loop for loop in plan.tile.outer if _is_written(loop) or loop is piece.loop]
        for inner in reversed(loops[loops.index(piece.loop) + 1 :]):
            outside = _positions(plan.tile.outer[: plan.tile.outer.index(inner)])
            at = at.replaced({position(inner): outside.get(inner.dim, ZERO) + inner.start})
        if not _is_written(piece.loop):  # its position is a number: a branch of a λ, which is over panels
            words = words_per_group(self.problem, self.problem.packed) or 1
            return (at + piece.loop.step * self.problem.reduction_length * words,)
        name = position(piece.loop)
        return (at.replaced({name: variable(name) + piece.loop.step}),)

    def next_rows(self, piece: Piece, plan: Plan, body: Body) -> tuple[Index, ...]:
        """Where the rows of x begin that the next iteration is the first to read: the last that its windows reach."""
        x, loop, outer = self.problem.broadcast, piece.loop, plan.tile.outer
        here = _positions(outer[: outer.index(loop) + 1])
        here[loop.dim] = here[loop.dim] + loop.step
        rows = {dim: at for dim, at in here.items() if dim in self.problem.row_dims}
        found = []
        for index in x.indices:
            terms = (rows[dim] * step for dim, step in index.terms if dim in rows)
            found.append(sum(terms, ZERO) + index.offset)
        for window in self.problem.windows:
            taps = self.problem.extents[window.tap]
            axis = next(i for i, index in enumerate(x.indices) if index.coefficient(window.tap))
            if window.dim == loop.dim:
                found[axis] = found[axis] + (taps - 1) * window.dilation - (window.stride - 1)
        return in_words(self.problem, x, tuple(found), ZERO)


def _is_written(loop: nest.Loop) -> bool:
    """Whether a `For` stands for the loop."""
    return loop.trips > 1 or loop.worker is not None


def _depth(plan: Plan, piece: Piece) -> tuple[int, bool]:
    """How many loops stand around the loop of a piece, and whether that is a loop itself."""
    outer = plan.tile.outer
    return sum(map(_is_written, outer[: outer.index(piece.loop)])), _is_written(piece.loop)


def _multiplies(statement: Statement) -> bool:
    """Whether a statement reads weights."""
    return any(isinstance(place, Load) and place.buffer == "W" for place in places((statement,)))


def _innermost(body: Body) -> Body | None:
    """The statements of a step: the body of the innermost serial loop, or None if the tile has no loop."""
    for statement in body:
        if isinstance(statement, For) and statement.kind == "serial":
            return _innermost(statement.body) or statement.body
    return None


def _unrolled(body: Body) -> dict[str, Index]:
    """Zero for each variable of an unrolled loop and for the lane."""
    found = {}
    for statement in body:
        if isinstance(statement, For):
            found[statement.name] = ZERO
        for block in inside(statement):
            found |= _unrolled(block)
    return found


def _first(at: tuple[Index, ...], body: Body) -> tuple[Index, ...]:
    """An index where all loops of a tile begin."""
    own = _unrolled(body)
    return tuple(index.replaced(own) for index in at)


def _positions(loops: tuple[nest.Loop, ...]) -> dict[str, Index]:
    """The position along each dim inside these loops."""
    found: dict[str, Index] = {}
    for loop in loops:
        found[loop.dim] = variable(position(loop)) if _is_written(loop) else found.get(loop.dim, ZERO) + loop.start
    return found


def _element(tensor: Tensor, at: Mapping[str, Index]) -> tuple[Index, ...]:
    """The index of each axis of a tensor at a position."""
    return tuple(
        sum((at.get(dim, ZERO) * coefficient for dim, coefficient in index.terms), ZERO) + index.offset
        for index in tensor.indices
    )
