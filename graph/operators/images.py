"""Pooling and resizing of images of any number of axes, channels first, as ONNX has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

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
    if len(node.outputs) > 1 and node.outputs[1]:
        raise node.refuse("the positions of the maxima are not supported")
    shape = node.shape()
    found = windows(node, tuple(node.attribute("kernel_shape")), shape[2:])
    dims = node.dims(len(shape))
    over = at(list(_TAPS[: len(shape) - 2]))
    lowest = {"u8": "0", "s8": "-128"}.get(node.dtype(), "-inf")
    text = f"y{at(dims)} = max{over} x{at([*dims[:2], *_places(found, dims[2:])])} else {lowest}"
    return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))


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
    if p not in (1, 2):
        raise node.refuse(f"p={p} is not supported, 1 and 2 are")
    last = f"a{at(dims)}" if p == 1 else f"sqrt(a{at(dims)})"
    text = f"a{at(dims)} = sum{over} {f'abs({tap})' if p == 1 else f'{tap} * {tap}'}; y{at(dims)} = {last}"
    return Text(text, {"x": 0}, _extents(found, dims, shape), (node.dtype(),))


def _global(kind: str) -> Callable[[Node], Made]:
    def made(node: Node) -> Made:
        shape = node.shape()
        dims = node.dims(len(shape))
        text = f"y{at(dims[:2])} = {kind}{at(dims[2:])} x{at(dims)}"
        return Text(text, {"x": 0}, {}, (node.dtype(),), ((*shape[:2], *(1,) * (len(shape) - 2)),))

    return made


def _resize(node: Node) -> Made:
    """Nearest and linear, each axis by itself: the first statement resizes the first axis that changes, and so on."""
    shape = node.shape()
    axes = [node.axis(axis, len(shape)) for axis in node.attribute("axes", range(len(shape)))]
    sizes_at, scales_at = (3, 2) if node.op == "Resize" and node.version >= 11 else (9, 1)
    if node.attribute("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise node.refuse("keep_aspect_ratio_policy other than stretch is not supported")
    out, scales = list(shape), [1.0] * len(shape)
    if node.has(sizes_at) and node.known[sizes_at] is not None and node.array(sizes_at).shape != (0,):
        for axis, size in zip(axes, node.whole(sizes_at, "the sizes")):
            out[axis], scales[axis] = size, size / shape[axis]
    else:
        given = node.attribute("scales")
        if node.has(scales_at):
            given = node.constant(scales_at, "the scales").ravel().tolist()
        if given is None:
            raise node.refuse("scales or sizes are missing")
        for axis, scale in zip(axes, given):
            out[axis], scales[axis] = floor(shape[axis] * scale), float(scale)
    mode = node.attribute("mode", b"nearest").decode()
    where = node.attribute("coordinate_transformation_mode", b"half_pixel").decode()
    if node.op == "Upsample" or node.version < 11:
        where = "asymmetric"
    dims, text, source = node.dims(len(shape)), [], "x"
    extents = dict(zip(dims, shape))
    changed = [axis for axis in range(len(shape)) if out[axis] != shape[axis] or scales[axis] != 1]
    made = {}
    for number, axis in enumerate(changed):
        # Where a point lies is a fraction of numbers that are known: tables of positions and weights.
        places, weights = _taps(node, mode, where, shape[axis], out[axis], scales[axis])
        mine = f"o{axis}"
        result = "y" if number == len(changed) - 1 else f"a{axis}"
        read = [
            [f"t{axis}_{tap}[{mine}]" if a == axis else dim for a, dim in enumerate(dims)] for tap in range(len(places))
        ]
        terms = [
            (f"f{axis}_{tap}[{mine}] * " if len(places) > 1 else "") + f"{source}{at(index)}"
            for tap, index in enumerate(read)
        ]
        dims[axis] = mine
        extents[mine] = out[axis]
        text.append(f"{result}{at(dims)} = {' + '.join(terms)}")
        for tap, (place, weight) in enumerate(zip(places, weights)):
            made[f"t{axis}_{tap}"] = place
            if len(places) > 1:
                made[f"f{axis}_{tap}"] = weight
        source = result
    if not changed:
        text.append(f"y{at(dims)} = x{at(dims)}")
    used = {
        dim: extent
        for dim, extent in extents.items()
        if any(dim in part.replace("[", ",").replace("]", ",").split(",") for part in text)
    }
    return Text("; ".join(text), {"x": 0}, used, (node.dtype(),), made=made)


def _taps(
    node: Node, mode: str, where: str, extent: int, out: int, scale: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each tap along an axis: the positions that the outputs read, and their weights."""
    i, length = np.arange(out, dtype=np.float64), extent * scale  # the standard does not round this length
    places = {
        "half_pixel": lambda: (i + 0.5) / scale - 0.5,
        "half_pixel_symmetric": lambda: extent / 2 * (1 - out / (scale * extent)) + (i + 0.5) / scale - 0.5,
        "pytorch_half_pixel": lambda: (i + 0.5) / scale - 0.5 if out > 1 else i * 0,
        "asymmetric": lambda: i / scale,
        "align_corners": lambda: i * (extent - 1) / (length - 1) if length != 1 else i * 0,
    }
    if where not in places:
        raise node.refuse(f"coordinate_transformation_mode {where} is not supported")
    if node.attribute("antialias", 0) and scale < 1:
        raise node.refuse("antialias is not supported")
    at_ = places[where]()
    if mode == "nearest":
        rounding = node.attribute("nearest_mode", b"round_prefer_floor").decode()
        if node.op == "Upsample" or node.version < 11:
            rounding = "floor"
        rounded = {
            "round_prefer_floor": lambda: np.ceil(at_ - 0.5),
            "round_prefer_ceil": lambda: np.floor(at_ + 0.5),
            "floor": lambda: np.floor(at_),
            "ceil": lambda: np.ceil(at_),
        }[rounding]()
        return [np.clip(rounded, 0, extent - 1).astype(np.int64)], [np.ones(out, np.float32)]
    if mode in ("linear", "bilinear", "trilinear"):
        at_ = np.clip(at_, 0, extent - 1)
        below = np.floor(at_)
        part = at_ - below
        taps = [(below, 1 - part), (below + 1, part)]
    elif mode == "cubic":
        a = node.attribute("cubic_coeff_a", -0.75)
        below = np.floor(at_)
        f = at_ - below
        weights = [
            ((a * (f + 1) - 5 * a) * (f + 1) + 8 * a) * (f + 1) - 4 * a,
            ((a + 2) * f - (a + 3)) * f * f + 1,
            ((a + 2) * (1 - f) - (a + 3)) * (1 - f) * (1 - f) + 1,
            ((a * (2 - f) - 5 * a) * (2 - f) + 8 * a) * (2 - f) - 4 * a,
        ]
        taps = [(below + tap - 1, weight) for tap, weight in enumerate(weights)]
        if node.attribute("exclude_outside", 0):
            inside = [(place >= 0) & (place < extent) for place, _ in taps]
            total = sum(weight * here for (_, weight), here in zip(taps, inside))
            taps = [(place, weight * here / total) for (place, weight), here in zip(taps, inside)]
    else:
        raise node.refuse(f"mode {mode} is not supported")
    positions = [np.clip(place, 0, extent - 1).astype(np.int64) for place, _ in taps]
    return positions, [np.asarray(weight, np.float32) for _, weight in taps]


IMAGES: dict[str, Callable[[Node], Made]] = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "LpPool": _lp_pool,
    "GlobalAveragePool": _global("mean"),
    "GlobalMaxPool": _global("max"),
    "Resize": _resize,
    "Upsample": _resize,
}
