"""Binds the points of maps to threads: neighbours of the array that is stored to neighbouring threads.

    for i in 0..100:           for block in 0..30, block:
      for j in 0..76:    ->      for thread in 0..256, thread:
        y[i, j] = …                point = 256*block + thread
                                   if point - 7600 < 0:
                                     i = point / 76
                                     j = point % 76
                                     y[i, j] = …

Where there are many points and rows divide by four, a thread takes four neighbours, which `widen` moves in one access.
Loops inside, as of a window, stay with their point, unless they are long and walk along rows: `bind_rows` takes those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce

from gpu.passes.facts.reading import flat, loads_of, most_points, moves_by
from gpu.passes.facts.workers import BLOCK, BLOCK_THREADS, BLOCKS, THREAD, over
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import chain, trips
from tiling.loops.index import ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Define, For, If, Inside, Statement, Store
from tiling.loops.rewrite import substituted
from tiling.loops.walk import buffers_of, walk

POINT, PART = "point", "part"
# A loop inside that has fewer points stays with its thread.
LONG = 32
# Points from which on a thread takes several: so many threads keep every multiprocessor of a large GPU busy.
MANY = 1 << 17
WIDE = 4  # neighbours of one access


def bind_points(kernel: Kernel) -> Kernel:
    """The kernel with its maps bound to threads. Other launches stay."""
    buffers = buffers_of(kernel)

    def bound(statement: Statement) -> Statement:
        if not isinstance(statement, For) or statement.kind == BLOCKS:
            return statement
        loops, body = chain(statement)
        return _bound(loops, body, buffers) if is_of_points(loops, body, kernel) else statement

    return replace(kernel, body=tuple(map(bound, kernel.body)))


def is_of_points(loops: list[For], body: Body, kernel: Kernel) -> bool:
    """Whether a thread computes a point of loops by itself."""
    if any(isinstance(s, Alloc) and s.buffer.memory != "registers" for s in walk(body)):
        return False
    inner = most_points(body, kernel.ranges)
    if inner < LONG:
        return True
    buffers = buffers_of(kernel)
    inside = [s.name for s in walk(body) if isinstance(s, For)]
    accesses = [flat(buffers[load.buffer], load.at) for s in walk(body) for load in loads_of(s)]
    along_rows = any(moves_by(index, name) == 1 for index in accesses for name in inside)
    along_points = any(moves_by(index, loops[-1].name) == 1 for index in accesses)
    points = total(loops).within(kernel.ranges)[1]
    return along_points and (not along_rows or points >= MANY)


def total(loops: Iterable[For]) -> Index:
    """How many points loops have together."""
    return reduce(lambda one, other: applied("*", one, other), map(trips, loops), constant(1))


def places_of(loops: list[For], point: Index) -> tuple[Define, ...]:
    """The variable of each loop at a point: the last loop moves first."""
    found = []
    for number, loop in enumerate(loops):
        place = applied("/", point, total(loops[number + 1 :]))
        if number:
            place = applied("%", place, trips(loop))
        found.append(Define(loop.name, place * loop.step + loop.start))
    return tuple(found)


def _bound(loops: list[For], body: Body, buffers: Mapping[str, Buffer]) -> For:
    count, *_, last = total(loops), *loops
    each = WIDE if _is_wide(loops, body, buffers) and count.offset >= MANY else 1
    if each > 1:
        neighbour = {last.name: variable(last.name) + variable(PART)}
        body = (For(PART, ZERO, constant(each), 1, substituted(body, neighbour), "vector", last.name),)
    # With several neighbours of a thread, its point is the first of them.
    point = (variable(BLOCK) * BLOCK_THREADS + variable(THREAD)) * each
    inside: Body = (*places_of(loops, variable(POINT)), *body)
    threads = BLOCK_THREADS * each
    if not (count.is_constant and count.offset % threads == 0):
        inside = (If((Inside(variable(POINT) - count, None, 0),), inside),)
    blocks = applied("/", count + (threads - 1), constant(threads))
    return over(BLOCK, blocks, (over(THREAD, BLOCK_THREADS, (Define(POINT, point), *inside)),))


def _is_wide(loops: list[For], body: Body, buffers: Mapping[str, Buffer]) -> bool:
    """Whether four neighbours lie side by side, from a place that four divides on, in what is stored to."""
    last = loops[-1]
    if any(isinstance(s, For) for s in walk(body)) or last.step != 1 or last.start != ZERO:
        return False
    if not all(loop.start.is_constant and loop.stop.is_constant for loop in loops) or last.stop.offset % WIDE:
        return False
    stores = [s for s in walk(body) if isinstance(s, Store) and buffers[s.buffer].memory != "registers"]
    return all(is_aligned(flat(buffers[s.buffer], s.at), last.name) for s in stores)


def is_aligned(place: Index, name: str) -> bool:
    """Whether a place moves by one with a variable, and is a multiple of four wherever the variable is one."""
    rest = place - variable(name)
    return moves_by(place, name) == 1 and all(c % WIDE == 0 for _, c in rest.terms) and rest.offset % WIDE == 0
