"""The windows of pooling and convolutions, and of transposed ones, along the spatial axes of an image."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from graph.model.node import Node, Shape

TAPS = "rsv"  # the dims of a window
_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_EACH = "whole numbers of at least {}, one for each spatial axis of x"


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
    if axes > len(TAPS):
        raise node.refuse(f"images of {axes} axes are more than the {len(TAPS)} that are supported")
    _check_taps(node, taps, axes)
    strides, dilations, before, after = _steps(node, axes)
    reach = [(tap - 1) * dilation + 1 for tap, dilation in zip(taps, dilations)]
    auto = _auto_pad(node)
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


def transposed_windows(node: Node, taps: Shape, spatial: Shape) -> Windows:
    """The windows of a transposed convolution: point i of x reaches the outputs strides*i + dilations*tap - before."""
    axes = len(spatial)
    _check_taps(node, taps, axes)
    strides, dilations, before, after = _steps(node, axes)
    extra = along(node, "output_padding", (0,) * axes, 0)
    full = [s * (e - 1) + o + (t - 1) * d + 1 for e, s, o, t, d in zip(spatial, strides, extra, taps, dilations)]
    wanted, auto = node.attribute("output_shape"), _auto_pad(node)
    if wanted is None and auto.startswith("SAME"):
        wanted = [extent * stride for extent, stride in zip(spatial, strides)]
    if wanted is None:
        outputs = tuple(length - low - high for length, low, high in zip(full, before, after))
        if min(outputs) < 1:
            raise node.refuse(f"pads={[*before, *after]} take away all of the {full} points that the windows reach")
        return Windows(taps, strides, dilations, before, after, outputs)
    outputs = tuple(wanted)[-axes:]
    if len(outputs) < axes or min(outputs) < 1:
        raise node.refuse(f"output_shape={list(wanted)} must be {_EACH.format(1)} ({axes})")
    total = [max(0, length - out) for length, out in zip(full, outputs)]
    smaller, larger = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    before, after = (smaller, larger) if auto == "SAME_UPPER" else (larger, smaller)
    return Windows(taps, strides, dilations, before, after, outputs)


def along(node: Node, name: str, default: Shape, least: int | None = None) -> Shape:
    """An attribute that has as many whole numbers as its default. Refuses others, and numbers below the least."""
    found = tuple(node.attribute(name, default))
    if len(found) != len(default) or (least is not None and min(found) < least):
        each = _EACH.format(least) if least is not None else "whole numbers, two for each spatial axis of x"
        raise node.refuse(f"{name}={list(found)} must be {each} ({len(default)})")
    return found


def groups_of(node: Node) -> int:
    """How many groups a convolution has."""
    group = node.attribute("group", 1)
    if group < 1:
        raise node.refuse(f"group={group} must be at least 1")
    return int(group)


def _steps(node: Node, axes: int) -> tuple[Shape, Shape, Shape, Shape]:
    """Strides, dilations, and the padding before and after. Negative padding leaves out points of x."""
    ones = (1,) * axes
    pads = along(node, "pads", (0,) * (2 * axes))
    return along(node, "strides", ones, 1), along(node, "dilations", ones, 1), pads[:axes], pads[axes:]


def _auto_pad(node: Node) -> str:
    found = node.attribute("auto_pad", b"NOTSET").decode(errors="replace")
    if found not in _AUTO_PADS:
        raise node.refuse(f"auto_pad={found} is not supported; there are {', '.join(_AUTO_PADS)}")
    return str(found)


def _check_taps(node: Node, taps: Shape, axes: int) -> None:
    """Refuses windows that do not fit x, and a `kernel_shape` that is not the shape of the weights."""
    given = node.attribute("kernel_shape")
    if given is not None and tuple(given) != tuple(taps):
        raise node.refuse(f"kernel_shape={list(given)}, and the weights have {' x '.join(map(str, taps))} taps")
    if len(taps) != axes or min(taps, default=1) < 1:
        raise node.refuse(f"windows of {list(taps)} taps must be {_EACH.format(1)} ({axes})")
