"""The part of a GPU's back end that needs no GPU: problems, schedules, reports and compiling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cpu.kernel.export import ExportError
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import is_pipeline, is_product
from gpu.limits.multiprocessor import REGISTERS
from gpu.model.devices import Device, device_named
from gpu.model.loops import predict_loops
from gpu.model.loops_space import loop_schemes, of_one_stage
from gpu.model.predict import GpuPrediction, order, predict, rank
from gpu.model.space import limits
from gpu.passes.order import SCHEME, scheme_forms
from gpu.runtime.compiler.compile import compile_cubin, cuda_text
from gpu.runtime.compiler.nvrtc import CompilerMissing
from gpu.runtime.export import save
from gpu.runtime.kernel import choose
from gpu.runtime.machine.device import DeviceError, current_device, is_a
from search.evaluator.gpu.report import CompiledKernel, details, explain
from search.evaluator.interface.protocol import Details, direct
from search.space.explain import RUNNERS_UP
from search.tuner.dtypes import on_gpu
from search.tuner.measured import AnyScheme
from search.tuner.target import Target
from tiling.loops.listing import listing
from tiling.loops.passes import names
from tiling.machine import CacheLevel, Machine
from tiling.problem import Problem, ProblemError
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

DEFAULT_DEVICE = "H200"  # where no GPU is here


def gpu_target(name: str, dtype: str, device: str | None = None) -> Target:
    """The GPU called `device`, by default the GPU that is here, else an H200. `name`: the kind of target.

    Raises ProblemError for an unknown device.
    """
    found, absent = device_for(device)
    absent = absent if name == "cuda" else ""
    return Target(name, fingerprint_of(found), found.architecture, dtype, device=found.name, absent=absent)


def device_for(name: str | None) -> tuple[Device, str]:
    """The GPU to generate for, and why no kernel can run on it here; empty where it can. Raises ProblemError."""
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


def fingerprint_of(device: Device) -> str:
    """A text that is equal for GPUs whose measurements are interchangeable."""
    return f"{device.name}, {device.multiprocessors} multiprocessors, {device.architecture}"


@dataclass(frozen=True)
class GpuBackend:
    """The part of `search.evaluator.interface.protocol.Backend` that both GPU targets share."""

    target: Target

    @cached_property
    def device(self) -> Device:
        """The target's device, with its real sizes where it is the GPU that is here."""
        try:
            here = current_device()
        except DeviceError:
            return device_named(self.target.device)
        return here if fingerprint_of(here) == self.target.machine else device_named(self.target.device)

    @cached_property
    def machine(self) -> Machine:
        """The GPU described like a CPU: a multiprocessor is a core, and rates are those of the data sheet."""
        device = self.device
        l2 = CacheLevel("L2", device.l2_bytes, 128, 0, device.l2_bandwidth, device.multiprocessors)
        memory = device.memory_bandwidth
        peak = device.peak_flops(self.target.dtype) / device.multiprocessors
        return Machine(
            *(self.target.machine, device.architecture, 32, REGISTERS, peak, device.multiprocessors, (l2,)),
            *(memory, memory, memory),
        )

    def problem(self, problem: Problem) -> Problem:
        return on_gpu(problem, self.target.dtype)

    def parsed(self, problem: Problem, text: str) -> Scheme:
        scheme = direct(parse(problem, text))
        why = limits(scheme, self.device) if is_pipeline(scheme) else self._too_large(scheme)
        if why:
            raise SchemeError(f"{scheme.text}: {why}")
        return scheme

    def _too_large(self, scheme: Scheme) -> str:
        """Why a scheme that no pipeline reads is no kernel, or does not fit the device; empty where it does."""
        try:
            self._predicted(scheme)
        except ValueError as error:
            return str(error)
        return ""

    def ranking(self, problem: Problem) -> None:
        return None

    def candidates(self, problem: Problem) -> Sequence[Scheme]:
        """Every schedule that fits the device, by matrix instructions where the problem is a product of theirs."""
        if problem.dtype == "f32" or problem.layout == "nchw" or not is_product(problem):
            return self._loop_candidates(problem)
        return [prediction.scheme for prediction in rank(problem, self.device)]

    def _loop_candidates(self, problem: Problem) -> list[Scheme]:
        found, refused = [], ""
        for scheme in loop_schemes(problem):
            for each in (scheme, of_one_stage(scheme)):  # where a ring does not fit, one stage may
                try:
                    found.append(self._predicted(each))
                    break
                except ValueError as error:  # SchemeError is one too
                    refused = refused or str(error)
        if not found:
            raise SchemeError(refused)
        return [prediction.scheme for prediction in sorted(found, key=order)]

    def ranked(self, schemes: Iterable[AnyScheme]) -> list[GpuPrediction]:
        """The predictions of given schemes, the fastest first. Raises ValueError where one does not fit."""
        return sorted(map(self._predicted, schemes), key=order)

    def predicted_seconds(self, schemes: Sequence[AnyScheme]) -> list[float]:
        return [self._predicted(scheme).seconds for scheme in schemes]

    def _predicted(self, scheme: AnyScheme) -> GpuPrediction:
        found = direct(scheme)
        # The model of pipelines also prices what passes make of the same scheme.
        if is_pipeline(found):
            return predict(found, self.device)
        return predict_loops(emit_scheme(found), self.device)

    def first_built(self, schemes: Iterable[AnyScheme]) -> Scheme:
        """The first scheme that ptxas compiles without spills; without NVRTC the first. Raises DeviceError."""
        given = [direct(scheme) for scheme in schemes]
        try:
            # Compiled one by one, since the first of thousands of schemes usually fits.
            return choose(map(self._predicted, given), given[0].problem, self.device)[0].scheme
        except CompilerMissing:
            return given[0]

    def compile(self, scheme: AnyScheme) -> None:
        self._compiled(scheme)

    def _compiled(self, scheme: AnyScheme) -> CompiledKernel:
        source = emit_scheme(direct(scheme))
        try:
            return CompiledKernel(source, compile_cubin(source, self.device.architecture), "")
        except CompilerMissing as error:
            return CompiledKernel(source, None, str(error))

    def disturbance(self) -> str:
        return ""  # a device is not shared between programs as cores are

    def definition_error(self, scheme: AnyScheme, seed: int) -> None:
        return None

    def remarks(self, scheme: AnyScheme | None) -> list[str]:
        return []

    def details(self, scheme: AnyScheme) -> Details:
        return details(self._compiled(scheme), self._predicted(scheme), self.target, self.device)

    def explain(self, scheme: AnyScheme, others: Sequence[AnyScheme], why_not: str) -> str:
        return explain([self._predicted(each) for each in (scheme, *others[:RUNNERS_UP])], why_not)

    def source(self, scheme: AnyScheme) -> str:
        return cuda_text(emit_scheme(direct(scheme)))

    def assembly(self, scheme: AnyScheme) -> str:
        return "machine code for a GPU: NVIDIA's cuobjdump -sass shows that of the .cubin that --emit writes"

    @property
    def pass_names(self) -> tuple[str, ...]:
        return names(SCHEME)

    def passes(self, scheme: AnyScheme) -> Iterator[tuple[str, str]]:
        return ((name, listing(kernel)) for name, kernel in scheme_forms(direct(scheme)))

    def packing(self, scheme: AnyScheme) -> Iterator[tuple[str, str]]:
        return iter(())

    def save(self, scheme: AnyScheme, folder: Path, name: str | None = None) -> tuple[Path, ...]:
        """Writes the kernel's files (`gpu.runtime.export`), under its own symbol. Raises ExportError."""
        compiled = self._compiled(scheme)
        try:
            return save(compiled.source, compiled.cubin, folder)
        except OSError as error:
            raise ExportError(f"cannot write to {folder}: {error.strerror or error}") from error
