"""Operators that others of the standard compute faster: what is a product in them gets a product's kernel.

ConvTranspose whose windows do not meet  ->  Conv 1 x 1 of channels times taps, then DepthToSpace
"""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from graph.model.node import Node

# DepthToSpace has a mode, and Reshape an input, from here on.
_VERSION = 13


def rewritten(node: Node) -> onnx.FunctionProto | None:
    """The nodes that compute an operator faster than its own program; None where that is the best."""
    return _disjoint_windows(node) if node.op == "ConvTranspose" else None


def _disjoint_windows(node: Node) -> onnx.FunctionProto | None:
    """Each output of such a transposed convolution is one tap's product of one pixel: no sum over taps is left."""
    x, w = node.shape(0), node.shape(1)
    size = w[-1]
    plain = (
        len(x) == 4
        and node.dtype() == "f32"
        and w[0] == x[1]
        and node.attribute("group", 1) == 1
        and size > 1
        and (*w[2:], *node.attribute("strides", (1, 1))) == (size,) * 4
        and set(node.attribute("dilations", (1, 1))) == {1}
        and not any((*node.attribute("pads", ()), *node.attribute("output_padding", ())))
        and node.attribute("output_shape") is None
    )
    if not plain:
        return None
    channels, each, taps = w[0], w[1], size * size
    nodes = [
        _whole("flat", [channels, each * taps]),
        helper.make_node("Reshape", ["w", "flat"], ["rows"]),
        helper.make_node("Transpose", ["rows"], ["columns"], perm=[1, 0]),
        _whole("points", [each * taps, channels, 1, 1]),
        helper.make_node("Reshape", ["columns", "points"], ["f"]),
    ]
    if node.has(2):
        nodes += [
            _whole("line", [each, 1]),
            helper.make_node("Reshape", ["b", "line"], ["of_each"]),
            _whole("repeated", [each, taps]),
            helper.make_node("Expand", ["of_each", "repeated"], ["of_taps"]),
            _whole("all", [each * taps]),
            helper.make_node("Reshape", ["of_taps", "all"], ["added"]),
        ]
    nodes += [
        helper.make_node("Conv", ["x", "f", *["added"] * node.has(2)], ["deep"], kernel_shape=[1, 1]),
        helper.make_node("DepthToSpace", ["deep"], ["y"], blocksize=size, mode="CRD"),
    ]
    inputs = ["x", "w", *["b"] * node.has(2)]
    return helper.make_function("", node.op, inputs, ["y"], nodes, [helper.make_opsetid("", _VERSION)])


def _whole(name: str, numbers: list[int]) -> onnx.NodeProto:
    """A constant of whole numbers."""
    value = helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers)
    return helper.make_node("Constant", [], [name], value=value)
