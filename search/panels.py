"""Where a scheme may stage x: the places of S(x) that let register tiles share a packed panel of pixels (`cpu.panel`).

A panel pays where tiles of several rows read the same pixels, so S(x) stands before a run of loops over rows; and a
cache must hold it, or it comes no nearer than x.
"""

from __future__ import annotations

from math import prod

from tiling.pointwise import panel_elements
from tiling.problem import Problem
from tiling.scheme import Lambda, Rest, Scheme, Specifier, Stage, Tile


def with_panels(scheme: Scheme, largest: float) -> tuple[Scheme, ...]:
    """The scheme with S(x) at each such place, of panels of at most so many bytes; none where vectors are not read from
    x in place.
    """
    problem = scheme.problem
    if not problem.in_place:
        return ()
    specifiers, found = scheme.specifiers, []
    for place, specifier in enumerate(specifiers[: scheme.place_of_sums]):
        begins = not place or not _of_rows(problem, specifiers[place - 1])
        if _of_rows(problem, specifier) and begins:
            staged = Scheme(problem, (*specifiers[:place], Stage(problem.vector.name), *specifiers[place:]))
            if panel_elements(staged) * problem.bytes_of(problem.vector) <= largest:
                found.append(staged)
    return tuple(found)


def visits_of_panel(scheme: Scheme, threads: int) -> float:
    """How many tiles read the same pixels from the panel that one of them packs; 1 where none is staged."""
    problem, stage = scheme.problem, Stage(scheme.problem.vector.name)
    if stage not in scheme.specifiers:
        return 1.0
    place = scheme.specifiers.index(stage)
    outside, inside = scheme.specifiers[:place], scheme.specifiers[place : scheme.place_of_sums]
    visits = float(prod(_trips(scheme, s) for s in inside if _of_rows(problem, s)))
    if all(isinstance(s, Tile) and s.worker and s.dim in problem.row_dims for s in outside):
        visits *= prod(s.trips for s in outside) / min(threads, prod(s.trips for s in outside))
    return visits


def _trips(scheme: Scheme, specifier: Specifier) -> int:
    if isinstance(specifier, Lambda):
        return sum(count for count, _ in specifier.branches)
    return scheme.trips(specifier) if isinstance(specifier, Rest) else specifier.trips


def _of_rows(problem: Problem, specifier: Specifier) -> bool:
    """Whether it is a loop over rows that one core runs."""
    core = isinstance(specifier, Tile) and specifier.worker is not None
    return isinstance(specifier, (Rest, Tile, Lambda)) and specifier.dim in problem.row_dims and not core
