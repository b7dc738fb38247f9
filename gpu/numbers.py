"""Number formats that NumPy lacks, as arrays of bits: bf16 in uint16. f16, f32 and tf32 are NumPy's float16 and float32."""

from __future__ import annotations

import numpy as np


def to_bits(array: np.ndarray, dtype: str) -> np.ndarray:
    """A contiguous array of `dtype` from floats, rounded to nearest even; bf16 as uint16. tf32 keeps all bits of f32."""
    array = np.ascontiguousarray(array)
    if dtype == "f16":
        return array.astype(np.float16)
    if dtype != "bf16":
        return array.astype(np.float32)
    if array.dtype == np.uint16:
        return array
    bits = array.astype(np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FFF), rounded)


def from_bits(array: np.ndarray, dtype: str) -> np.ndarray:
    """The float32 values of what `to_bits` gives."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)
