"""Sums of registers by small numbers, `4 * d_0 - 5 * d_2 + d_4`: as values of the loop language, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tiling.loops.language import Apply, Number, Register, Value

Terms = dict[str, Fraction]  # the factor of each register


def sum_of(terms: Mapping[str, Fraction]) -> Value:
    """The sum. Terms without a factor come first, a positive one in front: each further term is one FMA."""
    ordered = sorted(terms.items(), key=lambda term: (abs(term[1]) != 1, term[1] < 0))
    found: Value | None = None
    for name, factor in ordered:
        term: Value = Register(name)
        if abs(factor) != 1:
            term = Apply("mul", (Number(float(abs(factor))), term))
        if found is None:
            found = Apply("neg", (term,)) if factor < 0 else term
        else:
            found = Apply("sub" if factor < 0 else "add", (found, term))
    assert found is not None, "a sum has a term"
    return found


def terms_of(value: Value | None) -> Terms | None:
    """The factor of each register of a value that is such a sum; None for any other value."""
    if isinstance(value, Register):
        return {value.name: Fraction(1)}
    if not isinstance(value, Apply):
        return None
    if value.function == "mul" and isinstance(value.arguments[0], Number):
        return _scaled(terms_of(value.arguments[1]), Fraction(value.arguments[0].value))
    if value.function == "neg":
        return _scaled(terms_of(value.arguments[0]), Fraction(-1))
    if value.function not in ("add", "sub"):
        return None
    left, right = terms_of(value.arguments[0]), terms_of(value.arguments[1])
    right = _scaled(right, Fraction(1 if value.function == "add" else -1))
    return None if left is None or right is None or left.keys() & right.keys() else left | right


def _scaled(terms: Terms | None, factor: Fraction) -> Terms | None:
    return None if terms is None else {name: value * factor for name, value in terms.items()}
