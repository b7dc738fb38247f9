"""Loads the words of a step's first part before the copies of a later step, which have time until its turn.

    for k in 0..256 by 16:
      for thread in 0..128, thread:
        wait until 1 groups are pending
      for thread in 0..128, thread:
        …
      for warp in 0..4, warp:
        …
        for k_u in 0..16 by 16, unrolled:
          …
          get_matrices(to: X_part + [lane, m_u / 16, 0], p: X_tile + [k / 16 % 3, …])
          …
          mma_m16n8k16_f16(to: acc + […], a: X_part + [lane, m_u / 16, 0], b: …)
    ->
    …
    for k in 0..256 by 16:
      for thread in 0..128, thread:
        wait until 1 groups are pending
      …
      get_matrices(to: X_part + [warp, lane, m_u / 16, 0], p: X_tile + [k / 16 % 3, …])
      …
      for thread in 0..128, thread:
        …
      …
      mma_m16n8k16_f16(to: acc + […], a: X_part + [warp, lane, m_u / 16, 0], b: …)

Right after the barrier the matrix units have nothing to do until the first words are there. The pass applies to steps
of a ring that `load ahead` leaves: steps of one part, and steps without registers for the words of two parts. Source:
the order of a step in CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.steps.step import RingStep, step_of
from tiling.loops.index import variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Statement
from tiling.loops.walk import with_blocks


def load_first(kernel: Kernel) -> Kernel:
    """The kernel, whose warps load before they copy."""

    def body(block: Body) -> Body:
        found: list[Statement] = []
        for statement in block:
            statement = with_blocks(statement, body)
            step = step_of(statement)
            found += _first(step) if step and step.fills and all(map(_fills_later, step.fills)) else (statement,)
        return tuple(found)

    return replace(kernel, body=body(kernel.body))


def _fills_later(statement: Statement) -> bool:
    """Whether threads fill the tiles of a later step, if there is one."""
    return isinstance(statement, For) and isinstance(statement.body[0], If)


def _first(step: RingStep) -> Body:
    """The loop over steps with the registers of its words."""
    work, begin = step.work, step.work.parts.start
    rest = work.multiplying(begin)
    if work.count > 1:
        part = variable(work.parts.name)
        rest += (replace(work.parts, start=work.second, body=(*work.loading(part), *work.multiplying(part))),)
    body = (*step.waits, work.each(work.loading(begin)), *step.fills, work.each(rest))
    return (*work.allocs(), replace(step.loop, body=body))
