"""Ends loops where their results are no longer needed (`tiling.program.lowering.limits`), as under a causal mask.

    for j in 0..512 by 64, needed below i + 1:    ->    for j in 0..min(64*((i + 64) / 64), 512) by 64:

All loops with a limit end at a common multiple of their steps. So each writes at least as far as the next one reads.
A loop over blocks ends at the end of a block.
"""

from __future__ import annotations

from dataclasses import replace
from math import lcm

from tiling.loops.index import Index, applied, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For
from tiling.loops.walk import walk, with_blocks


def bound_loops(kernel: Kernel, lanes: int) -> Kernel:
    """The kernel whose loops end at their limits. lanes: how many a vector has; a loop may have become one vector."""
    limited = [s for s in walk(kernel.body) if isinstance(s, For) and s.limit is not None]
    step = lcm(lanes, *(loop.step for loop in limited if not _of_blocks(loop)))

    def bounded(body: Body) -> Body:
        changed = (with_blocks(statement, bounded) for statement in body)
        return tuple(
            _ended(after, before.step if _of_blocks(before) else step, kernel)
            if isinstance(before, For) and isinstance(after, For)
            else after
            for before, after in zip(body, changed)
        )

    return replace(kernel, body=bounded(kernel.body)) if limited else kernel


def _of_blocks(loop: For) -> bool:
    """Whether a loop goes from block to block of a dim, and other loops through each."""
    return any(isinstance(s, For) and s.limit is not None and s.dim == loop.dim for s in walk(loop.body))


def _ended(loop: For, step: int, kernel: Kernel) -> For:
    if loop.limit is None or not set(loop.start.names()) <= set(kernel.ranges):  # the part of a loop that is bounded
        return replace(loop, limit=None)
    assert loop.start.offset % loop.step == 0
    return replace(loop, stop=applied("min", (loop.limit + (step - 1)) // step * step, loop.stop), limit=None)


def reaching(loop: For, name: str, last: Index | int) -> For:
    """A loop that several points of an outer loop run together, `name` to `name + last`, with their largest limit."""
    if loop.limit is None or loop.limit.coefficient(name) <= 0:
        return loop
    return replace(loop, limit=loop.limit.replaced({name: variable(name) + last}))
