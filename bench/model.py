"""`python -m bench.model`: how honest the model is, on random valid schemes of each layer.

For every layer, schemes are drawn at random from the whole grammar (`search.sample`), most of them poor; each is
predicted and measured. Three figures come out: Spearman's rank correlation between the predicted and the measured
times; the top-1 loss, how much slower the sample's scheme that the model likes best is than its fastest one; and the
traffic error, how far the bytes predicted into each cache are from those of a simulated one (`bench.traffic`).
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

from rich.console import Console
from rich.progress import Progress
from scipy.stats import spearmanr

from bench.counters import counted
from bench.files import ReportError, check_writable, write
from bench.journal import alone
from bench.sections import PAPER, on_threads
from bench.traffic import Moved, compare
from cpu.worker import Worker
from microkernels.offline import machine_catalog
from search import store
from search.options import FAILURES, INTERRUPTED, natural, whole
from search.predict import Predictor
from search.sample import random_schemes
from search.space import trusted
from search.workshop import Workshop, workshop
from tiling.machine import Timing
from tiling.problem import Problem, ProblemError
from tiling.scheme import SchemeError
from tiling.shapes import canonical, chosen

SECONDS = 0.03  # of samples a scheme: the slow ones show without many repetitions
BATCH = 20


@dataclass(frozen=True)
class Honesty:
    """Predicted and measured work of a layer's sample; work is seconds x peak, so that clock drift cancels."""

    layer: str
    shape: str
    schemes: tuple[str, ...]
    predicted: tuple[float, ...]
    measured: tuple[float, ...]
    failed: int
    moved: tuple[tuple[Moved, ...], ...] = ()

    @property
    def traffic_errors(self) -> dict[str, float]:
        """Per cache the median over the simulated schemes of how far the prediction is off, either way: 0.1 is 10 %."""
        return {level[0].level: median(max(m.ratio, 1 / m.ratio) for m in level) - 1 for level in zip(*self.moved)}

    @property
    def correlation(self) -> float | None:
        """Spearman's rho, 1 for a model that ranks perfectly; None where there are no ranks to compare."""
        if len(set(self.predicted)) < 2 or len(set(self.measured)) < 2:
            return None
        return float(spearmanr(self.predicted, self.measured).statistic)

    @property
    def top1_loss(self) -> float | None:
        """How much longer the best predicted takes than the best measured, as a fraction; None with none measured."""
        if not self.measured:
            return None
        favourite = self.predicted.index(min(self.predicted))
        return self.measured[favourite] / min(self.measured) - 1

    @property
    def shown_correlation(self) -> str:
        """For a table."""
        return _figure(self.correlation, "{:.2f}")

    @property
    def shown_loss(self) -> str:
        """For a table, in percent."""
        return _figure(self.top1_loss, "{:.0f} %", 100)

    @property
    def shown_traffic(self) -> str:
        """For a table: `L1 4 %, L2 0 %`."""
        return ", ".join(f"{level} {100 * error:.0f} %" for level, error in self.traffic_errors.items()) or "–"


def question(
    shop: Workshop, layer: str, problem: Problem, count: int, seed: int, *, simulated: int = 0, advance=lambda n: None
) -> Honesty:
    """Predicts and measures `count` random schemes of one layer, and simulates the caches for the first `simulated`.

    What has a timing from before is not measured again.
    """
    catalog = shop.catalog(problem.op)
    schemes = random_schemes(problem, shop.machine, catalog, count, seed)
    predictor = Predictor(problem, shop.machine, trusted(catalog), shop.threads)
    key = shop.key(problem)
    # A failure may have been a slow moment's, so it is tried again.
    known = {text: outcome for text, outcome in store.measured(key).items() if isinstance(outcome, Timing)}
    predicted, measured, kept, failed = [], [], [], 0
    with closing(Worker(env=shop.environment)) as worker:
        for first in range(0, len(schemes), BATCH):
            batch = schemes[first : first + BATCH]
            fresh = [scheme for scheme in batch if scheme.text not in known]
            if fresh:
                shop.prepare(fresh)
            for scheme in batch:
                outcome = known.get(scheme.text)
                if outcome is None:
                    outcome = shop.measure(worker, scheme, SECONDS)
                    store.record(key, scheme.text, outcome)
                advance(1)
                if not isinstance(outcome, Timing):
                    failed += 1
                    continue
                kept.append(scheme)
                predicted.append(predictor.predict(scheme).seconds)
                measured.append(outcome.seconds * outcome.peak_gflops * 1e9 / shop.machine.peak)
    moved = tuple(
        compare(scheme, shop.machine, shop.isa, counted(shop.job(scheme), shop.machine)) for scheme in kept[:simulated]
    )
    return Honesty(
        layer, canonical(problem), tuple(s.text for s in kept), tuple(predicted), tuple(measured), failed, moved
    )


def mean_sentence(results: Sequence[Honesty]) -> str:
    """The mean rank correlation, over the layers that have one."""
    found = [r.correlation for r in results if r.correlation is not None]
    mean = _figure(sum(found) / len(found) if found else None, "{:.2f}")
    return f"Mean rank correlation over {len(found)} layer{'' if len(found) == 1 else 's'}: {mean}."


def page(results: Sequence[Honesty], command: str, fingerprint: str, *, threads: int, schemes: int, seed: int) -> str:
    """docs/model.md."""
    lines = [
        "# The model's honesty",
        "",
        f"Written by `{command}` on `{fingerprint}`; run it again to see your machine's figures.",
        "",
        f"At most {schemes} random valid schemes of each layer (seed {seed}), most of them poor, predicted and",
        f"measured {on_threads(threads)}; what this machine's store had measured before was not measured again.",
        "Spearman's rank correlation is 1 for a model that ranks perfectly; the top-1 loss says how much slower the",
        "model's favourite of the sample is than the sample's fastest. Times are seconds at the peak measured beside",
        "each. The traffic error is the median, over the first schemes of the sample, of how far the bytes",
        "predicted into a cache are from those that the kernel's own addresses bring into a simulated one",
        f"(least recently used, no prefetching), once it is warm{_counted(results)}.",
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


def _counted(results: Sequence[Honesty]) -> str:
    """Where the CPU's own counters were read in the simulation's place."""
    levels = sorted({m.level for r in results for moved in r.moved for m in moved if m.counted})
    return f"; of {' and '.join(levels)} from those that the CPU counted" if levels else ""


def _figure(value: float | None, form: str, scale: float = 1) -> str:
    """A dash where no measurement gives a figure."""
    return "–" if value is None else form.format(scale * value)


def _milliseconds(pick: Callable, seconds: Sequence[float]) -> str:
    return _figure(pick(seconds) if seconds else None, "{:.3g}", 1e3)


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code. What was measured before a Ctrl-C is kept in the store and not repeated."""
    options = _parser().parse_args(arguments)
    results: list[Honesty] = []
    try:
        found = [(f"{name}:{layer.name}", layer) for name, layers in chosen(options.suite).items() for layer in layers]
        for name, layer in found:
            if layer.refused:
                print(f"{name} is left out: {layer.refused}", file=sys.stderr)
        if options.report:
            check_writable(options.report)
        shop = workshop()
        layers = [(name, shop.problem(layer.problem)) for name, layer in found if layer.problem]
        for op in dict.fromkeys(problem.op for _, problem in layers):
            machine_catalog(shop.isa, op, announce=lambda sentence: print(sentence, file=sys.stderr))
        with alone():
            _ask(shop, layers, options, results)
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
                results, command, shop.fingerprint, threads=shop.threads, schemes=options.schemes, seed=options.seed
            )
            write(options.report, text)
    except KeyboardInterrupt:
        # A page of some of the layers would read as one of all of them.
        print("interrupted: no page is written; measurements are kept, the same command continues", file=sys.stderr)
        return INTERRUPTED
    except (ProblemError, SchemeError) as error:
        print(error, file=sys.stderr)
        return 2
    except (ReportError, *FAILURES) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _ask(shop: Workshop, layers: Sequence[tuple[str, Problem]], options, results: list[Honesty]) -> None:
    """Asks `question` of one layer after the other, keeping and printing each as it ends."""
    console = Console(stderr=True)
    started = time.monotonic()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(layers) * options.schemes)
        for layer, problem in layers:
            bar.update(task, description=layer)
            r = question(
                shop, layer, problem, options.schemes, options.seed,
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
    parser = argparse.ArgumentParser("python -m bench.model", description="Rank correlation of model and machine.")
    parser.add_argument(
        "--suite", nargs="+", default=list(PAPER), metavar="NAME[:LAYER]", help=f"default: {' '.join(PAPER)}"
    )
    parser.add_argument(
        "--schemes", type=_at_least_two, default=100, metavar="N", help="random schemes a layer; default 100"
    )
    parser.add_argument(
        "--simulate", type=natural, default=8, metavar="N", help="schemes a layer whose caches are simulated; default 8"
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the random schemes; default 0")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as docs/model.md")
    return parser


def _at_least_two(text: str) -> int:
    """One scheme has no rank to correlate."""
    if (number := whole(text)) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 2")
    return number


if __name__ == "__main__":
    sys.exit(main())
