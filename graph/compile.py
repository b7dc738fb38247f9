"""The command `python -m graph.compile MODEL.onnx`: one C library for a whole model, and where its time goes."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from cpu.runtime.options import Parser
from cpu.runtime.output import readers_may_leave, terminal, write
from graph.calls.compiled import CompiledModel, Explained
from graph.calls.differences import apart
from graph.calls.random_inputs import random_inputs
from graph.library.kernels import by_dtype, products_of
from graph.model.language import ModelError
from graph.plan import ALGORITHMS, DEFAULT_BUDGET, Plan
from graph.report import report
from graph.variant import works_of
from search.commands.ending import ending
from search.commands.options import c_name, folder, seconds, whole
from search.commands.progress import counted
from search.commands.searching import keeping
from search.evaluator.interface.files import writable
from search.flow import ranked
from tilewright_entry import run

T = TypeVar("T")

_TIMED_CALLS = 5  # calls in which each step is timed
_CALLS = 20  # the most calls that are timed
_TIMED = 2.0  # the most seconds for these calls
# Operations (`graph.check.reference_work`) of a model that is checked unasked: onnx's reference takes some 0.1 s.
CHECKED = 1 << 28


@ending("interrupted", wrong=(ModelError,))
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 1: it failed; 2: it cannot be done as asked; 130: Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        with keeping(bool(options.budget)):
            text = told(options)
    except KeyboardInterrupt:
        kept = "what was tuned is kept" if options.budget else "the kernels that are compiled are kept"
        raise KeyboardInterrupt(f"interrupted: {kept}, and the next run goes on from there") from None
    with readers_may_leave():
        write(text)
    return 0


def told(options: argparse.Namespace) -> str:
    """What the command prints. Raises ModelError and what compiling raises."""
    console = terminal()
    plan = Plan(
        options.model,
        once("--known", options.known),
        options.threads,
        "measure" if options.budget else "model",
        options.budget or DEFAULT_BUDGET,
        options.algorithm,
        options.name,
    )
    graph = plan.graph(once("--dim", options.dim))
    if options.emit:
        writable(options.emit)  # before a minute of compiling, or a long search
    for dtype, problems in by_dtype(products_of(works_of(graph))).items():
        ranked.rank_first(plan.backend(dtype), map(plan.backend(dtype).problem, problems), console)
    with counted(console) as progress:
        began = time.monotonic()
        model = replace(plan, progress=progress).built(graph)
        compiled = time.monotonic() - began
        written = model.save(options.emit) if options.emit else ()  # before comparisons, which may take minutes
        transformed = sum(_is_winograd(each) for each in model.explained)
        if transformed:
            direct = replace(plan, progress=progress, algorithm="direct", tune="model").built(graph)
    error = _error(model, direct) if transformed else None
    from graph.check import reference_error, reference_work

    checked: float | str = "not made: --check compares the outputs with onnx's reference, which takes a while"
    if options.check or reference_work(graph.steps) <= CHECKED:
        checked = reference_error(plan.proto, plan.known, model)
    facts = _facts(model) | {
        "winograd": transformed,
        "error": error,
        "reference_error": None if isinstance(checked, str) else checked,
        "unchecked": checked if isinstance(checked, str) else "",
        "compile_seconds": compiled,
        "seconds": median_seconds(model),
        "threads": options.threads,
        "layouts": model.layouts,
        "steps": _steps(model) if options.explain or options.json else [],
        "emitted": [str(path) for path in written],
    }
    return json.dumps(facts) if options.json else report(facts)


def _facts(model: CompiledModel) -> dict[str, object]:
    """The facts of a model that need no measurement."""
    return {
        "name": model.name,
        "inputs": {array.name: [array.dtype, *array.shape] for array in model.inputs},
        "outputs": {array.name: [array.dtype, *array.shape] for array in model.outputs},
        "kernels": len(model.explained),
        "products": sum(each.product for each in model.explained),
        "flops": sum(each.flops * each.turns for each in model.explained),
        "weight_bytes": model.weight_bytes,
        "arena_bytes": model.arena_bytes,
        "arena_least": model.arena_least,
        "tuned": sum(each.tuned for each in model.explained),
    }


def median_seconds(model: CompiledModel) -> float:
    """The median time of a call on random inputs, with memory for the outputs that is used again."""
    call = model.bound(*random_inputs(model, 0))
    times: list[float] = []
    while len(times) < 3 or (len(times) < _CALLS and sum(times) < _TIMED):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return float(np.median(times[1:]))


def _steps(model: CompiledModel) -> list[dict[str, object]]:
    """Each step with the median seconds that it takes in a call."""
    inputs, out = random_inputs(model, 0), model.empty()
    times = np.median([model.times(*inputs, out=out) for _ in range(_TIMED_CALLS)], axis=0)
    return [{**each.__dict__, "seconds": float(taken)} for each, taken in zip(model.explained, times)]


def _is_winograd(step: Explained) -> bool:
    return step.scheme.startswith("F(")


def _error(model: CompiledModel, direct: CompiledModel) -> float:
    """The largest error of the outputs against direct kernels, relative to the largest number; inputs are random."""
    inputs = random_inputs(model, 0)
    pairs = zip(model(*inputs), direct(*inputs))
    return max((apart(y, z) for y, z in pairs if y.dtype.kind == "f"), default=0.0)


def once(option: str, pairs: Sequence[tuple[str, T]]) -> dict[str, T]:
    """The values of an option by their names. Raises ModelError for a name that is given twice."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"{option} gives {name} twice: leave one out")
    return dict(pairs)


def dim(text: str) -> tuple[str, int | tuple[int, ...]]:
    """An option such as `batch=1`, or `x=1,3,224,224` for the whole shape of an input."""
    name, _, given = text.rpartition("=")
    extents = given.split(",")
    if not name or not all(extent.isdecimal() and int(extent) > 0 for extent in extents):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write NAME=EXTENT, such as batch=1, or INPUT=1,3,224,224; an extent is at least 1"
        )
    shape = tuple(map(int, extents))
    return (name, shape[0]) if len(shape) == 1 else (name, shape)


def numbers(text: str) -> tuple[str, int | float | list[int | float]]:
    """An option such as `sr=16000` or `axes=0,1`: an input that is one number, or a row of them."""
    name, _, given = text.rpartition("=")
    found: list[int | float] = []
    try:
        found = [int(each) if each.lstrip("-").isdecimal() else float(each) for each in given.split(",")]
    except ValueError:
        name = ""
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r}: write INPUT=NUMBER, such as sr=16000, or INPUT=0,1 for several")
    return name, found if len(found) > 1 else found[0]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m graph.compile",
        description="Makes one C library for an ONNX model, and times it.",
        epilog="It needs onnx: pip install 'tilewright[models]'.",
    )
    parser.add_argument("model", metavar="MODEL.onnx", help="the file of the model")
    parser.add_argument(
        "--dim",
        type=dim,
        action="append",
        default=[],
        metavar="NAME=EXTENT",
        help="an open dim's extent, or an input's shape",
    )
    parser.add_argument(
        "--known",
        type=numbers,
        action="append",
        default=[],
        metavar="INPUT=NUMBER",
        help="an input that is the same at every call: a number, or several with commas between",
    )
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="OpenMP threads; default 1")
    tuning = parser.add_mutually_exclusive_group()
    tuning.add_argument(
        "--budget", type=seconds, metavar="SECONDS", help="try other kernels inside the model for about so long"
    )
    tuning.add_argument("--model-only", action="store_true", help="measure no candidates; this is the default")
    parser.add_argument(
        "--algorithm",
        choices=ALGORITHMS,
        default="direct",
        help="auto: Winograd's for 3x3 of stride 1 where that is faster, with larger errors",
    )
    parser.add_argument(
        "--emit", type=folder, metavar="DIR", help="write the library: .c .h .so .bin, example, Makefile"
    )
    parser.add_argument("--name", type=c_name, metavar="NAME", help="name of the C function; default: the file's")
    parser.add_argument(
        "--check", action="store_true", help="compare with onnx's reference, which takes minutes for a large model"
    )
    parser.add_argument("--explain", action="store_true", help="print every step, and what stopped a fusion")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    return parser


if __name__ == "__main__":
    run("graph.compile:main")
