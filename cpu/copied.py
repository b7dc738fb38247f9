"""The copies of x that a kernel makes first, as its template `copied.c.j2` needs them.

x is copied where words (`tiling.words`) do not lie in it, where rows of it need zeros on both sides, and, for matrix
instructions, where it does not begin with a cache line.
"""

from __future__ import annotations

from math import prod

from cpu.operands import operand_text
from tiling.problem import Problem
from tiling.scheme import Scheme
from tiling.words import copies, dot_of, is_narrow, padded_window


def copied_of(scheme: Scheme, words: Problem) -> dict | None:
    """How x is copied where it does not lie in words already: runs of `numbers` neighbours, each made `whole` numbers
    long.

    Of words along a window these are `columns` of every row, each of so many `taps`; else a group's channels of every
    pixel.
    """
    problem = scheme.problem
    if words.blocked and not copies(scheme):
        return _aligned(words)
    if not is_narrow(problem) or problem.as_read is not problem or not copies(scheme):
        return None
    *taps, channel = dot_of(scheme).dim
    whole = words.extents[channel] * words.numbers_per_word
    total, operand = words.broadcast.elements * words.numbers_per_word, operand_text(words, words.broadcast)
    runs = {
        "operand": operand,
        "total": total,
        "whole": whole,
        "numbers": problem.extents[channel],
        "misaligned": False,
    }
    if not taps:
        return runs | {"rows": total // whole, "window": None, "padded": None} | _padded(problem, words)
    *lines, columns, _ = words.broadcast.shape
    window, count = next(w for w in problem.windows if w.tap == taps[0]), problem.extents[taps[0]]
    last = (columns - 1) * window.stride - window.before + count
    clipped = window.before > 0 or last > window.extent
    found = {"rows": prod(lines), "columns": columns, "window": window, "taps": count, "clipped": clipped}
    return runs | found | {"padded": None}


def _aligned(words: Problem) -> dict:
    """How an x that does not begin with a cache line is copied to one that does: each row of a tile register would be
    read as two lines (`python -m bench.tiles`: 1180 ns instead of 865).
    """
    x = words.broadcast
    *lines, _, _ = x.shape if len(x.shape) > 2 else (*x.shape, 1)
    rows, numbers = prod(lines), x.elements * words.numbers_per_word
    found = {"operand": operand_text(words, x), "total": numbers, "whole": numbers // rows, "numbers": numbers // rows}
    return found | {"rows": rows, "window": None, "padded": None, "misaligned": True}


def _padded(problem: Problem, words: Problem) -> dict:
    """How rows of x get zeros on both sides for matrix instructions: `left` columns of them, so many of x `inside`, and
    `right` ones; every pixel has `groups` of so many `blocks`.
    """
    window = padded_window(problem) if words.blocked else None
    if window is None:
        return {}
    *lines, blocks, columns = words.broadcast.shape
    groups = blocks // words.extents[problem.dot_dim]
    left = min(window.before, columns)
    inside = min(window.extent, columns - left)
    sides = {"left": left, "inside": inside, "right": columns - left - inside, "columns": columns}
    held = {"groups": groups, "blocks": blocks, "block": words.numbers_per_word, "extent": window.extent}
    return {"rows": prod(lines), "padded": sides | held}
