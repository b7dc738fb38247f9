"""Where a scheme may stage x: the places of S(x) that let register tiles share a packed panel of pixels (`cpu.panel`).

A panel pays where tiles of several rows read the same pixels, so S(x) stands before a run of loops over rows; and a
cache must hold it, or it comes no nearer than x.
"""

from __future__ import annotations

from math import prod

from tiling.pointwise import LARGEST_PANEL, panel_elements, same_pixels
from tiling.problem import Problem
from tiling.scheme import Lambda, Rest, Scheme, Specifier, Stage, Tile


def with_panels(scheme: Scheme, largest: float) -> tuple[Scheme, ...]:
    """The scheme with S(x) at each such place, of panels of at most so many bytes that a kernel takes; none where
    vectors are not read from x in place.
    """
    problem = scheme.problem
    if not problem.in_place:
        return ()
    specifiers, found = scheme.specifiers, []
    for place, specifier in enumerate(specifiers[: scheme.place_of_sums]):
        begins = not place or not _of_rows(problem, specifiers[place - 1])
        if _of_rows(problem, specifier) and begins:
            staged = Scheme(problem, (*specifiers[:place], Stage(problem.vector.name), *specifiers[place:]))
            if panel_elements(staged) * problem.bytes_of(problem.vector) <= min(largest, LARGEST_PANEL):
                found.append(staged)
    return tuple(found)


def visits_of_panel(scheme: Scheme, threads: int) -> int:
    """How many tiles read the same pixels of a panel that the first of them packs, on the busiest core; 0 where there
    is no panel.
    """
    problem, stage = scheme.problem, Stage(scheme.problem.vector.name)
    if stage not in scheme.specifiers:
        return 0
    place = scheme.specifiers.index(stage)
    outside, inside = scheme.specifiers[:place], scheme.specifiers[place : scheme.place_of_sums]
    tasks = prod(s.trips for s in outside if isinstance(s, Tile)) if same_pixels(problem, outside) else 1
    return prod(scheme.iterations(s) for s in inside if _of_rows(problem, s)) * -(-tasks // threads)


def _of_rows(problem: Problem, specifier: Specifier) -> bool:
    """Whether it is a loop over rows that one core runs."""
    core = isinstance(specifier, Tile) and specifier.worker is not None
    return isinstance(specifier, (Rest, Tile, Lambda)) and specifier.dim in problem.row_dims and not core
