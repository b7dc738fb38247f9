"""`python -m bench.model`: how honest the model is, on random valid schemes of each layer.

For every layer, schemes are drawn at random from the whole grammar (`search.sample`), most of them poor; each is
predicted and measured. Two figures come out: Spearman's rank correlation between the predicted and the measured times,
and the top-1 loss, how much slower the sample's scheme that the model likes best is than its fastest one.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from scipy.stats import spearmanr

from bench.report import write
from cpu.worker import Worker, WorkerError
from microkernels.database import StoreError
from search import store
from search.generate import Workshop, workshop
from search.predict import Predictor
from search.sample import random_schemes
from search.space import trusted
from tiling.machine import Timing
from tiling.problem import Problem, ProblemError
from tiling.shapes import canonical, suite

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

    @property
    def correlation(self) -> float:
        """Spearman's rho, 1 for a model that ranks perfectly."""
        return float(spearmanr(self.predicted, self.measured).statistic)

    @property
    def top1_loss(self) -> float:
        """How much longer the best predicted takes than the best measured, as a fraction."""
        favourite = self.predicted.index(min(self.predicted))
        return self.measured[favourite] / min(self.measured) - 1


def question(shop: Workshop, layer: str, problem: Problem, count: int, seed: int, advance=lambda n: None) -> Honesty:
    """Predicts and measures `count` random schemes of one layer. What was measured before is not measured again."""
    catalog = shop.catalog(problem.op)
    schemes = random_schemes(problem, shop.machine, catalog, count, seed)
    predictor = Predictor(problem, shop.machine, trusted(catalog), shop.threads)
    key = shop.key(problem)
    known = store.measured(key)
    predicted, measured, texts, failed = [], [], [], 0
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
                texts.append(scheme.text)
                predicted.append(predictor.predict(scheme).seconds)
                measured.append(outcome.seconds * outcome.peak_gflops * 1e9 / shop.machine.peak)
    return Honesty(layer, canonical(problem), tuple(texts), tuple(predicted), tuple(measured), failed)


def page(results: list[Honesty], command: str, fingerprint: str) -> str:
    """docs/model.md."""
    mean = sum(r.correlation for r in results) / len(results)
    lines = [
        "# The model's honesty",
        "",
        f"Written by `{command}` on `{fingerprint}`; run it again to see your machine's figures.",
        "",
        "Random valid schemes of each layer, most of them poor, predicted and measured on one thread. Spearman's rank",
        "correlation is 1 for a model that ranks perfectly; the top-1 loss says how much slower the model's favourite of the",
        "sample is than the sample's fastest. Times are seconds at the peak measured beside each.",
        "",
        f"Mean rank correlation over {len(results)} layers: {mean:.2f}.",
        "",
        "| layer | shape | schemes | rank correlation | top-1 loss | fastest ms | slowest ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in results:
        lines.append(
            f"| {r.layer} | {r.shape.replace(',', ' ')} | {len(r.measured)} | {r.correlation:.2f} | {100 * r.top1_loss:.0f} % "
            f"| {1e3 * min(r.measured):.3g} | {1e3 * max(r.measured):.3g} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code. What was measured before a Ctrl-C is kept in the store and not repeated."""
    parser = argparse.ArgumentParser("python -m bench.model", description="Rank correlation of model and machine.")
    parser.add_argument("--suite", nargs="+", default=["yolo9000", "resnet18"], metavar="NAME")
    parser.add_argument("--schemes", type=int, default=100, metavar="N", help="random schemes a layer; default 100")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as docs/model.md")
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    results: list[Honesty] = []
    try:
        shop = workshop()
        layers = [(f"{name}:{layer}", p) for name in options.suite for layer, p in suite(name).items()]
        started = time.monotonic()
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("", total=len(layers) * options.schemes)
            for layer, problem in layers:
                bar.update(task, description=layer)
                advance = lambda n: bar.advance(task, n)  # noqa: E731
                results.append(question(shop, layer, problem, options.schemes, options.seed, advance))
                r = results[-1]
                print(
                    f"{layer:<14} {len(r.measured)} schemes, rank correlation {r.correlation:5.2f}, top-1 loss "
                    f"{100 * r.top1_loss:4.0f} %, {r.failed} failed, {time.monotonic() - started:.0f} s",
                    flush=True,
                )
    except KeyboardInterrupt:
        print("interrupted; measurements are kept, the same command continues", file=sys.stderr)
        return 130
    except ProblemError as error:
        print(error, file=sys.stderr)
        return 2
    except (StoreError, WorkerError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"mean rank correlation {sum(r.correlation for r in results) / len(results):.3f}")
    if options.report:
        command = (
            f"python -m bench.model --suite {' '.join(options.suite)} --schemes {options.schemes} --seed {options.seed} "
            f"--report {options.report}"
        )
        write(options.report, page(results, command, shop.fingerprint))
    return 0


if __name__ == "__main__":
    sys.exit(main())
