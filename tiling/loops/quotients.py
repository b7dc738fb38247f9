"""Quotients and remainders whose numerators are never negative, so that machines round them down as the language does.

    (h - 1) / 2     h from 0 on         (h + 1) / 2 - 1
    (a - 3) / 2     a is any number     max(0, a - 3) / 2 - (max(0, 3 - a) + 1) / 2

C, CUDA and machines round towards zero. So a numerator that may be negative is moved up by a multiple of the divisor.
Where no number bounds it from below, both signs are divided apart. Printers of indices need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.index import ZERO, Index, Range, applied, constant, variable

MOST = 1 << 62  # a variable without a known range lies between -MOST and MOST


def from_zero(index: Index, ranges: Mapping[str, Range]) -> Index:
    """The same index, where nothing below 0 is divided. ranges: each variable with its bounds."""
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
    """An operation on two indices, rewritten so that nothing below 0 is divided. Both come from `from_zero`."""
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


def joined(index: Index) -> Index:
    """The same index, where a remainder and the quotient beside it are one again: 7*(i / 7) + i % 7 is i."""
    terms = dict(index.terms)
    for term, coefficient in index.terms:
        if isinstance(term, str) or term.operation != "%" or not term.right.is_constant:
            continue
        by, left = term.right.offset, term.left
        quotients = [(left // by).terms]
        if len(left.terms) == 1 and not left.offset:  # i / 6 % 7 stands beside i / 42
            ((inner, one),) = left.terms
            if one == 1 and not isinstance(inner, str) and inner.operation == "/" and inner.right.is_constant:
                quotients.append((inner.left // (inner.right.offset * by)).terms)
        for found in quotients:
            if len(found) == 1 and found[0][1] == 1 and terms.get(found[0][0]) == coefficient * by:
                del terms[term], terms[found[0][0]]
                return joined(Index(tuple(terms.items()), index.offset) + left * coefficient)
    return index


def values_of(index: Index, ranges: Mapping[str, Range]) -> Range:
    """The values that an index may have, no farther from 0 than MOST."""
    low, high = index.within(ranges)
    return max(low, -MOST), min(high, MOST)
