"""Is a GPU kernel right? What its output must lie between, from a reference that NumPy computes from the definition.

Of small integers every sum is exact in f32 in any order, so the output is the exact sum rounded once to its own dtype,
and the check is `==`. What an epilogue rounds, and sums of reals, may lie anywhere between their error bounds, both
rounded to the output's dtype: rounding keeps the order of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cpu.measure import WrongResult
from cpu.numbers import from_bits, to_bits
from cpu.oracle import error_bound, exact_bound, integers, reals, reference
from tiling.problem import Problem

# Twice what the oracle grants the CPU. Matrix units add by truncation, which errs by up to a unit in the last place
# where rounding errs by half of one (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores,
# 2021). CUDA's expf, tanhf and erfcf are off by up to 2, 2 and 4 units (CUDA C++ programming guide, mathematical
# functions).
_GRANTED = 2
_TF32_DROPPED = 13  # of the 23 bits of a float's fraction
_UNITS = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}  # the largest relative error of one rounding
_LEAST = 2.0**-25  # half of the smallest f16


@dataclass(frozen=True)
class Case:
    """Inputs, float32 numbers that the problem's dtype holds, and what the output must lie between, bounds included."""

    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def check(self, found: np.ndarray) -> float:
        """The largest error of an output. Raises WrongResult."""
        if found.shape != self.expected.shape:
            raise WrongResult(f"wrong result: shape {found.shape} instead of {self.expected.shape}")
        with np.errstate(invalid="ignore"):
            right = (self.low <= found) & (found <= self.high) | np.isnan(self.low) & np.isnan(found)
            error = np.abs(found - self.expected)
        wrong = np.argwhere(~right)
        if len(wrong):
            at = tuple(int(i) for i in wrong[0])
            low, high = self.low[at], self.high[at]
            raise WrongResult(
                f"wrong result: {len(wrong)} of {found.size} outputs differ from the reference, the first at {at}: "
                f"{found[at]:g} instead of {low:g}" + (f" to {high:g}" if high != low else "")
            )
        return float(error[np.isfinite(error)].max(initial=0))


def exact_case(problem: Problem, seed: int = 0) -> Case:
    """Small integers: but for what an epilogue rounds, one result is right."""
    return _case(problem, integers(problem, seed), exact_bound)


def real_case(problem: Problem, seed: int = 0) -> Case:
    """Random reals of the problem's dtype, and the error bound of sums in f32."""
    first, second, *arrays = reals(problem, seed)
    held = (_held(first, problem.dtype), _held(second, problem.dtype))
    return _case(problem, (*held, *(_held(a, problem.output_dtype) for a in arrays)), error_bound)


def stepwise(problem: Problem, case: Case) -> Case:
    """The case for whoever stores the sums, and every step of an epilogue that adds arrays to them, in the output's
    dtype, as a library does that has no fused form: each such rounding may move the result.

    The arrays are one of the output's last axis, or of its shape.
    """
    x, w, *arrays = case.inputs
    sums = reference(replace(problem, epilogue=None), x, _for_reference(problem, w))
    largest = np.abs(sums) + sum(np.abs(array) for array in arrays) + (case.high - case.low)
    # A rounding for each array, and one because the limits are rounded already; what they do to each other is 1 %.
    spread = 1.01 * (len(arrays) + 1) * (_UNITS[problem.output_dtype] * largest + _LEAST)
    low, high = (_rounded(limit, problem.output_dtype) for limit in (case.low - spread, case.high + spread))
    return replace(case, low=low, high=high)


def _case(problem: Problem, inputs: Sequence[np.ndarray], bound_of) -> Case:
    first, second, *arrays = inputs
    second = _for_reference(problem, second)
    exact = reference(problem, first, second, *arrays)
    bound = _GRANTED * bound_of(problem, first, second, *arrays)
    low, high = (_rounded(limit, problem.output_dtype) for limit in (exact - bound, exact + bound))
    return Case(tuple(inputs), exact, low, high)


def _for_reference(problem: Problem, second: np.ndarray) -> np.ndarray:
    """The second input as the reference takes it: weights as (K,C,R,S)."""
    return second.transpose(0, 3, 1, 2) if problem.windows else second


def _held(array: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers that a dtype holds, near those of `array`."""
    if dtype == "tf32":
        return (array.view(np.uint32) >> _TF32_DROPPED << _TF32_DROPPED).view(np.float32)
    return from_bits(to_bits(array, dtype), dtype)


def _rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(over="ignore"):  # beyond the largest f16 there is infinity
        return from_bits(to_bits(values.astype(np.float32), dtype), dtype)
