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
pass applies where two parts fit in registers and asynchronous copies fill the tiles, in the steps or all before them,
also where there is but one step. Threads that copy themselves wait for memory anyway. Source: register double buffers
of CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpu.passes.facts.reading import elements
from gpu.passes.facts.registers import fit, held, is_stored, staging
from gpu.passes.facts.workers import THREADS_OF_BLOCK
from gpu.passes.steps.step import RingStep, Work, step_of, work_of
from tiling.loops.index import Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, Statement
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.machines import Wait
from tiling.loops.rewrite import substituted
from tiling.loops.walk import buffers_of, walk, with_blocks


def load_ahead(kernel: Kernel) -> Kernel:
    """The kernel, whose warps load ahead."""
    buffers = buffers_of(kernel)
    # What has one element is no tile: the threads of a block that shares a sum tell each other a number there.
    tiles = {name: buffer for name, buffer in buffers.items() if buffer.memory == "shared" and elements(buffer) > 1}
    by_threads = any(is_stored(s, tiles) for s in walk(kernel.body))
    (sums,) = (buffer for name, buffer in buffers.items() if name.partition("_")[0] == ACCUMULATORS)  # of one tile

    def fits(work: Work) -> bool:
        """Whether there are two parts, and a thread has registers for the words of both."""
        needed = held(sums) + 2 * sum(map(held, work.words)) + staging(kernel.body, tiles, work.threads)
        return work.count > 1 and fit(needed, work.threads)

    def body(block: Body, looped: bool) -> Body:
        """looped: whether a loop over steps is around the block."""
        found: list[Statement] = []
        for statement in block:
            serial = isinstance(statement, For) and statement.kind == "serial"
            statement = with_blocks(statement, partial(body, looped=looped or serial))
            step, alone = step_of(statement), None if looped or not found else _alone(found[-1], statement)
            if step and step.waits and fits(step.work):
                found += _ahead(step)
            else:
                found += _at_once(alone) if alone and fits(alone) else (statement,)
        return tuple(found)

    return replace(kernel, body=body(kernel.body, False)) if tiles and not by_threads else kernel


def _ahead(step: RingStep) -> Body:
    """The loop over steps with what comes before it."""
    work, now = _of_all_parts(step.work), variable(step.loop.name)
    first = work.loading(work.parts.start)

    def of(at: Index) -> Body:
        return substituted(first, {step.loop.name: at})

    body = (
        work.each(work.loading(work.second)),
        *step.fills,
        work.each(_middle(work)),
        *step.waits,
        work.each((*of(now + step.loop.step), *work.multiplying(work.last))),
    )
    begin = work.each(of(step.loop.start))
    return (*work.allocs(), *step.waits, begin, replace(step.loop, body=body))


def _at_once(work: Work) -> Body:
    """The work of the only step."""
    work = _of_all_parts(work)
    begin = (*work.loading(work.parts.start), *work.loading(work.second))
    return (*work.allocs(), work.each((*begin, *_middle(work), *work.multiplying(work.last))))


def _of_all_parts(work: Work) -> Work:
    """The work with registers for the words of all parts. Two parts are needed at once."""
    return replace(work, held=work.count)


def _middle(work: Work) -> Body:
    """All parts but the last multiplied, where the second one is there already, and the others loaded before."""
    found = work.multiplying(work.parts.start)
    if work.count > 2:
        part = variable(work.parts.name)
        again = (*work.loading(part + work.parts.step), *work.multiplying(part))
        found += (replace(work.parts, start=work.second, stop=work.last, body=again),)
    return found


def _alone(before: Statement, statement: Statement) -> Work | None:
    """The work of the only step, where threads wait for its tiles just before; else None."""
    waits = isinstance(before, For) and before.kind == THREADS_OF_BLOCK and isinstance(before.body[-1], Wait)
    return work_of(statement) if waits else None
