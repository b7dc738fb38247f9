"""Copies float32 arrays of the CPU to the GPU in a kernel's dtypes, and its result back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cpu.runtime.numbers import from_bits, to_bits
from gpu.runtime.kernel import array_dtype
from tiling.dtypes.formats import FORMATS
from tiling.problem import Problem


def to_device(problem: Problem, inputs: Sequence[np.ndarray]) -> list[Any]:
    """A problem's inputs and its epilogue's arrays as CuPy arrays, rounded to its dtypes."""
    dtypes = (problem.dtype, problem.dtype, *(problem.output_dtype for _ in problem.epilogue_arrays))
    return [placed_bits(to_bits(array, dtype), dtype) for array, dtype in zip(inputs, dtypes)]


def placed_bits(bits: np.ndarray, dtype: str) -> Any:
    """An array of numbers, or of the bits of a dtype that NumPy lacks, as a CuPy array of that dtype."""
    import cupy

    return cupy.asarray(bits).view(array_dtype(dtype))


def brought_bits(array: Any, dtype: str) -> np.ndarray:
    """A CuPy array as one of NumPy, which has the bits of a dtype that NumPy lacks."""
    import cupy

    brought: np.ndarray = cupy.asnumpy(array.view(FORMATS[dtype].numpy))
    return brought


def poisoned(problem: Problem) -> Any:
    """An output on the device, full of NaN: reused memory may hold the right result of an earlier kernel."""
    return poisoned_array(problem.output.shape, problem.output_dtype)


def poisoned_array(shape: tuple[int, ...], dtype: str) -> Any:
    """An array on the device, all of whose bits are set."""
    import cupy

    array = cupy.empty(shape, array_dtype(dtype))
    array.data.memset_async(0xFF, array.nbytes)  # a kernel of CuPy would have to be compiled first
    return array


def as_output(problem: Problem, values: np.ndarray) -> Any:
    """Values on the device, rounded as a kernel of the problem stores them."""
    import cupy

    return cupy.asarray(to_bits(values, problem.output_dtype))


def from_device(problem: Problem, output: Any) -> np.ndarray:
    """A kernel's output as float32."""
    return from_bits(brought_bits(output, problem.output_dtype), problem.output_dtype)
