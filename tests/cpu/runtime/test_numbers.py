"""Numbers as bits of an array's dtype: rounded to nearest even, and saturated where whole numbers end."""

import warnings

import numpy as np
import pytest

from cpu.runtime.numbers import ELEMENTS, to_bits

WHOLE = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


def nearest(value: float, dtype: str) -> int:
    """By Python's own numbers, which have no end."""
    ends = np.iinfo(ELEMENTS[dtype].numpy)
    if value == np.inf or value == -np.inf:
        return int(ends.max if value > 0 else ends.min)
    return min(max(round(value), int(ends.min)), int(ends.max))


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("given", [np.float16, np.float32, np.float64])
def test_whole_numbers_saturate(dtype, given):
    ends = [2.0**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
    with np.errstate(over="ignore"):  # f16 has no 2**16
        near = [sign * np.nextafter(given(end), given(to)) for end in ends for to in (0, np.inf) for sign in (1, -1)]
        beyond = [3e9, -3e9, 1e19, -1e19, 1e30, np.inf, -np.inf]
        values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, *beyond, *ends, *near], given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a cast of what lies beyond the range warns, and gives what the CPU likes
        found = to_bits(values, dtype)
    assert found.dtype == ELEMENTS[dtype].numpy
    assert found.tolist() == [nearest(value, dtype) for value in values.tolist()]


@pytest.mark.parametrize("dtype", WHOLE)
def test_what_is_no_number_becomes_the_least(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_bits(np.array([np.nan], np.float32), dtype).tolist() == [np.iinfo(ELEMENTS[dtype].numpy).min]


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("given", WHOLE)
def test_whole_numbers_stay_exact(dtype, given):
    own = np.iinfo(ELEMENTS[given].numpy)
    numbers = [own.min, -1, 0, 1, 127, 200, 2**24 + 1, 2**53 + 1, 2**63 - 1, 2**63 + 1, own.max]
    values = [number for number in numbers if own.min <= number <= own.max]
    found = to_bits(np.array(values, ELEMENTS[given].numpy), dtype)
    assert found.dtype == ELEMENTS[dtype].numpy and found.tolist() == [nearest(value, dtype) for value in values]


def test_truth_is_0_or_1():
    assert to_bits(np.array([True, False]), "s32").tolist() == [1, 0]
