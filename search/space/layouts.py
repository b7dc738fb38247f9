"""The ways in which tiles of dot groups may read x, each as a problem that the search looks at.

Tiles read the rows of an image as they lie. Tiles of matrix instructions may also read flattened pixels
(`tiling.arrays.flat_pixels`).
"""

from __future__ import annotations

from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import FOUR_TILES, flat_pixels_of, unsupported_reason
from tiling.problem import Problem
from tiling.rewrite.dot_groups import in_dot_groups, numbers_per_lane
from tiling.scheme.specifiers import DotGroup

_ROWS = 16  # rows of a tile register


def layouts(problem: Problem, dot: DotGroup | None) -> tuple[Problem, ...]:
    """The problem of the dot groups of `dot` in each layout of x. Raises ProblemError as `in_dot_groups` does."""
    return tuple(in_dot_groups(problem, dot, points) for points in (0, *_points(problem, dot)))


def _points(problem: Problem, dot: DotGroup | None) -> tuple[int, ...]:
    """How many flattened pixels are worth computing, gaps included; none where pixels may not be one dim.

    Tiles stop at the last pixel, or at the end of its tile register, or of the last four. The further points are not
    stored, but equal tiles may cover them.
    """
    if (
        dot is None
        or dot.points <= numbers_per_lane(problem)
        or dot.dim != access_of(problem).dot_dim
        or unsupported_reason(problem)
    ):
        return ()
    flat = flat_pixels_of(problem)
    further = [-(-flat.points // multiple) * multiple for multiple in (_ROWS, FOUR_TILES)] if flat.padded else []
    return tuple(dict.fromkeys((flat.points, *further)))
