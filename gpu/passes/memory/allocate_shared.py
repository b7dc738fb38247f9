"""Gives every array of shared memory its place. Arrays that are never needed at the same time may share bytes.

    e[1536] in shared memory                      e[1536] in shared memory at byte 0
    …                                       ->    …
    acc_s_each_parts[8] in shared memory          acc_s_each_parts[8] in shared memory at byte 6144

An array is needed from the first statement that touches it to the last one. Where teams are warps, each has bytes of
its own. Source: shared memory by liveness, as of Triton.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpu.passes.facts.reading import touched
from gpu.passes.facts.rings import STAGE
from gpu.passes.facts.workers import WARP, WARPS_OF_BLOCK, teams_are_warps, with_launches
from gpu.passes.rows.place_rows import ALIGNED, bytes_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, For, Statement
from tiling.loops.walk import inside, walk, with_blocks


@dataclass(frozen=True)
class _Life:
    """Between which statements, counted in the order of the text, a buffer is needed."""

    buffer: Buffer
    first: int
    last: int


def allocate_shared(kernel: Kernel) -> Kernel:
    """The kernel with a place for all that lies in shared memory."""
    return with_launches(kernel, _placed)


def _placed(launch: For) -> For:
    places: dict[str, tuple[int, int]] = {}  # (first byte, the byte behind)
    lives = list(_lives(launch.body, 0))
    for life in lives:
        others = sorted(places[o.buffer.name] for o in lives if _meets(life, o) and _has(places, o))
        start, size = 0, bytes_of(life.buffer)
        for first, end in others:
            if start + size <= first:
                break
            start = max(start, end)
        places[life.buffer.name] = (start, start + size)
    whole = max((end for _, end in places.values()), default=0)
    warps = teams_are_warps(launch)

    def at(name: str) -> Index:
        first = constant(places[name][0])
        return first + variable(WARP) * whole if warps else first

    def placed(body: Body) -> Body:
        return tuple(_with_place(statement, at, placed) for statement in body)

    return replace(launch, body=placed(launch.body))


def _with_place(statement: Statement, at, placed) -> Statement:  # type: ignore[no-untyped-def]
    if isinstance(statement, Alloc) and _is_shared(statement):
        return Alloc(statement.buffer, at(statement.buffer.name))
    return with_blocks(statement, placed)


def _is_shared(statement: Statement) -> bool:
    return isinstance(statement, Alloc) and statement.buffer.memory == "shared"


def _has(places: Mapping[str, tuple[int, int]], life: _Life) -> bool:
    return life.buffer.name in places


def _meets(one: _Life, other: _Life) -> bool:
    return one.first <= other.last and other.first <= one.last


def _lives(body: Body, begin: int) -> Iterator[_Life]:
    """The lives of the buffers of a block. begin: how many statements stand before it."""
    ends, count = [], begin
    for statement in body:
        first = count
        count += sum(1 for _ in walk((statement,)))
        ends.append((first, count - 1))
    used = [touched((statement,)) for statement in body] if any(map(_is_shared, body)) else []
    for number, (statement, (first, _)) in enumerate(zip(body, ends)):
        if isinstance(statement, Alloc) and _is_shared(statement):
            uses = [n for n in range(number + 1, len(body)) if statement.buffer.name in used[n]]
            yield _Life(statement.buffer, ends[uses[0]][0] if uses else first, ends[uses[-1]][1] if uses else first)
        start = first + 1
        for block in inside(statement):
            yield from _lives(block, start)
            start += sum(1 for _ in walk(block))


def shared_bytes(launch: For) -> int:
    """The shared memory of a block of a launch."""
    warps = max(
        (s.stop.offset for s in walk(launch.body) if isinstance(s, For) and s.kind == WARPS_OF_BLOCK), default=1
    )
    ends = [
        s.at.within({WARP: (0, warps - 1)})[1] + bytes_of(s.buffer)
        for s in walk(launch.body)
        if isinstance(s, Alloc) and s.at is not None
    ]
    return max(ends, default=ALIGNED)


def step_bytes(launch: For) -> int:
    """The shared memory of a block that a step fills: one stage of each ring, and all other tiles."""
    buffers = [s.buffer for s in walk(launch.body) if isinstance(s, Alloc) and s.at is not None]
    rings = [(bytes_of(buffer), buffer.shape[0]) for buffer in buffers if buffer.axes[0] == STAGE]
    return shared_bytes(launch) - sum(size - size // stages for size, stages in rings)
