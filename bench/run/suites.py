"""A whole run: every layer of every suite on every number of threads. Each result is kept at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench.report.results import LayerResult
from bench.report.sections import placed
from bench.run.layers import run_layer
from cpu.runtime.output import terminal
from cpu.runtime.processes.worker import CandidateError, OutOfMemory
from search.evaluator.cpu.backend import CpuBackend
from search.evaluator.gpu.cuda import CudaBackend
from search.flow.find import OVERRUN
from search.tuner.tune import TuningError
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError
from tiling.text.suite import Layer


@dataclass(frozen=True)
class Visit:
    """One layer on one number of threads."""

    backend: CpuBackend | CudaBackend
    suite: str
    layer: Layer

    def __str__(self) -> str:
        return f"{self.suite}:{self.layer.name} {placed(self.backend.target.name, self.backend.target.threads)}"


def plan(suites: Mapping[str, Sequence[Layer]], backends: Sequence[CpuBackend | CudaBackend]) -> tuple[Visit, ...]:
    """All suites on the first number of threads, then on the next."""
    return tuple(
        Visit(backend, suite, layer) for backend in backends for suite, layers in suites.items() for layer in layers
    )


def run(
    visits: Sequence[Visit],
    known: Sequence[LayerResult],
    keep: Callable[[LayerResult], None],
    fail: Callable[[Visit, str], None],
    **options: Any,
) -> Iterator[LayerResult]:
    """The result of each visit as it comes. A `known` result is not measured again. options: those of `run_layer`.

    keep: is called with each new result at once. fail: is called with the reason for a layer that fails or that the
    toolkit does not cover; the run then goes on. Raises what stops a run: KeyboardInterrupt, ReportError, and errors of
    this machine from `run_layer`.
    """
    found = {(r.suite, r.layer, r.threads): r for r in known}
    console = terminal()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=console is None) as bar:
        task = bar.add_task("", total=len(visits))
        for visit in visits:
            bar.update(task, description=str(visit))
            result = found.get((visit.suite, visit.layer.name, visit.backend.target.threads))
            if result is None:
                result = _new_result(visit, fail, options)
                if result:
                    keep(result)
                    _say_overrun(visit, result, options)
                    if console is None:
                        _say(visit, result)
            if result:
                yield result
            bar.advance(task)


def _new_result(visit: Visit, fail: Callable[[Visit, str], None], options: dict[str, Any]) -> LayerResult | None:
    """Runs the layer; None where there is no result."""
    layer = visit.layer
    if layer.problem is None:
        fail(visit, layer.unsupported)
        return None
    try:
        return run_layer(visit.backend, visit.suite, layer.name, layer.count, layer.problem, **options)
    except (CandidateError, OutOfMemory, ProblemError, SchemeError, TuningError) as error:
        fail(visit, f"failed: {error}")
        return None


def _say_overrun(visit: Visit, result: LayerResult, options: dict[str, Any]) -> None:
    """Says where the search could not keep its budget."""
    budget = options.get("budget")
    if budget and result.search_seconds > OVERRUN * budget:
        print(
            f"{visit}: its search took {result.search_seconds:.1f} s: to list the candidates and measure one takes "
            f"longer than --budget {budget:g}",
            file=sys.stderr,
            flush=True,
        )


def _say(visit: Visit, result: LayerResult) -> None:
    peers = "".join(f", {peer.name} {result.percent(peer):.1f} %" for peer in result.peers)
    print(f"{visit}: {result.percent(result.ours):.1f} % of peak{peers}", file=sys.stderr, flush=True)
