"""A whole run: every layer of every suite on every number of threads, each result kept at once and none repeated."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench.layers import run_layer
from bench.results import LayerResult
from bench.sections import placed
from cpu.worker import CandidateError
from search.gpu_workshop import GpuWorkshop
from search.tune import TuningError
from search.workshop import Workshop
from tiling.problem import ProblemError
from tiling.scheme import SchemeError
from tiling.suite import Layer


@dataclass(frozen=True)
class Visit:
    """One layer to be run on one number of threads."""

    shop: Workshop | GpuWorkshop
    suite: str
    layer: Layer

    def __str__(self) -> str:
        return f"{self.suite}:{self.layer.name} {placed(self.shop.target, self.shop.threads)}"


def plan(suites: Mapping[str, Sequence[Layer]], shops: Sequence[Workshop | GpuWorkshop]) -> tuple[Visit, ...]:
    """All suites on the first number of threads, then on the next."""
    return tuple(Visit(shop, suite, layer) for shop in shops for suite, layers in suites.items() for layer in layers)


def run(
    visits: Sequence[Visit],
    known: Sequence[LayerResult],
    keep: Callable[[LayerResult], None],
    fail: Callable[[Visit, str], None],
    **options,
) -> Iterator[LayerResult]:
    """The result of each visit as it comes; a `known` one is not run again. `options` are `run_layer`'s.

    A new result is given to `keep` at once. A layer that fails, or that the toolkit does not cover, is told to `fail`
    with the reason, and the run goes on.
    Raises what stops a run: KeyboardInterrupt, ReportError, and what `run_layer` raises of this machine's.
    """
    found = {(r.suite, r.layer, r.threads): r for r in known}
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(visits))
        for visit in visits:
            bar.update(task, description=str(visit))
            result = found.get((visit.suite, visit.layer.name, visit.shop.threads))
            if result is None:
                result = _new_result(visit, fail, options)
                if result:
                    keep(result)
                    if not console.is_terminal:
                        _say(visit, result)
            if result:
                yield result
            bar.advance(task)


def _new_result(visit: Visit, fail: Callable[[Visit, str], None], options: dict) -> LayerResult | None:
    """The layer, run now; None where there is no result."""
    layer = visit.layer
    if layer.refused:
        fail(visit, layer.refused)
        return None
    try:
        return run_layer(visit.shop, visit.suite, layer.name, layer.count, layer.problem, **options)
    except (CandidateError, ProblemError, SchemeError, TuningError) as error:
        fail(visit, f"failed: {error}")
        return None


def _say(visit: Visit, result: LayerResult) -> None:
    peers = "".join(f", {peer.name} {result.percent(peer):.1f} %" for peer in result.peers)
    print(f"{visit}: {result.percent(result.ours):.1f} % of peak{peers}", file=sys.stderr, flush=True)
