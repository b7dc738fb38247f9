"""Kernels for this process's GPU: how schedules are built for it, and how workers try them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any  # what workers are given and give is JSON

from cpu.runtime.compiler.toolchain import CompileError
from cpu.runtime.processes.worker import CandidateError, Worker, WorkerError
from gpu.runtime.compiler.compile import compiler_name
from gpu.runtime.kernel import GpuKernel, load
from gpu.runtime.machine.device import DeviceError, current_device, driver_version
from gpu.runtime.machine.isolation import ADDRESSES
from search.evaluator.gpu.backend import GpuBackend, gpu_target
from search.evaluator.interface.protocol import CANDIDATE_SECONDS, Verdict, direct
from search.tuner import store
from search.tuner.measured import AnyScheme
from search.tuner.tune import BATCH
from tiling.arguments import ArgumentError
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.shapes import canonical

# Seconds for a worker to open the device and compute the reference. The largest products take a CPU some seconds.
READY_SECONDS = 120.0
# The errors of a GPU's back end that a CPU's does not raise.
ERRORS = (ArgumentError, CompileError, DeviceError)


def cuda_backend(dtype: str) -> CudaBackend:
    """The back end of this process's GPU. Raises DeviceError without a GPU, CompileError without NVRTC."""
    current_device()
    backend = CudaBackend(gpu_target("cuda", dtype))
    _ = backend.compiler  # what is missing is said before anything is tried
    return backend


class CudaBackend(GpuBackend):
    """`search.evaluator.interface.protocol.Backend` of the GPU that is here."""

    @cached_property
    def compiler(self) -> str:
        """The versions of NVRTC and of the driver, and a digest of all files that decide a kernel's text."""
        driver = driver_version()  # first: who has no device needs no NVRTC
        return f"{compiler_name()}, driver {driver}, kernels {_digest()}"

    def key(self, problem: Problem) -> store.Key | None:
        """None where the device is not here: choices are kept by its driver."""
        return None if self.target.absent else self.target.key(problem, self.compiler)

    def kind(self, tune: str, problem: Problem) -> str | None:
        """No choice of the model is kept, since choosing takes no longer than looking it up."""
        return self.target.kind(tune) if tune == "measure" else None

    def build(self, scheme: AnyScheme, timing: Timing | None = None) -> GpuKernel:
        return replace(load(direct(scheme)), timing=timing)

    def job(self, scheme: AnyScheme) -> dict[str, Any]:
        return {**_job(scheme.problem), "scheme": scheme.text}

    def evaluator(self, problem: Problem) -> CudaEvaluator:
        _ = self.compiler  # what is missing is said before anything is tried
        return CudaEvaluator(problem, self.device.architecture)

    def checker(self, problem: Problem) -> CudaEvaluator:
        return self.evaluator(problem)


@dataclass
class CudaEvaluator:
    """Tries schedules in two worker processes, one for the device and one for the compiler.

    A kernel that faults leaves CUDA unusable in its process, which then ends. The process of a kernel that hangs is
    killed.
    """

    problem: Problem
    architecture: str

    def __post_init__(self) -> None:
        self._device, self._compiler = _worker(), _worker()

    @property
    def batch(self) -> int:
        return BATCH

    def ready(self) -> None:
        """Opens the device, so that the budget is for measuring. Raises WorkerError where the device is at fault.

        A worker that replaces another one opens the device when it is needed.
        """
        with ThreadPoolExecutor(1) as pool:
            compiler = pool.submit(self._load_compiler)
            self._make_ready()
            compiler.result()

    def close(self) -> None:
        self._device.close()
        self._compiler.close()

    def prepare(self, schemes: Sequence[AnyScheme], patience: float = CANDIDATE_SECONDS) -> dict[str, Timing | str]:
        """By text, why schedules do not compile or why they spill registers."""
        self._load_compiler()
        texts = [scheme.text for scheme in schemes]
        job = {**_job(self.problem), "schemes": texts, "architecture": self.architecture}
        patience = min(patience, CANDIDATE_SECONDS)
        try:
            return dict(self._compiler.call("search.evaluator.gpu.measure:compiled", timeout=patience, **job))
        except CandidateError as error:
            return dict.fromkeys(texts, error.reason)

    def measure(self, scheme: AnyScheme, seconds: float, patience: float = CANDIDATE_SECONDS) -> Timing | str:
        self._make_ready()
        job = {**_job(self.problem), "scheme": scheme.text, "seconds": seconds}
        patience = min(patience, CANDIDATE_SECONDS)
        try:
            found = self._device.call("search.evaluator.gpu.measure:scheme", timeout=patience, **job)
        except CandidateError as error:
            return error.reason
        return Timing.of(found)

    def verify(self, scheme: AnyScheme, seconds: float, seed: int) -> Verdict:
        job = {**_job(self.problem), "scheme": scheme.text, "seconds": seconds, "seed": seed}
        with closing(_worker()) as worker:
            found = worker.call("search.evaluator.gpu.measure:verdict", timeout=READY_SECONDS, **job)
        return Verdict(Timing.of(found), found["max_error"])

    def _make_ready(self) -> None:
        """Opens the device in the worker before a candidate's time begins; after a crash, in a new worker."""
        try:
            self._device.call("search.evaluator.gpu.measure:ready", timeout=READY_SECONDS, **_job(self.problem))
        except CandidateError as error:
            raise WorkerError(f"the device cannot be used: {error.reason}") from error

    def _load_compiler(self) -> None:
        try:
            job = {"architecture": self.architecture}
            self._compiler.call("search.evaluator.gpu.measure:compiler_ready", timeout=READY_SECONDS, **job)
        except CandidateError as error:
            raise WorkerError(f"NVRTC cannot be used: {error.reason}") from error


def _worker() -> Worker:
    return Worker(memory_bytes=ADDRESSES, packages=("search",))


def _job(problem: Problem) -> dict[str, Any]:
    return {"op": problem.op, "shape": canonical(problem), "dtype": problem.dtype}


@lru_cache(maxsize=1)
def _digest() -> str:
    """A digest of all files of `gpu`, so that kernels of another version are measured anew."""
    folder = Path(__file__).parents[3] / "gpu"
    texts = [
        (str(path.relative_to(folder)), path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:8]
