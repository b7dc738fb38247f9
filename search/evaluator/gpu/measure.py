"""The functions that a worker process runs for a GPU: they compile, load, check and time candidates. JSON in, JSON out.

A kernel that faults leaves CUDA unusable in its process, which then ends; the next candidate gets a new process.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any  # CuPy has no types

from cpu.reference.oracle import reals
from cpu.runtime.compiler.toolchain import CompileError
from cpu.runtime.machine.host import MachineError, host
from gpu.codegen.loops.scheme import emit_scheme
from gpu.runtime.arrays import from_device, poisoned, to_device
from gpu.runtime.compiler.compile import compile_afresh, spilled
from gpu.runtime.kernel import GpuKernel, load
from gpu.runtime.machine.device import current_device
from gpu.runtime.machine.isolation import ending_on_a_fault
from gpu.runtime.machine.timer import HEAD_START, event_seconds, timed
from search.evaluator.gpu.check import Placed, exact_case, placed, real_case
from search.evaluator.interface.protocol import direct
from search.tuner.dtypes import on_gpu
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import problem_of


def ready(*, op: str, shape: str, dtype: str) -> None:
    """Opens the device, computes the reference, and runs once what measuring runs beside a candidate's own kernel.

    So no candidate waits for these. Raises RuntimeError where the device does not see that an output was never written,
    and MachineError where memory does not suffice.
    """
    problem = on_gpu(problem_of(op, shape), dtype)
    try:
        with ending_on_a_fault():
            _rehearse(problem)
    except MemoryError as error:  # CuPy's too
        raise MachineError(f"memory does not suffice to check {problem} on the GPU: {error}") from error


def compiler_ready(*, architecture: str) -> None:
    """Lets NVRTC compile something, so that no candidate waits for its libraries."""
    compile_afresh(HEAD_START, architecture)


def compiled(*, op: str, shape: str, dtype: str, schemes: Sequence[str], architecture: str) -> dict[str, str]:
    """Compiles schemes into the cache on all cores at once; by text, why some are of no use.

    Machine code that spills registers is of no use, and neither is a scheme whose copy kernel spills: the model has
    better schedules.
    """
    problem = on_gpu(problem_of(op, shape), dtype)

    def refused(text: str) -> str:
        try:
            lacking = spilled(emit_scheme(direct(parse(problem, text))), architecture)
        except (CompileError, SchemeError) as error:
            return f"{type(error).__name__}: {error}"
        return f"ptxas spills {lacking} bytes of its registers" if lacking else ""

    with ThreadPoolExecutor(max(1, min(len(schemes), host().cores))) as pool:
        return {text: why for text, why in zip(schemes, pool.map(refused, schemes)) if why}


def scheme(*, op: str, shape: str, dtype: str, scheme: str, seconds: float) -> dict[str, Any]:
    """Times a scheme for about `seconds`: {"samples": seconds per call, "peak_gflops": by the data sheet}.

    The kernel must first compute small integers exactly, else WrongResult is raised. It is timed on random reals, since
    a GPU draws less power and runs faster on zeros, or on few different numbers.
    """
    problem = on_gpu(problem_of(op, shape), dtype)
    with ending_on_a_fault():
        kernel = load(direct(parse(problem, scheme)))
        _check(kernel, _exact(problem))
        return _timed(kernel, _random(problem), seconds)


def verdict(*, op: str, shape: str, dtype: str, scheme: str, seconds: float, seed: int) -> dict[str, Any]:
    """As `scheme`, plus "max_error": the largest error on random reals of `seed` against float64.

    Raises WrongResult where integers are not exact or an error exceeds its bound (`search.evaluator.gpu.check`).
    """
    problem = on_gpu(problem_of(op, shape), dtype)
    with ending_on_a_fault():
        kernel = load(direct(parse(problem, scheme)))
        _check(kernel, placed(problem, exact_case(problem, seed)))
        real = real_case(problem, seed)
        inputs = to_device(problem, real.inputs)
        error = real.check(from_device(problem, _output(kernel, inputs)))
        return {**_timed(kernel, inputs, seconds), "max_error": error}


@lru_cache(maxsize=1)
def _rehearse(problem: Problem) -> None:
    _random(problem)
    event_seconds(lambda: None, 1)
    elements, seen = problem.output.elements, _exact(problem).outside(poisoned(problem))
    if seen != elements:
        raise RuntimeError(f"the device finds {seen} of {elements} outputs wrong that no kernel has written")


@lru_cache(maxsize=1)
def _exact(problem: Problem) -> Placed:
    """The check on integers."""
    return placed(problem, exact_case(problem))


@lru_cache(maxsize=1)
def _random(problem: Problem) -> list[Any]:
    """Random reals on the device."""
    return to_device(problem, reals(problem))


def _check(kernel: GpuKernel, exact: Placed) -> None:
    """Runs the kernel on the case. Raises WrongResult."""
    exact.check(_output(kernel, exact.inputs))


def _output(kernel: GpuKernel, inputs: Sequence[Any]) -> Any:
    output = poisoned(kernel.problem)
    kernel(*inputs, out=output)
    return output


def _timed(kernel: GpuKernel, inputs: Sequence[Any], seconds: float) -> dict[str, Any]:
    output = poisoned(kernel.problem)
    samples = timed(lambda count: event_seconds(lambda: kernel(*inputs, out=output), count), seconds)
    peak = current_device().peak_flops(kernel.problem.dtype)
    return {"samples": list(samples), "peak_gflops": peak / 1e9}
