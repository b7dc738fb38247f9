"""The number formats of arrays: C types, NumPy dtypes, and conversion to and from bf16, which NumPy lacks.

bf16 lies in uint16 as bits. f16, f32 and tf32 are NumPy's float16 and float32. int8 is u8 for x and s8 for the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiling.problem import Problem


@dataclass(frozen=True)
class Element:
    """A number of an array: its C type and NumPy's dtype; `named`: how other libraries call one that NumPy lacks."""

    c: str
    numpy: np.dtype
    named: str = ""


ELEMENTS = {
    "f32": Element("float", np.dtype(np.float32)),
    "bf16": Element("uint16_t", np.dtype(np.uint16), named="bfloat16"),
    "s32": Element("int32_t", np.dtype(np.int32)),
    "u8": Element("uint8_t", np.dtype(np.uint8)),
    "s8": Element("int8_t", np.dtype(np.int8)),
}


def elements_of(problem: Problem) -> tuple[str, str, str]:
    """What the arrays of a CPU's problem are made of, names of ELEMENTS: x, weights and output."""
    inputs = ("u8", "s8") if problem.dtype == "int8" else (problem.dtype, problem.dtype)
    return (*inputs, problem.output_dtype)


def to_bits(array: np.ndarray, dtype: str) -> np.ndarray:
    """A contiguous array of `dtype` from floats, rounded to nearest even; bf16 as uint16. tf32 keeps all bits of f32.

    Of u8, s8 and s32 the nearest number that there is.
    """
    array = np.ascontiguousarray(array)
    if dtype == "f16":
        return array.astype(np.float16)
    if dtype in ("u8", "s8", "s32"):
        limits = np.iinfo(ELEMENTS[dtype].numpy)
        return np.clip(np.rint(array), limits.min, limits.max).astype(ELEMENTS[dtype].numpy)
    if dtype != "bf16":
        return array.astype(np.float32)
    if array.dtype == np.uint16:
        return array
    bits = array.astype(np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FFF), rounded)


def from_bits(array: np.ndarray, dtype: str) -> np.ndarray:
    """The values of what `to_bits` gives: float32, or float64 for s32, which float32 cannot hold."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64 if dtype == "s32" else np.float32)


def stored(problem: Problem, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The arrays that a CPU's kernel takes for x, w and the epilogue's: inputs of the problem's dtype, the others
    float32.
    """
    x, w, *arrays = values
    return *(to_bits(array, dtype) for array, dtype in zip((x, w), elements_of(problem))), *arrays
