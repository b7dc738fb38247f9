"""The command `python -m bench.models FILE.onnx …`: whole models beside ONNX Runtime.

Both compute in turns in one process, on the same inputs and into memory that is used again. What ONNX Runtime gives is
compared with ours first. A speed is the median over the turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.peers.ort import session_options
from bench.report.sections import on_threads
from bench.run.journal import alone
from cpu.kernel.arguments import aligned_empty
from cpu.runtime.output import INTERRUPTED
from cpu.runtime.worker import CandidateError, Worker
from graph import ModelError, compile_model
from graph.compile import dim, random_inputs
from graph.compiled import CompiledModel
from microkernels.scores.database import readable
from search.options import FAILURES, seconds, whole

ROUNDS = 15
_TURN_SECONDS = 0.2  # several calls, or one: the first of a turn finds the caches as the other side left them
_TIMEOUT_SECONDS = 600.0
# Relative to the largest number of an output: the two round sums of thousands of products in different orders.
_NEAR = 1e-4


@dataclass(frozen=True)
class Race:
    """A model on so many threads: seconds of a call of ours and of ONNX Runtime's, and how far the outputs differ."""

    name: str
    threads: int
    ours: float
    peer: float
    apart: float

    @property
    def ratio(self) -> float:
        """How many times as long as ours ONNX Runtime's call takes."""
        return self.peer / self.ours


def turns(*, path: str, dims: dict[str, int], threads: int, budget: float, rounds: int) -> list[float]:
    """Times one model in a worker: seconds of ours and of ONNX Runtime, and the largest difference of the outputs.

    budget: seconds of search; 0 takes the model's choices. Raises CandidateError where the results differ.
    """
    tune = "measure" if budget else "model"
    try:
        model = compile_model(path, dims=dims, threads=threads, tune=tune, budget=budget or 1.0)
    except ModelError as error:
        raise CandidateError(str(error)) from error
    inputs, out = random_inputs(model, 0), model.empty()
    call, theirs = _session(path, model, inputs, threads)
    model(*inputs, out=out)
    call()
    apart = float(np.max([_apart(y, other.numpy()) for y, other in zip(out, theirs)]))  # NaN where one is
    if not apart <= _NEAR:
        raise CandidateError(f"the outputs differ from ONNX Runtime's by {apart:.1e} of the largest number")
    ours, peer = _timed(lambda: model(*inputs, out=out)), _timed(call)
    found: list[list[float]] = [[], []]
    for _ in range(rounds):
        found[0].append(ours())
        found[1].append(peer())
    return [*map(median, found), apart]


def _session(
    path: str, model: CompiledModel, inputs: list[np.ndarray], threads: int
) -> tuple[Callable[[], object], list[Any]]:
    """A call of ONNX Runtime with bound inputs and outputs, and the outputs."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, session_options(threads), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    outputs = [aligned_empty(y.shape, y.dtype) for y in model.empty()]
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in (*inputs, *outputs)]
    for array, value in zip(model.inputs, values):
        binding.bind_ortvalue_input(array.name, value)
    for array, value in zip(model.outputs, values[len(inputs) :]):
        binding.bind_ortvalue_output(array.name, value)
    return lambda: session.run_with_iobinding(binding), values[len(inputs) :]


def _apart(y: np.ndarray, other: np.ndarray) -> float:
    """The largest difference, relative to the largest number."""
    if y.dtype.kind != "f":  # whole numbers and truths are equal or not
        return float(np.any(y != other))
    return float(np.max(np.abs(y - other), initial=0) / (np.max(np.abs(other), initial=0) or 1))


def _timed(call: Callable[[], object]) -> Callable[[], float]:
    """A function that gives the seconds of a call, from as many as fill a turn."""
    call()
    begin = time.perf_counter()
    call()
    count = max(1, round(_TURN_SECONDS / max(time.perf_counter() - begin, 1e-7)))

    def timed() -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    return timed


def summary(results: Sequence[Race]) -> str:
    """The geometric mean of the ratios."""
    mean = exp(sum(log(found.ratio) for found in results) / len(results))
    faster = [found.name for found in results if found.ratio < 1]
    return (
        f"ONNX Runtime takes {mean:.2f} times as long in the geometric mean, and is faster on {len(faster)} of "
        f"{len(results)}{': ' + ', '.join(faster) if faster else ''}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    code = 0
    try:
        import onnxruntime

        print(f"ONNX Runtime {onnxruntime.__version__}, {ROUNDS} turns, medians, outputs in memory that is used again")
        with alone():
            for threads in dict.fromkeys(options.threads):
                results = []
                for path in options.files:
                    try:
                        results.append(_race(path, dict(options.dim), threads, options.budget or 0.0))
                    except CandidateError as error:
                        print(f"{path}: {readable(error.reason)}", file=sys.stderr)
                        code = 1
                        continue
                    found = results[-1]
                    print(
                        f"{found.name:<24} {1e3 * found.ours:9.2f} ms   ONNX Runtime {1e3 * found.peer:9.2f} ms, "
                        f"{found.ratio:.2f} times   outputs {found.apart:.0e} apart",
                        flush=True,
                    )
                if results:
                    print(f"{on_threads(threads)}: {summary(results)}", flush=True)
    except ModuleNotFoundError:
        print("ONNX Runtime or onnx is missing: pip install -e '.[peers,models]'", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except FAILURES as error:
        print(error, file=sys.stderr)
        return 1
    return code


def _race(path: Path, dims: dict[str, int], threads: int, budget: float) -> Race:
    with closing(Worker(packages=("bench", "graph"))) as worker:
        found = worker.call(
            "bench.studies.models:turns",
            timeout=_TIMEOUT_SECONDS + budget,
            path=str(path),
            dims=dims,
            threads=threads,
            budget=budget,
            rounds=ROUNDS,
        )
    ours, peer, apart = found
    return Race(path.stem, threads, ours, peer, apart)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench.models", description="Whole models beside ONNX Runtime.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.onnx")
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument(
        "--dim", type=dim, action="append", default=[], metavar="NAME=EXTENT", help="an open dim's extent"
    )
    parser.add_argument(
        "--budget", type=seconds, metavar="SECONDS", help="search for so long a model; default: not at all"
    )
    return parser
