"""What `python -m graph.compile` prints of a model: its facts, which `--json` gives as they are, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any  # what the facts of JSON are

from cpu.runtime.plural import memory, plural

Facts = Mapping[str, Any]


def report(facts: Facts) -> str:
    """The lines of a report."""
    return "\n".join(_lines(facts))


def _lines(facts: Facts) -> Iterator[str]:
    yield f"model     {facts['name']}"
    for side in ("inputs", "outputs"):
        yield f"{side:9} {_arrays(facts[side])}"
    yield f"kernels   {facts['kernels']}, {_products(facts)}"
    sizes = f"an arena of {facts['arena_bytes']:,} bytes; {facts['arena_least']:,} live at once"
    yield f"memory    {facts['weight_bytes']:,} bytes of weights, {sizes}"
    yield f"compiled  in {facts['compile_seconds']:.1f} s"
    yield f"time      {_time(facts)}"
    yield f"check     {_check(facts)}"
    if facts["winograd"]:
        yield (
            f"winograd  in {plural(facts['winograd'], 'kernels')}; outputs differ from those of direct kernels by "
            f"{facts['error']:.1e} of the largest number"
        )
    if facts["steps"]:
        yield from _steps(facts)
    if written := facts["emitted"]:
        yield f"wrote     {plural(len(written), 'files')} into {Path(written[0]).parent}"


def _arrays(arrays: Mapping[str, Any]) -> str:
    told = (f"{name}: {dtype}[{', '.join(map(str, shape))}]" for name, (dtype, *shape) in arrays.items())
    return ", ".join(told) or "none"


def _products(facts: Facts) -> str:
    products = facts["products"]
    if not products:
        return "no product"
    return f"{products} of them {'a product' if products == 1 else 'products'} of {facts['flops'] / 1e9:.3g} GFLOP"


def _time(facts: Facts) -> str:
    seconds, flops, threads = facts["seconds"], facts["flops"], facts["threads"]
    on = plural(threads, "threads") + " at most" * (threads > 1)
    rate = f": {flops / seconds / 1e9:.1f} GFLOP/s" if flops else ""
    return f"{1e3 * seconds:.3g} ms a call, median, {on}{rate}"


def _check(facts: Facts) -> str:
    error = facts["reference_error"]
    if error is None:
        return str(facts["unchecked"])
    return f"outputs differ from those of onnx's reference by {error:.1e} of the largest number"


def _steps(facts: Facts) -> Iterator[str]:
    """Where the time goes: in which kernels, and in each step."""
    steps = facts["steps"]
    whole = sum(step["seconds"] for step in steps) or 1.0
    in_products, in_tuned = (
        f"{100 * sum(step['seconds'] for step in steps if step[kind]) / whole:.0f} %" for kind in ("product", "tuned")
    )
    yield f"shares    {in_products} of the time in products, {in_tuned} in tuned kernels"
    if facts["layouts"]:
        yield f"layouts   {facts['layouts']}"
    for step in steps:
        yield from _step(step, whole)


def _step(step: Facts, whole: float) -> Iterator[str]:
    """A step, and below it what was decided. whole: the seconds of all steps."""
    taken = step["seconds"]
    speed = f", {step['flops'] * step['turns'] / taken / 1e9:.0f} GFLOP/s" if step["flops"] and taken else ""
    speed += f", arrays of {memory(step['bytes'])}" + ", tuned" * step["tuned"]
    speed += f", {step['turns']} times" * (step["turns"] > 1)
    yield f"step      {1e3 * taken:.3f} ms, {100 * taken / whole:.1f} %{speed}: {step['node']}: {step['work']}"
    if step["scheme"]:
        yield f"          {step['scheme']}"
    if step["layout"]:
        yield f"          layout: {step['layout']}"
    if step["unfused"]:
        yield f"          nothing more is fused: {step['unfused']}"
