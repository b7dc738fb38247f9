"""A GPU, ready to choose and measure schedules for: what `search.workshop` is for the CPU, with the same methods.

    the model's order ──► compiled by NVRTC, spills are out ──► exact? timed by events ──► the best few in turns ──► one

The tuner, the store and their rules are those of the CPU; only what prepares and measures a candidate differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import ClassVar

from cpu.worker import CandidateError, Worker, WorkerError
from gpu.compile import compiler_name
from gpu.devices import Device
from gpu.isolation import ADDRESSES
from gpu.kernel import current_device, driver_version
from gpu.pipeline import REGISTERS
from gpu.predict import predict, rank
from search import store
from search.gpu_problem import on_gpu
from search.tune import Outcome
from search.workshop import CANDIDATE_SECONDS, DEFAULT_BUDGET, DEFAULT_TRIALS, tune_and_record
from tiling.machine import CacheLevel, Machine, Timing
from tiling.problem import Problem
from tiling.scheme import Scheme
from tiling.shapes import canonical

# Until a worker has opened the device and computed what candidates are compared with: the largest products take a
# CPU some seconds.
READY_SECONDS = 120.0


@dataclass(frozen=True)
class GpuWorkshop:
    """This process's GPU and a dtype. Problems are the GPU's (`search.gpu_problem`)."""

    device: Device
    dtype: str
    threads: int = 1  # of the host: the one that launches
    target: ClassVar[str] = "cuda"
    algorithm: ClassVar[str] = "direct"

    @cached_property
    def fingerprint(self) -> str:
        return f"{self.device.name}, {self.device.multiprocessors} multiprocessors, {self.device.architecture}"

    @cached_property
    def compiler(self) -> str:
        """NVRTC, the driver that loads what it compiles, and a digest of all that decides a kernel's text."""
        return f"{compiler_name()}, driver {driver_version()}, kernels {_digest()}"

    @cached_property
    def machine(self) -> Machine:
        """The GPU in the words of a CPU: a multiprocessor for a core, the data sheet's rates."""
        device = self.device
        l2 = CacheLevel("L2", device.l2_bytes, 128, 0, device.l2_bandwidth, device.multiprocessors)
        memory = device.memory_bandwidth
        peak = device.peak_flops(self.dtype) / device.multiprocessors
        return Machine(
            *(self.fingerprint, device.architecture, 32, REGISTERS, peak, device.multiprocessors, (l2,)),
            *(memory, memory, memory),
        )

    def problem(self, problem: Problem) -> Problem:
        """A problem of f32, channels last, as it is computed here. Raises ProblemError."""
        return on_gpu(problem, self.dtype)

    def key(self, problem: Problem) -> store.Key:
        """Under which the store keeps this problem."""
        shape, architecture = canonical(problem), self.device.architecture
        return store.Key(self.fingerprint, architecture, self.compiler, problem.op, shape, self.threads)

    def job(self, scheme: Scheme) -> dict:
        """The arguments that the functions of `search.gpu_measure` take for a scheme."""
        return {**_job(scheme.problem), "scheme": scheme.text}

    def candidates(self, problem: Problem) -> list[Scheme]:
        """Every schedule that fits, in the order to try them. Raises SchemeError for an operator that is no product."""
        return [prediction.scheme for prediction in rank(problem, self.device)]

    def predicted_seconds(self, schemes: Sequence[Scheme]) -> list[float]:
        return [predict(scheme, self.device).seconds for scheme in schemes]

    def tune(
        self,
        schemes: Sequence[Scheme],
        *,
        budget: float = DEFAULT_BUDGET,
        trials: int = DEFAULT_TRIALS,
        seed: int = 0,
        forget: bool = False,
        progress: Callable[[int, int, float], None] = lambda tried, of, best: None,
    ) -> Outcome:
        """As `search.workshop.Workshop.tune`; the budget begins once the device is open. Raises TuningError,
        StoreError, CacheError, and WorkerError where the device, and not a candidate, is at fault.
        """
        key = self.key(schemes[0].problem)
        with closing(_worker()) as worker, closing(_worker()) as compilers:

            def measure(scheme: Scheme, seconds: float, patience: float) -> Timing | str:
                _make_ready(worker, scheme.problem)
                return self._measured(worker, scheme, seconds, patience)

            def prepare(schemes: Sequence[Scheme], patience: float) -> dict[str, str]:
                _load_compiler(compilers)
                return self._compiled(compilers, schemes, patience)

            # Now, so that the budget is for measuring; a worker that takes another's place is made ready when it is
            # needed.
            _make_ready(worker, schemes[0].problem)
            _load_compiler(compilers)
            return tune_and_record(
                key,
                "measure",
                schemes,
                measure,
                prepare,
                forget=forget,
                budget=budget,
                trials=trials,
                seed=seed,
                progress=progress,
            )

    def verdict(self, scheme: Scheme, seconds: float, seed: int) -> tuple[Timing, float]:
        """The scheme checked and timed in a worker of its own: timing and largest error. Raises CandidateError."""
        with closing(_worker()) as worker:
            job = {**self.job(scheme), "seconds": seconds, "seed": seed}
            found = worker.call("search.gpu_measure:verdict", timeout=READY_SECONDS, **job)
        return Timing(tuple(found["samples"]), found["peak_gflops"]), found["max_error"]

    def _measured(self, worker: Worker, scheme: Scheme, seconds: float, patience: float) -> Timing | str:
        patience = min(patience, CANDIDATE_SECONDS)
        try:
            found = worker.call("search.gpu_measure:scheme", timeout=patience, seconds=seconds, **self.job(scheme))
        except CandidateError as error:
            return error.reason
        return Timing(tuple(found["samples"]), found["peak_gflops"])

    def _compiled(self, worker: Worker, schemes: Sequence[Scheme], patience: float) -> dict[str, str]:
        texts = [scheme.text for scheme in schemes]
        job = {**_job(schemes[0].problem), "schemes": texts, "architecture": self.device.architecture}
        try:
            return worker.call("search.gpu_measure:compiled", timeout=min(patience, CANDIDATE_SECONDS), **job)
        except CandidateError as error:
            return dict.fromkeys(texts, error.reason)


def gpu_workshop(dtype: str) -> GpuWorkshop:
    """The workshop of this process's GPU. Raises DeviceError without one, CompileError without NVRTC."""
    shop = GpuWorkshop(current_device(), dtype)
    _ = shop.compiler  # what is missing is said before anything is tried
    return shop


def _worker() -> Worker:
    return Worker(memory_bytes=ADDRESSES, packages=("search",))


def _job(problem: Problem) -> dict:
    return {"op": problem.op, "shape": canonical(problem), "dtype": problem.dtype}


def _make_ready(worker: Worker, problem: Problem) -> None:
    """Has the worker's device open before a candidate's time begins; after a crash that is a new worker's."""
    try:
        worker.call("search.gpu_measure:ready", timeout=READY_SECONDS, **_job(problem))
    except CandidateError as error:
        raise WorkerError(f"the device cannot be used: {error.reason}") from error


def _load_compiler(worker: Worker) -> None:
    try:
        worker.call("search.gpu_measure:compiler_ready", timeout=READY_SECONDS)
    except CandidateError as error:
        raise WorkerError(f"NVRTC cannot be used: {error.reason}") from error


@lru_cache(maxsize=1)
def _digest() -> str:
    """Of the text of `gpu`: what another version of it emitted is measured anew."""
    texts = sorted(
        (path.name, path.read_bytes())
        for folder in (files("gpu"), *(files("gpu").joinpath(name) for name in ("device", "templates")))
        for path in folder.iterdir()
        if path.is_file()
    )
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:8]
