"""Packs the part of x that several tiles share, while the first of them reads it.

    stage X, n from 0 for 1, c …, w from w for 16:              for k in 0..64 by 8:
      for k in 0..64 by 8:                                        if k == 0:
        tile 8kx16w:                                                tile 8kx16w_packs, …
          for c in 0..6:                                                panel[16*c + lane] = X[0, c, w + lane]
            …                                             ->            …
            acc[k_u, 0, lane] += X[0, c, w + lane] * …                  acc[k_u, 0, lane] += X[0, c, w + lane] * …
                                                                  else:
                                                                    tile 8kx16w_packed, …
                                                                        acc[k_u, 0, lane] += panel[16*c + lane] * …

The panel holds tile after tile, and of each tile vector after vector: in x, the channels of a pixel are as
far apart as an image has pixels, and most vectors cross a cache line. Beyond the last pixel it holds zeros. A worker
has one panel. Where all tasks of a core read the same part, the first of them packs it for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod

from tiling.arrays.access import access_of
from tiling.loops.buffer import PACKED, Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Alloc,
    Block,
    Body,
    Comment,
    Condition,
    Decide,
    Flag,
    For,
    If,
    Inside,
    Load,
    Number,
    Operand,
    SetFlag,
    StagedPart,
    Statement,
    Store,
)
from tiling.loops.rewrite import ChangeOperand, parts_of, places, with_values
from tiling.loops.walk import inside, walk, with_blocks
from tiling.problem import Problem
from tiling.rewrite.copies.panels import PanelPlan

PANEL, UNPACKED = "panel", "unpacked"


def stage_panels(kernel: Kernel, problem: Problem, plan: PanelPlan) -> Kernel:
    """The kernel with a panel in place of what it stages."""
    if not plan.elements:
        return kernel
    panel = Buffer(PANEL, (plan.elements,), PACKED, problem.dtype, "own")
    before: list[Statement] = [Alloc(panel)]
    if plan.kept:
        before += [Comment("The first task packs the panel, for all that this thread runs."), SetFlag(UNPACKED, True)]
    return replace(kernel, body=(*before, *_staged(kernel.body, kernel, problem, plan.kept)))


def _staged(body: Body, kernel: Kernel, problem: Problem, kept: bool) -> Body:
    """The block with its stages packed. kept: the first task of a core packs the panel for all others."""
    found: list[Statement] = []
    for statement in body:
        if not isinstance(statement, StagedPart):
            found.append(with_blocks(statement, lambda block: _staged(block, kernel, problem, kept)))
            continue
        array = next(buffer for buffer in kernel.arrays if buffer.name == statement.buffer)
        shared = _Stager(statement, array, problem, kept).whole()
        found += [s for s in shared if not (isinstance(s, Decide) and s in found)]
        found += [SetFlag(UNPACKED, False)] * kept
    return tuple(found)


class _Stager:
    """Follows the loops inside a `StagedPart` down to each tile."""

    def __init__(self, stage: StagedPart, array: Buffer, problem: Problem, kept: bool):
        self.stage, self.array, self.problem, self.kept = stage, array, problem, kept
        # Tiles that read the same pixels differ in their rows.
        tiles = _tiles(stage.body, ())
        self.first_row = _begun(*next((self.row(tile), around) for tile, around in tiles))

    def whole(self) -> Body:
        return self.body(self.stage.body, ())

    def body(self, body: Body, around: tuple[For, ...]) -> Body:
        """A block inside these loops, with kinds of tiles in place of each tile."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, Block):
                found += self.kinds(statement, around)
            else:
                inner = (*around, statement) if isinstance(statement, For) else around
                found.append(with_blocks(statement, partial(self.body, around=inner)))
        return tuple(found)

    def kinds(self, tile: Block, around: tuple[For, ...]) -> Body:
        """The tile that packs, the one that reads the panel, or the choice between them."""
        packs = replace(tile, name=f"{tile.name}_packs", notes=(*tile.notes, "x is packed on the way"))
        packed = replace(tile, name=f"{tile.name}_packed", notes=(*tile.notes, "x comes from the panel"))
        packs = replace(packs, body=self.packing(tile.body, _inner(tile)))
        packed = replace(packed, body=tuple(with_values(s, self.reading(_inner(tile))) for s in tile.body))
        further = self.row(tile) - self.first_row
        least, most = _within(further, around)
        tests: list[Condition] = [*[Flag(UNPACKED)] * self.kept, *[Inside(further, 0, 1)] * (most > 0)]
        if least > 0:
            return (packed,)
        return (If(tuple(tests), (packs,), (packed,)),) if tests else (packs,)

    def row(self, tile: Block) -> Index:
        """The first row of a tile."""
        axis = next(
            a for a, i in enumerate(self.problem.output.indices) if i.coefficient(access_of(self.problem).panel_dim)
        )
        store = next(place for place in places(tile.body) if isinstance(place, Store) and place.buffer == "Y")
        return store.at[axis].replaced(dict.fromkeys(_inner(tile), ZERO))

    # --- inside a tile ------------------------------------------------------------------------------------------------

    def packing(self, body: Body, own: Mapping[str, For]) -> Body:
        """The tile's statements, with a copy to the panel in front of each step."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For) and statement.name in own and self.reads(statement):
                found.append(self.copied(statement, own))
            elif isinstance(statement, For):
                statement = replace(statement, body=self.packing(statement.body, own))
            found.append(statement)
        return tuple(found)

    def copied(self, step: Statement, own: Mapping[str, For]) -> Statement:
        """The loops of a step around a copy of each element that it reads."""
        if isinstance(step, For):
            (inner,) = step.body
            copied = self.copied(inner, own)
            load = next(place for place in places(step.body) if isinstance(place, Load) and self.staged(place))
            moves = any(index.coefficient(step.name) for index in load.at)
            return replace(step, body=(copied,)) if moves else copied
        if isinstance(step, If):
            (inner,) = step.body
            store = self.copied(inner, own)
            assert isinstance(store, Store)
            return If(step.conditions, (store,), (replace(store, value=Number(0)),))
        assert isinstance(step, Store)
        load = next(part for part in parts_of(step.value) if isinstance(part, Load) and self.staged(part))
        return Store(PANEL, self.place(load, own), load)

    def reads(self, statement: Statement) -> bool:
        return any(self.staged(place) for place in places((statement,)))

    def staged(self, place: object) -> bool:
        return isinstance(place, Load) and place.buffer == self.stage.buffer

    def reading(self, own: Mapping[str, For]) -> ChangeOperand:
        """The function that replaces a load by a load from the panel."""

        def change(part: Operand) -> Operand | None:
            return Load(PANEL, self.place(part, own)) if isinstance(part, Load) and self.staged(part) else None

        return change

    def place(self, load: Load, own: Mapping[str, For]) -> tuple[Index, ...]:
        """Where the panel holds an element: summed dims move between vectors of a tile, the others between tiles."""
        parts = {along.dim: along for along in self.stage.part}
        lane = next(axis for axis, index in enumerate(load.at) if index.coefficient("lane"))
        tile = load.at[lane].replaced(dict.fromkeys(own, ZERO))
        at = load.at[lane] - tile
        stride = prod(steps_of(own[name]) for name in at.names())
        places = {dim: tile if axis == lane else load.at[axis] for axis, dim in enumerate(self.array.axes)}
        summed = [dim for dim in self.array.axes if dim in self.problem.reductions]
        found = []
        for dim in (*summed, *reversed([dim for dim in self.array.axes if dim not in summed])):
            found.append((places[dim] - parts[dim].start) * stride)
            # A tile holds all summed points, so a step of one point to the next tile is that many elements.
            stride = parts[dim].points if dim in summed else stride * parts[dim].points
        return (sum(reversed(found), ZERO) + at,)


def _tiles(body: Body, around: tuple[For, ...]) -> Iterator[tuple[Block, tuple[For, ...]]]:
    """Every tile of a block, with the loops around it."""
    for statement in body:
        if isinstance(statement, Block):
            yield statement, around
        else:
            inner = (*around, statement) if isinstance(statement, For) else around
            for block in inside(statement):
                yield from _tiles(block, inner)


def _inner(tile: Block) -> dict[str, For]:
    """The loops of a tile that become registers, by name."""
    loops = (s for s in walk(tile.body) if isinstance(s, For))
    return {loop.name: loop for loop in loops if loop.kind in ("unrolled", "vector")}


def _begun(index: Index, around: tuple[For, ...]) -> Index:
    """An index in the first iteration of these loops."""
    for loop in reversed(around):
        index = index.replaced({loop.name: loop.start})
    return index


def _within(index: Index, around: tuple[For, ...]) -> tuple[int, int]:
    """The least and the largest value of an index in these loops, each of which may begin where one outside is."""
    ranges = {}
    for loop in reversed(around):
        offset = f"{loop.name} - start"
        index = index.replaced({loop.name: loop.start + variable(offset)})
        ranges[offset] = (0, (loop.stop - loop.start).offset - loop.step)
    return index.within(ranges)
