"""Finds a scheme for a problem: a model of data movement proposes, measurement decides.

    generate_conv, generate_matmul    a problem in, a kernel out
    generate_program                  a program of maps, reductions and products in, a kernel out
    load_kernel, fold_batch_norm      loads a saved kernel; folds a batch normalisation into weights

    python -m search.conv, search.matmul, search.program    the same from the command line

In this folder, and in its rooms:

    find        problem, target ──► Found: candidates, measurement, last check, earlier choices
    recorded    what find reads from the store and writes to it
    generate    the Python entry points
    ahead       the model's choices for many problems at once, listed on all cores
    in_models   what is measured of kernels inside whole models, in the same store
    command     the command lines of conv and matmul
    composition which microkernels the layers of a suite are composed of
    options     the options that the command lines of all packages share
    debug       TILEWRIGHT_DEBUG
    console     `tilewright conv | matmul | program | microkernels | bench | cache | calibrate …`
    conv        the command `python -m search.conv`
    matmul      the command `python -m search.matmul`
    program     the command `python -m search.program`
    ranked      ranks the microkernels before the first search
    progress    shows a search under way on a terminal
    report      the result of one search, as text for people and as one JSON object for programs
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
        if name in _ENTRY_POINTS:
            from search import generate

            return getattr(generate, name)
        if name in _ERRORS:
            from search.evaluator import errors

            return getattr(errors, name)
        from search.evaluator import kernels

        return getattr(kernels, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
