"""The panel of x beside this one, where x is read in place: it comes to L2."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around, Loop
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


@dataclass(frozen=True)
class NextPanel:
    """An iteration of `loop` reads a panel of x in place, which several register tiles share.

    The tiles prefetch the panel beside it, which is next. Iteration i of the loop `turns`, over the rows
    of y, prefetches share i % `tiles` of it: so many `lines` of every reduction point.
    """

    loop: Loop
    turns: Loop
    tiles: int
    lines: int


def next_panel(problem: Problem, tile: Around) -> NextPanel | None:
    """The panel of x that the tiles at a place of a nest prefetch into L2.

    None where x is small enough to stay in L2, and where one tile alone reads a panel. None where a step reads several
    reduction points, whose own loads run early enough, and where S(x) holds all panels after the first pass.
    """
    x, extents, panel = problem.vector, tile.register.extents, access_of(problem).panel_dim
    size = access_of(problem).bytes_of(x)
    points = prod(extents[d] for d in problem.reductions)
    if not access_of(problem).weights_broadcast or points > 1 or x.elements * size < limits.SMALL_X:
        return None
    for place in reversed(range(len(tile.outer))):
        loop, pixels = tile.outer[place], extents[problem.vector_dim]
        if limits.moves(problem, tile, place, (problem.vector_dim,)):
            packed = tile.shared is not None and place >= tile.shared
            if packed or loop.step != pixels or limits.covered_at(problem, tile, place)[panel] == extents[panel]:
                return None
            # Each branch of a composed dim prefetches all of the panel.
            turns = max(
                (inside for inside in tile.outer[place + 1 :] if inside.dim == panel), key=lambda loop: loop.trips
            )
            lines = -(-pixels * size // LINE)
            each = -(-lines // turns.trips)
            return NextPanel(loop, turns, -(-lines // each), each)
    return None
