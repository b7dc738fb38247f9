"""Numbers in generated code: short, and the same f32 when they are read."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiling.text.numbers import shortest


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1 / 3, "0.33333334"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (999_999, "999999.0"),
        (1e6, "1e+06"),
        (2**24, "1.6777216e+07"),
        (1e-4, "1e-04"),
        (0.001, "0.001"),
        (3.4e38, "3.4e+38"),
        (-math.inf, "-inf"),
    ],
)
def test_the_text_does_not_depend_on_numpys_version(value, text):
    assert shortest(value) == text


@given(st.floats(width=32, allow_nan=False))
def test_it_reads_back_as_the_same_number(value):
    back = np.float32(float(shortest(value)))
    assert back == np.float32(value) and np.signbit(back) == np.signbit(value)


def test_an_f64_becomes_the_nearest_f32():
    assert np.float32(float(shortest(0.1 + 1e-12))) == np.float32(0.1)
