"""Has warpgroups take tiles in turns, each its own: one multiplies while the other stores (ping-pong).

    the first 4 warps:
      for turn in 0..2*((blocks - block + 3) / blocks):
        …
        for k in 0..256 by 64:
          for warpgroup in 0..1, warpgroup:
            …
            wait for phase (4*turn + k / 64) / 3 of full + [(4*turn + k / 64) % 3]
            …
        …
        for warp in 0..4, warp:
          …
    ->
    the first 8 warps:
      for warpgroup in 0..2, warpgroup:
        for turn in warpgroup..2*((blocks - block + 3) / blocks) by 2:
          …
          wait for phase (turn + 1) / 2 - 1 of passed + [(turn + 1) % 2]
          …
          for k in 0..256 by 64:
            …
            wait for phase (4*turn + k / 64) / 3 of full + [(4*turn + k / 64) % 3]
            …
            if k >= 192:
              for quarter in 0..4, warp:
                for member in 0..1, lane:
                  arrive at passed + [turn % 2]
          …
          for warp in 4*warpgroup..(4*warpgroup + 4), warp:
            …

The ring holds the steps of one tile, then of the next, and a turn says where they are. A warpgroup waits for no stage
before the one with the turn before has seen all of its own full, since a phase of an mbarrier and the next but one look
alike. Source: the cooperative and ping-pong kernels of CUTLASS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from gpu.passes.facts.reading import touched
from gpu.passes.facts.rings import TURN, is_turn
from gpu.passes.facts.workers import (
    A_WARP,
    KIND,
    QUARTER,
    WARP,
    WARPGROUP,
    WARPGROUPS_OF_BLOCK,
    WARPS_OF_GROUP,
    over,
    takers_of,
)
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, Define, For, If, Inside, Statement
from tiling.loops.machines import MBARRIER, Arrive, Await, Beside, Open
from tiling.loops.walk import free_name, with_blocks
from tiling.scheme.scheme import Scheme

_PASSED = "passed"


def take_turns(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose warpgroups take tiles in turns."""
    count = prod(loop.trips for loop in takers_of(scheme))
    passed = Buffer(free_name(_PASSED, touched(kernel.body)), (count,), (WARPGROUP,), MBARRIER, "shared")
    return replace(kernel, body=_Turns(count, passed).body(kernel.body))


@dataclass(frozen=True)
class _Turns:
    """count: the warpgroups. passed: an mbarrier for each, which says that it has seen all stages of its tile."""

    count: int
    passed: Buffer

    def body(self, block: Body) -> Body:
        """The block of a launch."""
        found: list[Statement] = []
        for statement in block:
            if isinstance(statement, For) and any(isinstance(s, Open) for s in statement.body):
                opens = tuple(
                    Open(Address(self.passed.name, (constant(n),)), WARPS_OF_GROUP) for n in range(self.count)
                )
                found.append(Alloc(self.passed))
                statement = replace(statement, body=(*statement.body[:-1], *opens, statement.body[-1]))
            elif isinstance(statement, Beside):
                work = over(WARPGROUP, self.count, self.of_one(statement.body))
                copying = tuple(self.behind(s) for s in statement.otherwise)
                statement = Beside(statement.warps * self.count, (work,), copying)
            else:
                statement = with_blocks(statement, self.body)
            found.append(statement)
        return tuple(found)

    def of_all(self, sums: Buffer) -> Buffer:
        """The sums of a warpgroup's warps, for those of all."""
        return replace(sums, shape=(sums.shape[0] * self.count, *sums.shape[1:]))

    def behind(self, statement: Statement) -> Statement:
        """The warp that copies stands behind all others."""
        assert isinstance(statement, For)
        more = WARPS_OF_GROUP * (self.count - 1)
        return replace(statement, start=statement.start + more, stop=statement.stop + more)

    def of_one(self, block: Body) -> Body:
        """What one of the warpgroups does."""
        found: list[Statement] = []
        for statement in block:
            if isinstance(statement, For) and statement.kind == WARPGROUPS_OF_BLOCK:
                found += self.of_one(statement.body)  # a loop of one iteration: the one outside counts warpgroups
            elif isinstance(statement, For) and statement.name == WARP:
                found.append(self.own_warps(statement))
            elif isinstance(statement, Define):  # a warpgroup has all of its tile
                found.append(replace(statement, index=statement.index.replaced({WARPGROUP: ZERO, WARP: ZERO})))
            elif isinstance(statement, Alloc) and statement.buffer.axes[0] == WARP:
                found.append(Alloc(self.of_all(statement.buffer)))
            elif isinstance(statement, For) and is_turn(statement):
                found.append(self.own_turns(statement))
            else:
                inner = with_blocks(statement, self.of_one)
                if isinstance(inner, For) and any(isinstance(s, Await) for s in inner.body):
                    inner = self.with_end(inner)
                found.append(inner)
        return tuple(found)

    def own_warps(self, warps: For) -> For:
        """The loop over warps for those of this warpgroup."""
        first = variable(WARPGROUP) * WARPS_OF_GROUP
        return replace(warps, start=first, stop=first + warps.stop, body=self.of_one(warps.body))

    def own_turns(self, turns: For) -> Statement:
        """The loop over tiles for those of this warpgroup, which waits before each until the turn before is full."""
        places = tuple(s for s in turns.body if isinstance(s, Define))
        body = (*places, self.before(), *turns.body[len(places) :])
        return with_blocks(replace(turns, start=variable(WARPGROUP), step=self.count, body=body), self.of_one)

    def before(self) -> Statement:
        """Waits until all stages of the turn before were full."""
        earlier = variable(TURN) + (self.count - 1)
        return Await(Address(self.passed.name, (earlier % self.count,)), earlier // self.count - 1)

    def with_end(self, steps: For) -> For:
        """The loop over steps, which says in the last one that all stages of this turn were full."""
        assert not steps.stop.terms
        last = Inside(variable(steps.name), (steps.stop - steps.step).offset, None)
        said: Statement = If((last,), (self.after(),))
        # Behind the products, for which all lanes of a warp have seen the stage full.
        return replace(steps, body=(*steps.body, said))

    def after(self) -> Statement:
        """Says that all stages of this turn were full."""
        arrive = Arrive(Address(self.passed.name, (variable(TURN) % self.count,)))
        lanes = (A_WARP.each((arrive,), 1),)
        return replace(over(QUARTER, WARPS_OF_GROUP, lanes), kind=KIND[QUARTER])
