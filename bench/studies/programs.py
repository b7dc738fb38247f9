"""The command `python -m bench.programs`: programs of networks beside PyTorch's own operators.

Both compute the same arrays in turns in one process, warm, as a Python user calls them; what PyTorch gives is compared
with ours first. A speed is the median over the turns.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median

import numpy as np

from bench.peers.cpu import torch_cpu
from bench.peers.networks.torch_programs import WORKLOADS, Workload
from bench.report.files import ReportError, check_writable, write
from bench.report.sections import on_threads
from bench.run.journal import alone
from bench.run.turns import timed
from bench.studies import runtime_extents
from cpu.kernel.arguments import aligned
from cpu.runtime.host import fingerprint, host
from cpu.runtime.output import INTERRUPTED
from cpu.runtime.toolchain import find_compiler
from cpu.runtime.worker import CandidateError, Worker
from microkernels.scores.database import readable
from search.generate import generate_program
from search.options import FAILURES, whole
from tiling.problem import ProblemError

ROUNDS = 40
TURN_SECONDS = 0.01  # several calls: the first of a turn finds the caches as the other side left them
_TIMEOUT_SECONDS = 300.0
# Ours and PyTorch's differ by their roundings: of sums of up to 4 million numbers near 1, and of functions.
_NEAR = {"rtol": 2e-4, "atol": 2e-4}


@dataclass(frozen=True)
class Race:
    """A workload on so many threads: seconds of ours, of the kernel alone, and of PyTorch; the bytes of the arrays."""

    name: str
    threads: int
    ours: float
    kernel: float
    peer: float
    moved: int

    @property
    def ratio(self) -> float:
        """How many times as long as ours PyTorch's call takes."""
        return self.peer / self.ours


def turns(*, number: int, threads: int, rounds: int, turn: float) -> list[float]:
    """Times one workload in a worker: seconds of ours, of the kernel alone, of PyTorch, and the bytes of the arrays.

    Raises CandidateError where the results differ.
    """
    import torch

    torch_cpu.settle(threads)
    work = WORKLOADS[number]
    kernel = generate_program(work.text, shapes=work.shapes, threads=threads, **work.extents)
    random = np.random.default_rng(number)
    arrays = {name: aligned(random.standard_normal(shape, np.float32)) for name, shape in work.shapes.items()}
    tensors = [torch.from_numpy(array) for array in arrays.values()]
    y = kernel(**arrays)
    calls = torch_cpu.Calls(lambda: work.peer(torch, *tensors))
    calls.run()
    if not np.allclose(y, calls.output.numpy(), **_NEAR):
        raise CandidateError(f"{work.name}: the result is not PyTorch's")
    inputs = [arrays[array.name] for array in kernel.inputs]
    ours = timed(lambda: kernel(*inputs, out=y), turn)
    theirs = timed(calls.run, turn)
    found: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        found[0].append(ours())
        found[1].append(kernel.measure(inputs, turn).seconds)
        found[2].append(theirs())
    return [*map(median, found), float(sum(array.nbytes for array in (*inputs, y)))]


def race(number: int, threads: int) -> Race:
    """One workload on so many threads. Raises CandidateError, and what a worker raises."""
    with closing(Worker(env=torch_cpu.environment(threads), packages=("bench",))) as worker:
        found = worker.call(
            "bench.studies.programs:turns",
            timeout=_TIMEOUT_SECONDS,
            number=number,
            threads=threads,
            rounds=ROUNDS,
            turn=TURN_SECONDS,
        )
    ours, kernel, peer, moved = found
    return Race(WORKLOADS[number].name, threads, ours, kernel, peer, int(moved))


def row(found: Race) -> str:
    """A line of the terminal."""
    return (
        f"{found.name:<30} {1e6 * found.ours:9.1f} µs, kernel {1e6 * found.kernel:9.1f} µs = "
        f"{found.moved / found.kernel / 1e9:6.1f} GB/s   PyTorch {1e6 * found.peer:9.1f} µs, {found.ratio:5.2f} times"
    )


def summary(results: Sequence[Race]) -> str:
    """The geometric mean of the ratios, and where PyTorch is faster."""
    mean = exp(sum(log(found.ratio) for found in results) / len(results))
    faster = [found.name for found in results if found.ratio < 1]
    named = f": {', '.join(faster)}" if faster else ""
    how_often = f"faster on {len(faster)} of {len(results)}{named}"
    return f"PyTorch takes {mean:.2f} times as long in the geometric mean, and is {how_often}"


def page(results: Sequence[Race], command: str, version: str) -> str:
    """The page that `--report` writes."""
    compiler = find_compiler()
    lines = [
        "# Programs beside PyTorch",
        "",
        f"Written by `{command}` on `{fingerprint(host())}` with {host().cores} cores, {compiler.kind} "
        f"{compiler.version}, {version}. float32, warm, {ROUNDS} turns of {1e3 * TURN_SECONDS:g} ms in one process, "
        "medians. A call is that of a Python user; the kernel alone is timed in C. GB/s are of the bytes of the arrays "
        "that a program takes and gives. All arrays begin with a cache line.",
    ]
    for threads in dict.fromkeys(found.threads for found in results):
        here = [found for found in results if found.threads == threads]
        lines += ["", f"## {on_threads(threads).capitalize()}", "", f"{summary(here)}.", ""]
        lines += ["| program | call µs | kernel µs | GB/s | PyTorch µs | PyTorch / ours |", "| --- " * 6 + "|"]
        for found in here:
            lines.append(
                f"| {found.name} | {1e6 * found.ours:.1f} | {1e6 * found.kernel:.1f} | "
                f"{found.moved / found.kernel / 1e9:.1f} | {1e6 * found.peer:.1f} | {found.ratio:.2f} |"
            )
    lines += ["", "## The programs", ""]
    shown = {found.name for found in results}
    lines += [f"- {work.name}: `{work.text}`" for work in WORKLOADS if work.name in shown]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    results, code = [], 0
    try:
        if options.runtime:
            return _runtime(options)
        chosen = _chosen(options.only)
        if options.report:
            check_writable(options.report)
        try:
            version = torch_cpu.version()
        except ModuleNotFoundError:
            raise ReportError("PyTorch is missing: pip install -e '.[peers]'") from None
        with alone():
            for threads in dict.fromkeys(options.threads):
                here = []
                for number in chosen:
                    try:
                        here.append(race(number, threads))
                    except CandidateError as error:
                        print(f"{WORKLOADS[number].name}: {readable(error.reason)}", file=sys.stderr)
                        code = 1
                        continue
                    print(row(here[-1]), flush=True)
                if here:
                    print(f"{on_threads(threads)}: {summary(here)}", flush=True)
                results += here
        if options.report and results:
            write(options.report, page(results, _command(options), version))
    except KeyboardInterrupt:
        print("interrupted: no page is written", file=sys.stderr)
        return INTERRUPTED
    except ProblemError as error:
        print(error, file=sys.stderr)
        return 2
    except (ReportError, *FAILURES) as error:
        print(error, file=sys.stderr)
        return 1
    return code


def _runtime(options: argparse.Namespace) -> int:
    """Prints kernels with runtime extents beside those for one size, and returns the exit code."""
    if options.only or options.report:
        raise ProblemError("--runtime prints its own cases and nothing else: leave out --only and --report")
    code = 0
    with alone():
        for threads in dict.fromkeys(options.threads):
            print(f"{on_threads(threads)}:")
            for case in runtime_extents.CASES:
                try:
                    print("\n".join(runtime_extents.compared(case, threads)), flush=True)
                except CandidateError as error:
                    print(readable(error.reason), file=sys.stderr)
                    code = 1
    return code


def _chosen(words: list[str]) -> list[int]:
    """The numbers of the workloads that have one of these words in their name; of none, all. Raises ProblemError."""
    for word in words:
        if not any(_named(work, word) for work in WORKLOADS):
            names = ", ".join(work.name for work in WORKLOADS)
            raise ProblemError(f"--only {word}: no program has this in its name; there are {names}")
    return [number for number, work in enumerate(WORKLOADS) if not words or any(_named(work, word) for word in words)]


def _named(work: Workload, word: str) -> bool:
    return word.lower() in work.name.lower()


def _command(options: argparse.Namespace) -> str:
    words = ["python", "-m", "bench.programs", "--threads", *map(str, options.threads)]
    words += ["--only", *options.only] if options.only else []
    return shlex.join([*words, "--report", str(options.report)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench.programs", description="Programs of networks beside PyTorch.")
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="programs with a word in their name")
    parser.add_argument(
        "--runtime",
        action="store_true",
        help="kernels with runtime extents beside those for one size, in place of PyTorch",
    )
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as programs.md")
    return parser
