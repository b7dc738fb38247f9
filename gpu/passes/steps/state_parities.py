"""States the parity of each phase that a worker waits for.

    for k in 0..256 by 64:
      wait for phase k / 192 - 1 of empty + [k / 64 % 3]
    ->
    for k in 0..256 by 64:
      wait for parity (k / 192 + 1) % 2 of empty + [k / 64 % 3]

An mbarrier knows only whether a phase is even or odd. Source: PTX ISA, "mbarrier.try_wait".
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Statement
from tiling.loops.machines import Await, AwaitParity
from tiling.loops.walk import with_blocks


def state_parities(kernel: Kernel) -> Kernel:
    """The kernel, whose workers wait for parities."""
    return replace(kernel, body=_stated(kernel.body))


def _stated(body: Body) -> Body:
    return tuple(map(_statement, body))


def _statement(statement: Statement) -> Statement:
    if not isinstance(statement, Await):
        return with_blocks(statement, _stated)
    phase = statement.phase
    # In C the remainder of -1 is -1, so the phase before the first counts as 1.
    return AwaitParity(statement.barrier, (phase - phase.offset + phase.offset % 2) % 2)
