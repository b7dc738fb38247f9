"""Tiles of pixels: which windows of an image a tile has the pixels of.

    X_tile[element / 64, element % 64] = X[p / 256, p / 16 % 16 + r - 1, p % 16 + s - 1, c + element % 64]
    ->
    the first window begins at X[nhw_1 / 256, nhw_1 / 16 % 16 - 1, nhw_1 % 16 - 1, c]; pixel r, s of each

Here p is `nhw_1 + element / 64`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

from gpu.passes.facts.neighbours import ELEMENT
from tiling.loops.index import ZERO, Index, Operation, applied, constant
from tiling.loops.machines import Windows
from tiling.problem import Problem


@dataclass(frozen=True)
class TilePixels:
    """The pixels of a tile. begin: where the first window begins. row: the number of an element's window."""

    begin: tuple[Index, ...]
    windows: tuple[Windows, ...]
    row: Index


def pixels_of(at: tuple[Index, ...], problem: Problem) -> TilePixels:
    """The pixels that a tile holds. at: the place in x of the element of a tile.

    The rows of the tile are windows in the order of the output.
    """
    image, *_, channel = at
    counts = [problem.extents[window.dim] for window in problem.windows]
    row = _dividend(image, prod(counts))
    first = row.replaced({ELEMENT: ZERO})
    begin, windows = [_digits(first, counts)[0]], []
    for index, digit, start, window, count in zip(
        at[1:], _digits(row, counts)[1:], _digits(first, counts)[1:], problem.windows, counts
    ):
        tap = index - digit * window.stride + window.before
        assert ELEMENT not in tap.names(), f"{index} is no pixel of a window along {window.dim}"
        begin.append(start * window.stride - window.before)
        windows.append(Windows(tap, -window.before, window.stride, count))
    return TilePixels((*begin, channel.replaced({ELEMENT: ZERO})), tuple(windows), row)


def _dividend(index: Index, by: int) -> Index:
    """What an index is a quotient of."""
    if by == 1:
        return index
    ((term, _),) = index.terms
    assert isinstance(term, Operation) and term.operation == "/" and term.right == constant(by), (
        f"{index} is no quotient"
    )
    return term.left


def _digits(number: Index, counts: list[int]) -> list[Index]:
    """The image of a window, and its place along each axis."""
    inside = [*accumulate(reversed([*counts[1:], 1]), int.__mul__)][::-1]
    digits = [applied("/", number, constant(prod(counts)))]
    for count, each in zip(counts, inside):
        digits.append(applied("%", applied("/", number, constant(each)), constant(count)))
    return digits
