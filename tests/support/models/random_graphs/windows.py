"""Pooling, reductions, and positions of the largest and smallest."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from tests.support.models.random_graphs.drawing import Drawing, Impossible


def pool(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes in (3, 4)), d.random
    axes = x.axes - 2
    mean = pick.random() < 0.4
    kernel = [pick.choice((1, 2, 4) if mean else (1, 2, 3)) for _ in range(axes)]
    pads = [pick.randint(0, max(0, (k - 1) // 2)) for k in kernel] * 2
    strides = [pick.choice((1, 2)) for _ in range(axes)]
    outs = [
        (e + low + high - k) // s + 1 for e, low, high, k, s in zip(x.shape[2:], pads, pads[axes:], kernel, strides)
    ]
    if min(outs) < 1:
        raise Impossible
    attributes: dict[str, object] = {"kernel_shape": kernel, "pads": pads, "strides": strides}
    if mean:
        attributes["count_include_pad"] = 1
    halves = x.halves + (prod(kernel).bit_length() - 1 if mean else 0)
    op = "AveragePool" if mean else "MaxPool"
    d.node(op, [x.name], d.made((*x.shape[:2], *outs), x, halves=halves), **attributes)


def reduce(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axes = sorted(pick.sample(range(x.axes), pick.randint(1, x.axes)))
    points = prod(x.shape[axis] for axis in axes)
    op = pick.choice(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1"))
    keep = pick.randint(0, 1)
    shape = tuple(1 if a in axes else e for a, e in enumerate(x.shape) if keep or a not in axes)
    most, halves = x.most, x.halves
    if op in ("ReduceSum", "ReduceL1"):
        most *= points
    if op == "ReduceMean":
        if points & (points - 1) or points > 64:
            raise Impossible
        halves += points.bit_length() - 1
    made = d.made(shape, x, most=most, halves=halves)
    d.node(op, [x.name, d.constant(np.array(axes))], made, keepdims=keep)


def position(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axis = pick.randrange(x.axes)
    shape = tuple(1 if a == axis else e for a, e in enumerate(x.shape))
    found = d.made(shape, x, most=x.shape[axis], halves=0, dtype="s64")
    op = pick.choice(("ArgMax", "ArgMin"))
    d.node(op, [x.name], found, axis=axis, keepdims=1, select_last_index=pick.randint(0, 1))
    if pick.random() < 0.5:
        d.node("Cast", [found.name], d.made(shape, found, dtype="f32"), to=TensorProto.FLOAT)
    else:
        d.node("GatherElements", [x.name, found.name], d.made(shape, x), axis=axis)
