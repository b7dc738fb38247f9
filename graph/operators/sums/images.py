"""Pooling of images of any number of axes, channels first, as ONNX has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from graph.model.node import Made, Node, Shape, Text, at
from graph.model.windows import TAPS, Windows, windows


def _places(found: Windows, dims: list[str]) -> list[str]:
    """Where each tap of a window lies."""
    return [
        f"{stride}*{dim} + {dilation}*{tap} - {before}"
        for dim, tap, stride, dilation, before in zip(dims, TAPS, found.strides, found.dilations, found.before)
    ]


def _extents(found: Windows, dims: list[str], shape: Shape) -> dict[str, int]:
    return dict(zip(dims, (*shape[:2], *found.outputs))) | dict(zip(TAPS, found.taps))


def _max_pool(node: Node) -> Made:
    shape = node.shape()
    found = windows(node, tuple(node.attribute("kernel_shape")), shape[2:])
    dims = node.dims(len(shape))
    over = at(list(TAPS[: len(shape) - 2]))
    lowest = {"u8": "0", "s8": "-128"}.get(node.dtype(), "-inf")
    places = _places(found, dims[2:])
    text = f"y{at(dims)} = max{over} x{at([*dims[:2], *places])} else {lowest}"
    if len(node.outputs) < 2 or not node.outputs[1]:
        return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))
    # The first tap that holds the largest number, and where it lies among all numbers of x.
    inside = [f"{place} >= 0 and {place} < {extent}" for place, extent in zip(places, shape[2:])]
    steps = [prod(found.taps[axis + 1 :]) for axis in range(len(found.taps))]
    number = " + ".join(f"{step}*{tap}" for step, tap in zip(steps, TAPS))
    here = f"x{at([*dims[:2], *places])} else {lowest}"
    hit = f"{' and '.join(inside)} and ({here}) == y{at(dims)}"
    text += f"; first: s64; first{at(dims)} = min{over} where({hit}, {number}, {prod(found.taps)})"
    spots = [
        f"({stride}*{dim} - {before} + {dilation} * (first{at(dims)} // {step} % {count}))"
        for dim, stride, before, dilation, step, count in zip(
            dims[2:], found.strides, found.before, found.dilations, steps, found.taps
        )
    ]
    extents = list(shape[2:])
    if node.attribute("storage_order", 0):
        spots, extents = spots[::-1], extents[::-1]
    flat = "0"
    for spot, extent in zip(spots, extents):
        flat = f"({flat}) * {extent} + {spot}"
    text += f"; z{at(dims)} = ({dims[0]} * {shape[1]} + {dims[1]}) * {prod(shape[2:])} + {flat}"
    dtypes = (node.dtype(), "s64")
    return Text(text, {"x": 0}, _extents(found, dims, shape), dtypes, outputs=("y", "z"))


def _average_pool(node: Node) -> Made:
    shape = node.shape()
    found = windows(node, tuple(node.attribute("kernel_shape")), shape[2:])
    dims = node.dims(len(shape))
    over = at(list(TAPS[: len(shape) - 2]))
    places = _places(found, dims[2:])
    text = f"a{at(dims)} = sum{over} x{at([*dims[:2], *places])} else 0; "
    # Padding counts as asked, but never what lies beyond it: windows may reach there where their number is rounded up.
    counted = node.attribute("count_include_pad", 0)
    ends = [e + (b + a if counted else 0) for e, a, b in zip(shape[2:], found.after, found.before)]
    starts = [0] * len(ends) if not counted else [-b for b in found.before]
    counts = [set(_counts(found, axis, start, start + end)) for axis, (start, end) in enumerate(zip(starts, ends))]
    if all(len(several) == 1 for several in counts):
        text += f"y{at(dims)} = a{at(dims)} / {prod(several.pop() for several in counts)}"
        return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))
    inside = [f"{place} >= {start} and {place} < {start + end}" for place, start, end in zip(places, starts, ends)]
    spatial = at(dims[2:])
    text += f"o{spatial} = sum{over} {' and '.join(inside)}; y{at(dims)} = a{at(dims)} / o{spatial}"
    return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))


def _counts(found: Windows, axis: int, start: int, stop: int) -> Iterator[int]:
    """How many taps of each window along an axis lie at a point from start on and below stop."""
    for output in range(found.outputs[axis]):
        first = found.strides[axis] * output - found.before[axis]
        yield sum(start <= first + found.dilations[axis] * tap < stop for tap in range(found.taps[axis]))


def _norm(node: Node, here: str, over: str, element: str) -> str:
    """The statements of the p-norm of elements."""
    p = node.attribute("p", 2)
    if p < 1:
        raise node.refuse(f"p={p} is no norm: it must be at least 1")
    last = {1: f"a{here}", 2: f"sqrt(a{here})"}.get(p, f"pow(a{here}, {1 / p!r})")
    each = {1: f"abs({element})", 2: f"{element} * {element}"}.get(p, f"pow(abs({element}), {float(p)!r})")
    return f"a{here} = sum{over} {each}; y{here} = {last}"


def _lp_pool(node: Node) -> Made:
    shape = node.shape()
    found = windows(node, tuple(node.attribute("kernel_shape")), shape[2:])
    dims = node.dims(len(shape))
    tap = f"(x{at([*dims[:2], *_places(found, dims[2:])])} else 0)"
    text = _norm(node, at(dims), at(list(TAPS[: len(shape) - 2])), tap)
    return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))


def _global_lp_pool(node: Node) -> Made:
    shape = node.shape()
    dims = node.dims(len(shape))
    text = _norm(node, at(dims[:2]), at(dims[2:]), f"x{at(dims)}")
    return Text(text, {"x": 0}, {}, (node.dtype(),), ((*shape[:2], *(1,) * (len(shape) - 2)),))


def _global(kind: str) -> Callable[[Node], Made]:
    def made(node: Node) -> Made:
        shape = node.shape()
        dims = node.dims(len(shape))
        text = f"y{at(dims[:2])} = {kind}{at(dims[2:])} x{at(dims)}"
        return Text(text, {"x": 0}, {}, (node.dtype(),), ((*shape[:2], *(1,) * (len(shape) - 2)),))

    return made


IMAGES: dict[str, Callable[[Node], Made]] = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "LpPool": _lp_pool,
    "GlobalAveragePool": _global("mean"),
    "GlobalMaxPool": _global("max"),
    "GlobalLpPool": _global_lp_pool,
}
