"""Resizing: each axis by itself, by tables of the positions that outputs read, and of their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor

import numpy as np

from graph.model.node import Made, Node, Shape, Text, at

_MOST_TERMS = 4  # taps that are written out; more are a sum


@dataclass(frozen=True)
class _Size:
    """The wanted sizes: for each axis its new length, its factor, and the part of it that is taken."""

    outs: Shape
    scales: tuple[float, ...]
    parts: tuple[tuple[float, float], ...]


def _wanted(node: Node) -> _Size:
    shape = node.shape()
    axes = [node.axis(axis, len(shape)) for axis in node.attribute("axes", range(len(shape)))]
    sizes_at, scales_at = (3, 2) if node.op == "Resize" and node.version >= 11 else (9, 1)
    outs, scales, parts = list(shape), [1.0] * len(shape), [(0.0, 1.0)] * len(shape)
    if node.has(sizes_at) and node.array(sizes_at).shape != (0,):
        sizes = node.whole(sizes_at, "the sizes")
        policy = node.attribute("keep_aspect_ratio_policy", b"stretch")
        if policy != b"stretch":
            choose = min if policy == b"not_larger" else max
            scale = choose(size / shape[axis] for axis, size in zip(axes, sizes))
            sizes = tuple(floor(scale * shape[axis] + 0.5) for axis in axes)
        for axis, size in zip(axes, sizes):
            outs[axis], scales[axis] = size, size / shape[axis] if policy == b"stretch" else scale
    else:
        given = node.attribute("scales")
        if node.has(scales_at):
            given = node.constant(scales_at, "the scales").ravel().tolist()
        if given is None:
            raise node.refuse("scales or sizes are missing")
        for axis, scale in zip(axes, given):
            outs[axis], scales[axis] = floor(shape[axis] * scale), float(scale)
    if _coordinates(node) == "tf_crop_and_resize":
        roi = [float(number) for number in node.constant(1, "the region").ravel()]
        for number, axis in enumerate(axes):
            parts[axis] = roi[number], roi[number + len(axes)]
    return _Size(tuple(outs), tuple(scales), tuple(parts))


def _coordinates(node: Node) -> str:
    if node.op == "Upsample" or node.version < 11:
        return "asymmetric"
    found: str = node.attribute("coordinate_transformation_mode", b"half_pixel").decode()
    return found


def _resize(node: Node) -> Made:
    """The first statement resizes the first axis that changes, and so on."""
    shape, wanted = node.shape(), _wanted(node)
    crops = _coordinates(node) == "tf_crop_and_resize"
    beyond = node.attribute("extrapolation_value", 0.0)
    dims, text, source = node.dims(len(shape)), [], "x"
    extents, made = dict(zip(dims, shape)), {}
    changed = [
        axis
        for axis in range(len(shape))
        if wanted.outs[axis] != shape[axis] or wanted.scales[axis] != 1 or wanted.parts[axis] != (0, 1)
    ]
    for number, axis in enumerate(changed):
        place = _places(node, shape[axis], wanted.outs[axis], wanted.scales[axis], wanted.parts[axis])
        positions, weights = _taps(node, place, shape[axis], wanted.scales[axis])
        taps, mine = len(positions), f"o{axis}"
        result = "y" if number == len(changed) - 1 else f"a{axis}"
        made[f"t{axis}"] = positions
        if taps > 1:
            made[f"f{axis}"] = weights
        index = at([f"t{axis}[#,{mine}]" if a == axis else dim for a, dim in enumerate(dims)])
        term = f"f{axis}[#,{mine}] * {source}{index}" if taps > 1 else f"{source}{index}"
        value = " + ".join(term.replace("#", str(tap)) for tap in range(taps))
        if taps > _MOST_TERMS:
            extents[f"tap{axis}"] = taps
            value = f"sum[tap{axis}] {term.replace('#', f'tap{axis}')}"
        dims[axis], extents[mine] = mine, wanted.outs[axis]
        if crops:
            made[f"in{axis}"] = (place >= 0) & (place <= shape[axis] - 1)
            name = f"c{axis}{at(dims)}"
            text.append(f"{name} = {value}")
            value = f"where(in{axis}[{mine}], {name}, {float(beyond)!r})"
        text.append(f"{result}{at(dims)} = {value}")
        source = result
    if not changed:
        text.append(f"y{at(dims)} = x{at(dims)}")
    return Text("; ".join(text), {"x": 0}, extents, (node.dtype(),), made=made)


def _places(node: Node, extent: int, out: int, scale: float, part: tuple[float, float]) -> np.ndarray:
    """Where each output lies between the numbers of an axis."""
    i, length = np.arange(out, dtype=np.float64), extent * scale  # the standard does not round this length
    begin, end = part
    places: dict[str, Callable[[], np.ndarray | float]] = {
        "half_pixel": lambda: (i + 0.5) / scale - 0.5,
        "half_pixel_symmetric": lambda: extent / 2 * (1 - out / (scale * extent)) + (i + 0.5) / scale - 0.5,
        "pytorch_half_pixel": lambda: (i + 0.5) / scale - 0.5 if out > 1 else i * 0,
        "asymmetric": lambda: i / scale,
        "align_corners": lambda: i * (extent - 1) / (length - 1) if length != 1 else i * 0,
        "tf_crop_and_resize": lambda: (
            begin * (extent - 1)
            + (i * (end - begin) * (extent - 1) / (length - 1) if length != 1 else (end - begin) * (extent - 1) / 2)
        ),
    }
    where = _coordinates(node)
    if where not in places:
        raise node.refuse(f"coordinate_transformation_mode {where} is not supported")
    return np.broadcast_to(np.asarray(places[where]()), (out,))


def _taps(node: Node, place: np.ndarray, extent: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """For each tap and each output: the position that is read, and its weight."""
    mode = node.attribute("mode", b"nearest").decode()
    if mode == "nearest":
        rounding = node.attribute("nearest_mode", b"round_prefer_floor").decode()
        if node.op == "Upsample" or node.version < 11:
            rounding = "floor"
        roundings: dict[str, Callable[[], np.ndarray]] = {
            "round_prefer_floor": lambda: np.ceil(place - 0.5),
            "round_prefer_ceil": lambda: np.floor(place + 0.5),
            "floor": lambda: np.floor(place),
            "ceil": lambda: np.ceil(place),
        }
        rounded = roundings[rounding]()
        return np.clip(rounded, 0, extent - 1).astype(np.int64)[None], np.ones((1, len(place)), np.float32)
    # An output between two numbers reads the numbers around it. An output on a number counts as to the right of the one
    # before.
    base = np.ceil(place) - 1
    part = place - base
    wide = (
        min(scale, 1.0) if node.attribute("antialias", 0) else 1.0
    )  # antialias widens the kernel where there are fewer
    if mode in ("linear", "bilinear", "trilinear"):
        first = floor(-1 / wide) + 1
        taps = np.arange(first, 2 - first)
        weights = np.clip(1 - np.abs((taps[:, None] - part) * wide), 0, 1)
    elif mode == "cubic":
        first = floor(-2 / wide) + 1
        taps = np.arange(first, 2 - first)
        weights = _cubic(np.abs((taps[:, None] - part) * wide), node.attribute("cubic_coeff_a", -0.75))
    else:
        raise node.refuse(f"mode {mode} is not supported")
    positions = base + taps[:, None]
    if node.attribute("exclude_outside", 0):
        weights = np.where((positions >= 0) & (positions < extent), weights, 0)
    if wide < 1 or node.attribute("exclude_outside", 0):
        weights = weights / weights.sum(0)
    return np.clip(positions, 0, extent - 1).astype(np.int64), weights.astype(np.float32)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic kernel: the weights of numbers at these distances."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


RESIZING: dict[str, Callable[[Node], Made]] = {"Resize": _resize, "Upsample": _resize}
