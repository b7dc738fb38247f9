"""Has compilers write out four steps of a tile in one iteration of its innermost loop, where vectors are short.

    for k in 0..64:                          for k_part in 0..64 by 16:
      if k % 16 == 0:                          advance w
        advance w                    ->        for k in k_part..(k_part + 16), 4 together:
      acc[m_u, n_u, lane] = …                    acc[m_u, n_u, lane] = …

Counting and tests then take fewer instructions, and the CPU fetches more of them between two jumps.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from cpu.passes.registers.products import is_product, stands_for
from tiling.loops.index import Index, Operation, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Inside, Prefetch, Statement
from tiling.loops.machines import Advance
from tiling.loops.walk import with_blocks

# Steps in one iteration, multiplications of vectors in these at most, and steps between two advances of a cursor.
# resnet18 and BERT-base have 6 rows of 2 vectors, 12 multiplications a step (docs/decisions/065).
STEPS, MOST_PRODUCTS, LEAST_APART = 4, 64, 16


def unroll_steps(kernel: Kernel) -> Kernel:
    """The kernel whose tiles' innermost loops are written out in part."""
    return replace(kernel, functions=tuple(replace(f, body=_body(f.body)) for f in kernel.functions))


def _body(body: Body) -> Body:
    return tuple(_loop(s) if isinstance(s, For) and s.kind == "serial" else with_blocks(s, _body) for s in body)


def _loop(loop: For) -> For:
    """The innermost loop over steps written out in part, if it is long enough; else the loops inside are."""
    if not loop.body:
        return loop  # of a tile whose taps all lie on padding
    *before, last = loop.body
    if not stands_for(last, is_product):
        return replace(loop, body=_body(loop.body))
    steps = min(STEPS, MOST_PRODUCTS // _products(last))
    if steps < 2 or not (loop.start.is_constant and loop.stop.is_constant) or loop.limit is not None:
        return loop
    trips = len(range(loop.start.offset, loop.stop.offset, loop.step))
    if trips < 2 * steps:
        return loop
    advances = [statement for statement in before if not isinstance(statement, Prefetch)]
    if not advances:
        return replace(loop, together=steps)
    every = [_every(statement) // loop.step for statement in advances]
    apart = max(LEAST_APART, *every)
    if not all(every) or trips % apart or loop.start.offset:
        return loop
    outer = f"{loop.name}_part"
    start, body = variable(outer), tuple(statement for statement in loop.body if statement not in advances)
    inner = replace(loop, start=start, stop=start + apart * loop.step, body=body, together=steps)
    aims = [each for statement, n in zip(advances, every) for each in _advance(statement) * (apart // n)]
    return replace(loop, name=outer, step=apart * loop.step, body=(*aims, inner))


def _products(step: Statement) -> int:
    """How many products unrolled loops around one make of it, those on padding counted in."""
    trips = []
    while isinstance(step, (For, If)):
        if isinstance(step, For):
            trips.append(len(range(step.start.offset, step.stop.offset, step.step)))
        step = step.body[0]
    return prod(trips)


def _every(statement: Statement) -> int:
    """The n of an advance where the loop's variable is a multiple of n; 0 for another statement."""
    match statement:
        case If((Inside(Index(((Operation("%", _, by), 1),), 0), 0, 1),), (Advance(),), ()) if by.is_constant:
            return by.offset
    return 0


def _advance(statement: Statement) -> Body:
    return statement.body if isinstance(statement, If) else ()
