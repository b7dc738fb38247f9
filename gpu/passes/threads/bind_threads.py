"""Binds a scheme's loops over warps and lanes to the threads of a block.

    for m_1 in m_2..(m_2 + 64) by 16, warp:          acc[128, 2, 16, 1] in registers
      for m in m_1..(m_1 + 8), lane:                 for thread in 0..128, thread:
        …                                              …
        acc[2, 16, 1] in registers                         acc[thread, m_u / 8, n_far / 4 + n_u, 0] = 0
        …                                            for k in 0..64 by 8:
            acc[m_u / 8, …] = 0                ->      stage X, …
        for k in 0..64 by 8:                             …
          stage X, …                                     for thread in 0..128, thread:
              …                                            m_1 = 16*(thread / 32) + m_2
              acc[m_u / 8, …] += …                         …
                                                           acc[thread, m_u / 8, n_far / 4 + n_u, 0] += …

All threads stage together, so a loop that stages moves outside the loop over threads: that loop is split into one
before it, one inside it and one after it. Registers get an axis `thread`. A scheme that ends with a matrix instruction
has no lanes, since a whole warp or warpgroup runs the instruction: then the loops are over these. Source: loop fission,
as compilers run CUDA on CPUs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gpu.passes.facts.reading import touched
from gpu.passes.facts.workers import (
    THREAD,
    THREADS_OF_WARP,
    WARP,
    WARP_SIZE,
    WARPGROUP,
    WARPGROUPS_OF_BLOCK,
    WARPS_OF_BLOCK,
    RowTeam,
    with_axis,
)
from gpu.passes.threads.bind_points import places_of, total
from tiling.loops.buffer import Buffer
from tiling.loops.index import applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Block, Body, Define, For, StagedPart, Statement
from tiling.loops.rewrite import with_buffers
from tiling.loops.walk import walk, with_blocks, with_statements

_KINDS = (WARPGROUPS_OF_BLOCK, WARPS_OF_BLOCK, THREADS_OF_WARP)


def bind_threads(kernel: Kernel) -> Kernel:
    """The kernel with its warps and lanes bound to threads."""
    taken: Counter[str] = Counter()

    def bound(statement: Statement) -> Body | None:
        return _bound(statement, taken) if isinstance(statement, For) and statement.kind in _KINDS else None

    return replace(kernel, body=with_statements(kernel.body, bound))


def _bound(loop: For, taken: Counter[str]) -> Body:
    loops: list[For] = []
    body: Body = (loop,)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind in _KINDS:
        loops.append(body[0])
        body = body[0].body
    thread, size = variable(THREAD), constant(WARP_SIZE)
    groups, warps, lanes = ([each for each in loops if each.kind == kind] for kind in _KINDS)
    numbers = (variable(WARPGROUP), applied("/", thread, size) if lanes else variable(WARP), applied("%", thread, size))
    team = RowTeam(THREAD if lanes else WARPGROUP if groups else WARP, total(loops).offset)
    placed = {
        define.name: define
        for some, number in zip((groups, warps, lanes), numbers)
        for define in places_of(some, number)
    }
    places = tuple(placed[each.name] for each in loops)
    return _Splitting(team, places).body(_named_apart(body, taken))


def _named_apart(body: Body, taken: Counter[str]) -> Body:
    """The block, whose register tiles have names that no other tile of the launch has."""
    for buffer in [s.buffer for s in walk(body) if isinstance(s, Alloc)]:
        taken[buffer.name] += 1
        if taken[buffer.name] > 1:
            body = _renamed(body, buffer, f"{buffer.name}_{taken[buffer.name]}")
    return body


def _renamed(body: Body, buffer: Buffer, name: str) -> Body:
    def allocated(statement: Statement) -> Statement:
        if isinstance(statement, Alloc) and statement.buffer == buffer:
            return Alloc(replace(buffer, name=name))
        return with_blocks(statement, lambda block: tuple(map(allocated, block)))

    return tuple(allocated(with_buffers(statement, {buffer.name: name})) for statement in body)


@dataclass(frozen=True)
class _Splitting:
    """Splits the work of threads, or warps, where they stage together. places: where each stands along each dim."""

    team: RowTeam
    places: tuple[Define, ...]
    own: set[str] = field(default_factory=set)

    def body(self, body: Body) -> Body:
        """The statements of the block. Those side by side that do not stage are one loop over threads."""
        found: list[Statement] = []
        together: list[Statement] = []

        def end() -> None:
            if together:
                found.append(self.each(together))
                together.clear()

        for statement in _flat(body):
            if isinstance(statement, Alloc):
                buffer = statement.buffer
                self.own.add(buffer.name)
                shape, axes = (self.team.size, *buffer.shape), (self.team.name, *buffer.axes)
                found.append(Alloc(replace(buffer, shape=shape, axes=axes)))
            elif any(isinstance(s, StagedPart) for s in walk((statement,))):
                end()
                found.append(with_blocks(statement, self.body))
            else:
                together.append(statement)
        end()
        return tuple(found)

    def each(self, statements: Iterable[Statement]) -> For:
        """A loop over the team, each at its place."""
        body = with_axis(tuple(statements), self.team.name, self.own)
        needed, places = touched(body), []
        for place in reversed(self.places):
            if place.name in needed:
                places.append(place)
                needed |= set(place.index.names())
        return self.team.each((*reversed(places), *body))


def _flat(body: Body) -> Iterable[Statement]:
    """The statements of a block and of register tiles in it."""
    for statement in body:
        if isinstance(statement, Block):
            yield from _flat(statement.body)
        else:
            yield statement
