"""Quotients of no negative numbers: the same values, by the division of machines."""

from __future__ import annotations

import ctypes
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from cpu.runtime.compiler.library import load
from tests.support.loops.indices import POINTS, RANGES, indices
from tiling.loops.c_text import number
from tiling.loops.index import Index, Operation, applied, constant, variable
from tiling.loops.quotients import from_zero, joined

FAR = (-(1 << 62), 1 << 62)
A, B = variable("a"), variable("b")


def numerators(index: Index) -> list[Index]:
    """What an index divides."""
    parts = [term for term, _ in index.terms if isinstance(term, Operation)]
    own = [part.left for part in parts if part.operation in ("/", "%")]
    return own + [inner for part in parts for side in (part.left, part.right) for inner in numerators(side)]


@given(indices, st.sets(st.sampled_from("hrs")))
def test_no_numerator_is_negative_and_the_value_stays(index, unknown):
    found = from_zero(index, RANGES | dict.fromkeys(unknown, FAR))
    for point in POINTS:
        assert found.at(point) == index.at(point), (str(index), str(found))
        assert all(each.at(point) >= 0 for each in numerators(found)), (str(index), str(found), point)


def test_a_numerator_with_a_least_value_is_moved_and_another_is_split():
    assert str(from_zero((A - 1) // 2, {"a": (0, 9)})) == "(a + 1) / 2 - 1"
    assert str(from_zero((A - 1) % 4, {"a": (0, 9)})) == "(a + 3) % 4"
    assert str(from_zero(A // 2, {"a": (0, 9)})) == "a / 2"
    assert str(from_zero(A // 2, {"a": FAR})) == "max(0, a) / 2 - (max(0, -a) + 1) / 2"


INDICES = {
    "half": A // 2,
    "rest": A % 3,
    "minus": (A * -1) // 4 * -1 + 2,
    "inside": (A // 2 - B) // 3 * 2 + (A - B) % 5,
    "ends": applied("min", (A - B * 2) // 4, B // 2) + applied("max", A // 3, (B - A) % 7),
    "by a variable": applied("/", A - 5, B % 4 + 1) + applied("%", A - 5, B % 4 + 1),
}


def test_compiled_quotients_of_negative_numbers_round_down():
    """As C text, of variables of which nothing is known and of such with a least value."""
    known = ({"a": FAR, "b": FAR}, {"a": (-20, 20), "b": (-20, 20)})
    texts = [number(from_zero(index, ranges)) for index in INDICES.values() for ranges in known]
    lines = [f"long f{n}(long a, long b) {{ return {text}; }}" for n, text in enumerate(texts)]
    library = load("\n".join(lines), (), ctypes.CDLL)
    points = [{"a": a, "b": b} for a, b in product(range(-20, 21), repeat=2)]
    for n, index in enumerate(index for index in INDICES.values() for _ in known):
        compiled = getattr(library, f"f{n}")
        compiled.restype, compiled.argtypes = ctypes.c_long, [ctypes.c_long] * 2
        assert [compiled(p["a"], p["b"]) for p in points] == [index.at(p) for p in points], texts[n]


def test_a_divisor_of_which_nothing_is_known_is_positive():
    """So a quotient by it may be as far from 0 as its numerator, and is no larger."""
    index = applied("/", applied("/", A, B) - 3, constant(4))
    for at in ((-20, -1), (0, 20)):
        found = from_zero(index, {"a": at, "b": FAR})
        for a, b in product(range(at[0], at[1] + 1), range(1, 21)):
            assert found.at({"a": a, "b": b}) == index.at({"a": a, "b": b})
            assert all(each.at({"a": a, "b": b}) >= 0 for each in numerators(found)), (str(found), a, b)


@given(indices, indices, st.integers(1, 9), st.integers(1, 9))
def test_a_joined_index_has_the_same_values(index, other, by, step):
    whole = other + (index // by) * (by * step) + (index % by) * step
    for point in POINTS:
        assert joined(whole).at(point) == whole.at(point), str(whole)


def test_a_quotient_and_its_remainder_are_one_index_again():
    p, digits = A + B, (A + B) // 6
    assert joined((p // 4) * 12 + (p % 4) * 3 + 1) == p * 3 + 1
    assert joined((p // 42) * 84 + (digits % 7) * 12 + (p % 6) * 2) == p * 2
    apart = (p // 4) * 12 + (p % 4) * 2
    assert joined(apart) == apart
