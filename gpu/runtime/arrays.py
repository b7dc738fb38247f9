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
    import cupy

    dtypes = (problem.dtype, problem.dtype, *(problem.output_dtype for _ in problem.epilogue_arrays))
    return [cupy.asarray(to_bits(array, dtype)).view(array_dtype(dtype)) for array, dtype in zip(inputs, dtypes)]


def poisoned(problem: Problem) -> Any:
    """An output on the device, full of NaN: reused memory may hold the right result of an earlier kernel."""
    import cupy

    output = cupy.empty(problem.output.shape, array_dtype(problem.output_dtype))
    output.data.memset_async(0xFF, output.nbytes)  # a kernel of CuPy would have to be compiled first
    return output


def as_output(problem: Problem, values: np.ndarray) -> Any:
    """Values on the device, rounded as a kernel of the problem stores them."""
    import cupy

    return cupy.asarray(to_bits(values, problem.output_dtype))


def from_device(problem: Problem, output: Any) -> np.ndarray:
    """A kernel's output as float32."""
    import cupy

    bits = output.view(FORMATS[problem.output_dtype].numpy)
    return from_bits(cupy.asnumpy(bits), problem.output_dtype)
