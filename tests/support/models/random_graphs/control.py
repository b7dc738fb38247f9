"""Branches and loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.support.models.random_graphs.drawing import Drawing, Value


def _mapped(d: Drawing, inputs: list[Value], scope: str) -> tuple[list[onnx.NodeProto], str]:
    """Nodes of a graph inside: a few of values of one shape, at last cut to at most 3. And what they give."""
    pick, (x, *_) = d.random, inputs
    found, last = [], x.name
    if pick.random() < 0.6 and x.axes > 1 and x.shape[-1] <= 64:
        weights = d.constant(d.numbers((x.shape[-1], x.shape[-1]), 1), "w")
        found.append(helper.make_node("MatMul", [last, weights], [f"{scope}p"]))
        last = f"{scope}p"
    for place, other in enumerate(inputs):
        op = pick.choice(("Add", "Sub", "Max", "Min"))
        found.append(helper.make_node(op, pick.sample([last, other.name], 2), [f"{scope}q{place}"]))
        last = f"{scope}q{place}"
        if pick.random() < 0.5:
            found.append(helper.make_node(pick.choice(("Relu", "Neg", "Abs")), [last], [f"{scope}r{place}"]))
            last = f"{scope}r{place}"
    ends = [d.constant(np.array(end, np.float32)) for end in (-3, 3)]
    found.append(helper.make_node("Clip", [last, *ends], [f"{scope}y"]))
    return found, f"{scope}y"


def _alike(d: Drawing) -> tuple[Value, Value]:
    """Two values of one shape, small enough for products."""
    x = d.value(lambda v: 0 < v.axes <= 4 and v.most << v.halves < 1 << 12)
    return x, d.value(lambda v: v.shape == x.shape and v.halves <= x.halves and v.most <= 1 << 12)


def branch(d: Drawing) -> None:
    x, y = _alike(d)
    zero = d.constant(np.zeros((), np.float32))
    total = d.made((), x, most=x.most * x.elements)
    d.node("ReduceSum", [x.name], total, keepdims=0)
    truth = d.made((), x, dtype="bool")
    d.node("Greater", [total.name, zero], truth)
    sides = {}
    for side in ("then", "else"):
        nodes, result = _mapped(d, [x, y], d.fresh(side))
        sides[f"{side}_branch"] = helper.make_graph(nodes, side, [], [helper.make_tensor_value_info(result, 1, None)])
    d.node("If", [truth.name], d.made(x.shape, x, most=3), **sides)


def loop(d: Drawing) -> None:
    """Two states, which may change places, a stack of what each turn computes, and the number of the turn."""
    x, y = _alike(d)
    pick, scope = d.random, d.fresh("turn")
    inside = [replace(value, name=f"{scope}{place}") for place, value in enumerate((x, y))]
    nodes, result = _mapped(d, [*inside, x], scope)
    nodes.append(helper.make_node("Identity", [f"{scope}going"], [f"{scope}goes"]))
    nodes.append(helper.make_node("Cast", [f"{scope}number"], [f"{scope}float"], to=1))
    nodes.append(helper.make_node("Add", [result, f"{scope}float"], [f"{scope}counted"]))
    other = pick.choice((inside[0].name, inside[1].name, result))
    stacked = pick.choice((result, f"{scope}counted", inside[1].name))
    turns = pick.choice((1, 2, 3, 5))
    names = [f"{scope}goes", result, *([other] if other != result else [f"{scope}counted"]), stacked]
    nodes += [helper.make_node("Identity", [name], [f"{scope}out{place}"]) for place, name in enumerate(names)]
    body = helper.make_graph(
        nodes,
        "body",
        [
            helper.make_tensor_value_info(f"{scope}number", TensorProto.INT64, ()),
            helper.make_tensor_value_info(f"{scope}going", TensorProto.BOOL, ()),
            *(helper.make_tensor_value_info(value.name, 1, x.shape) for value in inside),
        ],
        [helper.make_tensor_value_info(f"{scope}out{place}", 9 if place == 0 else 1, None) for place in range(4)],
    )
    most = max(x.most, y.most, 3 + turns)
    outs = [d.made(x.shape, x, most=most), d.made(x.shape, x, most=most), d.made((turns, *x.shape), x, most=most)]
    count, going = d.constant(np.array(turns)), d.constant(np.array(True))
    d.node("Loop", [count, going, x.name, y.name], *outs, body=body)
