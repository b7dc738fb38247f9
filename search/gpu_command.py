"""The command line's search for a GPU: `--target cuda` and `--target cuda-twin`."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from cpu.export import ExportError
from cpu.measure import WrongResult
from gpu.compile import compile_cubin, cuda_text
from gpu.emit import with_copier
from gpu.kernel import ArgumentError, DeviceError
from gpu.nvrtc import CompileError
from gpu.predict import rank
from gpu.twin import TwinError, run_on_twin
from search.command import VERDICT_SECONDS, keep, look_after_files, tuned, verified
from search.gpu_check import exact_case
from search.gpu_explain import explain
from search.gpu_problem import on_gpu
from search.gpu_report import GpuReport, Measurement
from search.gpu_target import Choice, check_size_for_twin, chosen, device_for, exactly
from search.gpu_workshop import GpuWorkshop, gpu_workshop
from search.options import TargetError, repeated
from tiling.notation import parse
from tiling.problem import Problem
from tiling.shapes import canonical

RUNNERS_UP = 4


def run(program: str, problem: Problem, options: argparse.Namespace) -> GpuReport:
    """Chooses, emits and, where it can, compiles, checks and times a GPU kernel for an f32 problem in the dtype asked
    for.

    On a GPU the schedules that the model ranks first are measured, unless `--model-only` or `--scheme` names the one.
    Without a GPU it ends after emission where `--emit`, `--explain` or `--model-only` asks for no more. Raises
    TargetError with what the parts of `gpu` say, CandidateError for a kernel that fails on the device, ProblemError,
    SchemeError, TuningError, ExportError, StoreError, CacheError, ToolchainError.
    """
    try:
        return _run(program, on_gpu(problem, options.dtype), options)
    except (ArgumentError, CompileError, DeviceError) as error:
        raise TargetError(str(error)) from error
    except (TwinError, WrongResult) as error:
        raise TargetError(f"the kernel failed: {error}") from error


def _run(program: str, problem: Problem, options: argparse.Namespace) -> GpuReport:
    twin = options.target == "cuda-twin"
    device, absent = device_for(options.device)
    if twin:
        check_size_for_twin(problem)
    elif absent and not (options.emit or options.explain or options.model_only):
        raise TargetError(
            f"no device to run on: {absent}; without one --model-only, --explain and --emit work, and --target "
            "cuda-twin runs the kernel on a CPU"
        )
    look_after_files(options)
    started = time.monotonic()
    measured = conflicts = None
    interrupted = False
    if options.scheme is not None:
        choice = exactly(parse(problem, options.scheme), device)
    elif twin or absent or options.model_only:
        choice = chosen(problem, device)
    else:
        choice, measured, interrupted = _measured(gpu_workshop(problem.dtype), problem, options)
    search_seconds = time.monotonic() - started
    if twin:
        conflicts = _check_on_twin(choice, options.seed)
    elif not absent and measured is None:
        measured = Measurement(*gpu_workshop(problem.dtype).verdict(choice.scheme, VERDICT_SECONDS, options.seed))
    best, *others = choice.predictions
    why_not = "it was measured slower, or failed" if measured and measured.trials else "ptxas spills its registers"
    return GpuReport(
        choice=choice,
        target=options.target,
        unchecked="" if twin else absent,
        conflicts=conflicts,
        measured=measured,
        search_seconds=search_seconds,
        repeat=_repeat(program, choice, options, model_only=bool(absent) and not twin),
        explanation=explain(best, others[:RUNNERS_UP], why_not) if options.explain else "",
        emitted=_save(choice, options.emit) if options.emit else (),
        interrupted=interrupted,
    )


def _measured(shop: GpuWorkshop, problem: Problem, options: argparse.Namespace) -> tuple[Choice, Measurement, bool]:
    """The choice of a search on the device, its last timing, and whether a Ctrl-C cut the search short."""
    started = time.monotonic()
    ranked = rank(problem, shop.device)
    if not ranked:
        raise DeviceError(f"no schedule of {problem} fits {shop.device.name}")
    schemes = [prediction.scheme for prediction in ranked]
    left = options.budget - (time.monotonic() - started)
    outcome, timing, error = verified(shop, tuned(shop, schemes, options, Console(stderr=True), left), options.seed)
    keep(shop, problem, outcome)
    best = outcome.best.scheme
    choice = exactly(best, shop.device)
    choice = replace(choice, predictions=(*choice.predictions, *(p for p in ranked if p.scheme != best)))
    return choice, Measurement(timing, error, outcome.trials, outcome.failed), outcome.interrupted or error is None


def _check_on_twin(choice: Choice, seed: int) -> int:
    """Runs a choice on the twin; the cycles that bank conflicts cost. Raises TwinError, WrongResult."""
    case = exact_case(choice.scheme.problem, seed)
    run = run_on_twin(choice.source, *case.inputs, seed=seed)
    case.check(run.output)
    return run.conflicts


def _save(choice: Choice, folder: Path) -> tuple[Path, ...]:
    """Writes SYMBOL.cu, the whole CUDA file, and SYMBOL.cubin where there is machine code; the same of the kernel that
    copies inputs first, if there is one. Raises ExportError.
    """
    written = []
    try:
        for program in with_copier(choice.source):
            text, code = folder / f"{program.symbol}.cu", folder / f"{program.symbol}.cubin"
            text.write_text(cuda_text(program), encoding="utf-8")
            code.unlink(missing_ok=True)  # one of an earlier text would be of another kernel
            written.append(text)
            if choice.cubin:
                code.write_bytes(compile_cubin(program, choice.cubin.architecture).code)
                written.append(code)
    except OSError as error:
        raise ExportError(f"cannot write to {folder}: {error.strerror or error}") from error
    return tuple(written)


def _repeat(program: str, choice: Choice, options: argparse.Namespace, model_only: bool) -> str:
    problem = choice.scheme.problem
    words = ["--target", options.target, "--dtype", problem.dtype]
    words += ["--shape", canonical(problem), "--scheme", choice.scheme.text]
    words += ["--device", options.device] if options.device else []
    words += ["--seed", str(options.seed)] if options.seed else []
    words += ["--model-only"] if model_only else []
    return repeated(program, words)
