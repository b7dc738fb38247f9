"""Rewrites operators into faster ones of the standard, so that their products get the kernels of products.

ConvTranspose  ->  Conv for each phase of its strides, and the phases in turns
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import onnx
from onnx import TensorProto, helper

from graph.model.node import Node
from graph.model.windows import Windows, groups_of, transposed_windows

# DepthToSpace has a mode, and Slice and Reshape have inputs, from here on.
_VERSION = 13
# Where phases have different numbers of taps, each is a convolution of its own. The most phases, and so kernels.
_MOST_APART = 16
_BEYOND = 1 << 31  # any extent


def rewritten(node: Node) -> onnx.FunctionProto | None:
    """The nodes that compute an operator faster than its own program; None where the program is fastest."""
    return _phases(node) if node.op == "ConvTranspose" else None


# Along an axis of stride s, point i of x reaches the outputs s*i + t - before through the taps t. Outputs that lie s
# apart are one phase p: output s*u + p - before sums x[u - j] * w[s*j + p] over j, which is a convolution with every
# s-th tap, from the last one to the first.
@dataclass(frozen=True)
class _Axis:
    """An axis of an image. taps: how many each phase has. first, count: the values of u that have outputs. skipped: how
    many outputs of the first u do not exist. points: how many x has.
    """

    stride: int
    dilation: int
    taps: tuple[int, ...]
    first: int
    count: int
    skipped: int
    outputs: int
    points: int

    def padding(self, phase: int) -> tuple[int, int]:
        """Zeros before and after x; negative where the first or last points of x reach no output of the phase."""
        before = self.dilation * (self.taps[phase] - 1) - self.first
        return before, self.first + self.count - self.points


def _axis(found: Windows, place: int, points: int) -> _Axis | None:
    """The axis; None where a phase has no taps, or where dilated taps spread over more than one phase."""
    stride, dilation, taps = found.strides[place], found.dilations[place], found.taps[place]
    before, outputs = found.before[place], found.outputs[place]
    if (dilation > 1 and stride > 1) or taps < stride or outputs < 1 or before < 0:
        return None
    last = (before + outputs - 1) // stride
    each = tuple(-(-(taps - phase) // stride) for phase in range(stride))
    first = before // stride
    return _Axis(stride, dilation, each, first, last + 1 - first, before % stride, outputs, points)


def _phases(node: Node) -> onnx.FunctionProto | None:
    """A transposed convolution by phases, so that no zeros between the points of x are multiplied."""
    x, w, group = node.shape(0), node.shape(1), groups_of(node)
    if (
        node.dtype() != "f32"
        or len(x) not in (3, 4)
        or len(w) != len(x)
        or w[0] != x[1]
        or x[1] % group
        or 0 in (*x, *w)
        or (node.has(2) and node.shape(2) != (group * w[1],))
    ):
        return None
    found = transposed_windows(node, w[2:], x[2:])
    axes = [axis for place, points in enumerate(x[2:]) if (axis := _axis(found, place, points))]
    if len(axes) < len(x) - 2:
        return None
    phases = list(product(*(range(axis.stride) for axis in axes)))
    alike = all(len(set(axis.taps)) == 1 for axis in axes)
    if not alike and len(phases) > _MOST_APART:
        return None
    if any(min(axis.padding(phase)) < 0 for at in phases for axis, phase in zip(axes, at)):
        return None
    mine, outputs = w[0] // group, group * w[1]
    nodes, filters = [], [f"f{number}" for number in range(len(phases))]
    for f, at in zip(filters, phases):
        nodes += _filter(f, axes, at, (group, mine, w[1]))
    if alike:
        nodes += _together(axes, filters, (outputs, mine), group, node.has(2))
        order = "CRD"
    else:
        nodes += [_conv(f, f"of_{f}", axes, at, group, ["b"] * node.has(2)) for f, at in zip(filters, phases)]
        nodes.append(helper.make_node("Concat", [f"of_{f}" for f in filters], ["deep"], axis=1))
        order = "DCR"
    nodes += _in_turns(axes, x[0], outputs, order)
    nodes[-1].output[0] = "y"
    inputs = ["x", "w", *["b"] * node.has(2)]
    return helper.make_function("", node.op, inputs, ["y"], nodes, [helper.make_opsetid("", _VERSION)])


def _filter(name: str, axes: Sequence[_Axis], at: Sequence[int], channels: Sequence[int]) -> list[onnx.NodeProto]:
    """The taps of a phase, the last one first: [outputs of all groups, channels of a group, taps …].

    channels: the groups, the channels of x in each, and the outputs of each.
    """
    group, mine, each = channels
    counts, spatial = [axis.taps[phase] for axis, phase in zip(axes, at)], range(len(axes))
    starts = [phase + axis.stride * (count - 1) for axis, phase, count in zip(axes, at, counts)]
    stops, steps = [-_BEYOND] * len(axes), [-axis.stride for axis in axes]
    names = [f"{name}_{what}" for what in ("start", "stop", "axis", "step", "apart", "whole")]
    numbers = (starts, stops, [2 + axis for axis in spatial], steps, [group, mine, each, *counts])
    return [
        *map(_whole, names, (*numbers, [group * each, mine, *counts])),
        helper.make_node("Slice", ["w", *names[:4]], [f"{name}_taps"]),
        helper.make_node("Reshape", [f"{name}_taps", names[4]], [f"{name}_groups"]),
        helper.make_node(
            "Transpose", [f"{name}_groups"], [f"{name}_transposed"], perm=[0, 2, 1, *(3 + axis for axis in spatial)]
        ),
        helper.make_node("Reshape", [f"{name}_transposed", names[5]], [name]),
    ]


def _conv(f: str, y: str, axes: Sequence[_Axis], at: Sequence[int], group: int, bias: Sequence[str]) -> onnx.NodeProto:
    """The convolution of x by a filter as of this phase."""
    paddings = [axis.padding(phase) for axis, phase in zip(axes, at)]
    return helper.make_node(
        "Conv",
        ["x", f, *bias],
        [y],
        kernel_shape=[axis.taps[phase] for axis, phase in zip(axes, at)],
        dilations=[axis.dilation for axis in axes],
        pads=[*(before for before, _ in paddings), *(after for _, after in paddings)],
        group=group,
    )


def _together(
    axes: Sequence[_Axis], filters: Sequence[str], channels: tuple[int, int], group: int, bias: bool
) -> list[onnx.NodeProto]:
    """One convolution of all phases, where they have equally many taps. An output's phases are neighbours in `deep`."""
    outputs, mine = channels
    count = len(filters)
    nodes = [
        helper.make_node("Concat", list(filters), ["beside"], axis=1),
        _whole("all_taps", [outputs * count, mine, *(axis.taps[0] for axis in axes)]),
        helper.make_node("Reshape", ["beside", "all_taps"], ["f"]),
    ]
    if bias:
        nodes += [
            _whole("line", [outputs, 1]),
            helper.make_node("Reshape", ["b", "line"], ["of_each"]),
            _whole("repeated", [outputs, count]),
            helper.make_node("Expand", ["of_each", "repeated"], ["of_phases"]),
            _whole("all_added", [outputs * count]),
            helper.make_node("Reshape", ["of_phases", "all_added"], ["added"]),
        ]
    return [*nodes, _conv("f", "deep", axes, (0,) * len(axes), group, ["added"] * bias)]


def _in_turns(axes: Sequence[_Axis], images: int, outputs: int, order: str) -> list[onnx.NodeProto]:
    """The outputs of all phases interleaved, cut to the wanted ones.

    order: how `deep` orders its channels, in DepthToSpace's words. "DCR": phases, then outputs. "CRD": outputs, then
    phases.
    """
    strides, counts = [axis.stride for axis in axes], [axis.count for axis in axes]
    nodes: list[onnx.NodeProto] = []
    if len(axes) == 2 and len(set(strides)) == 1:
        if strides[0] > 1:
            nodes.append(helper.make_node("DepthToSpace", ["deep"], ["turns"], blocksize=strides[0], mode=order))
    else:
        depth = [outputs, *strides] if order == "CRD" else [*strides, outputs]
        channel = 1 if order == "CRD" else 1 + len(axes)
        phase = 2 if order == "CRD" else 1
        pairs = [place for axis in range(len(axes)) for place in (2 + len(axes) + axis, phase + axis)]
        nodes += [
            _whole("by_phases", [images, *depth, *counts]),
            helper.make_node("Reshape", ["deep", "by_phases"], ["phases"]),
            helper.make_node("Transpose", ["phases"], ["points"], perm=[0, channel, *pairs]),
            _whole("in_turns", [images, outputs, *(stride * count for stride, count in zip(strides, counts))]),
            helper.make_node("Reshape", ["points", "in_turns"], ["turns"]),
        ]
    if any((axis.skipped, axis.outputs) != (0, axis.stride * axis.count) for axis in axes):
        nodes += [
            _whole("first", [axis.skipped for axis in axes]),
            _whole("last", [axis.skipped + axis.outputs for axis in axes]),
            _whole("spatial", list(range(2, 2 + len(axes)))),
            helper.make_node("Slice", [nodes[-1].output[0], "first", "last", "spatial"], ["wanted"]),
        ]
    return nodes


def _whole(name: str, numbers: Sequence[int]) -> onnx.NodeProto:
    """A constant of whole numbers."""
    value = helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers)
    return helper.make_node("Constant", [], [name], value=value)
