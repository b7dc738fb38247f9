"""Loads the words of the next part while this part is multiplied, also across the end of a step.

    for k in 0..256 by 32:
      for thread in 0..128, thread:
        wait until 1 groups are pending
      for thread in 0..128, thread:
        …
      for warp in 0..4, warp:
        …
        for k_u in 0..32 by 16, unrolled:
          …
          get_matrices(to: X_part + [lane, m_u / 16, 0], p: X_tile + [k / 32 % 3, …])
          …
          mma_m16n8k16_f16(to: acc + […], a: X_part + [lane, m_u / 16, 0], b: …)
    ->
    for thread in 0..128, thread:
      wait until 1 groups are pending
    …
    get_matrices(to: X_part + [warp, lane, 0, m_u / 16, 0], p: X_tile + [0, …])
    …
    for k in 0..256 by 32:
      …
      get_matrices(to: X_part + [warp, lane, 1, m_u / 16, 0], p: X_tile + [k / 32 % 3, …])
      …
      for thread in 0..128, thread:
        …
      mma_m16n8k16_f16(to: acc + […], a: X_part + [warp, lane, 0, m_u / 16, 0], b: …)
      for thread in 0..128, thread:
        wait until 1 groups are pending
      …
      get_matrices(to: X_part + [warp, lane, 0, m_u / 16, 0], p: X_tile + [(k + 32) / 32 % 3, …])
      …
      mma_m16n8k16_f16(to: acc + […], a: X_part + [warp, lane, 1, m_u / 16, 0], b: …)

So no warp waits for shared memory before it multiplies. Words that are loaded after the last step are never used. The
pass applies where two parts fit in registers and asynchronous copies fill the tiles, in the steps or all before them,
also where there is but one step. Threads that copy themselves wait for memory anyway. Source: register double buffers
of CUTLASS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from gpu.passes.facts.accesses import moved
from gpu.passes.facts.reading import elements
from gpu.passes.facts.registers import PARTS, fit, held, staging
from gpu.passes.facts.workers import THREADS_OF_BLOCK, WARP, WARP_SIZE, WARPS_OF_BLOCK
from tiling.loops.index import Index, constant, variable
from tiling.loops.language import (
    Alloc,
    Body,
    Buffer,
    Define,
    For,
    Kernel,
    Statement,
    Store,
    Wait,
)
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import substituted
from tiling.loops.walk import buffers_of, walk, with_blocks


def load_ahead(kernel: Kernel) -> Kernel:
    """The kernel, whose warps load ahead."""
    buffers = buffers_of(kernel)
    # What has one element is no tile: the threads of a block that shares a sum tell each other a number there.
    tiles = {name: buffer for name, buffer in buffers.items() if buffer.memory == "shared" and elements(buffer) > 1}
    by_threads = any(isinstance(s, Store) and s.buffer in tiles for s in walk(kernel.body))
    (sums,) = (buffer for name, buffer in buffers.items() if name.partition("_")[0] == ACCUMULATORS)  # of one tile

    def fits(work: _Work | None) -> bool:
        """Whether a thread has registers for the words of two parts."""
        if work is None:
            return False
        needed = held(sums) + 2 * sum(map(held, work.words)) + staging(kernel.body, tiles, work.threads)
        return fit(needed, work.threads)

    def body(block: Body, looped: bool) -> Body:
        """looped: whether a loop over steps is around the block."""
        found: list[Statement] = []
        for statement in block:
            serial = isinstance(statement, For) and statement.kind == "serial"
            statement = with_blocks(statement, partial(body, looped=looped or serial))
            step, alone = _step_of(statement), None if looped or not found else _alone(found[-1], statement)
            if step and fits(step.work):
                found += step.ahead()
            else:
                found += alone.ahead() if alone and fits(alone) else (statement,)
        return tuple(found)

    return replace(kernel, body=body(kernel.body, False)) if tiles and not by_threads else kernel


@dataclass(frozen=True)
class _Work:
    """The work of the warps in a step.

    places: where a warp's tile is. parts: the loop over the parts of the step. words: registers of a part.
    """

    warps: For
    places: Body
    parts: For
    words: tuple[Buffer, ...]

    @property
    def threads(self) -> int:
        return WARP_SIZE * self.warps.stop.offset

    @property
    def second(self) -> Index:
        return constant(self.parts.step)

    @property
    def last(self) -> Index:
        return self.parts.stop - self.parts.step

    def ahead(self) -> Body:
        """The work of the only step."""
        begin = (*self.loading(self.parts.start), *self.loading(self.second))
        return (*self.allocs(), self.each((*begin, *self.middle(), *self.multiplying(self.last))))

    def middle(self) -> Body:
        """All parts but the last multiplied, where the second one is there already, and the others loaded before."""
        found = self.multiplying(self.parts.start)
        if self.last.offset > self.parts.step:
            part = variable(self.parts.name)
            again = (*self.loading(part + self.parts.step), *self.multiplying(part))
            found += (replace(self.parts, start=self.second, stop=self.last, body=again),)
        return found

    def loading(self, at: Index) -> Body:
        """The words of the part at a place are loaded."""
        return self._at(tuple(s for s in self.parts.body if not isinstance(s, Alloc))[:-1], at)

    def multiplying(self, at: Index) -> Body:
        """The part at a place is multiplied."""
        return self._at(self.parts.body[-1:], at)

    def each(self, body: Body) -> For:
        """All warps at work, each at its place."""
        return replace(self.warps, body=(*self.places, *body))

    def allocs(self) -> Body:
        """The registers for the words of all parts, of all warps."""
        count = self.parts.stop.offset // self.parts.step
        found = []
        for words in self.words:
            member, *shape = words.shape
            axes = (WARP, words.axes[0], PARTS, *words.axes[1:])
            found.append(Alloc(replace(words, shape=(self.warps.stop.offset, member, count, *shape), axes=axes)))
        return tuple(found)

    def _at(self, body: Body, at: Index) -> Body:
        number, names = at // self.parts.step, {words.name for words in self.words}
        there = substituted(body, {self.parts.name: at})
        return moved(there, names, lambda place: (variable(WARP), place[0], number, *place[1:]))


@dataclass(frozen=True)
class _Step:
    """A step of a ring: the loop over steps, the waits, the loops that fill tiles, and the work of the warps."""

    loop: For
    waits: Body
    fills: Body
    work: _Work

    def ahead(self) -> Body:
        """The loop with what comes before it."""
        work, now = self.work, variable(self.loop.name)
        first = work.loading(work.parts.start)

        def of(step: Index) -> Body:
            return substituted(first, {self.loop.name: step})

        body = (
            work.each(work.loading(work.second)),
            *self.fills,
            work.each(work.middle()),
            *self.waits,
            work.each((*of(now + self.loop.step), *work.multiplying(work.last))),
        )
        begin = work.each(of(self.loop.start))
        return (*work.allocs(), *self.waits, begin, replace(self.loop, body=body))


def _step_of(statement: Statement) -> _Step | None:
    """A loop as steps that load ahead: each waits for its tiles of a ring. None for any other loop."""
    if not isinstance(statement, For) or statement.kind != "serial":
        return None
    threads = [s for s in statement.body if isinstance(s, For) and s.kind == THREADS_OF_BLOCK]
    waits = tuple(s for s in threads if isinstance(s.body[0], Wait))
    fills = tuple(s for s in threads if s not in waits)
    if not waits or statement.body[:-1] != tuple(threads):
        return None
    work = _work_of(statement.body[-1])
    return _Step(statement, waits, fills, work) if work else None


def _alone(before: Statement, statement: Statement) -> _Work | None:
    """The work of the only step, where threads wait for its tiles just before; else None."""
    waits = isinstance(before, For) and before.kind == THREADS_OF_BLOCK and isinstance(before.body[-1], Wait)
    return _work_of(statement) if waits else None


def _work_of(statement: Statement) -> _Work | None:
    """The loop over warps, where they work in parts; None for any other statement."""
    if not isinstance(statement, For) or statement.kind != WARPS_OF_BLOCK:
        return None
    places = tuple(s for s in statement.body if isinstance(s, Define))
    work = tuple(s for s in statement.body if s not in places)
    parts = work[0]
    if len(work) != 1 or not isinstance(parts, For) or parts.kind != "unrolled" or parts.stop.offset <= parts.step:
        return None
    words = tuple(s.buffer for s in parts.body if isinstance(s, Alloc))
    return _Work(statement, places, parts, words)
