"""Is a GPU kernel right? Small integers in, compared with a reference that NumPy computes from the definition.

Their sums are exact in f32 in any order, so the output is the exact sum rounded once to its own dtype, and the check is
`==`. What an epilogue rounds may lie anywhere between its error bounds, both rounded to the output's dtype: rounding
keeps the order of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cpu.oracle import exact_bound, integers, reference
from gpu.kernel import Kernel
from gpu.numbers import from_bits, to_bits
from tiling.problem import Problem

# CUDA's expf, tanhf and erfcf are off by up to 2, 2 and 4 units in the last place (CUDA C++ programming guide,
# mathematical functions), at most twice what the oracle grants the CPU's.
_CUDA_FUNCTIONS = 2


class WrongResult(RuntimeError):
    """A kernel that does not compute its problem: how many outputs differ, and where the first one is."""


def check_exact(problem: Problem, run: Callable[[Sequence[np.ndarray]], np.ndarray], seed: int = 0) -> None:
    """Runs a kernel once on small integers, float32 arrays in and out. Raises WrongResult."""
    inputs = integers(problem, seed)
    low, high = _between(problem, inputs)
    found = run(inputs)
    wrong = np.argwhere(~((low <= found) & (found <= high) | np.isnan(low) & np.isnan(found)))
    if len(wrong):
        at = tuple(int(i) for i in wrong[0])
        raise WrongResult(
            f"wrong result: {len(wrong)} of {found.size} outputs differ from the reference, the first at {at}: "
            f"{found[at]:g} instead of {low[at]:g}" + (f" to {high[at]:g}" if high[at] != low[at] else "")
        )


def run_on_device(kernel: Kernel, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """One call of a loaded kernel on float32 arrays of this CPU, rounded to its dtypes; the output as float32."""
    import cupy

    problem = kernel.problem
    dtypes = (problem.dtype, problem.dtype, *(problem.output_dtype for _ in problem.epilogue_arrays))
    arrays = [_as_float(cupy.asarray(to_bits(array, dtype)), dtype) for array, dtype in zip(inputs, dtypes)]
    output = kernel(*arrays)
    bits = output.view(np.uint16) if problem.output_dtype == "bf16" else output
    return from_bits(cupy.asnumpy(bits), problem.output_dtype)


def _as_float(bits, dtype: str):
    if dtype != "bf16":
        return bits
    import ml_dtypes

    return bits.view(ml_dtypes.bfloat16)


def _between(problem: Problem, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest value each output may have."""
    first, second, *arrays = inputs
    if problem.windows:  # the reference takes weights (K,C,R,S)
        second = second.transpose(0, 3, 1, 2)
    exact = reference(problem, first, second, *arrays)
    bound = _CUDA_FUNCTIONS * exact_bound(problem, first, second, *arrays)
    return tuple(_rounded(limit, problem.output_dtype) for limit in (exact - bound, exact + bound))


def _rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(over="ignore"):  # beyond the largest f16 there is infinity
        return from_bits(to_bits(values.astype(np.float32), dtype), dtype)
