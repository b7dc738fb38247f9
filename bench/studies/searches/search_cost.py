"""The command `python -m bench.search_cost`: the speed that searches reach, over the seconds that they take.

Ours takes the model's choice and then longer and longer budgets. XTC draws one schedule after the other. TVM's
MetaSchedule searches as it always does. What each found is timed in turns in one process (`bench.run.contest`).
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers import PEERS
from bench.report.curves import Curve, curves
from bench.report.files import check_writable, write
from bench.report.plots import PlotError
from bench.report.sections import on_threads
from bench.report.summary import geometric_mean
from bench.run.conditions import available
from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.layers import held
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.options import Parser
from cpu.runtime.output import readable, terminal
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import CandidateError
from search.commands.options import seconds, whole
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.flow import ranked
from search.flow.find import DEFAULT_TRIALS, find
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.shapes import chosen

OURS = "Tilewright"
# Layers of the networks of TTile's paper: 3x3, 3x3 with a stride and a smaller image, 1x1.
LAYERS = ("resnet18:R2", "resnet18:R10", "yolo9000:Y13")
BUDGETS = (2.0, 8.0, 30.0)
_CACHE = "TILEWRIGHT_CACHE"


@dataclass(frozen=True)
class Reached:
    """A point of a search: (seconds since it began, percent of peak), and what it had done by then."""

    after: str
    seconds: float
    percent: float


@dataclass(frozen=True)
class Searched:
    """The searches for one layer, by who searched. skipped: (who, why not)."""

    layer: str
    searches: dict[str, tuple[Reached, ...]]
    skipped: tuple[tuple[str, str], ...]


def searched(
    name: str, problem: Problem, backend: CpuBackend, budgets: Sequence[float], peers: Sequence[str]
) -> Searched:
    """Searches one layer in every way. Raises CandidateError, TuningError and what searching raises."""
    ways: dict[str, dict[str, Any]] = {"the model alone": {"tune": "model"}}
    ways |= {f"{budget:g} s of budget": {"budget": budget, "forget": True} for budget in budgets}
    schemes, took = {}, {}
    with _nothing_compiled():
        for way, options in ways.items():
            found = find(problem, backend.target, trials=DEFAULT_TRIALS, verify=False, **options)
            if found.interrupted:
                raise KeyboardInterrupt
            schemes[way], took[way] = found.scheme, found.seconds
    computed = backend.problem(problem)
    job = {key: value for key, value in backend.job(schemes["the model alone"]).items() if key != "scheme"}
    job |= {"schemes": {way: scheme.text for way, scheme in schemes.items()}, "cache": "warm", "seed": 0}
    contest, skipped = held(job, peers, backend.target.name)
    percents = {
        contender["name"]: 100 * Timing.of(contender["call"]).fraction_of_peak(computed.flops, backend.target.threads)
        for contender in contest["contenders"]
    }
    searches = {OURS: tuple(Reached(way, took[way], percents[way]) for way in ways)}
    searches |= {peer: along(contest["histories"].get(peer, ()), percents[peer]) for peer in peers if peer in percents}
    silent = [peer for peer in percents if peer in peers and not contest["histories"].get(peer)]
    reasons = (*map(tuple, contest["skipped"]), *skipped, *((peer, "it does not search") for peer in silent))
    return Searched(name, searches, reasons)


def along(history: Sequence[tuple[int, float, float]], percent: float) -> tuple[Reached, ...]:
    """The points of a search whose last and fastest call reaches `percent`: earlier ones were so much slower."""
    return tuple(
        Reached(plural(tried, "schedules"), since, percent * history[-1][2] / best) for tried, since, best in history
    )


@contextmanager
def _nothing_compiled() -> Iterator[None]:
    """An empty cache folder, so that every search compiles what it tries."""
    before = os.environ.get(_CACHE)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        os.environ[_CACHE] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[_CACHE]
            else:
                os.environ[_CACHE] = before


def together(found: Sequence[Searched]) -> dict[str, tuple[Reached, ...]]:
    """For each searcher the mean over the layers it searched: seconds, and percents as a geometric mean.

    As many points as the layer with the fewest has.
    """
    names = dict.fromkeys(name for each in found for name, points in each.searches.items() if points)
    means = {}
    for name in names:
        searches = [each.searches[name] for each in found if each.searches.get(name)]
        means[name] = tuple(
            Reached(
                points[0].after,
                sum(point.seconds for point in points) / len(points),
                geometric_mean([point.percent for point in points]),
            )
            for points in zip(*searches)
        )
    return means


def picture(means: dict[str, tuple[Reached, ...]]) -> str:
    """The means as an SVG file; labels at our points, and at the first and last of the others'."""
    drawn = []
    for name, points in means.items():
        ends = {0, len(points) - 1} if name != OURS else set(range(len(points)))
        labelled = (
            (point.seconds, point.percent, point.after if place in ends else "") for place, point in enumerate(points)
        )
        drawn.append(Curve(_title(name), tuple(labelled)))
    return curves(drawn, "FMA peak")


def page(found: Sequence[Searched], threads: int, command: str, versions: Sequence[str], picture_file: str) -> str:
    """The page that `--report` writes. picture_file: its picture beside it, or "" for none."""
    compiler, means = find_compiler(), together(found)
    lines = [
        "# What a search costs",
        "",
        f"Written by `{command}` on `{fingerprint(host())}` with {plural(host().cores, 'cores')}, {compiler.kind} "
        f"{compiler.version}, {', '.join([on_threads(threads), *versions])}.",
        "",
        "Seconds are those of a search, compiling included, the last check left out. What each search found was timed "
        "in turns in one process, warm, called from Python; the points before the last of another library are by its "
        f"own clock. Means over {', '.join(each.layer for each in found)}.",
    ]
    lines += ["", f"![Percent of the FMA peak over seconds of search]({picture_file})"] if picture_file else []
    lines += ["", "| who | after | seconds a layer | % of the FMA peak |", "| --- | --- | ---: | ---: |"]
    for name, points in means.items():
        lines += [f"| {_title(name)} | {p.after} | {p.seconds:.1f} | {p.percent:.1f} |" for p in _told(points)]
    lines += ["", "## Each layer", "", "| layer | who | after | seconds | % of the FMA peak |"]
    lines += ["| --- | --- | --- | ---: | ---: |"]
    for each in found:
        for name, points in each.searches.items():
            lines += [
                f"| {each.layer} | {_title(name)} | {p.after} | {p.seconds:.1f} | {p.percent:.1f} |"
                for p in (points if name == OURS else points[-1:])
            ]
    without = [f"- {each.layer}, {_title(who)}: {why}" for each in found for who, why in each.skipped]
    return "\n".join([*lines, *(["", "Left out:", "", *without] if without else [])]) + "\n"


def _told(points: Sequence[Reached]) -> list[Reached]:
    """The points of a table: all where there are few, else the 1st, 2nd, 4th, 8th … and the last."""
    if len(points) <= 1 + len(BUDGETS):
        return list(points)
    places = {2**power - 1 for power in range(len(points).bit_length())} | {len(points) - 1}
    return [points[place] for place in sorted(places) if place < len(points)]


def _title(name: str) -> str:
    return PEERS[name].title if name in PEERS else name


@ending("interrupted: no page is written")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    found: list[Searched] = []
    code = 0
    backend = cpu_backend(None, options.threads)
    layers = {
        f"{suite}:{layer.name}": layer.problem
        for suite, listed in chosen(options.layers).items()
        for layer in listed
        if layer.problem
    }
    versions, absent = available(options.peers)
    for peer, why in absent:
        print(f"without {peer}: {why}", file=sys.stderr)
    if options.report:
        check_writable(options.report)
    ranked.rank_first(backend, map(backend.problem, layers.values()), terminal())
    with alone():
        for name, problem in layers.items():
            try:
                found.append(searched(name, problem, backend, sorted(options.budgets), list(versions)))
            except CandidateError as error:
                print(f"{name}: {readable(error.reason)}", file=sys.stderr)
                code = 1
                continue
            print("\n".join(_rows(found[-1])), flush=True)
    if options.report and found:
        _write(options, found, [f"{PEERS[peer].title}: {version}" for peer, version in versions.items()])
    return code


def _rows(found: Searched) -> Iterator[str]:
    for name, points in found.searches.items():
        for point in _told(points):
            reached = f"{point.seconds:7.1f} s  {point.percent:5.1f} % of peak"
            yield f"{found.layer:<16} {name:<10} {point.after:<18} {reached}"
    for who, why in found.skipped:
        yield f"{found.layer:<16} {who:<10} is left out: {why}"


def _write(options: argparse.Namespace, found: Sequence[Searched], versions: Sequence[str]) -> None:
    """Writes the page and its picture; without matplotlib the page alone, and says so."""
    file = options.report.with_suffix(".svg")
    try:
        write(file, picture(together(found)))
        name = file.name
    except PlotError as error:
        print(error, file=sys.stderr)
        name = ""
    write(options.report, page(found, options.threads, _command(options), versions, name))


def _command(options: argparse.Namespace) -> str:
    words = ["python", "-m", "bench.search_cost", "--layers", *options.layers]
    words += ["--budgets", *(f"{budget:g}" for budget in options.budgets), "--peers", *options.peers]
    words += ["--threads", str(options.threads), "--report", str(options.report)]
    return shlex.join(words)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m bench.search_cost",
        description="What a search costs, beside others'.",
        epilog="The others are XTC and TVM: pip install 'tilewright[peers]'. The picture needs 'tilewright[plot]'. "
        "What is missing is left out.",
    )
    parser.add_argument(
        "--layers", nargs="+", default=list(LAYERS), metavar="SUITE[:LAYER]", help=f"default: {' '.join(LAYERS)}"
    )
    parser.add_argument(
        "--budgets", nargs="+", type=seconds, default=list(BUDGETS), metavar="SECONDS", help="default: 2 8 30"
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        default=["xtc", "tvm"],
        metavar="NAME",
        help="peers that search, or none; default: xtc tvm",
    )
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="default: 1")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, and its picture beside it")
    return parser
