"""Convolutions and matrix products."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.support.models.random_graphs.drawing import Drawing, Impossible


def conv(d: Drawing) -> None:
    x = d.value(lambda v: v.axes in (3, 4))
    pick, axes, channels = d.random, x.axes - 2, x.shape[1]
    group = pick.choice([g for g in range(1, channels + 1) if channels % g == 0])
    group = pick.choice((1, group, channels))
    kernel = [pick.choice((1, 1, 2, 3, 3)) for _ in range(axes)]
    strides = [pick.choice((1, 1, 2, 3)) for _ in range(axes)]
    dilations = [pick.choice((1, 1, 2)) for _ in range(axes)]
    pads = [pick.choice((0, 0, 1, 2)) for _ in range(2 * axes)]
    if pick.random() < 0.4:
        kernel, strides, dilations, pads = [1] * axes, [1] * axes, [1] * axes, [0] * 2 * axes
    filters = group * pick.choice((1, 2, 3, 8, 16) if group < 8 else (1, 2))
    outs = [
        (e + low + high - d_ * (k - 1) - 1) // s + 1
        for e, low, high, k, s, d_ in zip(x.shape[2:], pads, pads[axes:], kernel, strides, dilations)
    ]
    if min(outs) < 1:
        raise Impossible
    shape = (filters, channels // group, *kernel)
    weights = d.weights.get(shape, "") if pick.random() < 0.5 else ""
    if weights not in d.constants:
        weights = d.weights[shape] = d.constant(d.numbers(shape, 1), "w")
    inputs = [x.name, weights] + ([d.constant(d.numbers((filters,)), "b")] if pick.random() < 0.5 else [])
    most = x.most * prod(shape[1:]) + 2
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": group, "kernel_shape": kernel}
    d.node("Conv", inputs, d.made((x.shape[0], filters, *outs), x, most=most), **attributes)


def matmul(d: Drawing) -> None:
    x = d.value(lambda v: v.axes >= 1)
    pick, k = d.random, x.shape[-1]
    n = pick.choice((1, 2, 7, 16, 19))
    shapes = [(k, n), (k, n), (k,)]
    if x.axes > 2:
        batch = tuple(extent if pick.random() < 0.7 else 1 for extent in x.shape[:-2])
        shapes += [(*batch, k, n)] * 2
    shape = pick.choice(shapes)
    others = [v for v in d.values if v.dtype == "f32" and v.axes > 1 and v.shape[-2] == k and v.name != x.name]
    if others and pick.random() < 0.5:
        other = pick.choice(others)
        try:
            whole = np.matmul(np.zeros(x.shape), np.zeros(other.shape)).shape
        except ValueError:
            raise Impossible from None
        most, halves = x.most * other.most * k, x.halves + other.halves
        d.node("MatMul", [x.name, other.name], d.made(whole, x, most=most, halves=halves))
        return
    whole = np.matmul(np.zeros(x.shape), np.zeros(shape)).shape
    d.node("MatMul", [x.name, d.constant(d.numbers(shape, 1), "w")], d.made(whole, x, most=x.most * k))


def gemm(d: Drawing) -> None:
    x = d.value(lambda v: v.axes == 2)
    pick = d.random
    across, transposed = pick.random() < 0.3, pick.random() < 0.5
    m, k = x.shape[::-1] if across else x.shape
    n = pick.choice((1, 3, 8, 16, 21))
    alpha, beta = pick.choice((1.0, 1.0, 2.0, -1.0)), pick.choice((1.0, 1.0, 2.0))
    inputs = [x.name, d.constant(d.numbers((n, k) if transposed else (k, n), 1), "w")]
    if pick.random() < 0.7:
        inputs.append(d.constant(d.numbers(pick.choice(((n,), (1, n), (m, 1), (m, n), (1,), ()))), "b"))
    attributes = {"transA": int(across), "transB": int(transposed), "alpha": alpha, "beta": beta}
    d.node("Gemm", inputs, d.made((m, n), x, most=2 * x.most * k + 4), **attributes)
