"""Moves registers from the warps that copy to those that multiply.

    the first 8 warps:
      …
    the others, beside them:
      for warp in 8..9, warp:
        …
    ->
    the first 8 warps:
      for warp in 0..8, warp:
        for member in 0..32, lane:
          take_registers_232()
      …
    the others, beside them:
      for warp in 8..12, warp:
        for member in 0..32, lane:
          give_registers_40()
      for warp in 8..9, warp:
        …

All threads begin with equally many registers: 168 each where a block has 384. Only whole warpgroups give and take, so
three warps come beside the one that copies, which do nothing else. Source: setmaxnreg of PTX, warp specialisation of
CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.limits.hopper import KEPT_REGISTERS, registers_at_launch, registers_taken
from gpu.passes.facts.workers import A_WARP, WARP, WARP_SIZE, WARPS_OF_GROUP, over
from tiling.loops.index import constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Do, For, Instruction, Invoke, Statement
from tiling.loops.machines import Beside
from tiling.loops.walk import with_blocks


def move_registers(kernel: Kernel) -> Kernel:
    """The kernel, whose warps that copy give registers to the others."""
    return replace(kernel, body=_moving(kernel.body))


def _moving(body: Body) -> Body:
    return tuple(map(_statement, body))


def _statement(statement: Statement) -> Statement:
    if not isinstance(statement, Beside):
        return with_blocks(statement, _moving)
    warps, every = statement.warps, statement.warps + WARPS_OF_GROUP
    begin = registers_at_launch(every * WARP_SIZE)
    more = registers_taken(warps * WARP_SIZE, WARPS_OF_GROUP * WARP_SIZE)
    taken = over(WARP, warps, (_set("take", begin, more),))
    given = over(WARP, every, (_set("give", begin, KEPT_REGISTERS),))
    given = replace(given, start=constant(warps))
    return Beside(warps, (taken, *statement.body), (given, *statement.otherwise))


def _set(what: str, begin: int, count: int) -> For:
    """What each thread of a warp does. What it has in registers stays, so to loops this means nothing."""
    instruction = Instruction(f"{what}_registers_{count}", f"{what}_registers({begin}, {count})", ())
    return A_WARP.each((Do(Invoke(instruction, ())),))
