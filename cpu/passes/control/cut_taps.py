"""Cuts a loop over taps inside a tile into runs of taps that reach the same rows.

    for s in 0..3:                             for s in 0..1:
      …                                          …
      if 0 <= w_u + s - 1 < 14:                  if w_u - 1 >= 0:
        acc[w_u, 0, lane] += …                     acc[w_u, 0, lane] += …
                                       ->      for s in 1..2:
                                                 …
                                                 acc[w_u, 0, lane] += …
                                               for s in 2..3:
                                                 …
                                                 if w_u - 1 < 12:
                                                   acc[w_u, 0, lane] += …

The rest of a test has only variables of unrolled loops, so unrolling decides it. A tile with one row along the
window needs no runs: there `bound_taps` makes the test the bounds of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cpu.passes.control.cases import cases, values_in
from tiling.loops.conditions import conditions_of, with_condition
from tiling.loops.index import constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, For, Statement
from tiling.loops.walk import with_blocks


def cut_taps(kernel: Kernel) -> Kernel:
    """The kernel with loops over taps in its tiles whose tests hold for all their taps alike, or for none."""
    return replace(kernel, body=_tiles(kernel.body))


def _tiles(body: Body) -> Body:
    return tuple(
        replace(s, body=_runs(s.body, values_in(s.body))) if isinstance(s, Block) else with_blocks(s, _tiles)
        for s in body
    )


def _runs(body: Body, values: Mapping[str, range]) -> Body:
    """The block with each serial loop over taps cut into runs of taps whose tests are alike."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For) and statement.kind == "serial":
            found += _cut(statement, values)
        else:
            found.append(with_blocks(statement, lambda block: _runs(block, values)))
    return tuple(found)


def _cut(loop: For, values: Mapping[str, range]) -> Body:
    """The loop in runs of taps for which its first test becomes the same, each cut by its other tests in turn."""
    tests = [test for test in dict.fromkeys(conditions_of(loop.body)) if test.index.coefficient(loop.name)]
    if not tests:
        return (replace(loop, body=_runs(loop.body, values)),)
    found: list[Statement] = []
    for case in cases(tests[0], loop.name, values[loop.name], values):
        body = with_condition(loop.body, tests[0], case.test)
        if body:
            run = replace(loop, start=constant(case.first), stop=constant(case.last + loop.step), body=body)
            found += _cut(run, {**values, loop.name: range(case.first, case.last + 1, loop.step)})
    return tuple(found)
