"""The functions of narrow numbers, and of the sums that their products are added to.

A bf16 is the uint16 of its bits. A word is a uint32 that holds two bf16, or four bytes: u8 in words of x, s8 in those
of the weights. Its first number has the lowest bits. Results that are floats are rounded to nearest even.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tiling.dtypes.formats import FORMATS

Number = Any  # a NumPy scalar or vector

_LEAST = np.finfo(np.float32).tiny  # a smaller float is subnormal
_MOST = float(np.finfo(np.float32).max)


def fma(x: Number, w: Number, acc: Number) -> Number:
    """x * w + acc, rounded once."""
    if isinstance(x, np.float32) and isinstance(w, np.float32) and isinstance(acc, np.float32):
        exact = float(x) * float(w)  # Python's floats take a fifth of the time of NumPy's scalars
        whole = exact + float(acc)
        if whole - exact == acc and whole - float(acc) == exact and abs(whole) <= _MOST:
            return np.float32(whole)  # nothing was lost, as with whole numbers
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.asarray(x, np.float64) * w  # exact: it has 48 bits
        total = product + acc
        of_acc = total - product
        lost = (product - (total - of_acc)) + (acc - of_acc)
        if not lost.any():  # as with whole numbers
            return total.astype(np.float32)[()]
        # A last bit of 1 says that more follows. With 53 bits that suffices to round to 24 as if all were there.
        bits = total.view(np.int64)
        towards = np.where((lost > 0) == (total > 0), 1, -1)
        cut = np.isfinite(total) & (lost != 0) & (bits % 2 == 0)
        return np.where(cut, (bits + towards).view(np.float64), total).astype(np.float32)[()]


def mul_add(x: Number, w: Number, acc: Number) -> Number:
    """x * w + acc, each rounded."""
    with np.errstate(invalid="ignore", over="ignore"):
        return x * w + acc


def dot_bf16(x: Number, w: Number) -> Number:
    """The products of the two bf16 of two words, added."""
    return _first(x) * _first(w) + _second(x) * _second(w)


def dot_f16(x: Number, w: Number) -> Number:
    """The products of the two f16 of two words, added in f32."""
    first, second = _half(0, "f16"), _half(1, "f16")
    return np.float32(first(x)) * np.float32(first(w)) + np.float32(second(x)) * np.float32(second(w))


def dot_bf16_add(x: Number, w: Number, acc: Number) -> Number:
    """acc plus the products of two bf16, the second pair first. Subnormal inputs and results are zero."""
    return first_bf16_add(x, w, second_bf16_add(x, w, acc))


def first_bf16_add(x: Number, w: Number, acc: Number) -> Number:
    """acc plus the product of the first bf16 of two words, rounded once. Subnormal inputs and results are zero."""
    return _normal(fma(_normal(_first(x)), _normal(_first(w)), _normal(acc)))


def second_bf16_add(x: Number, w: Number, acc: Number) -> Number:
    """As `first_bf16_add`, for the second bf16."""
    return _normal(fma(_normal(_second(x)), _normal(_second(w)), _normal(acc)))


def dot_int8(x: Number, w: Number) -> Number:
    """The products of the four u8 and s8 of two words, added. As s32, which holds every such sum."""
    return (_bytes(x, np.uint8) * _bytes(w, np.int8)).sum(axis=-1, dtype=np.int32)


def dot_int8_add(x: Number, w: Number, acc: Number) -> Number:
    """acc plus the products of four u8 and s8, modulo 2^32."""
    return (np.asarray(acc) + np.asarray(dot_int8(x, w)))[()]


def alone(v: Number) -> Number:
    """The word that holds one number and zeros."""
    return _unsigned(v).astype(np.uint32)[()]


def word(*numbers: Number) -> Number:
    """The word that holds these numbers side by side. f16 numbers go in as their bits."""
    bits = 32 // len(numbers)
    parts = (_unsigned(v).astype(np.uint32) << np.uint32(bits * n) for n, v in enumerate(numbers))
    return sum(parts, np.uint32(0))


def _unsigned(v: Number) -> np.ndarray:
    """A number whose sign reaches no other one of its word: the bits of a whole number or f16. Others have no sign."""
    number = np.asarray(v)
    signed = number.dtype.kind == "i" or number.dtype == np.float16
    return number.view(f"u{number.dtype.itemsize}") if signed else number


def to_f32(v: Number) -> Number:
    """The float of an s32."""
    return np.asarray(v).astype(np.float32)[()]


def to_bf16(v: Number) -> Number:
    """The bits of the nearest bf16. A subnormal float becomes zero. NaN keeps its first bits."""
    floats = np.asarray(_normal(v))
    bits = floats.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(floats), bits >> 16 | 0x40, rounded).astype(np.uint16)[()]


def to_tf32(v: Number) -> Number:
    """The nearest tf32, as an f32; ties go away from zero. NaN stays NaN."""
    bits = np.asarray(v, np.float32).view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x1000 & 0xFFFFE000).astype(np.uint32)
    return np.where(np.isfinite(v), rounded, bits).astype(np.uint32).view(np.float32)[()]


def to_u8(v: Number) -> Number:
    """The nearest whole number from 0 to 255; 0 for NaN."""
    return _whole(v, 0, 255).astype(np.uint8)[()]


def to_s8(v: Number) -> Number:
    """The nearest whole number from -128 to 127; -128 for NaN."""
    return _whole(v, -128, 127).astype(np.int8)[()]


def _whole(v: Number, low: int, high: int) -> Number:
    return np.rint(np.clip(np.where(np.isnan(v), np.float32(low), v), low, high))


def _half(which: int, dtype: str) -> Callable[[Number], Number]:
    """The lower or the upper half of a word, as a number of a dtype."""
    kind = FORMATS[dtype].numpy
    return lambda word: (np.asarray(word, np.uint32) >> 16 * which).astype(np.uint16).view(kind)[()]


def _first(word: Number) -> Number:
    return np.left_shift(np.asarray(word, np.uint32), 16, dtype=np.uint32).view(np.float32)[()]


def _second(word: Number) -> Number:
    return np.bitwise_and(np.asarray(word, np.uint32), np.uint32(0xFFFF0000)).view(np.float32)[()]


def _bytes(word: Number, dtype: type) -> Number:
    """The four bytes of each word, along a last axis, as s32."""
    words = np.asarray(word, np.uint32)[..., np.newaxis] >> np.arange(0, 32, 8, dtype=np.uint32)
    return words.astype(np.uint8).view(dtype).astype(np.int32)


def _normal(v: Number) -> Number:
    """The number; a subnormal float becomes a zero of the same sign."""
    if isinstance(v, np.float32):
        return np.copysign(np.float32(0), v) if abs(v) < _LEAST else v
    return np.where(np.abs(v) < _LEAST, np.copysign(np.float32(0), v), v).astype(np.float32)[()]


NARROW: dict[str, Callable[..., Number]] = {
    "as_bf16": to_bf16,
    "as_tf32": to_tf32,
    "from_bf16": lambda v: _second(np.uint32(v) << 16),
    "fma": fma,
    "mul_add": mul_add,
    "dot_f16": dot_f16,
    "dot_bf16": dot_bf16,
    "dot_bf16_add": dot_bf16_add,
    "first_bf16_add": first_bf16_add,
    "second_bf16_add": second_bf16_add,
    "dot_int8": dot_int8,
    "dot_int8_add": dot_int8_add,
    "alone": alone,
    "word": word,
    **{f"{s}_{dtype}": _half(i, dtype) for i, s in enumerate(("low", "high")) for dtype in ("f16", "bf16")},
    "to_f32": to_f32,
    "to_bf16": to_bf16,
    "to_f16": np.float16,
    "to_u8": to_u8,
    "to_s8": to_s8,
}
