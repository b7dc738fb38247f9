"""What a map costs that a program's kernel has fused: `python -m bench.programs --fused`.

The kernel with it and the bare one compute in turns in one process, warm, each alone, timed in C. The cost is the
median over the turns of fused / bare - 1. Where it reads arrays that the bare one does not, their bytes stand beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from statistics import median
from typing import Any

import numpy as np

from bench.peers.networks.torch_programs import PRODUCT, SOFTMAX
from cpu.kernel.arguments import aligned
from cpu.kernel.program import ProgramKernel
from cpu.runtime.numbers import ELEMENTS
from search.flow.programs import generate_program

ROUNDS = 25
TURN_SECONDS = 0.01

_SIZES = {"i": 512, "j": 768, "c": 768}
_NORM = (
    "m[i] = mean[c] x[i,c]; v[i] = mean[c] (x[i,c] - m[i]) * (x[i,c] - m[i]); "
    "t[i,c] = (x[i,c] - m[i]) * rsqrt(v[i] + 1e-5)"
)


@dataclass(frozen=True)
class Case:
    """A program and the same without what its kernel has fused, of the same extents."""

    name: str
    text: str
    bare: str
    extents: dict[str, Any]


CASES = (
    Case("product, ReLU", f"{PRODUCT}; y[i,j] = relu(p[i,j])", PRODUCT, _SIZES),
    Case("product, bias", f"{PRODUCT}; y[i,j] = p[i,j] + b[j]", PRODUCT, _SIZES),
    Case("product, residual", f"{PRODUCT}; y[i,j] = p[i,j] + z[i,j]", PRODUCT, _SIZES),
    Case("product, transposed", f"{PRODUCT}; y[j,i] = p[i,j]", PRODUCT, _SIZES),
    Case("transposed, product", "t[i,c] = x[c,i]; p[i,j] = sum[c] t[i,c] * w[c,j]", PRODUCT, _SIZES),
    Case("normalised, product", f"{_NORM}; p[i,j] = sum[c] t[i,c] * w[c,j]", PRODUCT, _SIZES),
    Case(
        "scaled, softmax",
        f"t[i,j] = x[i,j] * 0.125; {SOFTMAX.replace(' x[', ' t[').replace('(x[', '(t[')}",
        SOFTMAX,
        {"i": 1536, "j": 128},
    ),
    Case("softmax, clamped", f"{SOFTMAX}; z[i,j] = max(y[i,j], 1e-6)", SOFTMAX, {"i": 1536, "j": 128}),
)


def compared(case: Case, threads: int) -> str:
    """The line of a case. Raises what building raises."""
    fused, bare = (generate_program(text, threads=threads, **case.extents) for text in (case.text, case.bare))
    assert isinstance(fused, ProgramKernel) and isinstance(bare, ProgramKernel)
    random = np.random.default_rng(0)
    arrays = {
        (a.name, a.shape): aligned(random.standard_normal(a.shape, np.float32)) for a in (*bare.inputs, *fused.inputs)
    }
    found: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        one, other = (
            kernel.measure([arrays[a.name, a.shape] for a in kernel.inputs], TURN_SECONDS).seconds
            for kernel in (fused, bare)
        )
        found.append((one, other))
    cost = median(one / other for one, other in found) - 1
    read = _bytes(fused) - _bytes(bare)
    own, without = (median(times) for times in zip(*found))
    more = f", and reads {read / 1e3:.0f} kB more" if read > 0 else ""
    return f"{case.name:<20} {1e6 * own:8.1f} µs   bare {1e6 * without:8.1f} µs   {100 * cost:+5.1f} %{more}"


def _bytes(kernel: ProgramKernel) -> int:
    """The bytes of all inputs."""
    return sum(prod(array.shape) * ELEMENTS[array.dtype].numpy.itemsize for array in kernel.inputs)
