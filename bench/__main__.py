"""`python -m bench`: suites of real layers, tuned and model-only side by side, as a table and a page."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench.layers import LayerResult, run_layer
from bench.report import page, summary, table, write
from cpu.cache import CacheError
from cpu.emit import VERSION
from cpu.toolchain import ToolchainError, find_compiler
from cpu.worker import CandidateError, WorkerError
from microkernels.__main__ import machine_catalog
from microkernels.database import StoreError
from microkernels.rank import RankingError
from search.generate import Workshop, workshop
from search.tune import TuningError
from tiling.problem import ProblemError
from tiling.shapes import suite

LAYERS = ("yolo9000", "resnet18")
PAPER = "The 23 layers of TTile's paper"


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code. 2: what was asked for cannot be; 1: something went wrong; 130: Ctrl-C."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    failed, sections, interrupted = False, [], False
    try:
        suites = {name: suite(name) for name in options.suite}
        shops = [workshop(None, threads) for threads in options.threads]
        machine_catalog(shops[0].isa, announce=lambda sentence: print(sentence, file=sys.stderr))
        for shop in shops:
            for title, names in _titles(options.suite, shop.threads):
                results: list[LayerResult] = []
                sections.append((title, results))
                layers = [(name, layer, problem) for name in names for layer, problem in suites[name].items()]
                failed |= not _run(shop, layers, options, results, console)
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted; what follows was done before", file=sys.stderr)
    except ProblemError as error:
        print(error, file=sys.stderr)
        return 2
    except (CacheError, RankingError, StoreError, ToolchainError, WorkerError) as error:
        print(error, file=sys.stderr)
        return 1
    sections = [(title, results) for title, results in sections if results]
    for title, results in sections:
        Console().print(table(results))
        print("\n".join(summary(results)))
    if options.report and sections:
        compiler = find_compiler()
        facts = [f"Tilewright {VERSION}, {compiler.kind} {compiler.version}, {options.budget:g} s of search a layer."]
        write(options.report, page(sections, shops[0].machine, _command(options), facts))
        print(f"wrote {options.report}", file=sys.stderr)
    return 130 if interrupted else int(failed)


def _run(shop: Workshop, layers, options, results: list[LayerResult], console: Console) -> bool:
    """Runs layers one after the other, keeping each as it ends; False where one failed."""
    passed = True
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(layers))
        for name, layer, problem in layers:
            bar.update(task, description=f"{name}:{layer}")
            try:
                results.append(run_layer(shop, name, layer, problem, options.budget))
            except (CandidateError, TuningError) as error:
                passed = False
                print(f"{name}:{layer} failed: {error}", file=sys.stderr)
                continue
            if options.json:
                with options.json.open("a") as file:
                    file.write(json.dumps(asdict(results[-1])) + "\n")
            if not console.is_terminal:
                print(f"{name}:{layer} {results[-1].percent:.1f} % of peak", file=sys.stderr, flush=True)
            bar.advance(task)
    return passed


def _titles(suites: list[str], threads: int):
    """The paper's two networks are one list of layers; every other suite is a list of its own."""
    on = f"{threads} thread{'s' if threads > 1 else ''}"
    if set(LAYERS) <= set(suites):
        yield f"{PAPER}, {on}", LAYERS
        suites = [name for name in suites if name not in LAYERS]
    for name in suites:
        yield f"{name}, {on}", (name,)


def _command(options: argparse.Namespace) -> str:
    threads = " ".join(map(str, options.threads))
    return (
        f"python -m bench --suite {' '.join(options.suite)} --threads {threads} --budget {options.budget:g} "
        f"--report {options.report}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description="Times suites of layers on this machine.")
    parser.add_argument("--suite", nargs="+", default=list(LAYERS), metavar="NAME", help="default: yolo9000 resnet18")
    parser.add_argument("--threads", nargs="+", type=int, default=[1], metavar="N", help="default: 1")
    parser.add_argument("--budget", type=float, default=30.0, metavar="SECONDS", help="of search a layer; default 30")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append one JSON object a layer")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as docs/performance.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
