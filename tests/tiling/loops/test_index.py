"""Index expressions: their algebra against plain arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops.indices import NAMES, POINTS, RANGES, indices, small, whole
from tiling.loops.index import LANE, Index, Operation, applied, constant, variable


def values(index: Index) -> list[int]:
    return [index.at(point) for point in POINTS]


@given(indices, indices, small, whole)
def test_operations_mean_what_they_do_to_numbers(a, b, number, by):
    one, other = values(a), values(b)
    pairs = list(zip(one, other))
    assert values(a + b) == [x + y for x, y in pairs] == values(b + a)
    assert values(a - b) == [x - y for x, y in pairs]
    assert values(a + number) == [x + number for x in one] and values(a * number) == [x * number for x in one]
    assert values(a // by) == [x // by for x in one] and values(a % by) == [x % by for x in one]
    assert values(applied("min", a, b)) == list(map(min, pairs)) and values(applied("max", a, b)) == list(
        map(max, pairs)
    )


def test_exclusive_or_is_that_of_the_bits():
    met = applied("^", variable("c"), variable("lane") % 4)
    points = [{"c": c, "lane": lane} for c in range(4) for lane in range(16)]
    assert all(met.at(point) == point["c"] ^ (point["lane"] % 4) for point in points)
    assert met.within({"c": (0, 3), "lane": (0, 15)}) == (0, 3) and str(met * 2 + 1) == "2*(c ^ lane % 4) + 1"
    assert applied("^", constant(0), variable("c")) == variable("c") and met.replaced({"c": constant(0)}) == LANE % 4


@given(indices, indices, indices)
def test_equal_sums_are_equal_whatever_their_order(a, b, c):
    assert (a + b) + c == c + (b + a) and hash((a + b) + c) == hash(c + (b + a))
    assert a - a == constant(0) and (a - a).is_constant
    assert a * 2 - a == a


@given(indices)
def test_equal_indices_have_equal_values(a):
    assert a == a + 0 == a * 1 and (a == a + 1) is False
    assert a != 3 and a != "h"  # no index


@given(indices, st.dictionaries(st.sampled_from(NAMES), indices))
def test_other_indices_in_place_of_variables(a, by):
    found = a.replaced(by)
    for point in POINTS:
        inner = point | {name: index.at(point) for name, index in by.items()}
        assert found.at(point) == a.at(inner)
    assert set(found.names()) <= set(a.names()) | {name for index in by.values() for name in index.names()}


@given(indices)
def test_bounds_hold(a):
    low, high = a.within(RANGES)
    assert low <= min(values(a)) and max(values(a)) <= high


@given(st.lists(st.tuples(st.sampled_from(NAMES), small)), small, whole)
def test_bounds_of_sums_and_of_their_quotients_are_exact(terms, offset, by):
    total = sum((variable(name) * c for name, c in terms), constant(offset))
    low, high = total.within(RANGES)
    assert (low, high) == (min(values(total)), max(values(total)))
    assert (total // by).within(RANGES) == (low // by, high // by)


@given(indices)
def test_the_text_is_the_index(a):
    """As an expression of Python, where / rounds down."""
    text = str(a).replace("/", "//")
    assert [eval(text, {"min": min, "max": max}, point) for point in POINTS] == values(a)


@pytest.mark.parametrize(
    "index, text",
    [
        (variable("h") * 2 + variable("r") - 1, "2*h + r - 1"),
        (variable("worker") // 4 % 2, "worker / 4 % 2"),
        ((variable("h") + 1) // 2 * 3, "3*((h + 1) / 2)"),
        (variable("h") * -1, "-h"),
        (constant(1) - variable("h"), "1 - h"),
        (variable("h") * -1 - 1, "-h - 1"),
        (variable("r") - variable("h"), "r - h"),
        (applied("max", constant(0), constant(1) - variable("h")), "max(0, 1 - h)"),
        (constant(-3), "-3"),
        (variable("h") // 2 * -1, "-(h / 2)"),
        (variable("r") - variable("h") // 2, "r - h / 2"),
        (variable("h") * -1 // 2 + 1, "(-h) / 2 + 1"),
        (variable("h") - variable("h"), "0"),
    ],
)
def test_texts(index, text):
    assert str(index) == text


def test_what_needs_no_part_has_none():
    h = variable("h")
    assert (h * 4 + 8) // 4 == h + 2 and (h * 4 + 7) % 4 == constant(3)
    assert constant(7) // 2 == constant(3) and constant(-7) % 4 == constant(1)
    assert [term for term, _ in ((h * 4 + 1) // 4).terms] == [Operation("/", h * 4 + 1, constant(4))]


def test_a_variable_without_a_range_is_an_error():
    with pytest.raises(KeyError):
        variable("k").within(RANGES)
    with pytest.raises(KeyError):
        variable("k").at({})


def test_a_coefficient_is_that_of_a_sum():
    index = variable("h") * 3 + variable("r") // 2
    assert (index.coefficient("h"), index.coefficient("r"), index.coefficient("s")) == (3, 0, 0)
    assert list(index.names()) == ["h", "r"]
