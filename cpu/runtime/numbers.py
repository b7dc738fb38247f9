"""The number formats of arrays: C types, NumPy dtypes, and conversion to and from bf16, which NumPy lacks.

The bits of bf16 lie in uint16. f16 is NumPy's float16; f32 and tf32 are its float32. In an int8 problem x is u8 and the
weights are s8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiling.dtypes.formats import FORMATS


@dataclass(frozen=True)
class Element:
    """An element of an array. c: its C type. numpy: the dtype that holds it. named: what other libraries call a dtype
    that NumPy lacks.
    """

    c: str
    numpy: np.dtype
    named: str = ""


ELEMENTS = {name: Element(each.c, np.dtype(each.numpy), each.named) for name, each in FORMATS.items()}


def masked(array: object, name: str) -> str:
    """What is wrong with a masked array, whose mask a kernel would drop; "" for any other value."""
    if not isinstance(array, np.ma.MaskedArray):
        return ""
    return f"{name} is a masked array, and a kernel knows no mask: pass {name}.filled(0) or {name}.data"


def in_memory(array: np.ndarray, dtype: str) -> np.ndarray:
    """An array of a dtype that NumPy lacks, from another library, as kernels read it; any other array unchanged."""
    element = ELEMENTS[dtype]
    if not element.named or array.dtype.name != element.named:
        return array
    return array.astype(element.numpy) if "int" in element.named else array.view(element.numpy)


def to_bits(array: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers as a contiguous array of `dtype`, rounded to nearest even. bf16 becomes uint16; tf32 keeps all of f32.

    Whole numbers saturate: a value beyond their range becomes the nearest end of it, and NaN the least number.
    """
    array = np.ascontiguousarray(array)
    if dtype == "f16":
        return array.astype(np.float16)
    if FORMATS[dtype].whole and not FORMATS[dtype].named:
        return _saturated(array, ELEMENTS[dtype].numpy)
    if dtype != "bf16":
        return array.astype(np.float32)
    if array.dtype == np.uint16:
        return array
    bits = array.astype(np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FFF), rounded)


def _saturated(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers as whole numbers of `dtype`, the nearest end of its range for what lies beyond it."""
    ends = np.iinfo(dtype)
    if array.dtype.kind in "iub":
        own = np.iinfo(array.dtype) if array.dtype.kind != "b" else np.iinfo(np.uint8)
        return np.asarray(np.clip(array, max(ends.min, own.min), min(ends.max, own.max)), dtype)
    # f32 holds no 2**31 - 1, and f64 no 2**63 - 1: what rounds to 2**63 is beyond the range, and no cast may see it.
    numbers = np.rint(array.astype(np.float64))
    above, below = numbers >= float(ends.max), ~(numbers > float(ends.min))
    found: np.ndarray = np.where(above | below, 0.0, numbers).astype(dtype)
    found[above], found[below] = ends.max, ends.min
    return found


def from_bits(array: np.ndarray, dtype: str) -> np.ndarray:
    """The values of an array from `to_bits`: float32, or float64 for s32, which float32 cannot hold."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64 if dtype == "s32" else np.float32)
