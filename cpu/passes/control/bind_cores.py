"""Hands the iterations of all core loops to workers: one loop over workers, which run side by side.

    for h_1 in 0..56 by 28, core:          for worker in 0..4, core:
      for k in 0..64 by 32, core:    ->      h_1 = 28*(worker / 2)
        …                                    k = 32*(worker % 2)
                                             …

Source of the mapping: Hidet's spatial task map, row-major over the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Define, For, Statement, Team

WORKER = "worker"


def core_loops(kernel: Kernel) -> list[For]:
    """The core loops of a kernel, the outermost first."""
    loops: list[For] = []
    body: Body = kernel.body[-1:]
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == "core":
        loops.append(body[0])
        body = body[0].body
    return loops


def bind_cores(kernel: Kernel) -> Kernel:
    """The kernel with one parallel loop in place of the core loops, which are its outermost loops."""
    loops = core_loops(kernel)
    if not loops:
        return kernel
    *before, _ = kernel.body
    whole = bound(loops)
    # Each worker executes the statements in front of the loops for itself.
    return replace(kernel, body=(Team((*before, whole)),) if before else (whole,))


def bound(loops: Sequence[For]) -> For:
    """One parallel loop in place of core loops, which stand in one another, the outermost first."""
    trips = list(map(steps_of, loops))
    defines: list[Statement] = []
    for number, loop in enumerate(loops):
        task = applied("/", variable(WORKER), constant(prod(trips[number + 1 :])))
        if number:
            task = applied("%", task, constant(trips[number]))
        defines.append(Define(loop.name, loop.start + task * loop.step))
    return For(WORKER, ZERO, constant(prod(trips)), 1, (*defines, *loops[-1].body), "core")
