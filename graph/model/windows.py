"""The windows of pooling and convolutions, and of transposed ones, along the spatial axes of an image."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from graph.model.node import Node, Shape

TAPS = "rsv"  # the dims of a window


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
    _check_taps(node, taps)
    axes = len(spatial)
    if axes > len(TAPS):
        raise node.refuse(f"images of {axes} axes are more than the {len(TAPS)} that are supported")
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


def transposed_windows(node: Node, taps: Shape, spatial: Shape) -> Windows:
    """Those of a transposed convolution: point i of x reaches the outputs strides*i + dilations*tap - before."""
    _check_taps(node, taps)
    axes = len(spatial)
    strides = tuple(node.attribute("strides", (1,) * axes))
    dilations = tuple(node.attribute("dilations", (1,) * axes))
    extra = tuple(node.attribute("output_padding", (0,) * axes))
    pads = tuple(node.attribute("pads", (0,) * (2 * axes)))
    full = [s * (e - 1) + o + (t - 1) * d + 1 for e, s, o, t, d in zip(spatial, strides, extra, taps, dilations)]
    before, after = pads[:axes], pads[axes:]
    wanted, auto = node.attribute("output_shape"), node.attribute("auto_pad", b"NOTSET").decode()
    if wanted is None and auto.startswith("SAME"):
        wanted = [extent * stride for extent, stride in zip(spatial, strides)]
    if wanted is None:
        outputs = tuple(length - low - high for length, low, high in zip(full, before, after))
        return Windows(taps, strides, dilations, before, after, outputs)
    outputs = tuple(wanted)[-axes:]
    total = [max(0, length - out) for length, out in zip(full, outputs)]
    smaller, larger = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    before, after = (smaller, larger) if auto == "SAME_UPPER" else (larger, smaller)
    return Windows(taps, strides, dilations, before, after, outputs)


def _check_taps(node: Node, taps: Shape) -> None:
    """Refuses a `kernel_shape` that is not the shape of the weights: one of the two is a mistake."""
    given = node.attribute("kernel_shape")
    if given is not None and tuple(given) != tuple(taps):
        raise node.refuse(f"kernel_shape={list(given)}, and the weights have {' x '.join(map(str, taps))} taps")
