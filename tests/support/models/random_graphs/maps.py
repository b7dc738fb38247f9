"""Maps of one, two or more values, and normalisations."""

from __future__ import annotations

import numpy as np

from tests.support.models.random_graphs.drawing import Drawing, Value


def unary(d: Drawing) -> None:
    x, pick = d.value(), d.random
    op = pick.choice(("Relu", "Relu", "Neg", "Abs", "Floor", "Ceil", "Sign", "Identity", "LeakyRelu", "Clip", "Sum"))
    most, halves, inputs, attributes = x.most, x.halves, [x.name], {}
    if op == "LeakyRelu":
        attributes, halves = {"alpha": 0.5}, halves + 1
    if op == "Clip":
        low, high = pick.choice(((0, 6), (-3, 3), (-1, 5)))
        inputs += [d.constant(np.array(low, np.float32)), d.constant(np.array(high, np.float32))]
        most = max(-low, high)
    d.node(op, inputs, d.made(x.shape, x, most=most, halves=halves), **attributes)


def twice(d: Drawing) -> None:
    """A value that two maps read, as those of activations that are spelled out."""
    x, pick = d.value(), d.random
    one = d.made(x.shape, x)
    d.node(pick.choice(("Abs", "Neg", "Relu")), [x.name], one)
    pair = [x.name, one.name]
    pick.shuffle(pair)
    if pick.random() < 0.5:
        d.node("Mul", pair, d.made(x.shape, x, most=max(1, x.most) ** 2, halves=2 * x.halves))
    else:
        d.node(pick.choice(("Add", "Sub")), pair, d.made(x.shape, x, most=2 * x.most))


def binary(d: Drawing) -> None:
    x, pick = d.value(), d.random
    op = pick.choice(("Add", "Add", "Sub", "Mul", "Max", "Min", "Where", "PRelu"))
    others = []
    for value in d.values:
        if value.dtype == "f32":
            try:
                others.append((value, np.broadcast_shapes(x.shape, value.shape)))
            except ValueError:
                continue
    if pick.random() < 0.5 and others and op != "PRelu":
        other, whole = pick.choice(others)
    else:
        shape = tuple(extent if pick.random() < 0.5 else 1 for extent in x.shape)[pick.randint(0, x.axes) :]
        if pick.random() < 0.1 and op != "PRelu":
            shape = (2, *x.shape)
        name = d.constant(d.numbers(shape))
        other, whole = Value(name, shape), np.broadcast_shapes(x.shape, shape)
    inputs = [x.name, other.name]
    if pick.random() < 0.5 and op != "PRelu":
        inputs.reverse()
    most, halves = max(x.most, other.most), max(x.halves, other.halves)
    if op in ("Add", "Sub"):
        most = x.most + other.most
    if op in ("Mul", "PRelu"):
        most, halves = max(1, x.most) * max(1, other.most), x.halves + other.halves
    if op == "Where":
        truth = d.made(x.shape, x, dtype="bool")
        zero = d.constant(np.array(pick.choice((0, 1)), np.float32))
        d.node(pick.choice(("Greater", "Less", "Equal", "GreaterOrEqual")), [x.name, zero], truth)
        inputs = [truth.name, *inputs]
    d.node(op, inputs, d.made(whole, x, most=most, halves=halves))


def norm(d: Drawing) -> None:
    x = d.value(lambda v: v.axes >= 2)
    channels = x.shape[1]
    d.constant(np.zeros(1, np.float32))
    names = [d.constant(d.numbers((channels,))) for _ in range(3)]
    names.append(d.constant(np.full(channels, 1 - 2.0**-10, np.float32)))
    d.node(
        "BatchNormalization",
        [x.name, *names],
        d.made(x.shape, x, most=2 * (x.most + 2) + 2),
        epsilon=2.0**-10,
    )
