"""Prefetches cache lines before they are needed. `tiling.loops.lowering.prefetch.plan` has the plan.

    for m in 0..100 by 10:                for m in 0..100 by 10:
      for n in 0..80 by 16:                 aim x at X[m + 10, 0], 5120 elements
        …                                   for n in 0..80 by 16:
        for k in 0..512:                      …
          …                         ->        for k in 0..512:
          acc[m_u, 0, lane] += …                prefetch W[512*n + 16*k + 128] to L1
                                                if k % 8 == 0:
                                                  advance x
                                                …
                                                acc[m_u, 0, lane] += …

A cursor walks the next panel, or the next rows of x, while the tiles multiply this one. The loop over panels aims it.
Before its first sums a tile prefetches the lines of y that it will store to in many places, as a transposed tile does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cpu.passes.prefetch.cursors import CursorAims
from cpu.passes.prefetch.in_tiles import with_prefetches
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, For, If, Statement
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.loops.machines import Cursors
from tiling.loops.walk import for_each_worker, walk, with_blocks
from tiling.problem import Problem


def prefetch(kernel: Kernel, problem: Problem, plans: tuple[PrefetchPlan, ...]) -> Kernel:
    """The kernel with prefetches. Its tiles come in the order of `plans`."""
    x = next(buffer for buffer in kernel.arrays if buffer.name == "X")
    walker = _Walker(iter(plans), problem, CursorAims(problem, x))
    body, _ = walker.body(kernel.body, 0)
    if any(plan.pieces for plan in plans):
        body = for_each_worker(body, lambda block: (Cursors(), *block))  # each has cursors of its own
    return replace(kernel, body=body)


@dataclass(frozen=True)
class _Walker:
    """Walks the loops around tiles. plans: the plans of the tiles that are still to come."""

    plans: Iterator[PrefetchPlan]
    problem: Problem
    aims: CursorAims

    def body(self, body: Body, depth: int) -> tuple[Body, list[tuple[PrefetchPlan, Body]]]:
        """The block inside `depth` loops, and the plans of the tiles in it, each with the tile's own statements."""
        found: list[Statement] = []
        tiles: list[tuple[PrefetchPlan, Body]] = []
        for statement in body:
            if isinstance(statement, (Block, If)):
                # An If chooses between the kinds of one tile.
                plan = next(self.plans)
                within = [(plan, kind.body) for kind in walk((statement,)) if isinstance(kind, Block)]
                statement = self.kinds(statement, plan)
            elif isinstance(statement, For):
                inner, within = self.body(statement.body, depth + 1)
                statement = replace(statement, body=(*self.aims.statements(within, depth, looping=True), *inner))
            else:
                within = []
            found += [*self.aims.statements(within, depth, looping=False), statement]
            tiles += within
        return tuple(found), tiles

    def kinds(self, statement: Statement, plan: PrefetchPlan) -> Statement:
        """A tile, or a choice between kinds of it, with prefetches."""
        if isinstance(statement, Block):
            return with_prefetches(statement, plan, self.problem)
        return with_blocks(statement, lambda block: tuple(self.kinds(kind, plan) for kind in block))
