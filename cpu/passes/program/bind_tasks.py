"""Hands the points of the outer loops to workers, each a run of neighbouring points.

    for n in 0..3:            for worker in 0..2, core:
      for i in 0..7:    ->      for task in 21*worker / 2..(21*worker + 21) / 2:
        …                         n = task / 7
                                  i = task % 7
                                  …

It binds the fewest loops that give all workers about equal work. The arrays of an iteration become the worker's own.
Where extents are known only when the kernel runs, the number of workers follows from the work of the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from math import prod

from cpu.passes.control.bind_cores import WORKER
from tiling.loops.facts.nests import chain, most_trips, trips
from tiling.loops.index import ZERO, Index, Range, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Define, For, Load, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of, places
from tiling.loops.walk import allocated_once, inside

TASK = "task"
# How much more than the mean the busiest worker may have to do before another loop is bound too.
UNEVEN = 1.05
# The least number of touched elements for each worker. With fewer, starting threads takes longer than they save: a team
# of two starts and ends in 2 to 5 µs, in which one core touches some 10,000 elements of L2.
LEAST_ELEMENTS = 16384


def bind_tasks(kernel: Kernel, threads: int) -> Kernel:
    """The kernel whose loops run on so many threads, where there is enough to do."""
    ranges = kernel.ranges
    found = (bound for n, statement in enumerate(kernel.body) for bound in _bound(statement, threads, ranges, n))
    body = allocated_once(found)
    return replace(kernel, body=tuple(_in_memory(statement, body) for statement in body))


def _in_memory(statement: Statement, body: Body) -> Statement:
    """The statement; a register that one worker fills and others read becomes an array."""
    if not isinstance(statement, Alloc) or statement.buffer.memory != "registers":
        return statement
    shared = tuple(s for s in body if isinstance(s, For) and s.kind == "core")
    touched = any(place.buffer == statement.buffer.name for place in places(shared))
    return Alloc(replace(statement.buffer, memory="own")) if touched else statement


def _bound(statement: Statement, threads: int, ranges: Mapping[str, Range], number: int) -> Body:
    """A loop as one over workers, with its tasks inside; as it is where there is too little to share."""
    if not isinstance(statement, For):
        return (statement,)
    loops, innermost = chain(statement)
    rows = tuple(s for s in innermost if isinstance(s, Alloc) and s.buffer.memory == "own")
    rest = tuple(s for s in innermost if s not in rows)
    elements = work(statement)
    workers = min(threads, elements.within(ranges)[1] // LEAST_ELEMENTS)
    if workers > 1 and (bound := _enough(loops, workers, ranges)):
        body = rest
        for loop in reversed(loops[bound:]):
            body = (replace(loop, body=body),)
        if elements.is_constant:
            share = _runs(loops[:bound], constant(workers), body)
            return (For(WORKER, ZERO, constant(workers), 1, (*rows, share), "core"),)
        enough = applied("min", applied("max", elements // LEAST_ELEMENTS, constant(1)), constant(workers))
        team = f"workers_{number}"
        share = _runs(loops[:bound], variable(team), body)
        return Define(team, enough), For(WORKER, ZERO, variable(team), 1, (*rows, share), "core")
    for loop in reversed(loops):
        rest = (replace(loop, body=rest),)
    return (*rows, *rest)


def _enough(loops: list[For], workers: int, ranges: Mapping[str, Range]) -> int:
    """How many of the outer loops to bind."""
    for bound in range(1, len(loops) + 1):
        tasks = prod(most_trips(loop, ranges) for loop in loops[:bound])
        if -(-tasks // workers) * workers <= UNEVEN * tasks:
            return bound
    return len(loops)


def _runs(loops: list[For], workers: Index, body: Body) -> For:
    """The loop over the tasks of one worker."""
    tasks = _product(map(trips, loops))
    first, last = (applied("/", applied("*", variable(WORKER) + after, tasks), workers) for after in (0, 1))
    if len(loops) == 1:
        (loop,) = loops
        # A last vector is not whole, and the loop ends where its dim does.
        end = last * loop.step + loop.start
        whole = loop.step == 1 or (loop.stop - loop.start) % loop.step == ZERO
        stop = end if whole else applied("min", end, loop.stop)
        return replace(loop, start=first * loop.step + loop.start, stop=stop, body=body)
    defines: list[Statement] = []
    for number, loop in enumerate(loops):
        place = applied("/", variable(TASK), _product(map(trips, loops[number + 1 :])))
        if number:
            place = applied("%", place, trips(loop))
        defines.append(Define(loop.name, place * loop.step + loop.start))
    return For(TASK, first, last, 1, (*defines, *body))


def _product(factors: Iterable[Index]) -> Index:
    return reduce(lambda one, other: applied("*", one, other), factors, constant(1))


def work(statement: Statement) -> Index:
    """How many accesses to elements of buffers a statement makes.

    A choice counts as its largest branch, or as its first one where an extent is known only when the kernel runs.
    """
    if isinstance(statement, For):
        return applied("*", trips(statement), _sum(map(work, statement.body)))
    inner = [_sum(map(work, block)) for block in inside(statement)]
    loads = sum(isinstance(part, Load) for operand in operands_of(statement) for part in parts_of(operand))
    most = max(inner, key=lambda each: each.offset) if all(each.is_constant for each in inner) and inner else None
    return (most or (inner[0] if inner else ZERO)) + isinstance(statement, Store) + loads


def _sum(terms: Iterable[Index]) -> Index:
    return reduce(lambda one, other: one + other, terms, ZERO)
