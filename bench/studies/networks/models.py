"""The command `python -m bench --models NAME|FILE.onnx …`: whole models beside other libraries.

All compute in turns in one process, on the same inputs and into memory that is used again. Both are bound beforehand.
What the others give is compared with ours first. Before each turn the threads of the others fall asleep
(`bench.run.targets.turns`). A speed is the median over the turns.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.peers.networks.architectures import ARCHITECTURES, exported, labelled
from bench.peers.networks.whole_models import MODEL_PEERS, apart_reason
from bench.report.sections import on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.targets.turns import timed
from bench.studies.networks import waiting
from cpu.runtime.options import Parser
from cpu.runtime.output import readable
from cpu.runtime.processes.worker import CandidateError, Worker
from graph import ModelError
from graph.calls.compiled import CompiledModel
from graph.calls.differences import apart
from graph.calls.random_inputs import random_inputs
from graph.compile import dim
from graph.plan import ALGORITHMS, DEFAULT_BUDGET, Plan
from search.commands.options import seconds, whole
from tiling.choices import meant

ROUNDS = 15
_TURN_SECONDS = 0.2  # several calls, or one
TIMEOUT_SECONDS = 900.0
# Relative to the largest number of an output: both sides round sums of thousands of products in different orders.
_NEAR = 1e-4


@dataclass(frozen=True)
class ModelRace:
    """A model on so many threads: seconds of a call, ours and that of each peer, and how far the outputs differ.

    missing: why a peer has no time.
    """

    name: str
    threads: int
    ours: float
    peers: dict[str, float]
    apart: dict[str, float]
    missing: dict[str, str]

    def ratio(self, peer: str) -> float:
        """How many times as long as ours a peer's call takes."""
        return self.peers[peer] / self.ours

    @property
    def best(self) -> float:
        """How many times as long as ours the fastest peer's call takes."""
        return min(map(self.ratio, self.peers))


def turns(
    *,
    name: str,
    path: str,
    dims: dict[str, int],
    peers: list[str],
    threads: int,
    budget: float,
    algorithm: str,
    rounds: int,
) -> dict[str, Any]:
    """Times one model in a worker. The fields of a `ModelRace`. budget: seconds of tuning; 0 takes the model's choices.

    Raises CandidateError where the results differ.
    """
    tune = "measure" if budget else "model"
    try:
        plan = Plan(path, threads=threads, tune=tune, budget=budget or DEFAULT_BUDGET, algorithm=algorithm)
        model = plan.compiled(dims)
    except ModelError as error:
        raise CandidateError(str(error)) from error
    inputs = dict(zip((array.name for array in model.inputs), random_inputs(model, 0)))
    return asdict(in_turns(name, path, model, inputs, peers, threads, rounds))


def in_turns(
    name: str,
    path: str,
    model: CompiledModel,
    inputs: dict[str, np.ndarray],
    peers: Sequence[str],
    threads: int,
    rounds: int = ROUNDS,
) -> ModelRace:
    """A compiled model and peers on its file, in turns. inputs: all that the file takes, known ones included.

    Raises CandidateError where the results differ.
    """
    ours, out = [inputs[array.name] for array in model.inputs], model.empty()
    wanted = dict(zip((array.name for array in model.outputs), out))
    bound = model.bound(*ours, out=out)
    bound()
    calls: dict[str, Callable[[], object]] = {"": bound}
    differ, missing = {}, {}
    for peer in peers:
        try:
            ready = MODEL_PEERS[peer][1](name, path, inputs, wanted, threads)
            ready.call()
        except Exception as error:  # whatever a library raises, the others are still compared
            missing[peer] = readable(f"{type(error).__name__}: {error}")[:200]
            continue
        differ[peer] = max(map(apart, out, ready.outputs()))
        if not differ[peer] <= _NEAR:
            raise CandidateError(f"the outputs differ from those of {peer} by {differ[peer]:.1e} of the largest number")
        calls[peer] = ready.call
    clocks = {who: timed(call, _TURN_SECONDS) for who, call in calls.items()}
    found: dict[str, list[float]] = {who: [] for who in clocks}
    for _ in range(rounds):
        for who, clock in clocks.items():
            found[who].append(clock())
    medians = {who: median(times) for who, times in found.items()}
    return ModelRace(name, threads, medians.pop(""), medians, differ, missing)


def head(peers: Sequence[str]) -> str:
    """The first lines of a table in Markdown: milliseconds, and how many times as long the fastest peer takes."""
    return (
        f"| model | threads | Tilewright | {' | '.join(peers)} | fastest peer |\n"
        f"| --- | ---: | ---: | {' | '.join('---:' for _ in peers)} | ---: |"
    )


def row(race: ModelRace, peers: Sequence[str]) -> str:
    """A line of the table."""
    times = " | ".join(f"{1e3 * race.peers[peer]:.2f}" if peer in race.peers else "–" for peer in peers)
    best = f"{race.best:.2f}" if race.peers else "–"
    return f"| {race.name} | {race.threads} | {1e3 * race.ours:.2f} | {times} | {best} |"


def summary(results: Sequence[ModelRace]) -> str:
    """The geometric mean of the ratios to the fastest peer."""
    compared = [race for race in results if race.peers]
    if not compared:
        return "no peer could be compared"
    mean = exp(sum(log(race.best) for race in compared) / len(compared))
    slower = [race.name for race in compared if race.best < 1]
    return (
        f"the fastest peer takes {mean:.2f} times as long in the geometric mean, and is faster on {len(slower)} of "
        f"{len(compared)}{': ' + ', '.join(slower) if slower else ''}"
    )


def differences(results: Sequence[ModelRace]) -> str:
    """How far the outputs differ from those of the peers, at most."""
    far = {peer: max(race.apart.get(peer, 0.0) for race in results) for race in results for peer in race.apart}
    told = ", ".join(f"{peer} by {error:.1e}" for peer, error in far.items())
    return f"outputs differ at most, of the largest number: from {told}" if told else "no outputs were compared"


@ending("interrupted")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 1: a model failed, or has no peer that could be timed."""
    options = _parser().parse_args(arguments)
    if reason := _unknown(options.models) or _contradiction(options) or apart_reason(options.peers):
        print(reason, file=sys.stderr)
        return 2
    code = 0
    try:
        if options.waiting:
            with alone():
                found = (_named(model, options.batch) for model in options.models)
                named = [(labelled(name, options.batch), path) for name, path in found]
                return waiting.show(named, options.threads, dict(options.dim))
        print(
            f"{', '.join(map(_version, options.peers))}; {ROUNDS} turns, medians, outputs in memory that is used again"
        )
        with alone():
            for threads in dict.fromkeys(options.threads):
                results: list[ModelRace] = []
                print(f"\n{on_threads(threads)}\n\n{head(options.peers)}", flush=True)
                for named in options.models:
                    try:
                        name, path = _named(named, options.batch)
                        race = _race(name, path, options, threads)
                    except ModuleNotFoundError as error:
                        print(f"{named}: {error}: pip install 'tilewright[peers,models]'", file=sys.stderr)
                        code = 1
                        continue
                    except CandidateError as error:
                        print(f"{named}: {readable(error.reason)}", file=sys.stderr)
                        code = 1
                        continue
                    for peer, why in race.missing.items():
                        print(f"{name}: {peer} is left out: {why}", file=sys.stderr)
                    if not race.peers:
                        print(f"{name}: none of {', '.join(options.peers)} can be timed", file=sys.stderr)
                        code = 1
                    results.append(race)
                    print(row(race, options.peers), flush=True)
                if results:
                    print(f"\n{summary(results)}\n{differences(results)}", flush=True)
    except ModuleNotFoundError as error:
        print(f"{error}: pip install 'tilewright[peers,models]'", file=sys.stderr)
        return 1
    return code


def _contradiction(options: argparse.Namespace) -> str | None:
    """A sentence on options that mean nothing beside others; None where there are none."""
    if options.batch != 1 and (files := [named for named in options.models if named not in ARCHITECTURES]):
        return f"--batch is for networks by name, and {files[0]} is a file: bind its open dims by --dim"
    chosen = {"--budget": options.budget is not None, "--algorithm": options.algorithm != "direct"}
    chosen["--peers"] = options.peers != ["ort"]
    given = [name for name, is_given in chosen.items() if is_given]
    if options.waiting and given:
        return f"--waiting waits for the model's choices, without other libraries: leave {' and '.join(given)} out"
    return None


def _unknown(models: Sequence[str]) -> str | None:
    """A sentence on what cannot be timed; None if all can."""
    if not models:
        return f"--models: give {', '.join(ARCHITECTURES)}, or a file"
    missing = [named for named in models if named not in ARCHITECTURES and not Path(named).is_file()]
    if not missing:
        return None
    return f"{missing[0]}{meant(missing[0], ARCHITECTURES)} is neither a file nor one of {', '.join(ARCHITECTURES)}"


def _named(named: str, batch: int) -> tuple[str, Path]:
    """The name of a model and its file. Raises ModuleNotFoundError."""
    if named in ARCHITECTURES:
        return named, exported(named, batch)
    return Path(named).stem, Path(named)


def _version(peer: str) -> str:
    try:
        return f"{peer} {importlib.metadata.version(MODEL_PEERS[peer][0])}"
    except importlib.metadata.PackageNotFoundError:
        return f"{peer} (not installed: pip install 'tilewright[peers,models]')"


def _race(name: str, path: Path, options: argparse.Namespace, threads: int) -> ModelRace:
    with closing(Worker(packages=("bench", "graph"))) as worker:
        found = worker.call(
            "bench.studies.networks.models:turns",
            timeout=TIMEOUT_SECONDS + (options.budget or 0.0),
            name=name,
            path=str(path),
            dims=dict(options.dim),
            peers=list(options.peers),
            threads=threads,
            budget=options.budget or 0.0,
            algorithm=options.algorithm,
            rounds=ROUNDS,
        )
    race = ModelRace(**found)
    return replace(race, name=labelled(race.name, options.batch))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m bench",
        description="Whole models beside other libraries.",
        epilog="Networks by name come from PyTorch: pip install 'tilewright[peers,models]'. For a file "
        "'tilewright[models]' is enough, and libraries that are missing are left out.",
    )
    parser.add_argument(
        "--models",
        nargs="*",
        required=True,
        metavar="NAME|FILE.onnx",
        help=f"{', '.join(ARCHITECTURES)}, with random weights; or a file",
    )
    parser.add_argument(
        "--peers", nargs="+", choices=tuple(MODEL_PEERS), default=["ort"], help="default: ort, which is ONNX Runtime"
    )
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument(
        "--batch", type=whole, default=1, metavar="N", help="images or texts of each network by name; default: 1"
    )
    parser.add_argument(
        "--dim", type=dim, action="append", default=[], metavar="NAME=EXTENT", help="an open dim's extent"
    )
    parser.add_argument(
        "--budget", type=seconds, metavar="SECONDS", help="tune each model for so long; default: not at all"
    )
    parser.add_argument(
        "--waiting", action="store_true", help="not speeds, but how long each takes to compile, to load and to start"
    )
    parser.add_argument(
        "--algorithm", choices=ALGORITHMS, default="direct", help="auto: Winograd's where that is faster"
    )
    return parser
