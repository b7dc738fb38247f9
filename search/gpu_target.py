"""A problem on a GPU: its dtype and layouts, the GPU it is for, the scheme that is chosen, and the callable.

Problem (f32) ──on_gpu──► Problem ──chosen──► Choice ──► gpu.kernel.Kernel on a device, or TwinKernel on this CPU
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpu.compile import Cubin, compile_cubin
from gpu.devices import Device, device_named
from gpu.emit import emit
from gpu.kernel import ArgumentError, DeviceError, Kernel, choose, current_device, is_a, load
from gpu.nvrtc import CompilerMissing
from gpu.predict import Prediction, predict, rank
from gpu.program import Source
from gpu.space import limits
from gpu.twin import run_on_twin
from microkernels.database import ignore
from search import store
from search.gpu_problem import on_gpu
from search.gpu_workshop import gpu_workshop
from tiling.notation import parse
from tiling.problem import Problem, ProblemError
from tiling.scheme import Scheme, SchemeError

DEFAULT_DEVICE = "H200"  # where there is none here
# Multiply-adds. The twin takes seconds for so many of a cube, and two minutes where a tile is nearly all edge.
MOST_ON_TWIN = 1 << 27


@dataclass(frozen=True)
class Choice:
    """A scheme for a device, as text and, where NVRTC is installed, as machine code; `uncompiled` says why it is not.

    predictions: of the scheme, then of all others that were ranked, the fastest first.
    """

    device: Device
    predictions: tuple[Prediction, ...]
    source: Source
    cubin: Cubin | None
    uncompiled: str

    @property
    def scheme(self) -> Scheme:
        return self.source.scheme


@dataclass(frozen=True)
class TwinKernel:
    """`kernel(a, b)` gives c, or `kernel(x, w)` gives y, on the CPU twin: NumPy arrays of floats in, float32 out."""

    source: Source

    @property
    def problem(self) -> Problem:
        return self.source.scheme.problem

    @property
    def scheme(self) -> Scheme:
        return self.source.scheme

    def __call__(self, *arrays) -> np.ndarray:
        """c or y. Inputs are rounded to the problem's dtype first; those that the epilogue names follow the two.

        Raises ArgumentError, TwinError for a kernel that does something wrong, ToolchainError without a C compiler.
        """
        problem = self.problem
        tensors = (problem.broadcast, problem.vector, *problem.epilogue_arrays)
        if len(arrays) != len(tensors):
            names = ", ".join(t.called for t in tensors)
            raise ArgumentError(f"this kernel takes {names}: {len(arrays)} arrays were given")
        try:
            floats = [np.asarray(array, np.float32) for array in arrays]
            return run_on_twin(self.source, *floats).output
        except (TypeError, ValueError) as error:
            raise ArgumentError(str(error)) from error


def generate_gpu(problem: Problem, dtype: str | None, target: str, tune: str, budget: float) -> Kernel | TwinKernel:
    """A kernel for an f32 problem: on this process's GPU for "cuda", for "cuda-twin" on this CPU.

    It is the model's choice, or with tune="measure" that of a search on the GPU, which is kept. Raises ProblemError for
    a dtype no GPU kernel takes or a problem too large for the twin, SchemeError for an operator that is no matrix
    product, DeviceError without a GPU, CompileError without NVRTC (the twin needs neither); a search also TuningError,
    StoreError, and WorkerError where the device fails.
    """
    problem = on_gpu(problem, dtype)
    if target == "cuda":
        return _tuned(problem, budget) if tune == "measure" else load(chosen(problem, current_device()).scheme)
    check_size_for_twin(problem)
    return TwinKernel(chosen(problem, device_for(None)[0]).source)


def _tuned(problem: Problem, budget: float) -> Kernel:
    """What an earlier search on this GPU settled on, or one now."""
    shop = gpu_workshop(problem.dtype)
    key = shop.key(problem)
    kept = store.choice(key, "measure")
    try:
        if kept:
            return replace(load(parse(problem, kept[0])), timing=kept[1])
    except (SchemeError, DeviceError) as error:
        ignore([f"the choice for {key.shape}: {error}"])
    schemes = shop.candidates(problem)
    if not schemes:
        raise DeviceError(f"no schedule of {problem} fits {shop.device.name}")
    outcome = shop.tune(schemes, budget=budget)
    if outcome.interrupted:
        raise KeyboardInterrupt  # what was measured is in the store, and the next call goes on from there
    kernel = load(outcome.best.scheme)
    store.choose(key, "measure", kernel.scheme.text, outcome.best.timing)
    return replace(kernel, timing=outcome.best.timing)


def device_for(name: str | None) -> tuple[Device, str]:
    """The GPU to generate for, and why nothing can run on it here, empty where it can.

    Without a name it is the one that is here, else an H200. Raises ProblemError for a name that is not known.
    """
    try:
        wanted = device_named(name or DEFAULT_DEVICE)
    except KeyError as error:
        raise ProblemError(error.args[0]) from None
    try:
        here = current_device()
    except DeviceError as error:
        return wanted, str(error)
    if name is None or is_a(here.name, wanted):
        return here, ""
    return wanted, f"the GPU here is {here.name}, not {wanted.name}"


def chosen(problem: Problem, device: Device) -> Choice:
    """The scheme the model ranks first and, where NVRTC is installed, ptxas compiles without spills.

    Raises SchemeError for an operator that is no matrix product, DeviceError where no schedule fits, CompileError.
    """
    ranked = rank(problem, device)
    try:
        source, cubin = choose(ranked, problem, device)
    except CompilerMissing as error:
        return Choice(device, ranked, emit(ranked[0].scheme), None, str(error))
    best = next(p for p in ranked if p.scheme == source.scheme)
    return Choice(device, (best, *(p for p in ranked if p is not best)), source, cubin, "")


def exactly(scheme: Scheme, device: Device) -> Choice:
    """This scheme and no other. Raises SchemeError for one that is no pipeline or needs more than the device has."""
    why = limits(scheme, device)
    if why:
        raise SchemeError(f"{scheme.text}: {why}")
    source = emit(scheme)
    try:
        cubin, uncompiled = compile_cubin(source, device.architecture), ""
    except CompilerMissing as error:
        cubin, uncompiled = None, str(error)
    return Choice(device, (predict(scheme, device),), source, cubin, uncompiled)


def check_size_for_twin(problem: Problem) -> None:
    """Raises ProblemError for more multiply-adds than the twin computes in about a minute."""
    multiply_adds = problem.flops // 2
    if multiply_adds > MOST_ON_TWIN:
        raise ProblemError(
            f"{problem}: {multiply_adds} multiply-adds are too many for the twin, a CPU that runs thread by thread; "
            f"give a shape of at most {MOST_ON_TWIN}"
        )
