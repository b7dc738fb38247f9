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
pass applies where two parts fit in registers and asynchronous copies fill the tiles: threads that copy themselves wait
for memory anyway. Source: register double buffers of CUTLASS.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gpu.passes.facts.accesses import moved
from gpu.passes.facts.reading import buffers_of
from gpu.passes.facts.registers import PARTS, fit, held, staging
from gpu.passes.facts.rings import STAGE
from gpu.passes.facts.workers import THREADS_OF_BLOCK, WARP, WARP_SIZE, WARPS_OF_BLOCK
from tiling.loops.index import Index, constant, variable
from tiling.loops.language import (
    Alloc,
    Body,
    Buffer,
    Copy,
    Define,
    For,
    Kernel,
    Statement,
    Store,
    Wait,
)
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import substituted
from tiling.loops.walk import walk, with_blocks


def load_ahead(kernel: Kernel) -> Kernel:
    """The kernel, whose warps load ahead."""
    buffers = buffers_of(kernel)
    rings = {name: buffer for name, buffer in buffers.items() if buffer.axes[:1] == (STAGE,)}
    (sums,) = (buffer for name, buffer in buffers.items() if name.partition("_")[0] == ACCUMULATORS)  # of one tile

    def body(block: Body) -> Body:
        found: list[Statement] = []
        for statement in block:
            statement = with_blocks(statement, body)
            step = _step_of(statement, rings)
            found += step.ahead() if step and step.fits(sums, rings) else (statement,)
        return tuple(found)

    return replace(kernel, body=body(kernel.body)) if rings else kernel


@dataclass(frozen=True)
class _Step:
    """A step of a ring: the loop over steps, the waits, the loops that fill tiles, and the work of the warps.

    places: where a warp's tile is. parts: the loop over the parts of a step. words: registers of a part.
    """

    loop: For
    waits: Body
    fills: Body
    warps: For
    places: Body
    parts: For
    words: tuple[Buffer, ...]

    @property
    def last(self) -> Index:
        return self.parts.stop - self.parts.step

    def fits(self, sums: Buffer, tiles: Mapping[str, Buffer]) -> bool:
        """Whether a thread has registers for the words of two parts."""
        threads = WARP_SIZE * self.warps.stop.offset
        needed = held(sums) + 2 * sum(map(held, self.words)) + staging(self.fills, tiles, threads)
        return fit(needed, threads)

    def ahead(self) -> Body:
        """The loop with what comes before it."""
        *loads, multiply = (s for s in self.parts.body if not isinstance(s, Alloc))
        part, step, now = variable(self.parts.name), self.parts.step, variable(self.loop.name)

        def loading(at: Index, of: Index) -> Body:
            return self.at(tuple(loads), at, of)

        def multiplying(at: Index) -> Body:
            return self.at((multiply,), at, now)

        middle = multiplying(self.parts.start)
        if self.last.offset > step:
            again = (*loading(part + step, now), *multiplying(part))
            middle += (replace(self.parts, start=constant(step), stop=self.last, body=again),)
        count = self.parts.stop.offset // step
        return (
            *(Alloc(self.kept(words, count)) for words in self.words),
            *self.waits,
            self.each(loading(self.parts.start, self.loop.start)),
            replace(
                self.loop,
                body=(
                    self.each(loading(constant(step), now)),
                    *self.fills,
                    self.each(middle),
                    *self.waits,
                    self.each((*loading(self.parts.start, now + self.loop.step), *multiplying(self.last))),
                ),
            ),
        )

    def each(self, body: Body) -> For:
        """All warps at work, each at its place."""
        return replace(self.warps, body=(*self.places, *body))

    def kept(self, words: Buffer, count: int) -> Buffer:
        """The registers for the words of all parts, of all warps."""
        member, *shape = words.shape
        shape_of_all = (self.warps.stop.offset, member, count, *shape)
        return replace(words, shape=shape_of_all, axes=(WARP, words.axes[0], PARTS, *words.axes[1:]))

    def at(self, body: Body, at: Index, of: Index) -> Body:
        """Statements of one part of a step. at: where the part is. of: where the step is."""
        number = at // self.parts.step
        there = substituted(body, {self.parts.name: at, self.loop.name: of})
        names = {words.name for words in self.words}
        return moved(there, names, lambda place: (variable(WARP), place[0], number, *place[1:]))


def _step_of(statement: Statement, rings: Collection[str]) -> _Step | None:
    """A loop as steps that load ahead; None for any other loop."""
    if not isinstance(statement, For) or statement.kind != "serial":
        return None
    threads = [s for s in statement.body if isinstance(s, For) and s.kind == THREADS_OF_BLOCK]
    warps = [s for s in statement.body if isinstance(s, For) and s.kind == WARPS_OF_BLOCK]
    filled = [s for s in walk(tuple(threads)) if isinstance(s, Store)]
    copied = {s.target.buffer for s in walk(tuple(threads)) if isinstance(s, Copy)}
    if len(warps) != 1 or statement.body != (*threads, *warps) or filled or not copied & set(rings):
        return None
    places = tuple(s for s in warps[0].body if isinstance(s, Define))
    work = tuple(s for s in warps[0].body if s not in places)
    parts = work[0]
    if len(work) != 1 or not isinstance(parts, For) or parts.kind != "unrolled" or parts.stop.offset <= parts.step:
        return None
    words = tuple(s.buffer for s in parts.body if isinstance(s, Alloc))
    waits = tuple(s for s in threads if isinstance(s.body[0], Wait))
    fills = tuple(s for s in threads if s not in waits)
    return _Step(statement, waits, fills, warps[0], places, parts, words)
