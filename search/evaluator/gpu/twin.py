"""Kernels for a GPU that run on its twin, a CPU emulation: for small shapes, untimed, always the model's choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cpu.kernel.arguments import like
from cpu.reference.oracle import WrongResult
from cpu.runtime.numbers import ELEMENTS, masked
from cpu.runtime.processes.worker import CandidateError
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import is_pipeline
from gpu.codegen.program import CudaSource
from gpu.twin.launch import TwinError, run_on_twin
from search.evaluator.gpu.backend import GpuBackend
from search.evaluator.gpu.check import exact_case
from search.evaluator.interface.protocol import Evaluator, Verdict, direct
from search.tuner.measured import AnyScheme
from tiling.arguments import ArgumentError
from tiling.machine import Timing
from tiling.problem import Problem, ProblemError
from tiling.scheme.scheme import Scheme

# Multiply-adds. The twin takes seconds for so many in a cubic product, and two minutes where a tile is nearly all edge.
MOST_ON_TWIN = 1 << 27


@dataclass(frozen=True)
class TwinKernel:
    """`kernel(a, b)` gives c, or `kernel(x, w)` gives y, on the twin: arrays of floats in, float32 out.

    The result is NumPy's, or a tensor of the library of the first array.
    """

    source: CudaSource

    @property
    def problem(self) -> Problem:
        return self.source.scheme.problem

    @property
    def scheme(self) -> Scheme:
        return self.source.scheme

    def __call__(self, *arrays: ArrayLike) -> Any:
        """c or y. Inputs are first rounded to the problem's dtype. The arrays of the epilogue follow the two inputs.

        Raises ArgumentError, TwinError for a kernel that does something wrong, ToolchainError without a C compiler.
        """
        problem = self.problem
        tensors = (problem.broadcast, problem.vector, *problem.epilogue_arrays)
        if len(arrays) != len(tensors):
            names = ", ".join(t.called for t in tensors)
            raise ArgumentError(f"this kernel takes {names}: {len(arrays)} arrays were given")
        for array, tensor in zip(arrays, tensors):
            if wrong := masked(array, tensor.called):
                raise ArgumentError(wrong)
        try:
            floats = [np.asarray(array, np.float32) for array in arrays]
            return like(arrays[0], run_on_twin(self.source, *floats).output, ELEMENTS["f32"])
        except (TypeError, ValueError) as error:
            raise ArgumentError(str(error)) from error


class TwinBackend(GpuBackend):
    """`search.evaluator.interface.protocol.Backend` of the twin. Nothing is timed, so nothing is kept."""

    def problem(self, problem: Problem) -> Problem:
        """As for a GPU. Also raises ProblemError for more multiply-adds than the twin computes in about a minute."""
        found = super().problem(problem)
        multiply_adds = found.flops // 2
        if multiply_adds > MOST_ON_TWIN:
            raise ProblemError(
                f"{found}: {multiply_adds} multiply-adds are too many for the twin, a CPU that runs thread by thread; "
                f"give a shape of at most {MOST_ON_TWIN}"
            )
        return found

    def key(self, problem: Problem) -> None:
        return None

    def kind(self, tune: str, problem: Problem) -> None:
        return None

    def build(self, scheme: AnyScheme, timing: Timing | None = None) -> TwinKernel:
        return TwinKernel(emit_scheme(direct(scheme)))

    def evaluator(self, problem: Problem) -> Evaluator:
        # A GPU's kernel on a CPU: its time would say nothing.
        raise ProblemError(f'nothing is timed on {self.target.name}: tune="model" takes the choice of the model')

    def checker(self, problem: Problem) -> TwinChecker:
        return TwinChecker()


class TwinChecker:
    """Checks a kernel on the twin, in this process, since the twin itself catches what a kernel does wrong."""

    def close(self) -> None:
        """There is nothing to end."""

    def verify(self, scheme: AnyScheme, seconds: float, seed: int) -> Verdict:
        case = exact_case(scheme.problem, seed)
        try:
            run = run_on_twin(emit_scheme(direct(scheme)), *case.inputs, seed=seed)
            case.check(run.output)
        except (TwinError, WrongResult) as error:
            raise CandidateError(str(error)) from error
        return Verdict(None, None, run.conflicts if is_pipeline(direct(scheme)) else None)
