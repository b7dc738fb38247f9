"""A step of a ring, as passes read it from loops that copy ahead and multiply matrices.

    work_of(statement) -> Work | None      the work of warps, part by part
    step_of(statement) -> RingStep | None      a loop over steps: waits, loops that fill tiles, and the work

Both are None for any other statement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu.passes.facts.accesses import moved
from gpu.passes.facts.registers import PARTS
from gpu.passes.facts.workers import THREADS_OF_BLOCK, WARP, WARP_SIZE, WARPS_OF_BLOCK
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, constant, variable
from tiling.loops.language import Alloc, Body, Define, For, Statement
from tiling.loops.machines import Wait
from tiling.loops.rewrite import substituted


@dataclass(frozen=True)
class Work:
    """The work of the warps in a step.

    places: where a warp's tile is. parts: the loop over the parts of the step. words: registers of a part. held: how
    many parts have registers of their own.
    """

    warps: For
    places: Body
    parts: For
    words: tuple[Buffer, ...]
    held: int = 1

    @property
    def threads(self) -> int:
        return WARP_SIZE * self.warps.stop.offset

    @property
    def count(self) -> int:
        """Parts of the step."""
        return self.parts.stop.offset // self.parts.step

    @property
    def second(self) -> Index:
        return constant(self.parts.step)

    @property
    def last(self) -> Index:
        return self.parts.stop - self.parts.step

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
        """The registers for the words of all warps, with an axis for the parts where several have theirs."""
        found = []
        for words in self.words:
            member, *shape = words.shape
            parts = ((self.held, PARTS),) * (self.held > 1)
            sizes = (self.warps.stop.offset, member, *(count for count, _ in parts), *shape)
            axes = (WARP, words.axes[0], *(axis for _, axis in parts), *words.axes[1:])
            found.append(Alloc(replace(words, shape=sizes, axes=axes)))
        return tuple(found)

    def _at(self, body: Body, at: Index) -> Body:
        number, names = (at // self.parts.step,) * (self.held > 1), {words.name for words in self.words}
        there = substituted(body, {self.parts.name: at})
        return moved(there, names, lambda place: (variable(WARP), place[0], *number, *place[1:]))


@dataclass(frozen=True)
class RingStep:
    """A step of a ring: the loop over steps, the waits, the loops that fill tiles, and the work of the warps."""

    loop: For
    waits: Body
    fills: Body
    work: Work


def step_of(statement: Statement) -> RingStep | None:
    """A loop over steps of a ring; None for any other statement."""
    if not isinstance(statement, For) or statement.kind != "serial":
        return None
    threads = [s for s in statement.body if isinstance(s, For) and s.kind == THREADS_OF_BLOCK]
    waits = tuple(s for s in threads if isinstance(s.body[0], Wait))
    fills = tuple(s for s in threads if s not in waits)
    if statement.body[:-1] != tuple(threads):
        return None
    work = work_of(statement.body[-1])
    return RingStep(statement, waits, fills, work) if work else None


def work_of(statement: Statement) -> Work | None:
    """The loop over warps, where they work in parts; None for any other statement."""
    if not isinstance(statement, For) or statement.kind != WARPS_OF_BLOCK:
        return None
    places = tuple(s for s in statement.body if isinstance(s, Define))
    work = tuple(s for s in statement.body if s not in places)
    parts = work[0]
    if len(work) != 1 or not isinstance(parts, For) or parts.kind != "unrolled":
        return None
    words = tuple(s.buffer for s in parts.body if isinstance(s, Alloc))
    return Work(statement, places, parts, words) if words else None
