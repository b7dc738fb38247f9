"""The command `python -m bench.programs`: programs of networks beside other libraries.

All compute the same arrays in turns in one process, warm, as a Python user calls them; what the others give is compared
with ours first. Before each turn the threads of the others fall asleep (`bench.run.targets.turns`). A speed is the
median over the turns.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.peers.cpu import torch_cpu
from bench.peers.interface.versions import installed
from bench.peers.networks.program_peers import PROGRAM_PEERS
from bench.peers.networks.torch_programs import WORKLOADS, Workload
from bench.peers.networks.whole_models import apart_reason
from bench.report.files import ReportError, check_writable, write
from bench.report.sections import on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.targets.turns import PAUSE_SECONDS, timed
from bench.studies.networks import fused_maps, runtime_extents
from bench.studies.networks.bandwidth import least_seconds
from cpu.kernel.arguments import aligned
from cpu.kernel.program import ProgramKernel
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.options import Parser
from cpu.runtime.output import readable
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import CandidateError, Worker
from search.commands.options import whole
from search.flow.programs import generate_program
from tiling.problem import ProblemError

ROUNDS = 20
TURN_SECONDS = 0.01  # several calls
_TIMEOUT_SECONDS = 300.0
# Results of ours and of other libraries differ by roundings: sums have up to 4 million numbers near 1, and functions
# are approximations.
_NEAR = 2e-4


@dataclass(frozen=True)
class ProgramRace:
    """A workload on so many threads: seconds of a call of ours, of the kernel alone, and of each peer's call.

    moved: bytes of the arrays. least: seconds in which this machine reads and writes so many. bare: seconds of the
    kernel without what is fused, 0 where nothing is. missing: why a peer has no time.
    """

    name: str
    threads: int
    ours: float
    kernel: float
    peers: dict[str, float]
    moved: int
    least: float = 0.0
    bare: float = 0.0
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times as long as ours the fastest peer's call takes."""
        return min(self.peers.values()) / self.ours

    @property
    def speed(self) -> float:
        """GB/s of the kernel."""
        return self.moved / self.kernel / 1e9

    @property
    def share(self) -> str:
        """The percentage of the measured bandwidth."""
        return f"{100 * self.least / self.kernel:.0f}" if self.least else "–"

    @property
    def fused(self) -> str:
        """How many times as long as the bare kernel the kernel takes."""
        return f"{self.kernel / self.bare:.3f}" if self.bare else "–"


def turns(*, number: int, threads: int, peers: list[str], rounds: int, turn: float) -> dict[str, Any]:
    """Times one workload in a worker. The fields of a `ProgramRace`.

    Raises CandidateError where a result differs from ours, or where no peer computes it.
    """
    torch_cpu.settle(threads)
    work = WORKLOADS[number]
    kernel = generate_program(work.text, shapes=work.shapes, threads=threads, **work.extents)
    assert isinstance(kernel, ProgramKernel)
    random = np.random.default_rng(number)
    arrays = {name: aligned(random.standard_normal(shape, np.float32)) for name, shape in work.shapes.items()}
    y = kernel(**arrays)
    missing, calls = {}, {}
    for peer in peers:
        title, _, run = PROGRAM_PEERS[peer]
        try:
            ready = run(work, arrays, y, threads)
            ready.call()
        except Exception as error:  # whatever a library raises, the others are still compared
            missing[peer] = readable(f"{type(error).__name__}: {error}")[:200]
            continue
        if not np.allclose(y, ready.outputs()[0], rtol=_NEAR, atol=_NEAR):
            raise CandidateError(f"{work.name}: the result is not {title}'s")
        calls[peer] = ready.call
    if not calls:
        raise CandidateError(f"{work.name}: no peer computes it: {missing}")
    inputs = [arrays[array.name] for array in kernel.inputs]
    clocks = {"": timed(lambda: kernel(*inputs, out=y), turn)}
    clocks |= {peer: timed(call, turn) for peer, call in calls.items()}
    bare = generate_program(work.bare, shapes=work.shapes, threads=threads, **work.extents) if work.bare else None
    assert bare is None or isinstance(bare, ProgramKernel)
    found: dict[str, list[float]] = {who: [] for who in clocks}
    alone_: list[float] = []
    unfused: list[float] = []
    bounds: list[float] = []
    read = sum(array.nbytes for array in inputs)
    for _ in range(rounds):
        time.sleep(PAUSE_SECONDS)
        bounds.append(least_seconds(read, y.nbytes, threads, turn))
        for who, clock in clocks.items():
            found[who].append(clock())
            if not who:
                alone_.append(kernel.measure(inputs, turn).seconds)
                if bare:
                    unfused.append(bare.measure([arrays[array.name] for array in bare.inputs], turn).seconds)
    medians = {who: median(times) for who, times in found.items()}
    ours, moved = medians.pop(""), read + y.nbytes
    alike = median(unfused) if unfused else 0.0
    return asdict(ProgramRace(work.name, threads, ours, median(alone_), medians, moved, median(bounds), alike, missing))


def race(number: int, threads: int, peers: Sequence[str]) -> ProgramRace:
    """One workload on so many threads. Raises CandidateError, and what a worker raises."""
    with closing(Worker(env=torch_cpu.environment(threads), packages=("bench",))) as worker:
        found = worker.call(
            "bench.studies.networks.programs:turns",
            timeout=_TIMEOUT_SECONDS,
            number=number,
            threads=threads,
            peers=list(peers),
            rounds=ROUNDS,
            turn=TURN_SECONDS,
        )
    return ProgramRace(**found)


def row(found: ProgramRace) -> str:
    """A line of the terminal."""
    times = ", ".join(f"{_title(peer)} {1e6 * seconds:.1f} µs" for peer, seconds in found.peers.items())
    bare = f", {found.fused} times the bare one" if found.bare else ""
    return (
        f"{found.name:<32} {1e6 * found.ours:9.1f} µs, kernel {1e6 * found.kernel:9.1f} µs = {found.speed:6.1f} GB/s "
        f"= {found.share:>3} % of the bandwidth{bare}   {times}, {found.ratio:5.2f} times"
    )


def summary(results: Sequence[ProgramRace]) -> str:
    """The geometric mean of the ratios, and where a peer is faster."""
    mean = exp(sum(log(found.ratio) for found in results) / len(results))
    faster = [found.name for found in results if found.ratio < 1]
    named = f": {', '.join(faster)}" if faster else ""
    peers = dict.fromkeys(peer for found in results for peer in found.peers)
    who = _title(*peers) if len(peers) == 1 else f"The fastest of {', '.join(map(_title, peers))}"
    return (
        f"{who} takes {mean:.2f} times as long in the geometric mean, and is faster on {len(faster)} of "
        f"{len(results)}{named}"
    )


def page(results: Sequence[ProgramRace], command: str, versions: str) -> str:
    """The page that `--report` writes."""
    compiler = find_compiler()
    peers = list(dict.fromkeys(peer for found in results for peer in found.peers))
    lines = [
        "# Programs beside other libraries",
        "",
        f"Written by `{command}` on `{fingerprint(host())}` with {plural(host().cores, 'cores')}, {compiler.kind} "
        f"{compiler.version}, {versions}. float32, warm, {ROUNDS} turns of {1e3 * TURN_SECONDS:g} ms, "
        "those of one program in one process, medians. Before each turn there is a pause in which the others' threads "
        "fall asleep, and warm calls. A call is that of a Python user; the kernel alone is timed in "
        "C. GB/s are of the bytes of the arrays that a program takes and gives, beside their share of what the same "
        "threads read and write of so many bytes again and again, in the same turns. All arrays begin with a "
        "cache line. `/ bare` is the time of the kernel over that of the same one without what it has fused.",
    ]
    heads = ["program", "call µs", "kernel µs", "GB/s", "% of bandwidth", "/ bare"]
    heads += [*(f"{_title(peer)} µs" for peer in peers), "fastest / ours"]
    for threads in dict.fromkeys(found.threads for found in results):
        here = [found for found in results if found.threads == threads]
        lines += ["", f"## {on_threads(threads).capitalize()}", "", f"{summary(here)}.", ""]
        lines += [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
        for found in here:
            times = [f"{1e6 * found.peers[peer]:.1f}" if peer in found.peers else "–" for peer in peers]
            own = [
                f"{1e6 * found.ours:.1f}",
                f"{1e6 * found.kernel:.1f}",
                f"{found.speed:.1f}",
                found.share,
                found.fused,
            ]
            lines.append(f"| {' | '.join([found.name, *own, *times, f'{found.ratio:.2f}'])} |")
    lines += ["", "## The programs", ""]
    shown = {found.name for found in results}
    lines += [f"- {work.name}: `{work.text}`" for work in WORKLOADS if work.name in shown]
    return "\n".join(lines) + "\n"


def _title(peer: str) -> str:
    return PROGRAM_PEERS[peer][0]


@ending("interrupted: no page is written")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    results, code = [], 0
    if options.runtime or options.fused:
        return _own_cases(options)
    if reason := apart_reason(options.peers):
        raise ProblemError(reason)
    chosen = _chosen(options.only)
    if options.report:
        check_writable(options.report)
    try:
        version = torch_cpu.version()
    except ModuleNotFoundError:
        raise ReportError("PyTorch is missing: pip install 'tilewright[peers]'") from None
    with alone():
        for threads in dict.fromkeys(options.threads):
            here = []
            for number in chosen:
                try:
                    here.append(race(number, threads, options.peers))
                except CandidateError as error:
                    print(f"{WORKLOADS[number].name}: {readable(error.reason)}", file=sys.stderr)
                    code = 1
                    continue
                for peer, why in here[-1].missing.items():
                    print(f"{here[-1].name}: {_title(peer)} is left out: {why}", file=sys.stderr)
                print(row(here[-1]), flush=True)
            if here:
                print(f"{on_threads(threads)}: {summary(here)}", flush=True)
            results += here
    if options.report and results:
        write(options.report, page(results, _command(options), ", ".join(_versions(version, options.peers))))
    return code


def _own_cases(options: argparse.Namespace) -> int:
    """Prints kernels with runtime extents beside those for one size, or with fused maps beside bare ones.

    Returns the exit code: 1 where a kernel is wrong.
    """
    word = "--runtime" if options.runtime else "--fused"
    if options.only or options.report or (options.runtime and options.fused):
        raise ProblemError(f"{word} prints its own cases and nothing else: leave out all options but --threads")
    code = 0
    with alone():
        for threads in dict.fromkeys(options.threads):
            print(f"{on_threads(threads)}:")
            for case in runtime_extents.CASES if options.runtime else ():
                try:
                    print("\n".join(runtime_extents.compared(case, threads)), flush=True)
                except CandidateError as error:
                    print(readable(error.reason), file=sys.stderr)
                    code = 1
            for one in fused_maps.CASES if options.fused else ():
                print(fused_maps.compared(one, threads), flush=True)
    return code


def _chosen(words: list[str]) -> list[int]:
    """The numbers of the workloads with one of these words in their name; without words all. Raises ProblemError."""
    for word in words:
        if not any(_named(work, word) for work in WORKLOADS):
            names = ", ".join(work.name for work in WORKLOADS)
            raise ProblemError(f"--only {word}: no program has this in its name; there are {names}")
    return [number for number, work in enumerate(WORKLOADS) if not words or any(_named(work, word) for word in words)]


def _named(work: Workload, word: str) -> bool:
    return word.lower() in work.name.lower()


def _versions(torch: str, peers: Sequence[str]) -> list[str]:
    """The versions that decide the peers' speed. torch: the version of PyTorch, which every peer needs."""
    others = {peer: PROGRAM_PEERS[peer] for peer in peers if PROGRAM_PEERS[peer][1] != "torch"}
    return [torch, *(f"{title} {installed(module) or 'not installed'}" for title, module, _ in others.values())]


def _command(options: argparse.Namespace) -> str:
    words = ["python", "-m", "bench.programs", "--threads", *map(str, options.threads)]
    words += ["--peers", *options.peers] if options.peers != ["torch"] else []
    words += ["--only", *options.only] if options.only else []
    return shlex.join([*words, "--report", str(options.report)])


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m bench.programs",
        description="Programs of networks beside other libraries. python -m bench --suite programs is the same.",
        epilog="PyTorch has to be there, but with --runtime or --fused: pip install 'tilewright[peers]'.",
    )
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=tuple(PROGRAM_PEERS),
        default=["torch"],
        help="default: torch; ort and openvino run what PyTorch exports",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="programs with a word in their name")
    parser.add_argument(
        "--runtime",
        action="store_true",
        help="kernels with runtime extents beside those for one size, in place of other libraries",
    )
    parser.add_argument(
        "--fused", action="store_true", help="kernels with fused maps beside bare ones, in place of other libraries"
    )
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as programs.md")
    return parser
