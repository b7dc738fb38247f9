"""The command `python -m bench.choice`: what a user loses who takes the model's choice and measures nothing.

The choice is timed beside the candidates that a search would try next, and beside the fastest that an earlier search
measured on this machine. They take turns in a worker process, after each gave exact results. With `--cache cold` all
calls find their arrays in memory, and the choice for warm calls takes part.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import median

from bench.report.files import check_writable, write
from bench.report.sections import PAPER, on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.layouts import laid_out
from bench.run.options import add_isa, add_layout
from cpu.runtime.options import Parser
from microkernels.ranking.offline import machine_catalog
from search.commands.options import CPU_DTYPE_HELP, whole
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.evaluator.interface.protocol import CANDIDATE_SECONDS
from search.tuner import store
from search.tuner.measured import AnyScheme
from search.tuner.target import CACHES
from tiling.machine import Timing
from tiling.problem import Problem, ProblemError
from tiling.scheme.specifiers import SchemeError
from tiling.text.shapes import canonical, chosen

ROUNDS, TURN_SECONDS = 5, 0.03
SMALL_LOSS = 0.05  # what the noise of a machine and a short search may hide


@dataclass(frozen=True)
class Choice:
    """Work of some schemes of one layer, the model's choice first. Work is seconds x peak, so clock drift cancels.

    warm: the choice for warm calls, where calls were cold and it could be timed; else "".
    """

    layer: str
    problem: Problem
    threads: int
    schemes: tuple[str, ...]
    work: tuple[float, ...]
    warm: str = ""

    @property
    def loss(self) -> float:
        """The share by which the model's choice is slower than the fastest."""
        return self.work[0] / min(self.work) - 1

    @property
    def fastest(self) -> int:
        """The place of the fastest in `schemes`."""
        return self.work.index(min(self.work))

    @property
    def warm_longer(self) -> float:
        """The share by which the choice for warm calls is slower than this one, when both are called cold."""
        return self.work[self.schemes.index(self.warm)] / self.work[0] - 1 if self.warm else 0.0

    def percent(self, place: int) -> float:
        """The percentage of the FMA peak that a scheme reaches."""
        return 100 * self.problem.flops / 1e9 / self.work[place] / self.threads


def contenders(
    backend: CpuBackend, problem: Problem, count: int, others: Sequence[AnyScheme] = ()
) -> tuple[AnyScheme, ...]:
    """The first `count` candidates, `others`, and the fastest that the store knows.

    Raises ProblemError without a candidate.
    """
    known = {text: t for text, t in store.measured(backend.key(problem)).items() if isinstance(t, Timing)}
    schemes = {scheme.text: scheme for scheme in backend.candidates(problem)[:count]}
    if not schemes:
        raise ProblemError("the model has no candidate")
    for other in others:
        schemes.setdefault(other.text, other)
    if known:
        fastest = min(known, key=lambda text: known[text].work)
        with suppress(SchemeError):  # an earlier version may have spelt schemes otherwise
            schemes.setdefault(fastest, backend.parsed(problem, fastest))
    return tuple(schemes.values())


def timed(backend: CpuBackend, layer: str, problem: Problem, count: int, warm: CpuBackend | None = None) -> Choice:
    """Times the contenders of one layer in turns. Raises ProblemError where the model's own choice cannot be timed.

    warm: for cold calls, the back end whose choice for warm calls takes part.
    """
    others = warm.candidates(problem)[:1] if warm else ()
    schemes = contenders(backend, problem, count, others)
    turns: dict[str, list[Timing]] = {scheme.text: [] for scheme in schemes}
    with closing(backend.evaluator(problem)) as evaluator:
        failed = set(evaluator.prepare(schemes, CANDIDATE_SECONDS))
        for _ in range(ROUNDS):
            for scheme in schemes:
                if scheme.text in failed:
                    continue
                found = evaluator.measure(scheme, TURN_SECONDS, CANDIDATE_SECONDS)
                if isinstance(found, Timing):
                    turns[scheme.text].append(found)
                else:
                    failed.add(scheme.text)
    if schemes[0].text in failed:
        raise ProblemError(f"the model's choice cannot be timed: {schemes[0].text}")
    kept = [scheme.text for scheme in schemes if scheme.text not in failed]
    work = tuple(median(timing.work for timing in turns[text]) for text in kept)
    first = next((other.text for other in others if other.text in kept), "")
    return Choice(layer, problem, backend.target.threads, tuple(kept), work, first)


def summary(results: Sequence[Choice]) -> str:
    """The mean loss, the largest, and how many are small."""
    mean = prod(1 + r.loss for r in results) ** (1 / len(results)) - 1
    worst = max(results, key=lambda r: r.loss)
    small = sum(r.loss <= SMALL_LOSS for r in results)
    said = (
        f"The model's choice takes {100 * mean:.1f} % longer than the fastest in the geometric mean, at most "
        f"{100 * worst.loss:.1f} % ({worst.layer}), and at most {100 * SMALL_LOSS:.0f} % on {small} of {len(results)}."
    )
    beside = [r for r in results if r.warm]
    if not beside:
        return said
    longer = prod(1 + r.warm_longer for r in beside) ** (1 / len(beside)) - 1
    most = max(beside, key=lambda r: r.warm_longer)
    return (
        f"{said} The choice for warm calls takes {100 * longer:.1f} % longer than that for cold calls, at most "
        f"{100 * most.warm_longer:.1f} % ({most.layer})."
    )


def page(results: Sequence[Choice], command: str, fingerprint: str, count: int, cache: str = "warm") -> str:
    """The page that `--report` writes."""
    cold = cache == "cold"
    lines = [
        "# What the model's choice loses",
        "",
        f"Written by `{command}` on `{fingerprint}`; run it again to see your machine's figures.",
        "",
        f"The model's choice takes turns with the {count - 1} candidates that a search would try next, and with the",
        "fastest that an earlier search kept. Each was exact before. The fastest samples of the kernels alone, "
        f"{'with all arrays in memory' if cold else 'warm'},",
        f"medians over {ROUNDS} turns, each relative to the FMA peak measured beside it.",
    ]
    for threads in sorted({r.threads for r in results}):
        some = [r for r in results if r.threads == threads]
        lines += ["", f"## {on_threads(threads).capitalize()}", "", summary(some), ""]
        beside = ("| choice for warm calls ", "|---", " | {:+.1f} %") if cold else ("", "", "")
        lines += [
            f"| layer | shape | timed | choice, % of peak | fastest, % of peak | loss {beside[0]}| choice | fastest |"
        ]
        lines += [f"|---|---|---|---|---|---|---|---{beside[1]}|"]
        lines += [
            f"| {r.layer} | {canonical(r.problem).replace(',', ' ')} | {len(r.work)} | {r.percent(0):.1f} | "
            f"{r.percent(r.fastest):.1f} | {100 * r.loss:.1f} %{beside[2].format(100 * r.warm_longer)} | "
            f"`{r.schemes[0]}` | "
            f"{'the same' if r.fastest == 0 else f'`{r.schemes[r.fastest]}`'} |"
            for r in some
        ]
    return "\n".join(lines) + "\n"


@ending("interrupted: no page is written")
def main(arguments: list[str] | None = None) -> int:
    """Prints a line a layer and a sentence on all, and returns the exit code."""
    options = _parser().parse_args(arguments)
    results: list[Choice] = []
    suites = {name: laid_out(layers, options.layout) for name, layers in chosen(options.suite).items()}
    layers = [(f"{name.partition(':')[0]}:{layer.name}", layer) for name, found in suites.items() for layer in found]
    if options.report:
        check_writable(options.report)
    with alone():
        for threads in options.threads:
            backend = cpu_backend(options.isa, threads, options.dtype, cache=options.cache)
            warm = cpu_backend(options.isa, threads, options.dtype) if options.cache == "cold" else None
            for name, layer in layers:
                if layer.problem is None:
                    print(f"{name} is left out: {layer.unsupported}", file=sys.stderr)
                    continue
                problem = backend.problem(layer.problem)
                machine_catalog(backend.isa, problem.op, announce=lambda text: print(text, file=sys.stderr))
                try:
                    found = timed(backend, name, problem, options.candidates, warm)
                except ProblemError as error:
                    print(f"{name} is left out: {error}", file=sys.stderr)
                    continue
                results.append(found)
                print(
                    f"{name:<14} {on_threads(threads)}: {found.percent(0):5.1f} % of peak, "
                    f"{100 * found.loss:4.1f} % behind the fastest of {len(found.work)}"
                    + (f", {100 * found.warm_longer:+.1f} % with the choice for warm calls" if found.warm else ""),
                    flush=True,
                )
    if results:
        print(summary(results))
    if results and options.report:
        command = shlex.join(["python", "-m", "bench.choice", *(sys.argv[1:] if arguments is None else arguments)])
        write(options.report, page(results, command, backend.target.machine, options.candidates, options.cache))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("python -m bench.choice", description="What the model's choice loses.")
    parser.add_argument(
        "--suite", nargs="+", default=list(PAPER), metavar="NAME[:LAYER]", help=f"default: {' '.join(PAPER)}"
    )
    parser.add_argument("--threads", type=whole, nargs="+", default=[1], metavar="N", help="default: 1")
    parser.add_argument(
        "--candidates",
        type=whole,
        default=16,
        metavar="N",
        help="candidates a layer, the choice included; default 16",
    )
    parser.add_argument("--dtype", default="f32", metavar="NAME", help=CPU_DTYPE_HELP)
    add_layout(parser)
    parser.add_argument(
        "--cache", choices=CACHES, default="warm", help="where a call finds its arrays; cold: in memory; default: warm"
    )
    add_isa(parser)
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as choice.md")
    return parser
