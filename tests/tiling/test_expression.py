"""Sums and products of C: what they leave out changes no value."""

from hypothesis import given
from hypothesis import strategies as st

from tiling.expression import added, times

NAMES = {"h": 5, "w_1": -7, "X_w": 3}
LEAVES = st.sampled_from([*NAMES, "0", "1", "4", "h / 2", "h % 3"])


def combined(inner):
    """Sums and products of `inner`, as (text, value)."""
    sums = st.lists(inner, min_size=1, max_size=3).map(
        lambda found: (added(*(text for text, _ in found)), sum(value for _, value in found))
    )
    factors = st.one_of(st.integers(1, 9).map(lambda n: (n, n)), st.sampled_from(list(NAMES.items())))
    products = st.tuples(inner, factors).map(lambda pair: (times(pair[0][0], pair[1][0]), pair[0][1] * pair[1][1]))
    return st.one_of(sums, products)


def value_of(text: str) -> int:
    return eval(text.replace("/", "//"), {}, NAMES)  # h and 2 are positive, so C rounds alike


@given(st.recursive(LEAVES.map(lambda text: (text, value_of(text))), combined, max_leaves=8))
def test_the_text_has_the_value(found):
    text, value = found
    assert value_of(text) == value


def test_what_adds_nothing_or_multiplies_by_one_is_left_out():
    assert added("h", "0", 3, 0) == "h + 3" and added("0", 0) == added() == "0"
    assert times("h", 1) == "h" and times("0", "X_w") == "0" and times("1", "X_w") == "1 * X_w"
    assert times("h + 1", 4) == "(h + 1) * 4" and times("w % 2", "X_w") == "(w % 2) * X_w"
