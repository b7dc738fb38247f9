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
    turn = next((s for s in launch if isinstance(s, For) and is_turn(s)), None)
    body = turn.body if turn else launch
    (loop,) = (s for s in body if isinstance(s, For) and s.kind == "serial")
    (groups,) = (s for s in loop.body if isinstance(s, For) and s.kind == WARPGROUPS_OF_BLOCK)
    tiles = tuple(s.buffer for s in loop.body if isinstance(s, Alloc) and s.buffer.memory == "shared")
    copies = tuple(s for s in walk(loop.body) if isinstance(s, (Arrive, CopyBox)))
    steps = steps_of(loop)
    ring = _Ring(loop, tiles, depth if turn else min(depth, steps), bool(turn) or depth < steps, groups, copies, turn)
    places = tuple(s for s in body if isinstance(s, Define))
    sums = tuple(s for s in body if isinstance(s, Alloc) and s.buffer.memory == "registers")
    work: list[Statement] = [*sums]
    for statement in body[max(map(body.index, (*places, *sums))) + 1 :]:
        if statement is loop:
            work += ring.multiplying()
        elif not _is_opening(statement):
            work.append(statement)
    warps = WARPS_OF_GROUP * groups.stop.offset
    if turn is None:
        return (*places, *ring.opened(), Beside(warps, tuple(work), (ring.copying(()),)))
    outside = tuple(s for s in launch if isinstance(s, Define))
    more = tuple(s for s in launch if isinstance(s, Alloc) and not _is_opening(s))
    multiplying = replace(turn, body=(*places, *work))
    return (*outside, *ring.opened(), *more, Beside(warps, (multiplying,), (ring.copying(places),)))


def _is_opening(statement: Statement) -> bool:
    """Whether a statement makes the mbarrier of a kernel without a ring."""
    if isinstance(statement, Alloc):
        return statement.buffer.name == ARRIVED
    return isinstance(statement, For) and statement.name == THREAD


@dataclass(frozen=True)
class _Ring:
    """The loop over steps, its tiles and the stages of each, what the warpgroups do in a step, and the copies.

    turns: whether stages are filled again, so that they must be empty before. turn: the loop over tiles, if there is
    one.
    """

    loop: For
    tiles: tuple[Buffer, ...]
    stages: int
    turns: bool
    groups: For
    copies: Body
    turn: For | None

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
        return number_of(self.loop, self.turn is not None)

    @property
    def stage(self) -> Index:
        return self.number % self.stages

    @property
    def phase(self) -> Index:
        """How often the ring has turned: the phase of a stage in this step."""
        if self.turn is not None:
            return self.number // self.stages
        return (variable(self.loop.name) - self.loop.start) // (self.loop.step * self.stages)

    @property
    def before(self) -> Index:
        """The stage of the step before this one."""
        if self.turn is not None:
            return (self.number + self.stages - 1) % self.stages
        return stage_of(self.loop, self.stages, self.stages - 1)

    @property
    def last(self) -> Index:
        """The stage of a tile's last step."""
        end = self.number.replaced({self.loop.name: self.loop.stop - self.loop.step})
        return end % self.stages

    def opened(self) -> Body:
        """The tiles of all stages, and the mbarriers that say whether they are full or empty."""
        tiles = (replace(tile, shape=(self.stages, *tile.shape), axes=(STAGE, *tile.axes)) for tile in self.tiles)
        arrivals = {FULL: 1, EMPTY: self.warps} if self.turns else {FULL: 1}
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
        empty = (Await(Address(EMPTY, (self.stage,)), self.phase - 1),) if self.turns else ()
        steps: For = replace(self.loop, body=(*empty, *copies))
        if self.turn:
            steps = replace(self.turn, body=(*places, steps))
        warp = over(WARP, self.warps + 1, (A_WARP.each((steps,), 1),))
        return replace(warp, start=constant(self.warps))

    def multiplying(self) -> Body:
        """The loop over steps as those who multiply see it, and what follows it."""
        loop, groups = self.loop, self.groups
        places, begin, products, pins = parts_of_products(groups)
        released = Arrive(Address(EMPTY, (self.before,)))
        later = Inside(variable(loop.name), (loop.start + loop.step).offset, None)
        release = (do(wait(1)), If((later,), (self.each_warp(released),))) if self.turns else ()
        full = Await(Address(FULL, (self.stage,)), self.phase)
        step = replace(groups, body=(*places, full, *self.of_stage(products), *release))
        last: Body = (self.each_warp(Arrive(Address(EMPTY, (self.last,)))),) if self.turn else ()
        return (
            replace(groups, body=(begin,)),
            replace(loop, body=(step,)),
            replace(groups, body=(do(wait(0)), *last, pins)),
        )

    def each_warp(self, statement: Statement) -> For:
        """One thread of each warp of a warpgroup."""
        quarter = For(QUARTER, constant(0), constant(WARPS_OF_GROUP), 1, (A_WARP.each((statement,), 1),), KIND[QUARTER])
        return quarter
