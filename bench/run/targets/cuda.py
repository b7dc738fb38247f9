"""Contenders on a GPU, timed by CUDA events.

A time is how long one call keeps the device busy, without launch and Python. All contenders read the same random reals,
since a GPU draws less power and runs faster on zeros. A "cold" cache means that L2 is swept before each call. The peak
is the data sheet's tensor-core rate, the bandwidth that of a copy within the device. Every time is that of a kernel
alone, so there is no separate one.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.peers.interface.peer import Prepared
from bench.run.targets.interface import BenchTarget, Contender, Refused
from gpu.runtime.arrays import from_device, poisoned, to_device
from gpu.runtime.kernel import load
from gpu.runtime.machine.device import bus_address, current_device
from gpu.runtime.machine.isolation import ADDRESSES
from gpu.runtime.machine.timer import WARM_CALLS, event_seconds, memory_bandwidth, sweeper, timed
from search.evaluator.gpu.check import Case, Placed, exact_case, placed, real_case, stepwise
from search.evaluator.gpu.cuda import CudaBackend
from search.tuner.dtypes import on_gpu
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse
from tiling.text.shapes import problem_of

# As nvidia-smi calls them, and as a reader does.
_ASKED = {
    "driver_version": "driver",
    "clocks.sm": "SM clock",
    "clocks.max.sm": "of at most",
    "clocks.mem": "memory clock",
    "power.limit": "power limit",
    "temperature.gpu": "degrees Celsius",
    "pstate": "performance state",
    "mig.mode.current": "MIG",
}
_ANSWER_SECONDS = 20


@dataclass(frozen=True)
class _Arena:
    """`bench.run.targets.interface.Arena` of a GPU.

    case: random reals with the reference's result. exact: small integers on the device, with theirs.
    """

    problem: Problem
    case: Case
    exact: Placed
    on_device: list[Any]
    l2_bytes: int
    peak_gflops: float
    sweep: Callable[[], None] | None
    threads: int = 1

    @property
    def inputs(self) -> Sequence[np.ndarray]:
        return self.case.inputs

    def ours(self, name: str, text: str) -> Contender:
        scheme = parse(self.problem, text)
        assert isinstance(scheme, Scheme)  # Winograd's algorithm is none of a GPU's
        kernel, output = load(scheme), poisoned(self.problem)
        kernel(*self.exact.inputs, out=output)
        self.exact.check(output)
        output = poisoned(self.problem)
        kernel(*self.on_device, out=output)
        error = self.case.check(from_device(self.problem, output))
        layout = "NHWC, weights channels last" if self.problem.windows else "row-major"
        call_seconds = partial(event_seconds, lambda: kernel(*self.on_device, out=output))
        return Contender(name, layout, error, partial(self._turn, call_seconds))

    def peer(self, name: str, prepared: Prepared) -> Contender:
        if prepared.kernel_seconds is None:
            raise Refused(f"{name} does not tell how long it keeps the device busy")
        granted = stepwise(self.problem, self.case) if prepared.stepwise else self.case
        error = granted.check(prepared.result())
        return Contender(name, prepared.layout, error, partial(self._turn, prepared.kernel_seconds), None, prepared)

    def bandwidth(self) -> float:
        return memory_bandwidth(self.l2_bytes)

    def _turn(self, call_seconds: Callable[[int], list[float]], seconds: float) -> Timing:
        counted = partial(_swept, call_seconds, self.sweep) if self.sweep else call_seconds
        return Timing(tuple(timed(counted, seconds)), self.peak_gflops)


def _arena(*, op: str, shape: str, dtype: str, cache: str, seed: int) -> _Arena:
    problem, device = on_gpu(problem_of(op, shape), dtype), current_device()
    case = real_case(problem, seed)
    exact, inputs = placed(problem, exact_case(problem, seed)), to_device(problem, case.inputs)
    sweep = sweeper(device.l2_bytes) if cache == "cold" else None
    return _Arena(problem, case, exact, inputs, device.l2_bytes, device.peak_flops(dtype) / 1e9, sweep)


def _swept(call_seconds: Callable[[int], list[float]], sweep: Callable[[], None], count: int) -> list[float]:
    found = []
    for _ in range(count):
        sweep()
        found += call_seconds(1)
    return found


def _compiler(backend: CudaBackend) -> str:
    return backend.compiler


def state() -> str:
    """Driver, clocks, power and temperature of this process's GPU at the start of the run, from nvidia-smi."""
    command = ["nvidia-smi", f"--id={bus_address()}", f"--query-gpu={','.join(_ASKED)}", "--format=csv,noheader"]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=True
        ).stdout.split(",")
    except (OSError, subprocess.SubprocessError) as error:
        return f"not known, since nvidia-smi did not tell: {error}"
    told = ", ".join(f"{name} {value.strip()}" for name, value in zip(_ASKED.values(), found))
    return f"{told}, when the run began; clocks are not fixed"


TARGET = BenchTarget(
    arena=_arena,
    address_space=ADDRESSES,
    turn_seconds=0.03,  # 100 calls; other programs disturb a GPU less than a CPU
    lasting=True,  # PyTorch and CuPy take seconds to start, as long as the search of a layer
    usual_peers=("cudnn", "cublas", "triton"),
    caches={
        "warm": "warm L2: inputs, weights and output stay where the call before left them",
        "cold": "cold L2: a buffer larger than the L2 is written before each call",
    },
    compiler=_compiler,
    state=state,
    allocator="output memory is re-used; what a library allocates comes from its own pool on the device",
    turns=f"; a turn begins with {WARM_CALLS} calls that do not count; before each call the device idles 0.2 ms, in "
    "which Python queues it",
)
