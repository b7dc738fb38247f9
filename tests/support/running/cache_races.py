"""Processes that race for the compile cache, each of which must get its own right binaries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROCESSES, KERNELS = 8, 20


def started(*arguments: object, **environment: str) -> subprocess.Popen:
    words = [sys.executable, "-m", "tests.support.running.cache_race", *map(str, arguments)]
    return subprocess.Popen(words, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)


def race(rounds: int, seed: int, kernels: int = KERNELS) -> None:
    """Every process gets its own right binaries, whoever builds, deletes or damages them meanwhile."""
    racers = [started(kernels, rounds, seed + place) for place in range(PROCESSES)]
    assert [racer.communicate()[0] for racer in racers] == ["0\n"] * PROCESSES
    assert [racer.returncode for racer in racers] == [0] * PROCESSES
