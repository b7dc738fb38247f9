"""The command line of a search: options in, one report out, as text for people or one JSON object for programs."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cpu.cache import CacheError
from cpu.export import ExportError
from cpu.emit import VERSION
from cpu.toolchain import ToolchainError
from cpu.worker import CandidateError, WorkerError
from microkernels.__main__ import machine_catalog
from microkernels.database import StoreError
from microkernels.progress import shown
from microkernels.rank import RankingError
from search import store
from search.explain import explain
from search.generate import DEFAULT_BUDGET, DEFAULT_TRIALS, Workshop, workshop
from search.tune import TuningError
from tiling.machine import Timing
from tiling.notation import parse
from tiling.problem import Problem, ProblemError
from tiling.scheme import Scheme, SchemeError
from tiling.shapes import canonical

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
RUNNERS_UP = 4
VERDICT_SECONDS = 0.5


@dataclass(frozen=True)
class Report:
    """What one search found: everything the text and the JSON object show."""

    scheme: Scheme
    threads: int
    timing: Timing
    max_error: float
    trials: int
    search_seconds: float
    interrupted: bool
    machine: str
    isa: str
    microkernels: tuple[str, ...]
    repeat: str
    explanation: str
    emitted: tuple[Path, ...]

    def as_json(self) -> dict:
        """One object; seconds a call, GFLOP/s, the peak of all threads together, percent of it."""
        flops = self.scheme.problem.flops
        return {
            "shape": canonical(self.scheme.problem),
            "scheme": self.scheme.text,
            "microkernels": list(self.microkernels),
            "seconds": self.timing.seconds,
            "samples": list(self.timing.samples),
            "gflops": flops / self.timing.seconds / 1e9,
            "peak_gflops": self.timing.peak_gflops * self.threads,
            "percent_of_peak": 100 * self.timing.fraction_of_peak(flops, self.threads),
            "threads": self.threads,
            "correct": True,
            "max_error": self.max_error,
            "trials": self.trials,
            "search_seconds": self.search_seconds,
            "interrupted": self.interrupted,
            "cache": "warm",
            "machine": self.machine,
            "isa": self.isa,
            "version": VERSION,
            "repeat": self.repeat,
            "emitted": [str(path) for path in self.emitted],
        }

    def as_text(self) -> str:
        """A line a fact, for people."""
        problem, timing = self.scheme.problem, self.timing
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        peak = timing.peak_gflops * self.threads
        found = f"{self.trials} schemes measured" if self.trials else "none measured"
        lines = [
            ("problem", f"{problem.op} {canonical(problem)}   ({problem.flops / 1e9:.3g} GFLOP)"),
            ("scheme", self.scheme.text),
            ("composed of", ", ".join(self.microkernels)),
            (
                "time",
                f"{timing.seconds * 1e3:.4g} ms a call, median of {len(timing.samples)} samples, spread "
                f"{100 * timing.spread:.1f} %, {threads}, warm caches",
            ),
            (
                "speed",
                f"{problem.flops / timing.seconds / 1e9:.1f} GFLOP/s = "
                f"{100 * timing.fraction_of_peak(problem.flops, self.threads):.1f} % of the FMA peak "
                f"{peak:.1f} GFLOP/s measured beside it",
            ),
            ("check", f"exact on small integers; largest error on random reals {self.max_error:.2g}, within K·eps"),
            ("search", f"{self.search_seconds:.1f} s, {found}{', ended by Ctrl-C' if self.interrupted else ''}"),
            ("machine", f"{self.machine}, {self.isa}"),
            ("repeat with", self.repeat),
        ]
        lines += [("wrote", str(path)) for path in self.emitted]
        text = "\n".join(f"{name:<12} {value}" for name, value in lines)
        return f"{text}\n\n{self.explanation}" if self.explanation else text


def main(program: str, parse_shape: Callable[[str], Problem], shape_help: str, arguments: list[str] | None = None) -> int:
    """Runs the command line; the exit code. 2: what was asked for cannot be; 1: it went wrong; 130: Ctrl-C."""
    options = _parser(program, shape_help).parse_args(arguments)
    try:
        report = _search(program, parse_shape(options.shape), options)
        print(json.dumps(report.as_json()) if options.json else report.as_text())
        return INTERRUPTED if report.interrupted else 0
    except KeyboardInterrupt:
        print("interrupted before anything was measured", file=sys.stderr)
        return INTERRUPTED
    except (ProblemError, SchemeError) as error:
        print(error, file=sys.stderr)
        return 2
    except CandidateError as error:
        print(f"the kernel failed: {error.reason}", file=sys.stderr)
        return 1
    except (CacheError, ExportError, RankingError, StoreError, ToolchainError, TuningError, WorkerError) as error:
        print(error, file=sys.stderr)
        return 1


def _search(program: str, problem: Problem, options: argparse.Namespace) -> Report:
    shop = workshop(options.isa, options.threads)
    console = Console(stderr=True)
    started = time.monotonic()
    trials, interrupted, explanation = 0, False, ""
    if options.scheme:
        scheme = parse(problem, options.scheme)
        if options.explain:
            explanation = _explain(shop, scheme, ())
    else:
        _rank_first(shop, problem, console)
        started = time.monotonic()
        with console.status("predicting candidates"):
            candidates = shop.candidates(problem)
        scheme = candidates[0]
        if not options.model_only:
            left = options.budget - (time.monotonic() - started)
            with _progress(console, problem, options.threads) as progress:
                outcome = shop.tune(
                    candidates, budget=left, trials=options.trials, seed=options.seed, progress=progress
                )
            scheme, trials, interrupted = outcome.best.scheme, outcome.trials, outcome.interrupted
            store.choose(shop.key(problem), "measure", scheme.text, outcome.best.timing)
        if options.explain:
            explanation = _explain(shop, scheme, [c for c in candidates if c != scheme][:RUNNERS_UP])
    search_seconds = time.monotonic() - started
    timing, max_error = shop.verdict(scheme, VERDICT_SECONDS, options.seed)
    kernel = shop.build(scheme)
    repeat = [*program.split(), "--shape", canonical(problem), "--scheme", scheme.text]
    repeat += [] if options.threads == 1 else ["--threads", str(options.threads)]
    repeat += ["--isa", options.isa] if options.isa else []
    return Report(
        scheme=scheme,
        threads=options.threads,
        timing=timing,
        max_error=max_error,
        trials=trials,
        search_seconds=search_seconds,
        interrupted=interrupted,
        machine=shop.fingerprint,
        isa=shop.isa.name,
        microkernels=tuple(str(m) for m in kernel.emitted.microkernels),
        repeat=shlex.join(repeat),
        explanation=explanation,
        emitted=kernel.save(options.emit) if options.emit else (),
    )


def _rank_first(shop: Workshop, problem: Problem, console: Console) -> None:
    """Ranks the microkernels quickly where this machine never did, and says so; otherwise does nothing."""
    with shown(console) as progress:
        machine_catalog(
            shop.isa, problem.op, announce=lambda sentence: print(sentence, file=sys.stderr), progress=progress
        )


def _explain(shop: Workshop, scheme: Scheme, runners_up: Sequence[Scheme]) -> str:
    chosen, *others = shop.predicted([scheme, *runners_up])
    return explain(chosen, others, shop.machine)


@contextmanager
def _progress(console: Console, problem: Problem, threads: int) -> Iterator[Callable[[int, int, float], None]]:
    """A bar with the best so far and the time left, on a terminal; nothing elsewhere."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("measuring", total=None)

        def progress(tried: int, of: int, best: float) -> None:
            percent = 100 * problem.flops / best / threads
            bar.update(task, completed=tried, total=of, description=f"measuring, best {percent:.1f} % of peak")

        yield progress


def _parser(program: str, shape_help: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(program, description="Finds, checks and explains a fast kernel for one problem.")
    parser.add_argument("--shape", required=True, help=shape_help)
    parser.add_argument("--threads", type=_whole, default=1, metavar="N", help="OpenMP threads; default 1")
    parser.add_argument(
        "--budget", type=_seconds, default=DEFAULT_BUDGET, metavar="SECONDS", help="for the whole search; default 30"
    )
    parser.add_argument(
        "--trials", type=_whole, default=DEFAULT_TRIALS, metavar="N", help=f"schemes to measure at most; default {DEFAULT_TRIALS}"
    )
    parser.add_argument("--model-only", action="store_true", help="trust the model: measure no candidate")
    parser.add_argument("--scheme", metavar="TEXT", help="run exactly this scheme")
    parser.add_argument("--explain", action="store_true", help="predicted parts of the choice and of the runners-up")
    parser.add_argument("--emit", type=Path, metavar="DIR", help="write .c, .h, .so and an example program there")
    parser.add_argument("--isa", metavar="NAME", help="avx512f, avx2 or portable; default: the widest this CPU runs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random data and the explored schemes")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    return parser


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value
