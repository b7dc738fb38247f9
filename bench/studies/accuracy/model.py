"""The command `python -m bench.model`: model accuracy on random valid schemes of each layer.

It draws schemes from the whole grammar (`search.space.sample`), most of them poor, and predicts and measures each.
Three figures result: Spearman's rank correlation of predicted and measured times; the top-1 loss, by which the scheme
that is predicted best is slower than the fastest; and the error of predicted bytes into each simulated cache.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.progress import Progress

from bench.report.files import check_writable, write
from bench.report.sections import PAPER, on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from bench.studies.accuracy.counters import counted
from bench.studies.accuracy.traffic import Moved, compare
from cpu.runtime.options import Parser
from cpu.runtime.output import terminal
from microkernels.ranking.offline import machine_catalog
from search.commands.options import natural, whole
from search.cost.predict import Predictor
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.evaluator.interface.protocol import Evaluator
from search.space.sample import random_schemes
from search.space.space import trusted
from search.tuner import store
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.text.shapes import canonical, chosen

# Visits to a scheme, and seconds of samples of each. Slow schemes show without many repetitions. Other guests slow a
# core for longer than a visit: of single visits to tiles on a Zen 3 two in five were 1 to 25 % too slow.
VISITS, SECONDS = 3, 0.02
BATCH = 20
SMALL_LOSS = 0.05  # a top-1 loss that is not worth a search


@dataclass(frozen=True)
class ModelAccuracy:
    """Model accuracy on one layer: predicted and measured work. Work is seconds x peak, so that clock drift cancels."""

    layer: str
    shape: str
    schemes: tuple[str, ...]
    predicted: tuple[float, ...]
    measured: tuple[float, ...]
    failed: int
    moved: tuple[tuple[Moved, ...], ...] = ()

    @property
    def traffic_errors(self) -> dict[str, float]:
        """For each cache the median relative error of the prediction over the simulated schemes; 0.1 is 10 %."""
        return {level[0].level: median(max(m.ratio, 1 / m.ratio) for m in level) - 1 for level in zip(*self.moved)}

    @property
    def correlation(self) -> float | None:
        """Spearman's rho, 1 for a model that ranks perfectly; None where there are no ranks to compare."""
        if len(set(self.predicted)) < 2 or len(set(self.measured)) < 2:
            return None
        from scipy.stats import spearmanr  # which takes a second to load

        return float(spearmanr(self.predicted, self.measured).statistic)

    @property
    def top1_loss(self) -> float | None:
        """The share by which the best predicted scheme is slower than the fastest; None where none was measured."""
        if not self.measured:
            return None
        favourite = self.predicted.index(min(self.predicted))
        return self.measured[favourite] / min(self.measured) - 1

    @property
    def shown_correlation(self) -> str:
        """The correlation for a table."""
        return _figure(self.correlation, "{:.2f}")

    @property
    def shown_loss(self) -> str:
        """The top-1 loss for a table, in percent."""
        return _figure(self.top1_loss, "{:.0f} %", 100)

    @property
    def shown_traffic(self) -> str:
        """The traffic errors for a table, such as `L1 4 %, L2 0 %`."""
        return ", ".join(f"{level} {100 * error:.0f} %" for level, error in self.traffic_errors.items()) or "–"


def question(
    backend: CpuBackend,
    layer: str,
    problem: Problem,
    count: int,
    seed: int,
    *,
    simulated: int = 0,
    advance: Callable[[int], object] = lambda n: None,
) -> ModelAccuracy:
    """Predicts and measures `count` random schemes of one layer, and simulates the caches for the first `simulated`.

    A scheme with an earlier timing is not measured again. Each batch is recorded when all its visits are over.
    """
    catalog = backend.catalog(problem.op)
    schemes = random_schemes(problem, backend.machine, catalog, count, seed)
    predictor = Predictor(problem, backend.machine, trusted(catalog), backend.target.threads)
    key = backend.key(problem)
    # A slow moment may have caused a failure, so it is tried again, as is what was disturbed.
    outcomes = store.measured(key).items()
    known = {text: found for text, found in outcomes if isinstance(found, Timing) and not found.disturbed}
    predicted, measured, kept, failed = [], [], [], 0
    with closing(backend.evaluator(problem)) as evaluator:
        for first in range(0, len(schemes), BATCH):
            batch = schemes[first : first + BATCH]
            fresh = [scheme for scheme in batch if scheme.text not in known]
            found = {**known, **_measured(evaluator, fresh)}
            for scheme in batch:
                outcome = found[scheme.text]
                if scheme.text not in known:
                    store.record(key, scheme.text, outcome)
                advance(1)
                if not isinstance(outcome, Timing):
                    failed += 1
                    continue
                kept.append(scheme)
                predicted.append(predictor.predict(scheme).seconds)
                measured.append(outcome.work * 1e9 / backend.machine.peak)
    moved = tuple(
        compare(scheme, backend.machine, backend.isa, counted(backend.job(scheme), backend.machine))
        for scheme in kept[:simulated]
    )
    return ModelAccuracy(
        layer, canonical(problem), tuple(s.text for s in kept), tuple(predicted), tuple(measured), failed, moved
    )


def _measured(evaluator: Evaluator, schemes: Sequence[Scheme]) -> dict[str, Timing | str]:
    """The fastest visit to each scheme, or why its first one failed. Schemes take turns, so that no slow moment hits
    all visits.
    """
    found: dict[str, Timing | str] = {}
    if schemes:
        evaluator.prepare(schemes)
    for _ in range(VISITS):
        for scheme in schemes:
            earlier = found.get(scheme.text)
            if isinstance(earlier, str):
                continue
            outcome = evaluator.measure(scheme, SECONDS)
            if earlier is None or (isinstance(outcome, Timing) and outcome.work < earlier.work):
                found[scheme.text] = outcome
    return found


def mean_sentence(results: Sequence[ModelAccuracy]) -> str:
    """The mean rank correlation, over the layers that have one; where it is least; how many top-1 losses are small."""
    found = [r.correlation for r in results if r.correlation is not None]
    mean = _figure(sum(found) / len(found) if found else None, "{:.2f}")
    sentence = f"Mean rank correlation over {len(found)} layer{'' if len(found) == 1 else 's'}: {mean}."
    if not found:
        return sentence
    least = min((r for r in results if r.correlation is not None), key=lambda r: r.correlation or 0.0)
    small = sum(r.top1_loss is not None and r.top1_loss <= SMALL_LOSS for r in results)
    return (
        f"{sentence} The least is {least.shown_correlation}, of {least.layer}. The top-1 loss is at most "
        f"{100 * SMALL_LOSS:.0f} % on {small} of {len(results)}."
    )


def page(
    results: Sequence[ModelAccuracy], command: str, fingerprint: str, *, threads: int, schemes: int, seed: int
) -> str:
    """The page that `--report` writes."""
    lines = [
        "# The model's accuracy",
        "",
        f"Written by `{command}` on `{fingerprint}`; run it again to see your machine's figures.",
        "",
        f"At most {schemes} random valid schemes of each layer (seed {seed}), most of them poor, predicted and",
        f"measured {on_threads(threads)}; what this machine's store had measured before was not measured again.",
        "Spearman's rank correlation is 1 for a model that ranks perfectly. The top-1 loss says how much slower the",
        "model's favourite of the sample is than the sample's fastest. The time of a scheme is the fastest sample of",
        f"{VISITS} visits, in seconds at the peak measured beside it. The traffic error compares the bytes predicted",
        "into a cache with those that the kernel's own addresses bring into a simulated one (least recently used, no",
        f"prefetching), once it is warm. It is the median over the first schemes of the sample{_counted(results)}.",
        "",
        mean_sentence(results),
        "",
        "| layer | shape | measured | failed | rank correlation | top-1 loss | traffic error | fastest ms "
        "| slowest ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        lines.append(
            f"| {r.layer} | {r.shape.replace(',', ' ')} | {len(r.measured)} | {r.failed} | {r.shown_correlation} "
            f"| {r.shown_loss} | {r.shown_traffic} | {_milliseconds(min, r.measured)} | "
            f"{_milliseconds(max, r.measured)} |"
        )
    return "\n".join(lines) + "\n"


def _counted(results: Sequence[ModelAccuracy]) -> str:
    """The caches whose bytes the CPU's own counters gave instead of the simulation."""
    levels = sorted({m.level for r in results for moved in r.moved for m in moved if m.counted})
    return f"; the CPU itself counted the bytes into {' and '.join(levels)}" if levels else ""


def _figure(value: float | None, form: str, scale: float = 1) -> str:
    """The figure, or a dash where no measurement gives one."""
    return "–" if value is None else form.format(scale * value)


def _milliseconds(pick: Callable[[Sequence[float]], float], seconds: Sequence[float]) -> str:
    return _figure(pick(seconds) if seconds else None, "{:.3g}", 1e3)


@ending("interrupted: no page is written; measurements are kept, the same command continues")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. Measurements before a Ctrl-C are kept and not repeated."""
    options = _parser().parse_args(arguments)
    results: list[ModelAccuracy] = []
    found = [(f"{name}:{layer.name}", layer) for name, layers in chosen(options.suite).items() for layer in layers]
    for name, layer in found:
        if layer.unsupported:
            print(f"{name} is left out: {layer.unsupported}", file=sys.stderr)
    if options.report:
        check_writable(options.report)
    backend = cpu_backend()
    layers = [(name, backend.problem(layer.problem)) for name, layer in found if layer.problem]
    for op in dict.fromkeys(problem.op for _, problem in layers):
        machine_catalog(backend.isa, op, announce=lambda sentence: print(sentence, file=sys.stderr))
    with alone():
        _ask(backend, layers, options, results)
    print(mean_sentence(results))
    if options.report:
        command = shlex.join(
            [
                *("python", "-m", "bench.model", "--suite", *options.suite, "--schemes", str(options.schemes)),
                *(
                    "--simulate",
                    str(options.simulate),
                    "--seed",
                    str(options.seed),
                    "--report",
                    str(options.report),
                ),
            ]
        )
        text = page(
            results,
            command,
            backend.target.machine,
            threads=backend.target.threads,
            schemes=options.schemes,
            seed=options.seed,
        )
        write(options.report, text)
    return 0


def _ask(
    backend: CpuBackend,
    layers: Sequence[tuple[str, Problem]],
    options: argparse.Namespace,
    results: list[ModelAccuracy],
) -> None:
    """Runs `question` on one layer after the other; keeps and prints each result as it comes."""
    console = terminal()
    started = time.monotonic()
    with Progress(console=console, transient=True, disable=console is None) as bar:
        task = bar.add_task("", total=len(layers) * options.schemes)
        for layer, problem in layers:
            bar.update(task, description=layer)
            r = question(
                backend, layer, problem, options.schemes, options.seed,
                simulated=options.simulate, advance=lambda n: bar.advance(task, n),
            )  # fmt: skip
            results.append(r)
            print(
                f"{layer:<14} {len(r.measured)} schemes, rank correlation {r.shown_correlation:>5}, top-1 loss "
                f"{r.shown_loss:>5}, traffic error {r.shown_traffic}, {r.failed} failed, "
                f"{time.monotonic() - started:.0f} s",
                flush=True,
            )


def _parser() -> argparse.ArgumentParser:
    parser = Parser("python -m bench.model", description="Rank correlation of model and machine.")
    parser.add_argument(
        "--suite", nargs="+", default=list(PAPER), metavar="NAME[:LAYER]", help=f"default: {' '.join(PAPER)}"
    )
    parser.add_argument(
        "--schemes", type=_at_least_two, default=100, metavar="N", help="random schemes a layer; default 100"
    )
    parser.add_argument(
        "--simulate", type=natural, default=8, metavar="N", help="schemes a layer whose caches are simulated; default 8"
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of the random schemes; default 0")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as model.md")
    return parser


def _at_least_two(text: str) -> int:
    """Reads a number of schemes. It must be at least two, since one scheme has no rank."""
    if (number := whole(text)) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 2")
    return number
