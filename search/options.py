"""What the command lines have in common: option types, exit codes, and the errors that end in one sentence."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace

from cpu.cache import CacheError
from cpu.export import ExportError
from cpu.kernel import CpuError
from cpu.toolchain import ToolchainError
from cpu.worker import WorkerError
from microkernels.database import StoreError
from microkernels.isa import ISAS_OF
from microkernels.rank import RankingError
from search.tune import TuningError
from tiling.problem import OUTPUT_DTYPE, Problem, ProblemError
from tiling.words import in_words


class TargetError(RuntimeError):
    """A GPU kernel cannot be compiled, run or trusted here: the sentence of whichever part of `gpu` said so."""


INTERRUPTED = 130  # 128 + SIGINT, as shells have it

TARGETS = ("cpu", "cuda", "cuda-twin")
# Options that a target has no use for, by the attribute of the parsed options.
_FOREIGN = {
    "cpu": ("device",),
    "cuda": ("threads", "isa", "algorithm", "output_dtype"),
    "cuda-twin": ("threads", "isa", "algorithm", "output_dtype", "budget", "trials", "forget"),
}

# What can go wrong through no fault of the command: exit code 1 and the error's own sentence.
FAILURES = (
    *(CacheError, CpuError, ExportError, RankingError, StoreError),
    *(TargetError, ToolchainError, TuningError, WorkerError),
)


def given(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> frozenset[str]:
    """The options that stand on the command line, even where they say what holds by default."""
    blank = argparse.Namespace(**dict.fromkeys(vars(parser.parse_args(arguments))))
    return frozenset(name for name, value in vars(parser.parse_args(arguments, blank)).items() if value is not None)


def check_target(target: str, found: frozenset[str]) -> None:
    """Raises ProblemError for an option, of those `found` on the command line, that the target cannot use."""
    for name in _FOREIGN[target]:
        if name in found:
            raise ProblemError(f"--{name.replace('_', '-')} means nothing to --target {target}: leave it out")


def on_cpu(problem: Problem, dtype: str | None, output_dtype: str | None) -> Problem:
    """The problem in the dtypes that a CPU's kernel is asked for; without them it is as it stands.

    Raises ProblemError for dtypes that no kernel of a CPU computes in.
    """
    dtype = dtype or problem.dtype
    if not isinstance(dtype, str) or dtype not in ISAS_OF:
        raise ProblemError(f"dtype {dtype!r:.40} is not covered on a CPU: {', '.join(ISAS_OF)} are")
    if problem.dtype not in ("f32", dtype):
        raise ProblemError(f"the shape is of {problem.dtype}, but dtype={dtype}: give one")
    if output_dtype is None:
        output_dtype = problem.output_dtype if dtype == problem.dtype else OUTPUT_DTYPE[dtype]
    problem = replace(problem, dtype=dtype, output_dtype=output_dtype)
    in_words(problem)  # a copy of x that is too large is refused here, before anything is compiled
    return problem


def repeated(program: str, words: Sequence[str]) -> str:
    """A command line of `program`, `python -m …`, that can be typed here."""
    # The interpreter as it can be typed here: `make run` has one of its own in the project's folder.
    here = os.path.relpath(sys.executable)
    python = "python" if here.startswith("..") else here
    return shlex.join([python, *program.split()[1:], *words])


def whole(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or not 1 <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def natural(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def seconds(text: str) -> float:
    """A time above 0, in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value
