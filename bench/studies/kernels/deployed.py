"""The command `python -m bench.deployed --shape resnet18:R2`: is a saved kernel, called from C, as fast as when tuned?

The tuner's own measurement and the example program that `save` writes run in turns, so that a slow moment hits both.
The fastest sample of each counts, since other programs only make a run slower.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.options import add_first_search, add_isa
from cpu.kernel.callable import CpuKernel
from cpu.runtime.compiler.toolchain import CompileError, find_compiler
from cpu.runtime.options import Parser
from cpu.runtime.output import readable
from cpu.runtime.processes.worker import CandidateError
from search.commands.options import whole
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.flow.kernels import kernel_for
from search.tuner.measured import AnyScheme
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.shapes import canonical, parse_shape

ROUNDS = 15
TURN_SECONDS = (
    0.1  # the tuner takes samples of a millisecond then, which a neighbour seldom interrupts, as the program does
)
_LEAST_SECONDS = 60.0  # the shortest time-out of a program that times itself for TURN_SECONDS


@dataclass(frozen=True)
class Turns:
    """Seconds a call of one kernel, the fastest sample of each turn, measured by the tuner and by the saved program."""

    scheme: AnyScheme
    tuned: tuple[float, ...]
    deployed: tuple[float, ...]

    @property
    def slower(self) -> float:
        """The share of time by which the deployed kernel is slower."""
        return min(self.deployed) / min(self.tuned) - 1


def turns(backend: CpuBackend, problem: Problem, budget: float) -> Turns:
    """Tunes or takes an earlier choice, saves the kernel, compiles the example and times both in turns.

    Raises CandidateError where the kernel fails, and what a search raises.
    """
    kernel = kernel_for(problem, backend.target, "measure", budget)
    assert isinstance(kernel, CpuKernel)
    tuned, deployed = [], []
    room = tempfile.TemporaryDirectory(prefix="tilewright-")
    with room as folder, closing(backend.evaluator(kernel.problem)) as evaluator:
        library = next(path for path in kernel.save(folder) if path.suffix == ".so")
        program = _example(Path(folder), library)
        for _ in range(ROUNDS):
            timing = evaluator.measure(kernel.scheme, TURN_SECONDS)
            if not isinstance(timing, Timing):
                raise CandidateError(timing)
            tuned.append(min(timing.samples))
            deployed.append(_timed(program, backend.environment))
    return Turns(kernel.scheme, tuple(tuned), tuple(deployed))


def _example(folder: Path, library: Path) -> Path:
    command = [*find_compiler().command, "-O2", f"{library.stem}_example.c", library.name, "-Wl,-rpath,$ORIGIN"]
    ended = subprocess.run([*command, "-o", "example"], cwd=folder, capture_output=True, text=True)
    if ended.returncode:
        raise CompileError(f"the example program does not compile: {ended.stderr.strip()}")
    return folder / "example"


def _timed(program: Path, environment: dict[str, str]) -> float:
    ended = subprocess.run(
        [program, str(TURN_SECONDS)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_LEAST_SECONDS,
    )
    found = re.match(r"([0-9.]+) s a call", ended.stdout)
    if ended.returncode or not found:
        raise CandidateError(f"the saved program failed with status {ended.returncode}: {ended.stderr.strip()}")
    return float(found[1])


@ending("interrupted")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    parser = Parser("python -m bench.deployed", description="Saved kernels against their tuned speed.")
    parser.add_argument("--shape", required=True, nargs="+", help="layers, as `python -m search.conv` takes them")
    parser.add_argument("--threads", type=whole, default=1, metavar="N")
    add_isa(parser)
    add_first_search(parser)
    options = parser.parse_args(arguments)
    try:
        backend = cpu_backend(options.isa, options.threads)
        with alone():
            for shape in options.shape:
                found = turns(backend, parse_shape(shape), options.budget)
                print(
                    f"{shape:<14} tuned {1e3 * min(found.tuned):.4f} ms, deployed {1e3 * min(found.deployed):.4f} ms: "
                    f"{100 * found.slower:+.2f} %   {canonical(found.scheme.problem)} as {found.scheme}",
                    flush=True,
                )
    except CandidateError as error:
        print(f"the kernel failed: {readable(error.reason)}", file=sys.stderr)
        return 1
    return 0
