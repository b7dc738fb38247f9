"""The problems of words or blocks that a search looks at for one problem: how tiles may read x.

Rows of an image as they lie; and, for matrix instructions, the pixels of an image as one dim (`tiling.plane`), whose
points are computed to the last pixel and no further, or to the end of the last tile register or of the last four: a few
points more, of which nothing is stored, may be covered by equal tiles.
"""

from __future__ import annotations

from tiling.plane import FOUR_TILES, plane_of, refusal
from tiling.problem import Problem
from tiling.scheme import Dot
from tiling.words import fitting, in_words

_ROWS = 16  # of a tile register


def layouts(problem: Problem, dot: Dot | None) -> tuple[Problem, ...]:
    """The problem of the words or blocks of `dot` in each such layout. Raises ProblemError as `in_words` does."""
    return tuple(in_words(problem, dot, points) for points in (0, *_points(problem, dot)))


def _points(problem: Problem, dot: Dot | None) -> tuple[int, ...]:
    """How many points of their plane are worth computing where the pixels of an image may be one dim."""
    if dot is None or dot.points <= fitting(problem) or dot.dim != problem.dot_dim or refusal(problem):
        return ()
    plane = plane_of(problem)
    further = [-(-plane.points // multiple) * multiple for multiple in (_ROWS, FOUR_TILES)] if plane.padded else []
    return tuple(dict.fromkeys((plane.points, *further)))
