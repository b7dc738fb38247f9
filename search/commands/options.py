"""What the command lines share: option types, exit codes, and the text that repeats a command."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from microkernels.tile.isa import ISAS, ISAS_OF
from search.evaluator.interface.errors import FAILURES
from search.evaluator.interface.files import ExportError, checked_name, folder_of
from search.tuner.dtypes import DEFAULT_GPU_DTYPE
from search.tuner.target import check_meant
from tiling.choices import either
from tiling.dtypes.products import OUTPUT_DTYPES

__all__ = [
    "CPU_DTYPE_HELP",
    "EVERY_ISA_HELP",
    "FAILURES",
    "ISA_HELP",
    "OUTPUT_HELP",
    "c_name",
    "check_target",
    "dtype_help",
    "folder",
    "given",
    "natural",
    "repeated",
    "seconds",
    "whole",
]

T = TypeVar("T")

# What the help says of `--isa`, of f32 and of every dtype, and of `--dtype` and `--output-dtype`.
ISA_HELP = f"{either(ISAS)}; default: the widest of this CPU"
EVERY_ISA_HELP = (
    f"{'; '.join(f'{dtype}: {either(isas)}' for dtype, isas in ISAS_OF.items())}; default: the widest of this CPU"
)
CPU_DTYPE_HELP = f"{either(ISAS_OF)}; default f32"
OUTPUT_HELP = (
    f"dtype of the output; {'; '.join(f'{dtype}: {either(OUTPUT_DTYPES[dtype])}' for dtype in ISAS_OF)}; default: the "
    "first of these"
)

_LARGEST = 2**31 - 1
_LONGEST = 1e6  # seconds: eleven days


def dtype_help(of_gpus: Iterable[str]) -> str:
    """What the help says of `--dtype`."""
    return (
        f"dtype of the inputs: {either(ISAS_OF)} on the CPU, default f32; {either(of_gpus)} on a GPU, default "
        f"{DEFAULT_GPU_DTYPE}"
    )


def given(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> frozenset[str]:
    """The options on the command line, including those that are given their default."""
    blank = argparse.Namespace(**dict.fromkeys(vars(parser.parse_args(arguments))))
    return frozenset(name for name, value in vars(parser.parse_args(arguments, blank)).items() if value is not None)


def check_target(target: str, found: frozenset[str]) -> None:
    """Raises ProblemError if an option `found` on the command line means nothing to the target."""
    check_meant(target, found, lambda name: f"--{name.replace('_', '-')} means nothing to --target {target}")


def repeated(program: str, words: Sequence[str]) -> str:
    """The command line of `program`, such as `python -m …`, for the current folder."""
    # The interpreter's path from here: `make run` uses an interpreter in the project's folder.
    here = os.path.relpath(sys.executable)
    python = "python" if here.startswith("..") else here
    return shlex.join([python, *program.split()[1:], *words])


def folder(text: str) -> Path:
    """A folder to write into."""
    return _argument(folder_of, text)


def c_name(text: str) -> str:
    """The name of a C function."""
    return _argument(checked_name, text)


def _argument(checked: Callable[[str], T], text: str) -> T:
    try:
        return checked(text)
    except ExportError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def whole(text: str) -> int:
    """A whole number of at least 1."""
    return _number(text, 1)


def natural(text: str) -> int:
    """A whole number of at least 0."""
    return _number(text, 0)


def _number(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    if int(text) > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is more than the largest number, {_LARGEST}")
    return int(text)


def seconds(text: str) -> float:
    """A time above 0, in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    if value > _LONGEST:
        raise argparse.ArgumentTypeError(f"{text} is more than the longest time, {_LONGEST:,.0f} seconds")
    return value
