"""Checks the output of a GPU kernel against limits around a reference that NumPy computes from the definition.

Sums of small integers are exact in f32, so their check is `==`. Sums of reals, and what an epilogue rounds, lie between
error bounds that are rounded to the output's dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any  # CuPy has no types

import numpy as np

from cpu.reference.oracle import WrongResult, error_bound, exact_bound, integers, reals, reference
from cpu.runtime.numbers import from_bits, to_bits
from gpu.runtime.arrays import as_output, from_device, to_device
from gpu.runtime.machine.compare import outside
from tiling.dtypes.formats import FORMATS
from tiling.problem import Problem

# NumPy computes the reference even though a device could do so in a hundredth of the time. The device's own libraries
# are measured beside our kernels, and would have to be proven right first. A worker computes the reference once for a
# problem, before any candidate's time begins; 8192^3 takes 16 cores some seconds. The check of every candidate runs on
# the device (`Placed`), in a kernel that the CPU emulation runs too. NumPy looks only at outputs that the device finds
# wrong.

# A GPU may err twice as much as the oracle grants the CPU. Matrix units add by truncation, which errs by up to a unit
# in the last place where rounding errs by half of one (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA
# tensor cores, 2021). CUDA's expf, tanhf and erfcf err by up to 2, 2 and 4 units (CUDA C++ programming guide,
# mathematical functions).
_GRANTED = 2
_TF32_DROPPED = FORMATS["f32"].digits - FORMATS["tf32"].digits  # the last bits of a float's fraction
_LEAST = 2.0**-25  # half of the smallest f16


@dataclass(frozen=True)
class Case:
    """Inputs, float32 numbers that the problem's dtype holds, and the limits of the output, inclusive."""

    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def check(self, found: np.ndarray) -> float:
        """The largest error of an output. Raises WrongResult for an output beyond the limits."""
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


@dataclass(frozen=True)
class Placed:
    """A case whose inputs and limits lie on the device, for all kernels of its problem."""

    problem: Problem
    case: Case
    inputs: list[Any]
    low: Any
    high: Any

    def check(self, output: Any) -> None:
        """Raises WrongResult where an output on the device is not within the limits."""
        if self.outside(output):
            self.case.check(from_device(self.problem, output))

    def outside(self, output: Any) -> int:
        """The number of elements to look at more closely: elements outside the limits, and NaN."""
        return outside(self.problem.output_dtype, output, self.low, self.high)


def placed(problem: Problem, case: Case) -> Placed:
    """The case, copied to the device."""
    low = as_output(problem, case.low)
    high = low if case.high is case.low else as_output(problem, case.high)
    return Placed(problem, case, to_device(problem, case.inputs), low, high)


def exact_case(problem: Problem, seed: int = 0) -> Case:
    """Small integers, for which one result is right, except where an epilogue rounds."""
    return _case(problem, integers(problem, seed), exact_bound)


def real_case(problem: Problem, seed: int = 0) -> Case:
    """Random reals of the problem's dtype, and the error bound of sums in f32."""
    first, second, *arrays = reals(problem, seed)
    held = (_held(first, problem.dtype), _held(second, problem.dtype))
    return _case(problem, (*held, *(_held(a, problem.output_dtype) for a in arrays)), error_bound)


def stepwise(problem: Problem, case: Case) -> Case:
    """The case for a library without fused epilogues.

    It rounds sums, and every step of an epilogue, to the output's dtype, and each rounding may move the result. The
    epilogue adds arrays that have the output's last axis, or its shape.
    """
    x, w, *arrays = case.inputs
    sums = reference(replace(problem, epilogue=None), x, _for_reference(problem, w))
    largest = np.abs(sums) + sum(np.abs(array) for array in arrays) + (case.high - case.low)
    # One rounding for each array, one because the limits are rounded already, and 1 % for roundings of roundings.
    spread = 1.01 * (len(arrays) + 1) * (2.0 ** -FORMATS[problem.output_dtype].digits * largest + _LEAST)
    low, high = (_rounded(limit, problem.output_dtype) for limit in (case.low - spread, case.high + spread))
    return replace(case, low=low, high=high)


def _case(problem: Problem, inputs: Sequence[np.ndarray], bound_of: Callable[..., np.ndarray | float]) -> Case:
    first, second, *arrays = inputs
    second = _for_reference(problem, second)
    exact = reference(problem, first, second, *arrays)
    bound = _GRANTED * bound_of(problem, first, second, *arrays)
    low = _rounded(exact - bound, problem.output_dtype)
    high = _rounded(exact + bound, problem.output_dtype) if np.any(bound) else low
    return Case(tuple(inputs), exact, low, high)


def _for_reference(problem: Problem, second: np.ndarray) -> np.ndarray:
    """The second input in the reference's layout: weights as (K,C,R,S), as they lie with channels first."""
    return second.transpose(0, 3, 1, 2) if problem.windows and problem.layout == "nhwc" else second


def _held(array: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers near those of `array` that a dtype holds."""
    if dtype == "tf32":
        return (array.view(np.uint32) >> _TF32_DROPPED << _TF32_DROPPED).view(np.float32)
    return from_bits(to_bits(array, dtype), dtype)


def _rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(over="ignore"):  # beyond the largest f16 there is infinity
        return from_bits(to_bits(values.astype(np.float32), dtype), dtype)
