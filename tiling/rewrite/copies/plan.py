"""The plan of the copy of x that a kernel makes, as data. `lower.py` and the pass `stage_strips` write it as loops,
the cost model prices it.

    transposed  tiles read vectors, words or rows of channels, which lie apart in x
    points      flattened pixels, with zeros between the rows; `strips` are the same, copied strip by strip
    window      for each column of y the whole row of its window, taps and channels in one run of words
    overlap     rows with zeros on both sides, pixels filled up to whole words, so that a window's row is a block
    sides       rows with zeros on both sides, one block of all columns after the other
    filled      numbers filled up to whole words
    aligned     x as it is, from a cache line on
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.problem import Problem
from tiling.rewrite.copied_rows import copies_rows
from tiling.rewrite.copies.strips import as_cached, strip_of
from tiling.rewrite.dot_groups import (
    copies,
    dot_group_of,
    padded_window,
    scheme_in_dot_groups,
    uses_matrix_instructions,
)
from tiling.scheme.scheme import Scheme

TRANSPOSED, POINTS, STRIPS, WINDOW, OVERLAP, SIDES, FILLED, ALIGNED = (
    *("transposed", "points", "strips", "window"),
    *("overlap", "sides", "filled", "aligned"),
)
# How often x is read before a copy to an aligned address pays. Where rows of a tile register lie on two lines,
# `python -m bench.tiles` has 1180 ns instead of 865. Measured in bf16: for 2 reads (64 channels to 64, 1 x 1)
# the copy costs more than it saves; for 4 to 8 (512 to 128, 256 to 256) it makes no difference; for 18 (3 x 3) it saves
# a tenth.
_OFTEN = 8


@dataclass(frozen=True)
class CopyPlan:
    """A copy of x. read: bytes of x. written: bytes of the copy, of `strips` those of one strip."""

    kind: str
    read: int
    written: int

    @property
    def always(self) -> bool:
        """Whether every call makes it. Else only one whose x does not begin with a cache line."""
        return self.kind != ALIGNED


def plan_copy(scheme: Scheme) -> CopyPlan | None:
    """The copy of x that a scheme's kernel makes; None where tiles read x as it lies."""
    aligned = aligns(scheme)
    if not aligned and not copies(scheme):
        return None
    dots = as_cached(scheme_in_dot_groups(scheme)).problem
    return CopyPlan(ALIGNED if aligned else _kind(scheme, dots), _bytes(scheme.problem), _bytes(dots))


def _kind(scheme: Scheme, dots: Problem) -> str:
    """The kind of a copy that every call makes."""
    problem, flat = scheme.problem, dots.flat_pixels
    if access_of(problem).transposes_x or copies_rows(scheme):
        return TRANSPOSED
    if flat and flat.padded:
        return STRIPS if strip_of(scheme) else POINTS
    dot = dot_group_of(scheme)
    assert dot  # what else is copied are narrow numbers, so that they form groups
    if dots.broadcast.reach:
        return OVERLAP
    if len(dot.dim) > 1:
        return WINDOW
    return SIDES if access_of(dots).by_matrix and padded_window(problem) else FILLED


def _bytes(problem: Problem) -> int:
    """Bytes of x."""
    return problem.broadcast.elements * access_of(problem).bytes_of(problem.broadcast)


def aligns(scheme: Scheme) -> bool:
    """Whether an x that does not begin with a cache line is copied to an address that does.

    Otherwise many rows of a tile register lie on two lines. The copy pays if rows are read often: by each tap, and by
    the tiles of each part of the vectorised dim.
    """
    if not uses_matrix_instructions(scheme) or copies(scheme):
        return False
    dots = scheme_in_dot_groups(scheme)
    problem = dots.problem
    # Flattened pixels have no windows, but their convolution has.
    taps = prod(scheme.problem.extents[window.tap] for window in scheme.problem.windows)
    parts = dots.units[problem.vector_dim] / max(tile[problem.vector_dim] for tile in dots.tiles)
    return LINE % access_of(problem).bytes_of(problem.broadcast) == 0 and taps * parts >= _OFTEN
