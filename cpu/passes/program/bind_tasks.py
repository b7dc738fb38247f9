"""Hands the points of the outer loops to workers, each a run of neighbouring points.

    for n in 0..8:                           for worker in 0..2, core:
      for i in 0..100:                         own e[768]
        own e[768]                  ->         for task in 400 * worker..400 * (worker + 1):
        …                                        n = task / 100
                                                 i = task % 100
                                                 …

As few loops as give every worker about as much to do are bound. The arrays of an iteration become the worker's.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from cpu.passes.bind_cores import WORKER
from tiling.loops.index import ZERO, applied, constant, variable
from tiling.loops.language import Alloc, Body, Define, For, Kernel, Load, Statement, Store, inside, walk
from tiling.loops.rewrite import operands_of, parts_of

TASK = "task"
# One worker may have so much more to do than the mean before another loop is bound too.
UNEVEN = 1.05
# Elements that are touched for each worker: below, starting threads takes longer than they save. Measured: a team of
# two starts and ends in 2 to 5 us, in which one core touches some 10,000 elements of L2.
LEAST_ELEMENTS = 16384


def bind_tasks(kernel: Kernel, threads: int) -> Kernel:
    """The kernel whose loops run on so many threads, where there is enough to do."""
    found = (bound for statement in kernel.body for bound in _bound(statement, threads))
    # Two loops over parts of one dim have the same rows.
    body: list[Statement] = []
    for statement in found:
        if not (isinstance(statement, Alloc) and statement in body):
            body.append(statement)
    return replace(kernel, body=tuple(body))


def _bound(statement: Statement, threads: int) -> Body:
    if not isinstance(statement, For):
        return (statement,)
    loops, innermost = _chain(statement)
    rows = tuple(s for s in innermost if isinstance(s, Alloc) and s.buffer.memory == "own")
    rest = tuple(s for s in innermost if s not in rows)
    workers = min(threads, work(statement) // LEAST_ELEMENTS)
    if workers > 1 and (bound := _enough(loops, workers)):
        body = rest
        for loop in reversed(loops[bound:]):
            body = (replace(loop, body=body),)
        tasks = prod(map(trips, loops[:bound]))
        share = _runs(loops[:bound], tasks, workers, body)
        return (For(WORKER, ZERO, constant(workers), 1, (*rows, share), "core"),)
    for loop in reversed(loops):
        rest = (replace(loop, body=rest),)
    return (*rows, *rest)


def _chain(loop: For) -> tuple[list[For], Body]:
    """The loops from the outermost on whose points need nothing of each other, and what the last has inside."""
    loops, body = [], (loop,)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == "serial" and independent(body[0]):
        loops.append(body[0])
        body = body[0].body
    return loops, body


def independent(loop: For) -> bool:
    """Whether every point stores to places of its own, or to what lives inside the loop."""
    own = {s.buffer.name for s in walk(loop.body) if isinstance(s, Alloc)}
    stores = (s for s in walk(loop.body) if isinstance(s, Store) and s.buffer not in own)
    return all(any(index.coefficient(loop.name) == 1 for index in store.at) for store in stores)


def _enough(loops: list[For], workers: int) -> int:
    """How many of the outer loops to bind."""
    for bound in range(1, len(loops) + 1):
        tasks = prod(map(trips, loops[:bound]))
        if -(-tasks // workers) * workers <= UNEVEN * tasks:
            return bound
    return len(loops)


def _runs(loops: list[For], tasks: int, workers: int, body: Body) -> For:
    """The loop over the tasks of one worker."""
    first, last = ((variable(WORKER) + after) * tasks // workers for after in (0, 1))
    if len(loops) == 1:
        (loop,) = loops
        # A last vector is not whole, and the loop ends where its dim does.
        end = last * loop.step + loop.start
        stop = applied("min", end, loop.stop) if (loop.stop - loop.start).offset % loop.step else end
        return replace(loop, start=first * loop.step + loop.start, stop=stop, body=body)
    defines: list[Statement] = []
    for number, loop in enumerate(loops):
        place = variable(TASK) // prod(map(trips, loops[number + 1 :]))
        if number:
            place = place % trips(loop)
        defines.append(Define(loop.name, place * loop.step + loop.start))
    return For(TASK, first, last, 1, (*defines, *body))


def trips(loop: For) -> int:
    """How many iterations a loop has."""
    return -(-(loop.stop - loop.start).offset // loop.step)


def work(statement: Statement) -> int:
    """How many elements of buffers a statement touches, each time that it does."""
    if isinstance(statement, For):
        return trips(statement) * sum(map(work, statement.body))
    inner = max((sum(map(work, block)) for block in inside(statement)), default=0)
    loads = (isinstance(part, Load) for operand in operands_of(statement) for part in parts_of(operand))
    return inner + isinstance(statement, Store) + sum(loads)
