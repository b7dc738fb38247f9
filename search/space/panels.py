"""Where a scheme may place S(x), so that tiles share a packed panel of pixels (`cpu.passes.memory.stage_panels`).

A panel pays where tiles of several rows read the same pixels, so S(x) stands before a run of loops over rows. A cache
must hold the panel.
"""

from __future__ import annotations

from tiling.arrays.access import access_of
from tiling.rewrite.copies.panels import LARGEST_PANEL, is_row_loop, panel_elements
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Stage


def with_panels(scheme: Scheme, largest: float) -> tuple[Scheme, ...]:
    """The scheme with S(x) at each such place, for panels of at most `largest` bytes that a kernel accepts.

    There is none where the scheme does not read vectors of x in place.
    """
    problem = scheme.problem
    if not access_of(problem).weights_broadcast:
        return ()
    specifiers, found = scheme.specifiers, []
    for place, specifier in enumerate(specifiers[: scheme.accumulators_at]):
        begins = not place or not is_row_loop(problem, specifiers[place - 1])
        if is_row_loop(problem, specifier) and begins:
            staged = Scheme(problem, (*specifiers[:place], Stage(problem.vector.name), *specifiers[place:]))
            if panel_elements(staged) * access_of(problem).bytes_of(problem.vector) <= min(largest, LARGEST_PANEL):
                found.append(staged)
    return tuple(found)
