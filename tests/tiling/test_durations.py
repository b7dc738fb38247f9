"""Times as readers see them."""

import pytest

from tiling.durations import microseconds, milliseconds


@pytest.mark.parametrize(
    "seconds, shown",
    [(0.0, "0.00"), (1e-8, "0.0000100"), (1.54e-6, "0.00154"), (0.005, "5.00"), (0.1544, "154"), (12.3456, "12346")],
)
def test_milliseconds_have_three_digits_and_no_exponent(seconds, shown):
    assert milliseconds(seconds) == shown


@pytest.mark.parametrize(
    "seconds, shown",
    [(0.0, "0 µs"), (3e-11, "0.00003 µs"), (3.44e-8, "0.034 µs"), (1.54e-6, "1.5 µs"), (2.0, "2000000.0 µs")],
)
def test_microseconds_have_a_digit_after_the_point(seconds, shown):
    assert microseconds(seconds) == shown
