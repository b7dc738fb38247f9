"""The plan of the panels of an x that is read in place, S(x), as data.

The pass `stage_panels` packs them. The model prices what is packed, and how often it is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tiling.loops.lowering.nest import Loop, nest_of, tiles
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Rest, Specifier, Stage, Tile

# Bytes. No core with AVX-512 has a larger L2, and a panel comes from further out no faster than x does.
LARGEST_PANEL = 4 << 20


@dataclass(frozen=True)
class PanelPlan:
    """elements: how many the largest staged part has. kept: all tasks of a core read the same part."""

    elements: int
    kept: bool


def plan_panels(scheme: Scheme) -> PanelPlan:
    """The plan of a scheme's panels. Without S(x) there are none, of 0 elements."""
    return PanelPlan(panel_elements(scheme), _kept(scheme))


def panel_elements(scheme: Scheme) -> int:
    """Elements of the largest panel that a scheme stages; 0 where it stages only its output."""
    staged = [tile for tile in tiles(nest_of(scheme)) if tile.shared is not None]
    panels = (panel_extents(scheme.problem, scheme.lanes, tile.outer[: tile.shared]) for tile in staged)
    return max((prod(extents.values()) for extents in panels), default=0)


def panel_extents(problem: Problem, lanes: int, around: tuple[Loop, ...]) -> dict[str, int]:
    """Points per dim of a packed panel of x, S(x) inside the loops `around`. It holds whole vectors of pixels."""
    pixels = problem.vector_dim
    whole = problem.extents | {pixels: -(-problem.extents[pixels] // lanes) * lanes}
    inside = whole | {loop.dim: loop.step for loop in around}
    return {dim: points for dim, points in inside.items() if dim in problem.vector.dims}


def _kept(scheme: Scheme) -> bool:
    """Whether only core loops over rows stand outside S(x), so that all tasks of a core read the same pixels."""
    outside = _outside(scheme)
    return bool(outside) and all(
        isinstance(s, Tile) and s.worker is not None and s.dim in scheme.problem.row_dims for s in outside
    )


def visits_of_panel(scheme: Scheme, threads: int) -> int:
    """How many tiles of the busiest core read the same pixels of a panel, which the first of them packs; 0 without
    a panel.
    """
    if Stage(scheme.problem.vector.name) not in scheme.specifiers:
        return 0
    outside = _outside(scheme)
    inside = scheme.specifiers[len(outside) : scheme.accumulators_at]
    tasks = prod(s.trips for s in outside if isinstance(s, Tile)) if _kept(scheme) else 1
    loops = (s for s in inside if isinstance(s, (Rest, Tile, Lambda)) and is_row_loop(scheme.problem, s))
    return prod(scheme.iterations(loop) for loop in loops) * -(-tasks // threads)


def _outside(scheme: Scheme) -> Sequence[Specifier]:
    """The specifiers outside S(x); none without it."""
    stage = Stage(scheme.problem.vector.name)
    return scheme.specifiers[: scheme.specifiers.index(stage)] if stage in scheme.specifiers else ()


def is_row_loop(problem: Problem, specifier: Specifier) -> bool:
    """Whether the specifier is a loop over rows that one core runs."""
    core = isinstance(specifier, Tile) and specifier.worker is not None
    return isinstance(specifier, (Rest, Tile, Lambda)) and specifier.dim in problem.row_dims and not core
