"""Gives copies to a warp of their own. It runs ahead of the warps that multiply, by the stages of a ring.

    for k in 0..256 by 64:
      …
      for thread in 0..1, thread:
        arrive at arrived, expect 32768 bytes
        copy a swizzled box of 128 x 64 to X_tile[0, 0] from X[m_1, k], counted at arrived
        …
      for thread in 0..256, thread:
        wait for phase k / 64 of arrived
      for warpgroup in 0..2, warpgroup:
        …
        wgmma_wait_0()
        …
    ->
    the first 8 warps:
      …
      for k in 0..256 by 64:
        for warpgroup in 0..2, warpgroup:
          …
          wait for phase k / 192 of full + [k / 64 % 3]
          …
          wgmma_wait_1()
          if k >= 64:
            …
                arrive at empty + [(k + 128) / 64 % 3]
      …
    the others, beside them:
      …
          for k in 0..256 by 64:
            wait for phase k / 192 - 1 of empty + [k / 64 % 3]
            arrive at full + [k / 64 % 3], expect 32768 bytes
            copy a swizzled box of 128 x 64 to X_tile[k / 64 % 3, 0, 0] from X[m_1, k], counted at full + [k / 64 % 3]
            …

A stage is full once its bytes have come, and empty once each warp has multiplied what it held: the products of one step
are done after those of the next have begun. Source: warp specialisation of CUTLASS and Triton.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu.passes.facts.accesses import moved
from gpu.passes.facts.rings import STAGE, is_turn, number_of, stage_of
from gpu.passes.facts.workers import (
    A_WARP,
    KIND,
    QUARTER,
    THREAD,
    WARP,
    WARPGROUPS_OF_BLOCK,
    WARPS_OF_GROUP,
    over,
    with_launches,
)
from gpu.passes.warpgroups.copy_boxes import ARRIVED, open_all
from gpu.passes.warpgroups.instructions import wait
from gpu.passes.warpgroups.multiply_warpgroups import do, parts_of_products
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, Define, For, If, Inside, Statement
from tiling.loops.machines import MBARRIER, Arrive, Await, Beside, CopyBox
from tiling.loops.walk import walk
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Stage

FULL, EMPTY = "full", "empty"


def specialise_warps(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel with a warp that copies."""
    depth = max(s.depth for s in scheme.specifiers if isinstance(s, Stage))
    return with_launches(kernel, lambda launch: replace(launch, body=_specialised(launch.body, depth)))


def _specialised(launch: Body, depth: int) -> Body:
    """The launch in which one warp copies, beside the warps that multiply and store. depth: the stages of the ring."""
    over_tiles = next((s for s in launch if isinstance(s, For) and is_turn(s)), None)
    tile = over_tiles.body if over_tiles else launch  # what is done for one tile
    ring = _ring_of(tile, over_tiles, depth)
    places = tuple(s for s in tile if isinstance(s, Define))
    work = _work_on_tile(tile, places, ring)
    if over_tiles is None:
        return (*places, *ring.opened(), Beside(ring.warps, work, (ring.copying(()),)))
    outside = tuple(s for s in launch if isinstance(s, Define))
    buffers = tuple(s for s in launch if isinstance(s, Alloc) and not _is_opening(s))
    multiplying = replace(over_tiles, body=(*places, *work))
    return (*outside, *ring.opened(), *buffers, Beside(ring.warps, (multiplying,), (ring.copying(places),)))


def _ring_of(tile: Body, over_tiles: For | None, depth: int) -> _Ring:
    """The ring through which the steps of a tile go. A block with one tile needs no more stages than steps."""
    (loop,) = (s for s in tile if isinstance(s, For) and s.kind == "serial")
    (groups,) = (s for s in loop.body if isinstance(s, For) and s.kind == WARPGROUPS_OF_BLOCK)
    buffers = tuple(s.buffer for s in loop.body if isinstance(s, Alloc) and s.buffer.memory == "shared")
    copies = tuple(s for s in walk(loop.body) if isinstance(s, (Arrive, CopyBox)))
    steps = steps_of(loop)
    stages = depth if over_tiles else min(depth, steps)
    refilled = over_tiles is not None or depth < steps
    return _Ring(loop, buffers, stages, refilled, groups, copies, over_tiles)


def _work_on_tile(tile: Body, places: Body, ring: _Ring) -> Body:
    """What those who multiply do for a tile: its sums, its steps through the ring, and what follows, the stores."""
    sums = tuple(s for s in tile if isinstance(s, Alloc) and s.buffer.memory == "registers")
    found: list[Statement] = [*sums]
    for statement in tile[max(map(tile.index, (*places, *sums))) + 1 :]:
        if statement is ring.loop:
            found += ring.multiplying()
        elif not _is_opening(statement):
            found.append(statement)
    return tuple(found)


def _is_opening(statement: Statement) -> bool:
    """Whether a statement makes the mbarrier of a kernel without a ring."""
    if isinstance(statement, Alloc):
        return statement.buffer.name == ARRIVED
    return isinstance(statement, For) and statement.name == THREAD


@dataclass(frozen=True)
class _Ring:
    """The stages that the copying warp fills, and those who multiply empty, one after the other.

    loop: the one over steps. tiles: what a stage holds. refilled: whether stages are filled again, so that they must be
    empty before. groups: what the warpgroups do in a step. over_tiles: the loop over tiles, if there is one.
    """

    loop: For
    tiles: tuple[Buffer, ...]
    stages: int
    refilled: bool
    groups: For
    copies: Body
    over_tiles: For | None

    @property
    def warps(self) -> int:
        """Warps that multiply."""
        return WARPS_OF_GROUP * self.groups.stop.offset

    @property
    def names(self) -> set[str]:
        return {tile.name for tile in self.tiles}

    @property
    def number(self) -> Index:
        """How many steps have come before this one."""
        return number_of(self.loop, self.over_tiles is not None)

    @property
    def stage(self) -> Index:
        """The stage of this step."""
        return self.number % self.stages

    @property
    def phase(self) -> Index:
        """How often the ring has turned: the phase of a stage in this step."""
        if self.over_tiles is not None:
            return self.number // self.stages
        return (variable(self.loop.name) - self.loop.start) // (self.loop.step * self.stages)

    @property
    def stage_before(self) -> Index:
        """The stage of the step before this one."""
        if self.over_tiles is not None:
            return (self.number + self.stages - 1) % self.stages
        return stage_of(self.loop, self.stages, self.stages - 1)

    @property
    def last_stage(self) -> Index:
        """The stage of a tile's last step."""
        end = self.number.replaced({self.loop.name: self.loop.stop - self.loop.step})
        return end % self.stages

    def opened(self) -> Body:
        """The tiles of all stages, and the mbarriers that say whether they are full or empty."""
        tiles = (replace(tile, shape=(self.stages, *tile.shape), axes=(STAGE, *tile.axes)) for tile in self.tiles)
        arrivals = {FULL: 1, EMPTY: self.warps} if self.refilled else {FULL: 1}
        barriers = tuple(Buffer(name, (self.stages,), (STAGE,), MBARRIER, "shared") for name in arrivals)
        return (*map(Alloc, tiles), *map(Alloc, barriers), open_all(barriers, tuple(arrivals.values())))

    def of_stage(self, body: Body) -> Body:
        """Statements on the tiles of this step's stage."""
        return moved(body, self.names, lambda at: (self.stage, *at))

    def copying(self, places: Body) -> Statement:
        """What the warp that copies does. places: where each tile is that it takes."""
        full = Address(FULL, (self.stage,))
        there = (s for s in self.of_stage(self.copies) if isinstance(s, (Arrive, CopyBox)))
        copies = tuple(replace(copy, barrier=full) for copy in there)
        empty = (Await(Address(EMPTY, (self.stage,)), self.phase - 1),) if self.refilled else ()
        steps: For = replace(self.loop, body=(*empty, *copies))
        if self.over_tiles:
            steps = replace(self.over_tiles, body=(*places, steps))
        warp = over(WARP, self.warps + 1, (A_WARP.each((steps,), 1),))
        return replace(warp, start=constant(self.warps))

    def multiplying(self) -> Body:
        """The loop over steps as those who multiply see it, with what goes before and follows it.

        A step waits for its stage to be full. When its products have begun, those of the step before are done with
        theirs, which is then empty.
        """
        loop, groups = self.loop, self.groups
        places, begin, products, pins = parts_of_products(groups)
        emptied = Arrive(Address(EMPTY, (self.stage_before,)))
        later = Inside(variable(loop.name), (loop.start + loop.step).offset, None)
        release = (do(wait(1)), If((later,), (self.each_warp(emptied),))) if self.refilled else ()
        full = Await(Address(FULL, (self.stage,)), self.phase)
        step = replace(groups, body=(*places, full, *self.of_stage(products), *release))
        last: Body = (self.each_warp(Arrive(Address(EMPTY, (self.last_stage,)))),) if self.over_tiles else ()
        return (
            replace(groups, body=(begin,)),
            replace(loop, body=(step,)),
            replace(groups, body=(do(wait(0)), *last, pins)),
        )

    def each_warp(self, statement: Statement) -> For:
        """One thread of each warp of a warpgroup."""
        quarter = For(QUARTER, constant(0), constant(WARPS_OF_GROUP), 1, (A_WARP.each((statement,), 1),), KIND[QUARTER])
        return quarter
