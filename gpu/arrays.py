"""float32 arrays of this CPU as a kernel's arrays on the GPU, and its result back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cpu.numbers import from_bits, to_bits
from gpu.kernel import array_dtype
from tiling.problem import Problem


def to_device(problem: Problem, inputs: Sequence[np.ndarray]) -> list:
    """CuPy arrays of a problem's inputs and its epilogue's arrays, rounded to its dtypes."""
    import cupy

    dtypes = (problem.dtype, problem.dtype, *(problem.output_dtype for _ in problem.epilogue_arrays))
    return [cupy.asarray(to_bits(array, dtype)).view(array_dtype(dtype)) for array, dtype in zip(inputs, dtypes)]


def poisoned(problem: Problem):
    """An output on the device of NaN alone: memory that is used again may hold an earlier kernel's right result."""
    import cupy

    output = cupy.empty(problem.output.shape, array_dtype(problem.output_dtype))
    output.view("uint8").fill(0xFF)
    return output


def from_device(problem: Problem, output) -> np.ndarray:
    """A kernel's output as float32."""
    import cupy

    bits = output.view("uint16") if problem.output_dtype == "bf16" else output
    return from_bits(cupy.asnumpy(bits), problem.output_dtype)
