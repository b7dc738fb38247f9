"""The copies of x that a kernel makes first, as its template `copied.c.j2` needs them.

x is copied where words (`tiling.words`) do not lie in it, where rows of it need zeros on both sides, and, for matrix
instructions, where it does not begin with a cache line and is read often.
"""

from __future__ import annotations

from math import prod

from cpu.check import is_blocked
from cpu.operands import operand_text
from tiling.problem import Problem, Window
from tiling.scheme import Scheme
from tiling.words import copies, dot_of, is_narrow, padded_window, pixel_of_windows, scheme_in_words

_LINE = 64
# Read twice (bf16, 64 channels to 64, 1 x 1), the copy costs more than it brings; 18 times (3 x 3), it brings a tenth;
# 4 to 8 times (512 to 128, 256 to 256), neither.
_OFTEN = 8


def copied_of(scheme: Scheme, words: Problem) -> dict | None:
    """How x is copied where it does not lie in words already: runs of `numbers` neighbours, each made `whole` numbers
    long.

    Of words along a window these are `columns` of every row, each of so many `taps`; else a group's channels of every
    pixel.
    """
    problem = scheme.problem
    if words.plane and words.plane.padded:
        return None  # but as planes (`cpu.planes`)
    if aligns(scheme):
        return _aligned(words)
    if not is_narrow(problem) or problem.as_read is not problem or not copies(scheme):
        return None
    if words.broadcast.reach:
        return _overlapping(scheme, words)
    *taps, channel = dot_of(scheme).dim
    whole = words.extents[channel] * words.numbers_per_word
    runs = _runs(words, problem.extents[channel], whole, words.broadcast.elements * words.numbers_per_word)
    if not taps:
        return runs | _padded(problem, words)
    *lines, columns, _ = words.broadcast.shape
    window, count = _window_of(problem, taps[0]), problem.extents[taps[0]]
    last = (columns - 1) * window.stride - window.before + count
    clipped = window.before > 0 or last > window.extent
    return runs | {"rows": prod(lines), "columns": columns, "window": window, "taps": count, "clipped": clipped}


def _runs(words: Problem, numbers: int, whole: int, total: int) -> dict:
    """What all copies have: the numbers of a run in x, and in the copy, which has `total`."""
    found = {
        "operand": operand_text(words, words.broadcast),
        "total": total,
        "whole": whole,
        "numbers": numbers,
        "rows": total // whole,
    }
    return found | {"window": None, "padded": None, "misaligned": False, "overlap": False}


def _window_of(problem: Problem, tap: str) -> Window:
    return next(window for window in problem.windows if window.tap == tap)


def _overlapping(scheme: Scheme, words: Problem) -> dict:
    """How rows of x get zeros on both sides and after every pixel, so that a window's row is one block or a few."""
    problem, pixel = scheme.problem, pixel_of_windows(scheme)
    *lines, columns, _ = words.broadcast.shape
    window = _window_of(problem, problem.window_dims[0])
    sides = _sides(window, columns) | {"groups": 1, "blocks": 1, "block": pixel}
    runs = _runs(words, problem.extents[problem.dot_dim], pixel, prod(lines) * columns * pixel)
    return runs | {"rows": prod(lines), "padded": sides, "overlap": True}


def _sides(window: Window, columns: int) -> dict[str, int]:
    """Of each row of so many `columns` those of zeros, `left` and `right`, and the `inside` ones of x between them."""
    left = min(window.before, columns)
    inside = min(window.extent, columns - left)
    right = columns - left - inside
    return {"left": left, "inside": inside, "right": right, "columns": columns, "extent": window.extent}


def aligns(scheme: Scheme) -> bool:
    """Whether an x that does not begin with a cache line is copied to one that does: many rows of tile registers would
    be two lines each (`python -m bench.tiles`: 1180 ns instead of 865), and would not on a line. That pays where they
    are read often: by each tap, and by the tiles of each part of the vectorised dim.
    """
    if not is_blocked(scheme) or copies(scheme):
        return False
    words = scheme_in_words(scheme)
    problem = words.problem
    # Planes have no windows, but their convolution has.
    taps = prod(scheme.problem.extents[window.tap] for window in scheme.problem.windows)
    parts = words.units[problem.vector_dim] / max(tile[problem.vector_dim] for tile in words.tiles)
    return _LINE % problem.bytes_of(problem.broadcast) == 0 and taps * parts >= _OFTEN


def _aligned(words: Problem) -> dict:
    """Rows of x as they are, from a cache line on."""
    x = words.broadcast
    *lines, _, _ = x.shape if len(x.shape) > 2 else (*x.shape, 1)
    rows, numbers = prod(lines), x.elements * words.numbers_per_word
    return _runs(words, numbers // rows, numbers // rows, numbers) | {"misaligned": True}


def _padded(problem: Problem, words: Problem) -> dict:
    """How rows of x get zeros on both sides for matrix instructions; every pixel has `groups` of so many `blocks`."""
    window = padded_window(problem) if words.blocked else None
    if window is None:
        return {}
    *lines, blocks, columns = words.broadcast.shape
    held = {"groups": blocks // words.extents[problem.dot_dim], "blocks": blocks, "block": words.numbers_per_word}
    return {"rows": prod(lines), "padded": _sides(window, columns) | held}
