"""The arrays that a kernel takes, in the number formats of its problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cpu.runtime.numbers import to_bits
from tiling.dtypes.products import OPERAND_DTYPES
from tiling.problem import Problem


def elements_of(problem: Problem) -> tuple[str, str, str]:
    """The elements of x, of the weights and of the output, as names in ELEMENTS."""
    return (*OPERAND_DTYPES[problem.dtype], problem.output_dtype)


def stored(problem: Problem, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The arrays that a kernel takes, from values: x and w in the problem's dtype, then the epilogue's in float32."""
    x, w, *arrays = values
    return *(to_bits(array, dtype) for array, dtype in zip((x, w), elements_of(problem))), *arrays
