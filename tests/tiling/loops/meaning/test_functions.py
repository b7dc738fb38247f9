"""Functions of bf16, int8 and words: what is rounded once, and what words hold."""

from __future__ import annotations

import numpy as np

from tiling.loops.meaning import functions, narrow
from tiling.loops.meaning.functions import FUNCTIONS


def test_a_product_and_a_sum_are_rounded_once():
    """1 + 2^-23 and a little less than half of a last bit. Rounded to an f64 first, that is exactly half."""
    x, w, acc = np.float32(1 + 2**-15), np.float32((1 - 2**-15) / 2**24), np.float32(1 + 2**-23)
    assert narrow.fma(x, w, acc) == acc and narrow.fma(-x, w, -acc) == -acc
    assert np.float32(np.float64(x) * np.float64(w) + np.float64(acc)) == np.float32(1 + 2**-22)
    above = np.float32((1 + 2**-15) / 2**24), np.float32(1)
    assert narrow.fma(x, *above) == np.float32(1 + 2**-23)


def test_a_product_is_rounded_once_to_a_whole_number():
    """(2^13 + 1) (2^-14 - 2^-27) is 1 / 2 - 2^-27, and the nearest f32 to it is 1 / 2. Ties go to even."""
    below = np.float32(2**13 + 1), np.float32(2**-14 - 2**-27)
    assert below[0] * below[1] == np.float32(0.5) and functions.round_mul(*below) == 0
    halves = functions.round_mul(np.arange(-5, 6, 2, np.float32), np.float32(0.5))
    assert halves.tolist() == [-2, -2, 0, 0, 2, 2] and halves.dtype == np.float32
    assert not np.signbit(halves[2:4]).any()


def test_a_dot_of_bf16_adds_the_second_pair_first():
    x = np.array([1.0, 2.0**24], np.float32).view(np.uint32) >> 16
    word, ones = np.uint32(x[0] | x[1] << 16), np.uint32(0x3F803F80)
    assert narrow.dot_bf16_add(word, ones, np.float32(-(2**24))) == 1
    assert narrow.dot_bf16_add(word, ones, np.float32(1)) == 2**24 + 0  # 2^24 + 1 is rounded to even, twice


def test_a_negative_number_changes_no_other_one_of_its_word():
    numbers = np.array([-1, 2, -3, 4], np.int8)
    (expected,) = numbers.view(np.uint32)
    assert narrow.word(*numbers) == expected
    lanes = narrow.word(*(np.stack([number, -number]) for number in numbers))
    assert lanes.view(np.int8).reshape(2, 4).tolist() == [[-1, 2, -3, 4], [1, -2, 3, -4]]
    assert narrow.alone(numbers[2]) == 253 and narrow.alone(numbers).tolist() == [255, 2, 253, 4]


def test_words_of_bytes_hold_unsigned_x_and_signed_weights():
    x, w = (np.array([200, 1, 2, 255], np.uint8), np.array([-1, 127, -128, -3], np.int8))
    dot = narrow.dot_int8(x.view(np.uint32)[0], w.view(np.uint32)[0])
    assert dot == -200 + 127 - 256 - 765 and dot.dtype == np.int32
    vector = narrow.dot_int8_add(x.view(np.uint32), w.view(np.uint32), np.array([5], np.int32))
    assert vector.tolist() == [dot + 5] and vector.dtype == np.int32


def test_narrow_numbers_are_rounded_to_even_and_saturate():
    assert narrow.to_s8(np.array([0.5, 1.5, -300, 1e30, np.nan], np.float32)).tolist() == [0, 2, -128, 127, -128]
    assert narrow.to_u8(np.array([0.5, 2.5, -3, 1e30, np.nan], np.float32)).tolist() == [0, 2, 0, 255, 0]
    floats = np.array([1.00390625, 1.01171875, 1e-40, np.inf], np.float32)  # 1 + 1/256, and 1 + 3/256
    assert narrow.to_bf16(floats).tolist() == [0x3F80, 0x3F82, 0, 0x7F80]


def test_a_shift_by_a_count_that_no_bit_has_leaves_nothing_or_the_sign():
    numbers, counts = np.array([5, -8, 5, -8], np.int32), np.array([-1, -1, 32, 32], np.int32)
    assert FUNCTIONS["shl"](numbers, counts).tolist() == [0, 0, 0, 0]
    assert FUNCTIONS["shr"](numbers, counts).tolist() == [0, -1, 0, -1]


def test_scalars_and_vectors_get_the_same():
    """The interpreter computes lane by lane, and by vectors."""
    rng = np.random.default_rng(0)
    x, w = (rng.integers(0, 1 << 32, 64, dtype=np.uint32) & 0xBFFFBFFF for _ in range(2))
    acc = rng.standard_normal(64, np.float32)
    for name, given in {
        "dot_bf16": (x, w), "dot_bf16_add": (x, w, acc), "dot_int8": (x, w), "fma": (acc, acc, acc),
        "dot_int8_add": (x, w, acc.view(np.int32)), "to_bf16": (acc,), "to_u8": (acc,), "to_f32": (x.view(np.int32),),
    }.items():  # fmt: skip
        whole = FUNCTIONS[name](*given)
        lanes = [FUNCTIONS[name](*(values[lane] for values in given)) for lane in range(64)]
        assert np.array_equal(whole.view(np.uint8), np.array(lanes).view(np.uint8)) and whole.dtype == lanes[0].dtype
