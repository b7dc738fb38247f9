"""The command line's search for a GPU: `--target cuda` and `--target cuda-twin`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from cpu.export import ExportError, writable
from gpu.compile import CompileError, cuda_text
from gpu.kernel import ArgumentError, DeviceError, load
from gpu.twin import TwinError, run_on_twin
from search.gpu_check import WrongResult, check_exact, run_on_device
from search.gpu_explain import explain
from search.gpu_report import GpuReport
from search.gpu_target import Choice, check_size_for_twin, chosen, device_for, exactly, on_gpu
from search.options import TargetError, repeated
from tiling.notation import parse
from tiling.problem import Problem
from tiling.shapes import canonical

RUNNERS_UP = 4


def run(program: str, problem: Problem, options: argparse.Namespace) -> GpuReport:
    """Chooses, emits and, where it can, compiles and checks a GPU kernel for an f32 problem in the dtype asked for.

    Without a GPU it ends after emission where `--emit`, `--explain` or `--model-only` asks for no more. Raises
    TargetError with what the parts of `gpu` say, ProblemError, SchemeError, ExportError, CacheError, ToolchainError.
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
            f"no device to run on: {absent}; without one --model-only, --explain and --emit work, and --target cuda-twin "
            "runs the kernel on a CPU"
        )
    if options.emit:
        writable(options.emit)
    started = time.monotonic()
    if options.scheme is not None:
        choice = exactly(parse(problem, options.scheme), device)
    else:
        choice = chosen(problem, device)
    search_seconds = time.monotonic() - started
    conflicts = None
    if twin:
        conflicts = _check_on_twin(choice, options.seed)
    elif not absent:
        kernel = load(choice.scheme)
        check_exact(problem, lambda inputs: run_on_device(kernel, inputs), options.seed)
    best, *others = choice.predictions
    return GpuReport(
        choice=choice,
        target=options.target,
        unchecked="" if twin else absent,
        conflicts=conflicts,
        search_seconds=search_seconds,
        repeat=_repeat(program, choice, options, model_only=bool(absent) and not twin),
        explanation=explain(best, others[:RUNNERS_UP]) if options.explain else "",
        emitted=_save(choice, options.emit) if options.emit else (),
    )


def _check_on_twin(choice: Choice, seed: int) -> int:
    """Runs a choice on the twin; the cycles that bank conflicts cost. Raises TwinError, WrongResult."""
    runs = []

    def output(inputs):
        runs.append(run_on_twin(choice.source, *inputs, seed=seed))
        return runs[0].output

    check_exact(choice.scheme.problem, output, seed)
    return runs[0].conflicts


def _save(choice: Choice, folder: Path) -> tuple[Path, ...]:
    """Writes SYMBOL.cu, the whole CUDA file, and SYMBOL.cubin where there is machine code. Raises ExportError."""
    text, code = folder / f"{choice.source.symbol}.cu", folder / f"{choice.source.symbol}.cubin"
    try:
        text.write_text(cuda_text(choice.source), encoding="utf-8")
        code.unlink(missing_ok=True)  # one of an earlier text would be of another kernel
        if choice.cubin:
            code.write_bytes(choice.cubin.code)
    except OSError as error:
        raise ExportError(f"cannot write to {folder}: {error.strerror or error}") from error
    return (text, code) if choice.cubin else (text,)


def _repeat(program: str, choice: Choice, options: argparse.Namespace, model_only: bool) -> str:
    problem = choice.scheme.problem
    words = ["--target", options.target, "--dtype", problem.dtype]
    words += ["--shape", canonical(problem), "--scheme", choice.scheme.text]
    words += ["--device", options.device] if options.device else []
    words += ["--seed", str(options.seed)] if options.seed else []
    words += ["--model-only"] if model_only else []
    return repeated(program, words)
