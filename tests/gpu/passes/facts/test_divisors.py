"""What is left of indices after a division, as CUDA divides."""

from __future__ import annotations

from math import fmod

import pytest

from gpu.passes.facts.divisors import remainder
from tiling.loops.index import Index, Operation, variable

A, B = variable("a"), variable("b")
KNOWN = {"a": 4, "b": 1}


def in_cuda(index: Index, values: dict[str, int]) -> int:
    """The value of an index where a remainder has the sign of what is divided."""
    found = index.offset
    for term, coefficient in index.terms:
        if isinstance(term, Operation):
            assert term.operation == "%"
            found += coefficient * int(fmod(in_cuda(term.left, values), in_cuda(term.right, values)))
        else:
            found += coefficient * values[term]
    return found


@pytest.mark.parametrize("index", [A + B, A + B * 3 + 5, A - B, A * 3 + B * -2 + 1, A % 8 + B, A + (B % 4)])
def test_a_remainder_is_never_negative(index):
    left = remainder(index, 4, KNOWN)
    for a in range(0, 24, 4):
        for b in range(8):
            values = {"a": a, "b": b}
            if index.at(values) >= 0:
                assert in_cuda(left, values) == index.at(values) % 4


def test_what_is_divided_leaves_nothing():
    assert remainder(A + B, 4, KNOWN) == B % 4
    assert remainder(A - B, 4, KNOWN) == (A - B) % 4
