"""The copies of x that a kernel makes first, as its template `im2col.c.j2` needs them.

x is copied if its numbers do not form dot groups (`tiling.rewrite.dot_groups`), or if its rows need zeros on both
sides. For matrix instructions it is also copied if it does not begin with a cache line and is read often.
"""

from __future__ import annotations

from math import prod

from cpu.codegen.check import is_blocked
from cpu.codegen.operands import operand_text
from tiling.problem import Problem
from tiling.rewrite.dot_groups import (
    copies,
    dot_group_of,
    is_narrow,
    padded_window,
    pixel_of_windows,
    scheme_in_dot_groups,
)
from tiling.scheme import Scheme
from tiling.tensor import Window

_LINE = 64
# How often x is read before a copy to an aligned address pays. Measured in bf16: for 2 reads (64 channels to 64, 1 x 1)
# the copy costs more than it saves; for 4 to 8 (512 to 128, 256 to 256) it makes no difference; for 18 (3 x 3) it saves
# a tenth.
_OFTEN = 8


def im2col_of(scheme: Scheme, dots: Problem) -> dict | None:
    """The facts of the copy of x. None if x has dot groups already, or is copied as flattened pixels.

    The copy holds runs: `numbers` neighbours in x become `whole` numbers, filled with zeros. A run is the channels of a
    pixel's group. For dot groups along a window, each row has `columns` runs, each of so many `taps` (im2col).
    """
    problem = scheme.problem
    if dots.flat_pixels and dots.flat_pixels.padded:
        return None  # `cpu.codegen.flat_pixels` copies it
    if aligns(scheme):
        return _aligned(dots)
    if not is_narrow(problem) or problem.after_transpose is not problem or not copies(scheme):
        return None
    if dots.broadcast.reach:
        return _overlapping(scheme, dots)
    *taps, channel = dot_group_of(scheme).dim
    whole = dots.extents[channel] * dots.numbers_per_group
    runs = _runs(dots, problem.extents[channel], whole, dots.broadcast.elements * dots.numbers_per_group)
    if not taps:
        return runs | _padded(problem, dots)
    *lines, columns, _ = dots.broadcast.shape
    window, count = _window_of(problem, taps[0]), problem.extents[taps[0]]
    last = (columns - 1) * window.stride - window.before + count
    clipped = window.before > 0 or last > window.extent
    return runs | {"rows": prod(lines), "columns": columns, "window": window, "taps": count, "clipped": clipped}


def _runs(dots: Problem, numbers: int, whole: int, total: int) -> dict:
    """The facts of every copy. numbers, whole: the length of a run in x and in the copy. total: numbers of the copy."""
    found = {
        "operand": operand_text(dots, dots.broadcast),
        "total": total,
        "whole": whole,
        "numbers": numbers,
        "rows": total // whole,
    }
    return found | {"window": None, "padded": None, "misaligned": False, "overlap": False}


def _window_of(problem: Problem, tap: str) -> Window:
    return next(window for window in problem.windows if window.tap == tap)


def _overlapping(scheme: Scheme, dots: Problem) -> dict:
    """The copy of x with zeros on both sides of a row and after every pixel: a window's row becomes whole blocks."""
    problem, pixel = scheme.problem, pixel_of_windows(scheme)
    *lines, columns, _ = dots.broadcast.shape
    window = _window_of(problem, problem.window_dims[0])
    sides = _sides(window, columns) | {"groups": 1, "blocks": 1, "block": pixel}
    runs = _runs(dots, problem.extents[problem.dot_dim], pixel, prod(lines) * columns * pixel)
    return runs | {"rows": prod(lines), "padded": sides, "overlap": True}


def _sides(window: Window, columns: int) -> dict[str, int]:
    """How many of the `columns` of a row are zeros on the left, come from x, and are zeros on the right."""
    left = min(window.before, columns)
    inside = min(window.extent, columns - left)
    right = columns - left - inside
    return {"left": left, "inside": inside, "right": right, "columns": columns, "extent": window.extent}


def aligns(scheme: Scheme) -> bool:
    """Whether an x that does not begin with a cache line is copied to an address that does.

    Otherwise many rows of a tile register lie on two lines (`python -m bench.tiles`: 1180 ns instead of 865). The copy
    pays if rows are read often: by each tap, and by the tiles of each part of the vectorised dim.
    """
    if not is_blocked(scheme) or copies(scheme):
        return False
    dots = scheme_in_dot_groups(scheme)
    problem = dots.problem
    # Flattened pixels have no windows, but their convolution has.
    taps = prod(scheme.problem.extents[window.tap] for window in scheme.problem.windows)
    parts = dots.units[problem.vector_dim] / max(tile[problem.vector_dim] for tile in dots.tiles)
    return _LINE % problem.bytes_of(problem.broadcast) == 0 and taps * parts >= _OFTEN


def _aligned(dots: Problem) -> dict:
    """The copy of x as it is, at an address that begins with a cache line."""
    x = dots.broadcast
    *lines, _, _ = x.shape if len(x.shape) > 2 else (*x.shape, 1)
    rows, numbers = prod(lines), x.elements * dots.numbers_per_group
    return _runs(dots, numbers // rows, numbers // rows, numbers) | {"misaligned": True}


def _padded(problem: Problem, dots: Problem) -> dict:
    """The zeros on both sides of the rows of x, for matrix instructions. A pixel has `groups`, each of `blocks`."""
    window = padded_window(problem) if dots.by_matrix else None
    if window is None:
        return {}
    *lines, blocks, columns = dots.broadcast.shape
    held = {"groups": blocks // dots.extents[problem.dot_dim], "blocks": blocks, "block": dots.numbers_per_group}
    return {"rows": prod(lines), "padded": _sides(window, columns) | held}
