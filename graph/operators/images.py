"""Pooling of images of any number of axes, channels first, as ONNX has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, prod

from graph.model.node import Made, Node, Shape, Text, at

_TAPS = "rsv"  # the dims of a window


@dataclass(frozen=True)
class Windows:
    """Windows along the spatial axes: one entry for each axis. outputs: how many there are."""

    taps: Shape
    strides: Shape
    dilations: Shape
    before: Shape
    after: Shape
    outputs: Shape


def windows(node: Node, taps: Shape, spatial: Shape) -> Windows:
    """The windows that a node's strides, dilations and padding make over the spatial axes."""
    axes = len(spatial)
    if axes > len(_TAPS):
        raise node.refuse(f"images of {axes} axes are more than the {len(_TAPS)} that are supported")
    strides = tuple(node.attribute("strides", (1,) * axes))
    dilations = tuple(node.attribute("dilations", (1,) * axes))
    pads = tuple(node.attribute("pads", (0,) * (2 * axes)))
    before, after = pads[:axes], pads[axes:]
    reach = [(tap - 1) * dilation + 1 for tap, dilation in zip(taps, dilations)]
    auto = node.attribute("auto_pad", b"NOTSET").decode()
    if auto.startswith("SAME"):
        outputs = tuple(ceil(extent / stride) for extent, stride in zip(spatial, strides))
        total = [max(0, (o - 1) * s + w - e) for o, s, w, e in zip(outputs, strides, reach, spatial)]
        smaller, larger = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
        before, after = (smaller, larger) if auto == "SAME_UPPER" else (larger, smaller)
        return Windows(taps, strides, dilations, before, after, outputs)
    if auto == "VALID":
        before = after = (0,) * axes
    rounded = ceil if node.attribute("ceil_mode", 0) else floor
    outputs = tuple(rounded((e + b + a - w) / s) + 1 for e, b, a, w, s in zip(spatial, before, after, reach, strides))
    if node.attribute("ceil_mode", 0):  # the last window begins inside the image or its padding before it
        outputs = tuple(o - ((o - 1) * s >= e + b) for o, s, e, b in zip(outputs, strides, spatial, before))
    if min(outputs) < 1:
        raise node.refuse(f"the window reaches over {reach} points, and the padded image has fewer")
    return Windows(taps, strides, dilations, before, after, outputs)


def _places(found: Windows, dims: list[str]) -> list[str]:
    """Where each tap of a window lies."""
    return [
        f"{stride}*{dim} + {dilation}*{tap} - {before}"
        for dim, tap, stride, dilation, before in zip(dims, _TAPS, found.strides, found.dilations, found.before)
    ]


def _extents(found: Windows, dims: list[str], shape: Shape) -> dict[str, int]:
    return dict(zip(dims, (*shape[:2], *found.outputs))) | dict(zip(_TAPS, found.taps))


def _max_pool(node: Node) -> Made:
    shape = node.shape()
    found = windows(node, tuple(node.attribute("kernel_shape")), shape[2:])
    dims = node.dims(len(shape))
    over = at(list(_TAPS[: len(shape) - 2]))
    lowest = {"u8": "0", "s8": "-128"}.get(node.dtype(), "-inf")
    places = _places(found, dims[2:])
    text = f"y{at(dims)} = max{over} x{at([*dims[:2], *places])} else {lowest}"
    if len(node.outputs) < 2 or not node.outputs[1]:
        return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))
    # The first tap that holds the largest number, and where it lies among all numbers of x.
    inside = [f"{place} >= 0 and {place} < {extent}" for place, extent in zip(places, shape[2:])]
    steps = [prod(found.taps[axis + 1 :]) for axis in range(len(found.taps))]
    number = " + ".join(f"{step}*{tap}" for step, tap in zip(steps, _TAPS))
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
    over = at(list(_TAPS[: len(shape) - 2]))
    places = _places(found, dims[2:])
    text = f"s{at(dims)} = sum{over} x{at([*dims[:2], *places])} else 0; ".replace(f"s{at(dims)}", f"a{at(dims)}")
    # Padding counts as asked, but never what lies beyond it: windows may reach there where their number is rounded up.
    counted = node.attribute("count_include_pad", 0)
    ends = [e + (b + a if counted else 0) for e, a, b in zip(shape[2:], found.after, found.before)]
    starts = [0] * len(ends) if not counted else [-b for b in found.before]
    inside = [f"{place} >= {start} and {place} < {start + end}" for place, start, end in zip(places, starts, ends)]
    spatial = at(dims[2:])
    text += f"o{spatial} = sum{over} {' and '.join(inside)}; y{at(dims)} = a{at(dims)} / o{spatial}"
    return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))


def _lp_pool(node: Node) -> Made:
    shape, p = node.shape(), node.attribute("p", 2)
    found = windows(node, tuple(node.attribute("kernel_shape")), shape[2:])
    dims = node.dims(len(shape))
    tap = f"(x{at([*dims[:2], *_places(found, dims[2:])])} else 0)"
    over = at(list(_TAPS[: len(shape) - 2]))
    last = {1: f"a{at(dims)}", 2: f"sqrt(a{at(dims)})"}.get(p, f"pow(a{at(dims)}, {1 / p!r})")
    each = {1: f"abs({tap})", 2: f"{tap} * {tap}"}.get(p, f"pow(abs({tap}), {float(p)!r})")
    text = f"a{at(dims)} = sum{over} {each}; y{at(dims)} = {last}"
    return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))


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
}
