"""A whole run: suites on thread counts as sections, layer after layer, each result kept at once and none repeated."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench.journal import Journal
from bench.layers import run_layer
from bench.results import LayerResult
from cpu.worker import CandidateError
from search.tune import TuningError
from search.workshop import Workshop
from tiling.suite import Layer

PAPER, PAPER_TITLE = ("yolo9000", "resnet18"), "The 23 layers of TTile's paper"


@dataclass
class Section:
    """A list of layers under one title: what is to be run, and what came of it so far."""

    title: str
    shop: Workshop
    layers: Sequence[tuple[str, Layer]]  # (suite, layer)
    results: list[LayerResult] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def missing(self, ended: str) -> list[tuple[str, str]]:
        """(layer, why) for each layer without a result; those that never ended are so because the run was `ended`."""
        done = {f"{r.suite}:{r.layer}" for r in self.results}
        names = (f"{suite}:{layer.name}" for suite, layer in self.layers)
        on = on_threads(self.shop.threads)
        return [(f"{name} {on}", self.failures.get(name, ended)) for name in names if name not in done]


def on_threads(threads: int) -> str:
    """`on 1 thread`, `on 4 threads`."""
    return f"on {threads} thread{'s' if threads > 1 else ''}"


def plan(suites: Mapping[str, Sequence[Layer]], shop: Workshop) -> Iterator[Section]:
    """The paper's two networks are one section; every other suite is one of its own."""
    together = [PAPER] if set(PAPER) <= set(suites) else []
    alone = [(name,) for name in suites if not together or name not in PAPER]
    for names in together + alone:
        title = PAPER_TITLE if names is PAPER else names[0]
        layers = [(name, layer) for name in names for layer in suites[name]]
        yield Section(f"{title}, {on_threads(shop.threads)}", shop, layers)


def run(sections: Sequence[Section], journal: Journal, keep: Callable[[LayerResult], None], **options) -> None:
    """Runs every section's layers; `options` are `run_layer`'s. What the journal has is taken from there.

    `keep` is called once with each result, old or new. A layer that fails is a failure of its section, and the run goes
    on. Raises what stops a run: KeyboardInterrupt, ReportError, and what `run_layer` raises of this machine's.
    """
    known = {(r.suite, r.layer, r.threads): r for r in journal.results()}
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=sum(len(section.layers) for section in sections))
        for section in sections:
            for suite, layer in section.layers:
                name = f"{suite}:{layer.name}"
                bar.update(task, description=f"{name} {on_threads(section.shop.threads)}")
                result = known.get((suite, layer.name, section.shop.threads))
                if result is None:
                    result = _new_result(section, suite, layer, journal, options)
                if result:
                    section.results.append(result)
                    keep(result)
                    if not console.is_terminal:
                        _say(name, result)
                bar.advance(task)


def _new_result(section: Section, suite: str, layer: Layer, journal: Journal, options: dict) -> LayerResult | None:
    """The layer, run now and kept; None where it fails, with the reason among the section's failures."""
    name = f"{suite}:{layer.name}"
    if layer.refused:
        section.failures[name] = layer.refused
        return None
    try:
        result = run_layer(section.shop, suite, layer.name, layer.count, layer.problem, **options)
    except (CandidateError, TuningError) as error:
        section.failures[name] = f"failed: {error}"
        print(f"{name} failed: {error}", file=sys.stderr)
        return None
    journal.keep(result)
    return result


def _say(name: str, result: LayerResult) -> None:
    peers = "".join(f", {c.name} {result.percent(c):.1f} %" for c in result.peers)
    print(f"{name} {on_threads(result.threads)}: {result.percent(result.ours):.1f} % of peak{peers}", file=sys.stderr, flush=True)
