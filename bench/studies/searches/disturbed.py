"""The command `python -m bench.disturbed`: what a search chooses while a program takes the cores at times.

quiet search ──► a choice                       ┐
disturbed search ──► a choice, marked in doubt  ├──► timed in turns: what each choice loses
asked for again, on the quiet machine           ┘
"""

from __future__ import annotations

import argparse
import math
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report.files import check_writable, write
from bench.report.sections import on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.options import Parser
from microkernels.ranking.offline import machine_catalog
from microkernels.scores.database import FILE_NAME, data_folder
from microkernels.scores.unkept import instead
from search.commands.options import seconds, whole
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.flow.find import DEFAULT_TRIALS, Found, find
from search.tuner.measured import AnyScheme, Measured
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.shapes import chosen

SHAPES = ("yolo9000:Y2", "yolo9000:Y23", "resnet18:R2", "resnet18:R12")
# How many seconds the other program takes every core, and how many it then rests. Both are longer than a visit of a
# scheme, so that whole visits are disturbed, and shorter than a search.
ON, OFF = 0.4, 0.4
# Turns in which the choices are compared at the end, and the seconds of one.
TURNS, TURN_SECONDS = 7, 0.2
_TAKER = """
import sys, time
on, off = map(float, sys.argv[1:])
while True:
    until = time.perf_counter() + on
    while time.perf_counter() < until:
        pass
    time.sleep(off)
"""


@dataclass(frozen=True)
class Loss:
    """What the choices for one layer lose beside the fastest of the three; 0.02 is 2 %.

    doubt: why the disturbed search marked its choice; empty where it did not. settled: whether the mark was gone after
    the choice was asked for again. schemes: texts of the three choices.
    """

    layer: str
    seconds: float
    quiet: float
    disturbed: float
    again: float
    doubt: str
    settled: bool
    schemes: tuple[str, str, str]


@contextmanager
def taken(cores: int, on: float, off: float) -> Iterator[None]:
    """Programs that take `cores` cores for `on` seconds, rest for `off` seconds, and so on."""
    with ExitStack() as stack:
        for _ in range(cores):
            taker = subprocess.Popen([sys.executable, "-c", _TAKER, str(on), str(off)])
            stack.callback(taker.wait)
            stack.callback(taker.kill)
        yield


@contextmanager
def fresh_store() -> Iterator[None]:
    """A data folder of its own with what the user's store knows: rankings and facts. The search sees nothing new."""
    source = data_folder() / FILE_NAME
    with TemporaryDirectory(prefix="tilewright-") as folder:
        with closing(sqlite3.connect(source)) as known, closing(sqlite3.connect(Path(folder) / FILE_NAME)) as copy:
            known.backup(copy)
            for table in ("schemes", "choices"):
                copy.execute(f"DROP TABLE IF EXISTS {table}")
            copy.commit()
        with instead(folder):
            yield


def question(backend: CpuBackend, layer: str, problem: Problem, budget: float, on: float, off: float) -> Loss:
    """Searches three times and compares the choices. Raises as `find` does."""

    def search(recall: bool) -> Found:
        found = find(problem, backend.target, budget=budget, trials=DEFAULT_TRIALS, recall=recall)
        if found.interrupted:
            raise KeyboardInterrupt
        found.keep("measure")
        return found

    with fresh_store():
        quiet = search(recall=False)
    with fresh_store():
        with taken(host().cores, on, off):
            disturbed = search(recall=False)
        again = search(recall=True)
    works = compared(backend, [found.scheme for found in (quiet, disturbed, again)])
    least = min(works.values())

    def lost(found: Found) -> float:
        return works[found.scheme.text] / least - 1

    return Loss(
        layer=layer,
        seconds=least / backend.machine.peak,
        quiet=lost(quiet),
        disturbed=lost(disturbed),
        again=lost(again),
        doubt=_doubt(disturbed),
        settled=not _doubt(again),
        schemes=(quiet.scheme.text, disturbed.scheme.text, again.scheme.text),
    )


def compared(backend: CpuBackend, schemes: Sequence[AnyScheme]) -> dict[str, float]:
    """The work of each scheme by text, timed in turns; disturbed turns count only where there are no others."""
    found = {scheme.text: Measured(scheme, ()) for scheme in schemes}
    with closing(backend.evaluator(schemes[0].problem)) as evaluator:
        evaluator.prepare([measured.scheme for measured in found.values()])
        for _ in range(TURNS):
            for text, before in found.items():
                timing = evaluator.measure(before.scheme, TURN_SECONDS)
                if isinstance(timing, Timing):
                    found[text] = before.after(timing)
    return {text: measured.work for text, measured in found.items()}


def page(losses: Sequence[Loss], command: str, *, threads: int, budget: float, on: float, off: float) -> str:
    """The page that `--report` writes."""
    lines = [
        "# Searches beside other programs",
        "",
        f"Written by `{command}` on `{fingerprint(host())}`; run it again to see your machine's figures.",
        "",
        f"Three choices for each layer, {on_threads(threads)}: of a search of {budget:g} s on a quiet machine; of one",
        f"while a program takes every core for {on:g} s, rests for {off:g} s, and so on; and of that choice asked for",
        "again when the program has ended. Then all three are timed in turns. A loss says how much longer a choice",
        "takes than the fastest of the three.",
        "",
        "| layer | fastest ms | quiet | disturbed | asked for again | the disturbed choice was marked since |",
        "|---|---|---|---|---|---|",
        *(
            f"| {each.layer} | {1e3 * each.seconds:.3g} | {_percent(each.quiet)} | {_percent(each.disturbed)} | "
            f"{_percent(each.again)}{'' if each.settled else ' (still in doubt)'} | {each.doubt or 'it was not'} |"
            for each in losses
        ),
    ]
    return "\n".join(lines) + "\n"


def _percent(loss: float) -> str:
    return f"+{100 * loss:.1f} %"


def _doubt(found: Found) -> str:
    return found.timing.disturbed if found.timing else ""


@ending("interrupted: no page is written")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    on, off = ON * 2 * options.share, OFF * 2 * (1 - options.share)
    losses: list[Loss] = []
    found = [(f"{name}:{layer.name}", layer) for name, layers in chosen(options.shape).items() for layer in layers]
    if options.report:
        check_writable(options.report)
    backend = cpu_backend(threads=options.threads)
    layers = [(name, backend.problem(layer.problem)) for name, layer in found if layer.problem]
    for op in dict.fromkeys(problem.op for _, problem in layers):
        machine_catalog(backend.isa, op, announce=lambda sentence: print(sentence, file=sys.stderr))
    assert backend.machine  # measured before the first program takes the cores
    with alone():
        for name, problem in layers:
            loss = question(backend, name, problem, options.budget, on, off)
            losses.append(loss)
            print(
                f"{name:<14} quiet {_percent(loss.quiet)}, disturbed {_percent(loss.disturbed)} "
                f"({loss.doubt or 'not marked'}), again {_percent(loss.again)}"
                f"{'' if loss.settled else ' (still in doubt)'}",
                flush=True,
            )
            for which, text in zip(("quiet", "disturbed", "again"), loss.schemes):
                print(f"    {which:<10} {text}", flush=True)
    if options.report:
        words = ["python", "-m", "bench.disturbed", "--shape", *options.shape, "--threads", str(options.threads)]
        words += ["--budget", f"{options.budget:g}", "--share", f"{options.share:g}"]
        command = shlex.join([*words, "--report", str(options.report)])
        text = page(losses, command, threads=options.threads, budget=options.budget, on=on, off=off)
        write(options.report, text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("python -m bench.disturbed", description="What a search chooses while a program takes the cores.")
    parser.add_argument(
        "--shape", nargs="+", default=list(SHAPES), metavar="NAME[:LAYER]", help=f"default: {' '.join(SHAPES)}"
    )
    parser.add_argument("--threads", type=whole, default=2, metavar="N", help="OpenMP threads; default 2")
    parser.add_argument(
        "--budget", type=seconds, default=8.0, metavar="SECONDS", help="length of each search; default 8"
    )
    parser.add_argument(
        "--share",
        type=_share,
        default=0.5,
        metavar="X",
        help="the share of the time for which the program takes the cores; default 0.5",
    )
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as disturbed.md")
    return parser


def _share(text: str) -> float:
    """A share above 0 and below 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share above 0 and below 1")
    return value
