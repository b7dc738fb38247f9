"""`python -m bench`: suites of real layers, tuned and model-only side by side, as a table and a page."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench.layers import LayerResult, run_layer
from bench.report import ReportError, append, check_writable, incomplete, on_threads, page, summary, table, write
from cpu.emit import VERSION
from cpu.toolchain import find_compiler
from cpu.worker import CandidateError
from microkernels.offline import machine_catalog
from search.options import FAILURES, INTERRUPTED, seconds, whole
from search.tune import TuningError
from search.workshop import DEFAULT_BUDGET, Workshop, workshop
from tiling.problem import Problem, ProblemError
from tiling.scheme import SchemeError
from tiling.shapes import suite
from tiling.suite import Layer

LAYERS = ("yolo9000", "resnet18")
PAPER = "The 23 layers of TTile's paper"


@dataclass
class Section:
    """A list of layers under one title: what is to be run, and what came of it so far."""

    title: str
    shop: Workshop
    layers: Sequence[tuple[str, Problem]]  # named suite:layer
    results: list[LayerResult] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def missing(self, ended: str) -> list[tuple[str, str]]:
        """(layer, why) for each layer without a result; those that never ended are so because the run was `ended`."""
        done = {f"{r.suite}:{r.layer}" for r in self.results}
        on = on_threads(self.shop.threads)
        return [(f"{name} {on}", self.failures.get(name, ended)) for name, _ in self.layers if name not in done]


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code. 2: what was asked for cannot be; 1: something went wrong; 130: Ctrl-C."""
    options = _parser().parse_args(arguments)
    names, threads = list(dict.fromkeys(options.suite)), list(dict.fromkeys(options.threads))
    sections: list[Section] = []
    code, ended = 0, ""
    try:
        suites = {name: suite(name) for name in names}
        for name, layer in ((name, layer) for name in names for layer in suites[name] if layer.refused):
            print(f"{name}:{layer.name} is left out: {layer.refused}", file=sys.stderr)
        for path in filter(None, (options.json, options.report)):
            check_writable(path)
        shops = [workshop(None, count) for count in threads]
        machine_catalog(shops[0].isa, announce=lambda sentence: print(sentence, file=sys.stderr))
        sections = [section for shop in shops for section in plan(suites, shop)]
        for section in sections:
            _run(section, options)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code, ended = INTERRUPTED, "not ended before a Ctrl-C"
    except (ProblemError, SchemeError) as error:
        print(error, file=sys.stderr)
        code, ended = 2, f"not ended before an error: {error}"
    except (ReportError, *FAILURES) as error:
        print(error, file=sys.stderr)
        code, ended = 1, f"not ended before an error: {error}"
    missing = [layer for section in sections for layer in section.missing(ended)]
    try:
        _publish([s for s in sections if s.results], missing, _command(names, threads, options), options)
    except (ReportError, *FAILURES) as error:
        print(error, file=sys.stderr)
        return code or 1
    return code or int(bool(missing))


def plan(suites: Mapping[str, Sequence[Layer]], shop: Workshop) -> Iterator[Section]:
    """The paper's two networks are one section; every other suite is one of its own."""
    together = [LAYERS] if set(LAYERS) <= set(suites) else []
    alone = [(name,) for name in suites if not together or name not in LAYERS]
    for names in together + alone:
        title = PAPER if names is LAYERS else names[0]
        found = [(name, layer) for name in names for layer in suites[name] if layer.problem]
        layers = [(f"{name}:{layer.name}", layer.problem) for name, layer in found]
        yield Section(f"{title}, {on_threads(shop.threads)}", shop, layers)


def _run(section: Section, options: argparse.Namespace) -> None:
    """Runs a section's layers one after the other, keeping each result and each failure as it comes."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(section.layers))
        for name, problem in section.layers:
            bar.update(task, description=name)
            try:
                result = run_layer(section.shop, *name.split(":"), problem, options.budget)
            except (CandidateError, TuningError) as error:
                section.failures[name] = f"failed: {error}"
                print(f"{name} failed: {error}", file=sys.stderr)
            else:
                section.results.append(result)
                if options.json:
                    append(options.json, json.dumps(asdict(result)))
                if not console.is_terminal:
                    print(f"{name} {result.percent:.1f} % of peak", file=sys.stderr, flush=True)
            bar.advance(task)


def _publish(
    sections: Sequence[Section], missing: Sequence[tuple[str, str]], command: str, options: argparse.Namespace
) -> None:
    """Prints the tables and writes the page. Nothing, where no layer has a result."""
    if not sections:
        return
    for section in sections:
        Console().print(table(section.results))
        print("\n".join(summary(section.results)))
    if missing:
        print(incomplete(missing))
    if options.report:
        compiler = find_compiler()
        facts = [f"Tilewright {VERSION}, {compiler.kind} {compiler.version}, {options.budget:g} s of search a layer."]
        found = [(section.title, section.results) for section in sections]
        write(options.report, page(found, sections[0].shop.machine, command, facts, missing))
        print(f"wrote {options.report}", file=sys.stderr)


def _command(names: Sequence[str], threads: Sequence[int], options: argparse.Namespace) -> str:
    words = ["python", "-m", "bench", "--suite", *names, "--threads", *map(str, threads)]
    return shlex.join([*words, "--budget", f"{options.budget:g}", "--report", str(options.report)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description="Times suites of layers on this machine.")
    parser.add_argument("--suite", nargs="+", default=list(LAYERS), metavar="NAME", help="default: yolo9000 resnet18")
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument(
        "--budget", type=seconds, default=DEFAULT_BUDGET, metavar="SECONDS",
        help=f"of search a layer; default {DEFAULT_BUDGET:g}",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="append one JSON object a layer")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as docs/performance.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
