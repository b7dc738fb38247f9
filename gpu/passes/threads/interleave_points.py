"""Deals the points of a warp to its lanes in turns: neighbouring lanes take neighbours.

    for m in m_1..(m_1 + 16) by 8, lane:            for m in m_1..(m_1 + 2), lane:
      for n in 0..128 by 8, lane:                     for n in 0..64 by 4, lane:
        …                                               …
        for m_u in 0..8, unrolled:                      for m_u in 0..16 by 2, unrolled:
          for n_u in 0..8, unrolled:          ->          for n_far in 0..128 by 64, unrolled:
            Y[m + m_u, …] = acc[m_u, n_u, 0]                for n_u in 0..4, unrolled:
                                                              Y[m + m_u, …] = acc[m_u / 2, n_far / 16 + n_u, 0]

Lanes that read 16 bytes each, 32 bytes apart, meet in the banks of shared memory. Four points of a lane stay together
where they lie so in an input: one access takes them. Source: the tiles of threads in CUTLASS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd, prod

from gpu.passes.facts.accesses import moved
from gpu.passes.facts.workers import THREADS_OF_WARP, WARPS_OF_BLOCK
from gpu.passes.threads.bind_points import WIDE
from tiling.loops.facts.nests import trips
from tiling.loops.index import constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, For, Load, StagedPart, Statement
from tiling.loops.rewrite import places, substituted
from tiling.loops.walk import walk, with_blocks

_WORKERS = (WARPS_OF_BLOCK, THREADS_OF_WARP)


def interleave_points(kernel: Kernel) -> Kernel:
    """The kernel whose lanes take points in turns."""
    arrays = {buffer.name for buffer in kernel.arrays}

    def body(block: Body) -> Body:
        return tuple(map(changed, block))

    def changed(statement: Statement) -> Statement:
        workers = _workers(statement)
        for dim in dict.fromkeys(loop.dim for loop in workers):
            found = _dealt(workers, dim, arrays)
            if found:
                statement = found.around(statement)
                workers = _workers(statement)
        return statement if workers else with_blocks(statement, body)

    return replace(kernel, body=body(kernel.body))


def _workers(statement: Statement) -> list[For]:
    """The loops over warps and lanes right inside each other, from outside."""
    found: list[For] = []
    body: Body = (statement,)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind in _WORKERS:
        found.append(body[0])
        body = body[0].body
    return found


def _dealt(workers: list[For], dim: str, arrays: set[str]) -> _Dealt | None:
    """How lanes take the points of a dim in turns; None where they keep them."""
    body = workers[-1].body
    lanes = list(_lanes(workers, dim))
    points = {(s.name, s.kind, s.step, s.stop - s.start) for s in walk(body) if isinstance(s, For) and s.dim == dim}
    if not lanes or len(points) != 1:
        return None
    ((name, kind, step, count),) = points
    own = {s.buffer.name for s in walk(body) if isinstance(s, Alloc) and s.buffer.memory == "registers"}
    used = [place for place in places(body) if any(index.has(name) for index in place.at)]
    staged = {n for s in walk(body) if isinstance(s, StagedPart) for along in s.part for n in along.start.names()}
    if kind != "unrolled" or step != 1 or lanes[0].step != count.offset or staged & {loop.name for loop in lanes}:
        return None
    if not all(place.buffer in own or place.buffer in arrays for place in used):
        return None
    inputs = [place for place in used if isinstance(place, Load) and place.buffer in arrays]
    near = any(place.at[-1].coefficient(name) == 1 for place in inputs)
    together = gcd(count.offset, WIDE) if near else 1
    return _Dealt(dim, name, tuple(lanes), count.offset, together, frozenset(own)) if together < count.offset else None


def _lanes(workers: list[For], dim: str) -> Iterator[For]:
    """The loops over lanes that deal out a dim, from inside, as long as each has all points of those inside it."""
    points = 0
    for loop in reversed([each for each in workers if each.dim == dim]):
        if loop.kind != THREADS_OF_WARP or loop.step != (points or loop.step):
            return
        yield loop
        points = loop.step * trips(loop).offset


@dataclass(frozen=True)
class _Dealt:
    """The points of a dim. name: the loop over those of a lane. together: neighbours among these. own: registers."""

    dim: str
    name: str
    lanes: tuple[For, ...]
    count: int
    together: int
    own: frozenset[str]

    @property
    def turn(self) -> int:
        """The points that all lanes take in a turn."""
        return self.together * self.of_lanes

    @property
    def of_lanes(self) -> int:
        return prod(trips(loop).offset for loop in self.lanes)

    def around(self, statement: Statement) -> Statement:
        """The statement, which is a loop over lanes, or one around them, with the points dealt out."""
        if isinstance(statement, For) and statement in self.lanes:
            step = statement.step // self.count * self.together
            stop = statement.start + step * trips(statement).offset
            statement = replace(statement, stop=stop, step=step)
        if isinstance(statement, For) and statement.dim == self.dim and statement.name == self.name:
            return self._points(statement)
        return with_blocks(statement, lambda block: tuple(map(self.around, block)))

    def _points(self, loop: For) -> For:
        """The loop over the points of a lane, in turns."""
        name, body = self.name, loop.body
        if self.together > 1:
            name = f"{self.dim}_far"
            there = variable(name) + variable(self.name)
            body = (replace(loop, stop=constant(self.together), body=substituted(body, {self.name: there})),)
        kept = {name: variable(name) // self.of_lanes}  # registers are counted as before
        body = moved(body, self.own, lambda place: tuple(index.replaced(kept) for index in place))
        return replace(loop, name=name, stop=constant(self.count * self.of_lanes), step=self.turn, body=body)
