"""How long a user of a whole model waits, and the memory it takes: `python -m bench --models NAME|FILE.onnx …
--waiting`.

    compiled with nothing kept, and again ──► saved ──► loaded by Python; built by make and called once by C

Every process starts afresh. Compiling takes the model's choices: nothing is tuned, and no microkernel is ranked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from cpu.runtime.compiler.toolchain import find_compiler
from graph.calls.compiled import load_model

# The limit of each, in seconds and bytes. The time to read the weights is added to the limit of a process.
COLD, LOADED, FIRST = 60.0, 0.2, 0.1
LIBRARY, BESIDE = 2_000_000, 20_000_000
_TIMES = 9  # processes; the median counts
_COMPILE = """
import ast, sys
from graph import ModelError
from graph.plan import Plan
path, threads, dims, folder = sys.argv[1:]
try:
    Plan(path, threads=int(threads), name="net").compiled(ast.literal_eval(dims)).save(folder)
except ModelError as error:
    sys.exit(str(error))
"""
_LOAD = """
import sys, time
import numpy
began = time.perf_counter()
from graph import load_model
load_model(sys.argv[1])
print(time.perf_counter() - began)
"""
HEAD = (
    "| model | threads | compiled, s | kept, s | loaded, ms | first call from C, ms | reading weights, ms | .so, MB "
    "| beside weights and arena, MB |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


class WaitingError(RuntimeError):
    """A process that failed: which, and what it said."""


@dataclass(frozen=True)
class Waiting:
    """Seconds: compiled with nothing kept, compiled again, loaded by Python, from the start of a C program to its end
    after one call, and reading the weights. Bytes: the library, and the most in memory beside weights and arena.
    """

    name: str
    threads: int
    cold: float
    kept: float
    loaded: float
    first: float
    reading: float
    library: int
    beside: int

    @property
    def row(self) -> str:
        """A line of the table."""
        times = f"{self.cold:.1f} | {self.kept:.1f} | {1e3 * self.loaded:.1f} | {1e3 * self.first:.1f} | "
        times += f"{1e3 * self.reading:.1f}"
        return f"| {self.name} | {self.threads} | {times} | {self.library / 1e6:.2f} | {self.beside / 1e6:.1f} |"

    @property
    def missed(self) -> list[str]:
        """The measurements that are above their limits."""
        facts = [
            (self.cold, COLD, "s to compile"),
            (self.loaded, LOADED, "s to load"),
            (self.first - self.reading, FIRST, "s from the start to the end of a call, beside reading the weights"),
            (self.library / 1e6, LIBRARY / 1e6, "MB of library"),
            (self.beside / 1e6, BESIDE / 1e6, "MB beside weights and arena"),
        ]
        return [f"{found:.3g} {what}, at most {most:g}" for found, most, what in facts if found > most]


def waiting(name: str, path: Path, threads: int, dims: Mapping[str, Any]) -> Waiting:
    """Measures one model. Raises WaitingError and ToolchainError."""
    with TemporaryDirectory(prefix="tilewright-") as temporary:
        place = Path(temporary)
        own = {"TILEWRIGHT_CACHE": str(place / "cache"), "TILEWRIGHT_DATA": str(place / "data")}
        environment, folder = {**os.environ, **own}, place / "folder"
        command = [sys.executable, "-c", _COMPILE, str(path), str(threads), repr(dict(dims)), str(folder)]
        cold, kept = (_seconds(lambda: _ran(command, environment)) for _ in range(2))
        loaded = median(float(_ran([sys.executable, "-c", _LOAD, str(folder)], environment)) for _ in range(_TIMES))
        model = load_model(folder)
        _ran(["make", "-s", f"-j{os.cpu_count() or 1}", "-C", str(folder)], environment)
        started = place / "started"
        source = Path(__file__).with_name("started.c")
        _ran([*find_compiler().command, "-O1", "-D_GNU_SOURCE", str(source), "-o", str(started)], environment)
        call = [str(started), str(folder / "example"), str(folder / f"{model.name}.bin")]
        runs = [tuple(map(float, _ran(call, environment).split())) for _ in range(_TIMES)]
        weights, memory = folder / f"{model.name}.bin", bytearray(model.weight_bytes)
        return Waiting(
            name,
            threads,
            cold,
            kept,
            loaded,
            median(seconds for seconds, _ in runs),
            median(_seconds(lambda: _read(weights, memory)) for _ in range(_TIMES)),
            (folder / f"{model.name}.so").stat().st_size,
            int(max(peak for _, peak in runs)) - model.weight_bytes - model.arena_bytes,
        )


def show(models: Sequence[tuple[str, Path]], threads: Sequence[int], dims: Mapping[str, Any]) -> int:
    """Prints the table and what is missed. Returns the exit code: 1 where a model failed or misses something."""
    print(HEAD, flush=True)
    code, missed = 0, []
    for count in dict.fromkeys(threads):
        for name, path in models:
            try:
                found = waiting(name, path, count, dims)
            except WaitingError as error:
                print(f"{name}: {error}", file=sys.stderr)
                code = 1
                continue
            print(found.row, flush=True)
            missed += [f"{name} on {count}: {what}" for what in found.missed]
    if missed or not code:
        print("\n" + ("\n".join(missed) or "nothing is more than it may be"))
    return code or int(bool(missed))


def _ran(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The output of a process. Raises WaitingError with its last line where it fails."""
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"]
        of = "" if command[0] == sys.executable else f"{Path(command[0]).name} failed: "
        raise WaitingError(of + said[-1])
    return ended.stdout


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _read(path: Path, memory: bytearray) -> None:
    with path.open("rb", buffering=0) as file:
        file.readinto(memory)
