"""The command `python -m bench.fused --shape resnet18:R2`: the cost of an epilogue that is fused into the store.

The bare operator and the same scheme with each epilogue are timed in turns in one process, so that a slow moment of the
machine hits all alike. The cost is the median over the turns of fused / bare - 1.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from bench.report.files import check_writable, write
from bench.report.sections import PAPER, on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.options import add_first_search, add_isa
from cpu.kernel.callable import build
from cpu.kernel.measure import check_exact
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.options import Parser
from cpu.runtime.output import readable
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import CandidateError, Worker
from microkernels.tile.isa import isa_named
from search.commands.options import whole
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.flow.kernels import kernel_for
from search.tuner.dtypes import on_cpu
from search.tuner.measured import AnyScheme
from tiling.epilogue import fused
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.notation import parse
from tiling.text.shapes import canonical, chosen, parse_shape, problem_of

EPILOGUES = ("relu(y + b)", "relu(y + b + z)")  # bias and ReLU; with the residual of a ResNet block
ROUNDS = 75
TURN_SECONDS = 0.04
TARGET = 0.02  # an epilogue should add at most this share of the bare operator's time
_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class Costs:
    """The turns of one layer in the order measured: the bare operator, and the same scheme with each epilogue."""

    layer: str
    scheme: AnyScheme
    threads: int
    bare: tuple[Timing, ...]
    fused: tuple[tuple[str, tuple[Timing, ...]], ...]

    @property
    def seconds(self) -> float:
        """Seconds of a call of the bare kernel."""
        return median(timing.seconds for timing in self.bare)

    @property
    def fraction_of_peak(self) -> float:
        """The share of the FMA peak, measured beside it, that the bare kernel reaches."""
        return median(timing.fraction_of_peak(self.scheme.problem.flops, self.threads) for timing in self.bare)

    @property
    def costs(self) -> dict[str, float]:
        """For each epilogue, the share of the bare kernel's time that it adds."""
        return {
            epilogue: median(fused.seconds / bare.seconds for fused, bare in zip(timings, self.bare)) - 1
            for epilogue, timings in self.fused
        }


def measure(backend: CpuBackend, layer: str, problem: Problem, budget: float) -> Costs:
    """Tunes the bare problem or takes an earlier choice, then checks and times it beside its fused forms.

    Raises CandidateError where a kernel fails or is wrong, and what a search raises.
    """
    bare = replace(problem, epilogue=None)
    shapes = [canonical(bare), *(canonical(fused(bare, epilogue)) for epilogue in EPILOGUES)]
    scheme = kernel_for(bare, backend.target, "measure", budget).scheme
    job = {key: value for key, value in backend.job(scheme).items() if key != "shape"} | {
        "rounds": ROUNDS,
        "turn": TURN_SECONDS,
    }
    with closing(Worker(env=backend.environment, packages=("bench",))) as worker:
        found = worker.call("bench.studies.kernels.fused:turns", timeout=_TIMEOUT_SECONDS, shapes=shapes, **job)
    first, *others = (tuple(Timing(tuple(samples), peak) for samples, peak in turns) for turns in found)
    return Costs(layer, scheme, backend.target.threads, first, tuple(zip(EPILOGUES, others)))


def turns(
    *, op: str, shapes: list[str], scheme: str, isa: str, threads: int, stream: bool, rounds: int, turn: float
) -> list[Any]:
    """Checks one scheme as the kernel of each problem, in a worker, then gives the turns of each: [samples, peak]."""
    kernels = [build(parse(problem_of(op, shape), scheme), isa_named(isa), threads, stream) for shape in shapes]
    inputs = [check_exact(kernel) for kernel in kernels]
    # All kernels share their memory. With its own arrays each would find the caches as another kernel left them.
    x, packed, y = inputs[0]
    found: list[list[Any]] = [[] for _ in kernels]
    for _ in range(rounds):
        for kernel, (_, _, _, *arrays), so_far in zip(kernels, inputs, found):
            timing = kernel.measure(x, packed, y, turn, arrays)
            so_far.append([timing.samples, timing.peak_gflops])
    return found


def row(found: Costs) -> str:
    """A line of the terminal."""
    costs = "   ".join(f"{epilogue} {100 * cost:+.1f} %" for epilogue, cost in found.costs.items())
    return (
        f"{found.layer:<14} {1e3 * found.seconds:8.4f} ms {100 * found.fraction_of_peak:5.1f} % of peak   {costs}   "
        f"{found.scheme}"
    )


def page(results: Sequence[Costs], command: str) -> str:
    """The page that `--report` writes."""
    compiler = find_compiler()
    lines = [
        "# What a fused epilogue costs",
        "",
        f"Written by `{command}` on `{fingerprint(host())}` with {plural(host().cores, 'cores')}, {compiler.kind} "
        f"{compiler.version}. One scheme with each epilogue, the kernel alone, warm caches, {ROUNDS} turns of "
        f"{TURN_SECONDS:g} s of each in one process; a cost is the median over the turns of fused / bare - 1. `b` is "
        "a bias, `z` an array of the output's shape.",
    ]
    for threads in dict.fromkeys(found.threads for found in results):
        here = [found for found in results if found.threads == threads]
        names = list(here[0].costs)
        lines += ["", f"## {on_threads(threads).capitalize()}", ""]
        for name in names:
            costs = [found.costs[name] for found in here]
            dear = sum(cost > TARGET for cost in costs)
            lines.append(
                f"- `{name}`: {100 * median(costs):.1f} % in the median, over {100 * TARGET:g} % on {dear} of "
                f"{len(here)}."
            )
        lines += ["", f"| layer | bare ms | % of peak | {' | '.join(f'`{name}`' for name in names)} | scheme |"]
        lines.append("| --- " * (4 + len(names)) + "|")
        for found in here:
            cells = " | ".join(f"{100 * cost:+.1f} %" for cost in found.costs.values())
            lines.append(
                f"| {found.layer} | {1e3 * found.seconds:.3g} | {100 * found.fraction_of_peak:.1f} | {cells} | "
                f"`{found.scheme}` |"
            )
    return "\n".join(lines) + "\n"


@ending("interrupted: no page is written")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    results, code = [], 0
    layers = list(_layers(options))
    if options.report:
        check_writable(options.report)
    with alone():
        for threads in dict.fromkeys(options.threads):
            for name, problem in layers:
                backend = cpu_backend(options.isa, threads, problem.dtype)
                try:
                    results.append(measure(backend, name, problem, options.budget))
                except CandidateError as error:
                    print(
                        f"{name} {on_threads(threads)}: the kernel failed: {readable(error.reason)}",
                        file=sys.stderr,
                    )
                    code = 1
                    continue
                print(row(results[-1]), flush=True)
    if options.report and results:
        write(options.report, page(results, _command(options)))
    return code


def _layers(options: argparse.Namespace) -> Iterator[tuple[str, Problem]]:
    """(name, problem) of every requested layer. Raises ProblemError."""
    named = options.suite or ([] if options.shape else PAPER)
    for name, layers in chosen(named).items():
        yield from ((f"{name}:{layer.name}", layer.problem) for layer in layers if layer.problem)
    for shape in options.shape:
        yield shape, on_cpu(parse_shape(shape), None, None)


def _command(options: argparse.Namespace) -> str:
    words = ["python", "-m", "bench.fused"]
    for name in ("suite", "shape", "threads"):
        values = getattr(options, name)
        words += [f"--{name}", *map(str, values)] if values else []
    return shlex.join([*words, "--budget", f"{options.budget:g}", "--report", str(options.report)])


def _parser() -> argparse.ArgumentParser:
    parser = Parser("python -m bench.fused", description="What an epilogue fused into the store costs.")
    parser.add_argument("--suite", nargs="+", default=[], metavar="NAME[:LAYER]", help="default: yolo9000 resnet18")
    parser.add_argument("--shape", nargs="+", default=[], help="layers, as `python -m search.conv` takes them")
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    add_isa(parser)
    add_first_search(parser)
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as fused.md")
    return parser
