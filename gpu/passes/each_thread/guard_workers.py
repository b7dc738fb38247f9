"""Has all workers meet a loop over the first of them: a test lets those in.

for thread in 0..1, thread:    ->    for thread in 0..256, thread:
  m[i] = acc_m[0]                      if thread == 0:
                                         m[i] = acc_m[0]

A launch has as many threads as its largest loop needs, and each thread runs the code of all loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu.passes.facts.workers import KIND, MEMBER, THREAD, WARP, WARP_SIZE, threads_of, with_launches
from tiling.loops.index import constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Inside, Statement
from tiling.loops.machines import Beside
from tiling.loops.walk import with_blocks

_Workers = Mapping[str, int]  # how many of each kind there are, by their variable


def guard_workers(kernel: Kernel) -> Kernel:
    """The kernel, whose loops over threads, lanes and warps have as many iterations as there are workers."""
    return with_launches(kernel, lambda launch: replace(launch, body=_guarded(launch.body, _all(threads_of(launch)))))


def _all(threads: int) -> _Workers:
    return {THREAD: threads, MEMBER: WARP_SIZE, WARP: threads // WARP_SIZE}


def _guarded(body: Body, workers: _Workers) -> Body:
    return tuple(_statement(statement, workers) for statement in body)


def _statement(statement: Statement, workers: _Workers) -> Statement:
    if isinstance(statement, Beside):
        first = _guarded(statement.body, _all(statement.warps * WARP_SIZE))
        return replace(statement, body=first, otherwise=_guarded(statement.otherwise, workers))
    statement = with_blocks(statement, lambda body: _guarded(body, workers))
    if not isinstance(statement, For) or statement.kind != KIND.get(statement.name) or statement.stop.terms:
        return statement
    some, every = statement.stop.offset, workers.get(statement.name, 0)
    if some >= every:
        return statement
    test = Inside(variable(statement.name), 0 if some == 1 else None, some)
    return replace(statement, stop=constant(every), body=(If((test,), statement.body),))
