"""Finds a scheme for a problem: a model of data movement proposes, measurement decides.

    generate_conv, generate_matmul    a problem in, a kernel out
    generate_program                  a program of maps, reductions and products in, a kernel out
    load_kernel, fold_batch_norm      loads a saved kernel; folds a batch normalisation into weights

    python -m search.conv, search.matmul, search.program    the same from the command line

In this folder, and in its rooms:

    console     `tilewright conv | matmul | program | model | microkernels | bench | cache | calibrate …`
    conv        the command `python -m search.conv`
    matmul      the command `python -m search.matmul`
    program     the command `python -m search.program`
    commands/   what these do: options, progress, reports
    flow/       the way from a problem and a target to a kernel
    cost/       what a scheme costs: bytes into each cache, and time
    space/      which schemes there are for a problem, best first
    tuner/      what a search is asked for, what it measures, and what it chooses
    evaluator/  how candidates are prepared, measured and verified. Nothing else of `search` runs a kernel
"""

from typing import Any

import tilewright_entry  # first: it keeps files of the current folder out of the way

# The names that can be imported from `search`. Each is loaded when it is first used, so that `import search` is fast.
_ENTRY_POINTS = ("fold_batch_norm", "generate_conv", "generate_matmul", "generate_program", "load_kernel")
_ERRORS = (
    *("ArgumentError", "CacheError", "CandidateError", "CompileError", "CpuError", "ExportError", "MachineError"),
    *("OutOfMemory", "ProblemError", "RankingError", "SchemeError", "StoreError", "TargetError", "ToolchainError"),
    *("TuningError", "WorkerError"),
)
_GPU_ERRORS = ("DeviceError", "TwinError")

__all__ = sorted((*_ENTRY_POINTS, *_ERRORS, *_GPU_ERRORS))


def __getattr__(name: str) -> Any:
    """Loads one of the names, such as `generate_conv`, when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with tilewright_entry.loading():
        if name == "generate_program":
            from search.flow.programs import generate_program

            return generate_program
        if name in _ENTRY_POINTS:
            from search.flow import generate

            return getattr(generate, name)
        if name in _ERRORS:
            from search.evaluator.interface import errors

            return getattr(errors, name)
        from search.evaluator import kernels

        return getattr(kernels, name)


def __dir__() -> list[str]:
    return tilewright_entry.listed(__name__, __all__)
