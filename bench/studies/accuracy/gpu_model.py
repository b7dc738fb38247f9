"""The command `python -m bench.gpu_model`: how well the model of GPUs ranks schedules whose times are in a table.

    python -m bench.gpu_model                                    (of an H200, in bench/results/)

A line a layer: by how much the model's first choice is slower than the fastest schedule, Spearman's rank correlation of
predicted and measured times, and the geometric mean of measured by predicted. No GPU is needed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from pathlib import Path
from statistics import mean, pstdev

from bench.report.summary import geometric_mean
from bench.run.ending import ending
from bench.studies.accuracy.model import ModelAccuracy
from cpu.runtime.options import Parser
from search.evaluator.gpu.backend import GpuBackend, gpu_target
from search.space.explain import aligned
from search.tuner.dtypes import on_gpu
from tiling.problem import Problem, ProblemError
from tiling.text.notation import parse
from tiling.text.shapes import problem_of

TABLE = Path(__file__).parents[2] / "results" / "h200-schedules.csv"
_COLUMNS = ["layer", "op", "shape", "scheme", "microseconds"]


class FileError(RuntimeError):
    """A table of times that cannot be read; the message says which and why."""


@dataclass(frozen=True)
class Times:
    """The measured seconds of a layer's schedules."""

    layer: str
    problem: Problem
    schemes: tuple[str, ...]
    seconds: tuple[float, ...]


def read(path: Path) -> Iterator[Times]:
    """The layers of a table. Lines that begin with # are comments; an empty field is that of the line before.

    Raises FileError.
    """
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    head, *rows = csv.reader(lines) if lines else [[]]
    if head != _COLUMNS or not rows or any(len(row) != len(_COLUMNS) for row in rows):
        raise FileError(f"{path} is no table of times: its lines are {','.join(_COLUMNS)}")
    if not rows[0][0]:
        raise FileError(f"{path}: the first line of times names no layer")
    begins = [i for i, row in enumerate(rows) if row[0]]
    try:
        for begin, end in zip(begins, [*begins[1:], len(rows)]):
            layer, op, shape, *_ = rows[begin]
            problem = problem_of(op, shape)
            schemes, times = zip(*((row[3], float(row[4]) * 1e-6) for row in rows[begin:end]))
            if not all(0 < seconds < inf for seconds in times):
                raise ValueError(f"{layer} has a time that is not above 0")
            yield Times(layer, on_gpu(problem, problem.dtype), schemes, times)
    except ValueError as error:  # SchemeError and ShapeError are some too
        raise FileError(f"{path}: {error}") from None


def scored(times: Times, device: str) -> ModelAccuracy:
    """The model's accuracy on a layer, its favourite first. Raises ValueError where a scheme does not fit."""
    schemes = [parse(times.problem, text) for text in times.schemes]
    seconds = {scheme.text: measured for scheme, measured in zip(schemes, times.seconds)}
    ranked = GpuBackend(gpu_target("cuda-twin", times.problem.dtype, device)).ranked(schemes)
    texts, predicted = zip(*((prediction.scheme.text, prediction.seconds) for prediction in ranked))
    measured = tuple(seconds[text] for text in texts)
    return ModelAccuracy(times.layer, str(times.problem), texts, predicted, measured, 0)


def loss(result: ModelAccuracy) -> float:
    """The time of the model's first choice, as a multiple of the fastest schedule's."""
    return result.measured[0] / min(result.measured)


def errors(results: Iterable[ModelAccuracy]) -> list[float]:
    """The logarithms of measured by predicted times."""
    return [log(m / p) for result in results for m, p in zip(result.measured, result.predicted)]


def table(results: Sequence[ModelAccuracy]) -> str:
    """The lines of all layers, and those of the whole."""
    rows = [["layer", "schedules", "first/best", "Spearman", "measured/predicted"]]
    for each in results:
        scale = f"{exp(mean(errors([each]))):.2f}"
        rows.append([each.layer, str(len(each.schemes)), f"{loss(each):.3f}", each.shown_correlation, scale])
    losses, off = [loss(each) for each in results], errors(results)
    return "\n".join(
        [
            *aligned(rows),
            "",
            f"First choice by fastest: {geometric_mean(losses):.3f} in the geometric mean of {len(results)} layers, "
            f"{max(losses):.3f} at most.",
            f"Measured by predicted: {exp(mean(off)):.2f} in the geometric mean of {len(off)} schedules, which differ "
            f"from it by a factor of {exp(pstdev(off)):.2f}.",
        ]
    )


@ending("interrupted", FileError, ProblemError, ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Prints the table and returns the exit code. 1: the table of times cannot be read."""
    parser = Parser("python -m bench.gpu_model", description="Prints how well the model of GPUs ranks schedules.")
    parser.add_argument("--table", type=Path, default=TABLE, metavar="FILE", help="measured times; default: an H200's")
    parser.add_argument("--device", default="H200", help="the GPU on which they were measured; default H200")
    given = parser.parse_args(arguments)
    print(table([scored(times, given.device) for times in read(given.table)]))
    return 0
