"""Keeps the arrays of a row in registers, where each thread reads nothing but what it wrote itself.

    e[1536] in its own memory                       e[256, 6] in registers
    …                                               …
    for turn in 0..6, unrolled:                     for turn in 0..6, unrolled:
      j = thread + 256*turn                  ->       j = thread + 256*turn
      e[j] = exp(x[i, j] - m[0])                      e[thread, turn] = exp(x[i, j] - m[0])

Then the row takes no shared memory, and no barrier stands between its loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpu.limits.multiprocessor import REGISTERS
from gpu.passes.facts.reading import WIDTH
from gpu.passes.facts.workers import WARP_SIZE, WARPS, RowTeam, with_launches
from gpu.passes.rows.unroll_turns import TURN, WORD, Turns, turns_in
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, For, Load, Operand, Statement, Store
from tiling.loops.rewrite import places, with_own_values
from tiling.loops.walk import walk, with_blocks

# The part of a thread's registers that rows may take: the numbers of a row's array that is read need as many.
SHARE, MOST_KEPT = 4, 64


def keep_rows(kernel: Kernel) -> Kernel:
    """The kernel whose threads keep their parts of rows."""
    return with_launches(kernel, _kept)


def _kept(launch: For) -> For:
    left: int | None = None
    buffers: dict[str, Buffer] = {}
    for buffer in (s.buffer for s in walk(launch.body) if isinstance(s, Alloc) and s.buffer.memory == "own"):
        turns = _turns_of(buffer, launch.body)
        if turns:
            left = _room(turns.team) if left is None else left
            needed = turns.count * WIDTH[buffer.dtype] // WORD
            if needed <= left:
                left -= needed
                shape, axes = (turns.team.size, turns.count), (turns.team.name, TURN)
                buffers[buffer.name] = replace(buffer, shape=shape, axes=axes, memory="registers")
    return replace(launch, body=tuple(_Keeping(buffers).body(launch.body)))


def _room(team: RowTeam) -> int:
    """The registers that a thread may keep of rows."""
    threads = team.size if team.size > WARP_SIZE else WARPS * WARP_SIZE
    return min(MOST_KEPT, REGISTERS // (SHARE * threads))


def _turns_of(buffer: Buffer, body: Body) -> Turns | None:
    """The turns in which threads access their points of an array; None where one accesses any other way."""
    if len(buffer.shape) != 1 or WIDTH[buffer.dtype] < WORD:
        return None
    accesses = sum(place.buffer == buffer.name for place in places(body))
    found: list[Turns] = []
    for _, turns in turns_in(body):
        own = [place for place in places(turns.body) if place.buffer == buffer.name]
        if any(place.at != (variable(turns.name),) for place in own):
            return None
        accesses -= len(own)
        found += [turns] if own else []
    alike = len({(turns.team, turns.points) for turns in found}) == 1
    return found[0] if alike and accesses == 0 else None


class _Keeping:
    """buffers: those that registers keep."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.buffers = buffers

    def body(self, body: Body) -> Iterator[Statement]:
        for statement in body:
            if isinstance(statement, Alloc):
                yield Alloc(self.buffers.get(statement.buffer.name, statement.buffer), statement.at)
                continue
            changed = with_own_values(statement, self.value)
            if isinstance(changed, Store) and changed.buffer in self.buffers:
                changed = replace(changed, at=self.place(changed.buffer))
            yield with_blocks(changed, lambda block: tuple(self.body(block)))

    def value(self, part: Operand) -> Operand | None:
        known = isinstance(part, Load) and part.buffer in self.buffers
        return Load(part.buffer, self.place(part.buffer)) if known else None  # type: ignore[union-attr]

    def place(self, name: str) -> tuple[Index, ...]:
        """The register of a thread in a turn."""
        return (variable(self.buffers[name].axes[0]), variable(TURN))
