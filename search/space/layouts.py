"""The ways in which tiles may read x, each as a problem that the search looks at.

Tiles read the rows of an image as they lie. Tiles of matrix instructions may also read flattened pixels
(`tiling.arrays.flat_pixels`), and so may vectors of f32 where these are the pixels as they lie. Products may read a
copy of an a that is (K,M).
"""

from __future__ import annotations

from search.space.registers import WIDE
from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import FOUR_TILES, PIXELS, flat_pixels_of, lies_flat, unsupported_reason
from tiling.problem import Problem
from tiling.rewrite.copied_rows import in_rows
from tiling.rewrite.dot_groups import in_dot_groups, is_narrow, numbers_per_lane
from tiling.scheme.specifiers import DotGroup

_ROWS = 16  # rows of a tile register


def layouts(problem: Problem, dot: DotGroup | None) -> tuple[Problem, ...]:
    """The problem in each layout of x, as that of the dot groups of `dot` where it has any.

    Raises ProblemError as `in_dot_groups` does.
    """
    rows = in_rows(problem)
    found = tuple(in_dot_groups(problem, dot, points) for points in (0, *_points(problem, dot)))
    return found if rows is None else (*found, rows)


def _points(problem: Problem, dot: DotGroup | None) -> tuple[int, ...]:
    """How many flattened pixels are worth computing, gaps included; none where pixels may not be one dim.

    Tiles stop at the last pixel, at the end of its tile register, or at a multiple of four pixels. Points beyond the
    last pixel are not stored, but tiles of one size may cover them.
    """
    if not is_narrow(problem):
        return _short_rows(problem)
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


def _short_rows(problem: Problem) -> tuple[int, ...]:
    """The pixels of an image of f32 whose rows are too short to fill the registers; none where they may not be one dim.

    With AVX2 rows of 7 pixels get tiles of 7 and 14 rows by one vector, 49 pixels tiles of 5 and 6 rows by two
    (decision 013).
    """
    rows, columns = (problem.extents.get(dim, 1) for dim in PIXELS)
    if rows == 1 or not 1 < columns < WIDE or unsupported_reason(problem) or not lies_flat(problem):
        return ()
    return (flat_pixels_of(problem).points,)
