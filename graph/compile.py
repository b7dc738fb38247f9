"""The command `python -m graph.compile MODEL.onnx`: one C library for a whole model, and where its time goes."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from cpu.runtime.options import Parser
from cpu.runtime.output import readers_may_leave, terminal, write
from cpu.runtime.plural import memory, plural
from graph.calls.compiled import CompiledModel, Explained
from graph.calls.differences import apart
from graph.calls.random_inputs import random_inputs
from graph.library.kernels import by_dtype, products_of
from graph.model.language import ModelError
from graph.plan import ALGORITHMS, DEFAULT_BUDGET, Plan
from graph.variant import works_of
from search.commands.ending import ending
from search.commands.options import c_name, folder, seconds, whole
from search.commands.progress import counted
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
    facts = {
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
    return json.dumps(facts) if options.json else _report(facts)


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


def _report(facts: dict[str, object]) -> str:
    lines = [f"model     {facts['name']}"]
    for side in ("inputs", "outputs"):
        arrays = facts[side]
        assert isinstance(arrays, dict)
        told_ = ", ".join(f"{name}: {dtype}[{', '.join(map(str, shape))}]" for name, (dtype, *shape) in arrays.items())
        lines.append(f"{side:9} {told_ or 'none'}")
    seconds_, flops, threads = facts["seconds"], facts["flops"], facts["threads"]
    arena, least, weights = facts["arena_bytes"], facts["arena_least"], facts["weight_bytes"]
    assert isinstance(seconds_, float) and isinstance(flops, int) and isinstance(threads, int)
    assert isinstance(arena, int) and isinstance(least, int) and isinstance(weights, int)
    products_, size = facts["products"], f"{flops / 1e9:.3g} GFLOP"
    assert isinstance(products_, int)
    among = (
        f"{products_} of them {'a product' if products_ == 1 else 'products'} of {size}" if products_ else "no product"
    )
    lines.append(f"kernels   {facts['kernels']}, {among}")
    lines.append(f"memory    {weights:,} bytes of weights, an arena of {arena:,} bytes; {least:,} live at once")
    lines.append(f"compiled  in {facts['compile_seconds']:.1f} s")
    rate = f": {flops / seconds_ / 1e9:.1f} GFLOP/s" if flops else ""
    on = plural(threads, "threads") + " at most" * (threads > 1)
    lines.append(f"time      {1e3 * seconds_:.3g} ms a call, median, {on}{rate}")
    found = facts["reference_error"]
    if found is None:
        lines.append(f"check     {facts['unchecked']}")
    else:
        assert isinstance(found, float)
        lines.append(f"check     outputs differ from those of onnx's reference by {found:.1e} of the largest number")
    steps, emitted = facts["steps"], facts["emitted"]
    assert isinstance(steps, list) and isinstance(emitted, list)
    winograd = facts["winograd"]
    assert isinstance(winograd, int)
    if winograd:
        lines.append(
            f"winograd  in {plural(winograd, 'kernels')}; outputs differ from those of direct kernels by "
            f"{facts['error']:.1e} of the largest number"
        )
    if steps:
        whole_ = sum(step["seconds"] for step in steps) or 1.0
        products = sum(step["seconds"] for step in steps if step["product"])
        tuned = sum(step["seconds"] for step in steps if step["tuned"])
        lines.append(
            f"shares    {100 * products / whole_:.0f} % of the time in products, {100 * tuned / whole_:.0f} % in tuned "
            "kernels"
        )
    if steps and facts["layouts"]:
        lines.append(f"layouts   {facts['layouts']}")
    for step in steps:
        taken = step["seconds"]
        speed = f", {step['flops'] * step['turns'] / taken / 1e9:.0f} GFLOP/s" if step["flops"] and taken else ""
        speed += f", arrays of {memory(step['bytes'])}" + ", tuned" * step["tuned"]
        speed += f", {step['turns']} times" * (step["turns"] > 1)
        lines.append(
            f"step      {1e3 * taken:.3f} ms, {100 * taken / whole_:.1f} %{speed}: {step['node']}: {step['work']}"
        )
        if step["scheme"]:
            lines.append(f"          {step['scheme']}")
        if step["layout"]:
            lines.append(f"          layout: {step['layout']}")
        if step["unfused"]:
            lines.append(f"          nothing more is fused: {step['unfused']}")
    if emitted:
        lines.append(f"wrote     {plural(len(emitted), 'files')} into {Path(emitted[0]).parent}")
    return "\n".join(lines)


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
