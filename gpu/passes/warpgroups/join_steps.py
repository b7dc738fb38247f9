"""Joins the loops over what is summed into one loop of steps, through which a ring can turn.

    for r in 0..3:
      for s in 0..3:
        for c in 0..128 by 64:
          …
              W_tile[element / 64, element % 64] = W[element / 64, r, s, c + element % 64]
    ->
    for step in 0..18:
      …
          W_tile[element / 64, element % 64] = W[element / 64, step / 6, step / 2 % 3, 64*(step % 2) + element % 64]

The ring has a stage for each step, whichever tap it takes.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpu.passes.facts.reading import touched
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, Statement
from tiling.loops.rewrite import substituted
from tiling.loops.walk import free_name, with_blocks

_STEP = "step"


def join_steps(kernel: Kernel) -> Kernel:
    """The kernel with one loop in place of loops that hold nothing but another one."""
    name = free_name(_STEP, touched(kernel.body))

    def body(block: Body) -> Body:
        return tuple(_joined(nest, name) if len(nest := _nest(s)) > 1 else with_blocks(s, body) for s in block)

    return replace(kernel, body=body(kernel.body))


def _nest(statement: Statement, around: tuple[str, ...] = ()) -> tuple[For, ...]:
    """A serial loop, and those inside it that are all that the one around them holds. around: variables of loops."""
    if not isinstance(statement, For) or statement.kind != "serial" or (statement.stop - statement.start).terms:
        return ()
    if not set(around).isdisjoint(statement.start.names()):
        return ()
    inside = _nest(statement.body[0], (*around, statement.name)) if len(statement.body) == 1 else ()
    return (statement, *inside)


def _joined(nest: tuple[For, ...], name: str) -> For:
    trips = list(map(steps_of, nest))
    places = {}
    for number, loop in enumerate(nest):
        turn = applied("/", variable(name), constant(prod(trips[number + 1 :])))
        turn = applied("%", turn, constant(trips[number])) if number else turn
        places[loop.name] = turn * loop.step + loop.start
    return For(name, ZERO, constant(prod(trips)), 1, substituted(nest[-1].body, places))
