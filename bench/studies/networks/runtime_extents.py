"""Kernels with runtime extents beside those made for one size: `python -m bench.programs --runtime`.

Both compute the same arrays in turns in one process, warm, the kernel alone, timed in C; the results are compared.
A speed is the median over the turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from cpu.kernel.arguments import aligned
from cpu.kernel.program import ProgramKernel
from cpu.runtime.processes.worker import CandidateError
from search.flow.programs import generate_program

ROUNDS = 15
TURN_SECONDS = 0.01
_NEAR = 2e-4  # the two add in different orders

_SOFTMAX = "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
_ATTENTION = (
    "s[h,i,j] = sum[c] q[h,i,c] * k[h,j,c]; t[h,i,j] = {score}; m[h,i] = max[j] t[h,i,j]; "
    "e[h,i,j] = exp(t[h,i,j] - m[h,i]); d[h,i] = sum[j] e[h,i,j]; a[h,i,c] = sum[j] e[h,i,j] * v[h,j,c]; "
    "y[h,i,c] = a[h,i,c] / d[h,i]"
)


@dataclass(frozen=True)
class Case:
    """A program, the bounds of its runtime dims, and the sizes at which it is timed."""

    name: str
    text: str
    bounds: Mapping[str, Any]
    sizes: tuple[Mapping[str, int], ...]


_HEADS: Mapping[str, Any] = {"h": 12, "i": "<=512", "j": "<=512", "c": 64}
_SQUARE = tuple({"i": n, "j": n} for n in (128, 509, 512))
CASES = (
    Case("softmax", _SOFTMAX, {"i": "<=512", "j": "<=1024"}, ({"i": 128, "j": 768}, {"i": 512, "j": 1000})),
    Case(
        "layer norm of a batch",
        "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); "
        "y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i] + 1e-5)",
        {"i": "<=2048", "j": 768},
        ({"i": 128}, {"i": 2048}),
    ),
    Case("attention", _ATTENTION.format(score="s[h,i,j] * 0.125"), _HEADS, (*_SQUARE, {"i": 1, "j": 500})),
    Case("causal attention", _ATTENTION.format(score="where(j <= i, s[h,i,j], -inf)"), _HEADS, _SQUARE),
    Case(
        "max pooling",
        "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -inf",
        {"h": "<=112", "w": "<=112", "r": 3, "s": 3, "c": 64},
        ({"h": 56, "w": 56}, {"h": 17, "w": 31}),
    ),
    Case("transposition", "y[j,i] = x[i,j]", {"i": "<=1024", "j": "<=1024"}, ({"i": 512, "j": 512},)),
)


def compared(case: Case, threads: int) -> list[str]:
    """A line for each size. Raises CandidateError where the results differ, and what building raises."""
    lines = []
    kernel = generate_program(case.text, threads=threads, **case.bounds)
    assert isinstance(kernel, ProgramKernel)
    for size in case.sizes:
        fixed = generate_program(case.text, threads=threads, **{**case.bounds, **size})
        assert isinstance(fixed, ProgramKernel)
        random = np.random.default_rng(0)
        arrays = [aligned(random.standard_normal(array.shape, np.float32)) for array in fixed.inputs]
        if not np.allclose(kernel(*arrays), fixed(*arrays), rtol=_NEAR, atol=_NEAR):
            raise CandidateError(f"{case.name}: the result is not that of the kernel for this size")
        any_size, one_size = [], []
        for _ in range(ROUNDS):
            any_size.append(kernel.measure(arrays, TURN_SECONDS).seconds)
            one_size.append(fixed.measure(arrays, TURN_SECONDS).seconds)
        name = f"{case.name}, {','.join(f'{dim}={extent}' for dim, extent in size.items())}"
        ours, its = median(any_size), median(one_size)
        lines.append(
            f"{name:<36} any size {1e6 * ours:9.1f} µs   this size {1e6 * its:9.1f} µs   {ours / its:5.2f} times"
        )
    return lines
