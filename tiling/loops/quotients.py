"""Quotients and remainders of what is never negative: those that machines round as the loop language does, downwards.

    (h - 1) / 2     h from 0 on         (h + 1) / 2 - 1
    (a - 3) / 2     a is any number     max(0, a - 3) / 2 - (max(0, 3 - a) + 1) / 2

C, CUDA and machines round towards zero. So a numerator that may be negative is moved up by multiples of the divisor, or
where no number bounds it from below, both signs are divided apart. Nobody who prints an index has to know.
"""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.index import ZERO, Index, Range, applied, constant, variable

MOST = 1 << 62  # between -MOST and MOST lies a variable of which nothing is known


def from_zero(index: Index, ranges: Mapping[str, Range]) -> Index:
    """The same index, where nothing below 0 is divided. ranges: of every variable."""
    if all(isinstance(term, str) for term, _ in index.terms):
        return index
    found = constant(index.offset)
    for term, coefficient in index.terms:
        if isinstance(term, str):
            found = found + variable(term) * coefficient
        else:
            left, right = from_zero(term.left, ranges), from_zero(term.right, ranges)
            found = found + _part(term.operation, left, right, ranges) * coefficient
    return found


def _part(operation: str, left: Index, right: Index, ranges: Mapping[str, Range]) -> Index:
    """An operation on two indices of which the same holds."""
    low = values_of(left, ranges)[0] if operation in ("/", "%") else 0
    if low >= 0:
        return applied(operation, left, right)
    if right.is_constant and low > -MOST // 2:
        whole = -(low // right.offset)
        moved = applied(operation, left + whole * right.offset, right)
        return moved - whole if operation == "/" else moved
    above, below = applied("max", ZERO, left), applied("max", ZERO, left * -1)
    quotient = applied("/", above, right) - applied("/", below + (right - 1), right)
    return quotient if operation == "/" else left - applied("*", quotient, right)


def values_of(index: Index, ranges: Mapping[str, Range]) -> Range:
    """The values that an index may have, no farther from 0 than MOST."""
    low, high = index.within(ranges)
    return max(low, -MOST), min(high, MOST)
