"""What a worker process runs for a GPU: compile candidates, load one, check it, time it. JSON in, JSON out.

A kernel that faults leaves CUDA unusable in its process, which then ends; the next candidate gets a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from cpu.host import host
from cpu.oracle import reals
from gpu.arrays import from_device, poisoned, to_device
from gpu.compile import compiler_name, spilled
from gpu.emit import emit
from gpu.isolation import ending_on_a_fault
from gpu.kernel import Kernel, current_device, load
from gpu.nvrtc import CompileError
from gpu.timer import event_seconds, timed
from search.gpu_check import Case, exact_case, real_case
from search.gpu_problem import on_gpu
from tiling.notation import parse
from tiling.problem import Problem
from tiling.scheme import SchemeError
from tiling.shapes import problem_of


def ready(*, op: str, shape: str, dtype: str) -> None:
    """Opens the device and computes what every candidate is compared with, so that no candidate waits for it."""
    problem = on_gpu(problem_of(op, shape), dtype)
    with ending_on_a_fault():
        _exact(problem)
        _random(problem)


def compiler_ready() -> None:
    """Loads NVRTC, so that no candidate waits for it."""
    compiler_name()


def compiled(*, op: str, shape: str, dtype: str, schemes: Sequence[str], architecture: str) -> dict[str, str]:
    """Compiles schemes at once on all cores, into the cache; by text, why those that are of no use are not.

    Machine code that spills registers, or has its inputs copied first by such, is of no use: the model knows a better
    schedule, or none is good.
    """
    problem = on_gpu(problem_of(op, shape), dtype)

    def refused(text: str) -> str:
        try:
            lacking = spilled(emit(parse(problem, text)), architecture)
        except (CompileError, SchemeError) as error:
            return f"{type(error).__name__}: {error}"
        return f"ptxas spills {lacking} bytes of its registers" if lacking else ""

    with ThreadPoolExecutor(max(1, min(len(schemes), host().cores))) as pool:
        return {text: why for text, why in zip(schemes, pool.map(refused, schemes)) if why}


def scheme(*, op: str, shape: str, dtype: str, scheme: str, seconds: float) -> dict:
    """Times a scheme for about `seconds`: {"samples": seconds per call, "peak_gflops": the device's, of its data
    sheet}.

    The kernel must first compute small integers exactly, else WrongResult is raised. It is timed on random reals: on
    zeros, or on few different numbers, a GPU draws less power and runs faster.
    """
    problem = on_gpu(problem_of(op, shape), dtype)
    with ending_on_a_fault():
        kernel = load(parse(problem, scheme))
        _check(kernel, *_exact(problem))
        return _timed(kernel, _random(problem), seconds)


def verdict(*, op: str, shape: str, dtype: str, scheme: str, seconds: float, seed: int) -> dict:
    """As `scheme`, plus "max_error": the largest error on random reals of `seed`, against float64.

    Raises WrongResult where integers are not exact or an error exceeds its bound (`search.gpu_check`).
    """
    problem = on_gpu(problem_of(op, shape), dtype)
    with ending_on_a_fault():
        kernel = load(parse(problem, scheme))
        exact, real = exact_case(problem, seed), real_case(problem, seed)
        _check(kernel, exact, to_device(problem, exact.inputs))
        inputs = to_device(problem, real.inputs)
        error = _check(kernel, real, inputs)
        return {**_timed(kernel, inputs, seconds), "max_error": error}


@lru_cache(maxsize=1)
def _exact(problem: Problem) -> tuple[Case, list]:
    """The check on integers, and its inputs on the device."""
    case = exact_case(problem)
    return case, to_device(problem, case.inputs)


@lru_cache(maxsize=1)
def _random(problem: Problem) -> list:
    """Random reals on the device."""
    return to_device(problem, reals(problem))


def _check(kernel: Kernel, case: Case, inputs: Sequence) -> float:
    """The largest error. Raises WrongResult."""
    output = poisoned(kernel.problem)
    kernel(*inputs, out=output)
    return case.check(from_device(kernel.problem, output))


def _timed(kernel: Kernel, inputs: Sequence, seconds: float) -> dict:
    output = poisoned(kernel.problem)
    samples = timed(lambda count: event_seconds(lambda: kernel(*inputs, out=output), count), seconds)
    peak = current_device().peak_flops(kernel.problem.dtype)
    return {"samples": list(samples), "peak_gflops": peak / 1e9}
