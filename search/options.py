"""What the command lines have in common: option types, exit codes, and the errors that end in one sentence."""

from __future__ import annotations

import argparse
import math

from cpu.cache import CacheError
from cpu.export import ExportError
from cpu.kernel import CpuError
from cpu.toolchain import ToolchainError
from cpu.worker import WorkerError
from microkernels.database import StoreError
from microkernels.rank import RankingError
from search.tune import TuningError

INTERRUPTED = 130  # 128 + SIGINT, as shells have it

# What can go wrong through no fault of the command: exit code 1 and the error's own sentence.
FAILURES = (CacheError, CpuError, ExportError, RankingError, StoreError, ToolchainError, TuningError, WorkerError)


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
