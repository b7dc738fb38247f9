"""Random ONNX models whose numbers f32 holds exactly: whole numbers and halves of them, however sums are ordered.

    drawn = random_graph(Random(3))
    drawn.model, drawn.feeds            the model, and an array for each of its inputs

Each value knows the largest number that it may hold, and how often that may be halved. An operator that would go beyond
24 bits is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from random import Random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BITS = 22  # of f32's 24: the sums of a product's parts may be larger than its result
OPSET = 18
_TYPES = {"f32": TensorProto.FLOAT, "s64": TensorProto.INT64, "bool": TensorProto.BOOL, "s32": TensorProto.INT32}
_KINDS = {"f32": np.float32, "s64": np.int64, "bool": np.bool_, "s32": np.int32}


@dataclass(frozen=True)
class Value:
    """An array of the model. most: the largest magnitude. halves: whole numbers of 2 ** -halves."""

    name: str
    shape: tuple[int, ...]
    most: int = 2
    halves: int = 0
    dtype: str = "f32"

    @property
    def axes(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass
class Drawn:
    """A model and inputs for it."""

    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]


def random_graph(random: Random, nodes: int = 8, loops: bool = True) -> Drawn:
    """A model of so many operators at most, with several inputs and outputs."""
    return _Drawing(random, loops).whole(nodes)


class _Impossible(Exception):
    """No such operator here: another one is drawn."""


@dataclass
class _Drawing:
    random: Random
    loops: bool
    values: list[Value] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    weights: dict[tuple[int, ...], str] = field(default_factory=dict)
    count: int = 0

    def whole(self, nodes: int) -> Drawn:
        pick = self.random
        shapes = [(pick.choice((1, 1, 2)), pick.choice((1, 3, 4, 8, 16, 17)), pick.randint(1, 9), pick.randint(1, 19))]
        shapes += pick.sample([(pick.randint(1, 9), pick.choice((1, 5, 16, 24))), (pick.randint(1, 33),), shapes[0]], 1)
        shapes += [(2, pick.randint(1, 5), pick.randint(1, 9))] * pick.randint(0, 1)
        self.values = [Value(f"x{place}", shape) for place, shape in enumerate(shapes)]
        inputs = list(self.values)
        tries = 0
        while len(self.nodes) < nodes and tries < 40 * nodes:
            tries += 1
            before = (list(self.values), list(self.nodes), dict(self.constants))
            try:
                pick.choice(_OPERATORS)(self)
            except _Impossible:
                self.values, self.nodes, self.constants = before
        made = [value for value in self.values if value not in inputs]
        read = {name for node in self.nodes for name in node.input}
        ends = [value for value in made if value.name not in read] or [self.values[-1]]
        wanted = dict.fromkeys(value.name for value in ends)
        wanted |= dict.fromkeys(pick.choice(self.values).name for _ in range(pick.choice((0, 0, 1, 2))))
        if pick.random() < 0.1 and self.constants:
            wanted |= {pick.choice([name for name in self.constants]): None}
        named = {value.name: value for value in self.values}
        outputs = [self.declared(named[name]) if name in named else self.constant_value(name) for name in wanted]
        graph = helper.make_graph(
            self.nodes,
            "drawn",
            [self.declared(value) for value in inputs],
            outputs,
            [numpy_helper.from_array(numbers, name) for name, numbers in self.constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        return Drawn(model, {value.name: self.numbers(value.shape) for value in inputs})

    @staticmethod
    def declared(value: Value) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(value.name, _TYPES[value.dtype], value.shape)

    def constant_value(self, name: str) -> onnx.ValueInfoProto:
        numbers = self.constants[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numbers.dtype), numbers.shape)

    # --- parts

    def numbers(self, shape: tuple[int, ...], most: int = 2) -> np.ndarray:
        drawn = np.random.default_rng(self.random.randrange(2**32))
        return drawn.integers(-most, most + 1, shape).astype(np.float32)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, numbers: np.ndarray, stem: str = "c") -> str:
        name = self.fresh(stem)
        self.constants[name] = numbers
        return name

    def value(self, wanted: Callable[[Value], bool] = lambda value: True) -> Value:
        """A value for an operator, most often one of the last."""
        found = [value for value in self.values if value.dtype == "f32" and wanted(value)]
        if not found:
            raise _Impossible
        draw = self.random.random()
        return found[-1] if draw < 0.4 else self.random.choice(found[-3:] if draw < 0.75 else found)

    def node(self, op: str, inputs: list[str], *outputs: Value, **attributes: object) -> None:
        for value in outputs:
            if value.most << value.halves >= 1 << BITS or value.elements > 20000 or 0 in value.shape:
                raise _Impossible
        self.nodes.append(helper.make_node(op, inputs, [v.name for v in outputs], self.fresh("n"), **attributes))
        self.values += outputs

    def made(self, shape: tuple[int, ...], like: Value, **changed: int | str) -> Value:
        facts: dict[str, object] = {"most": like.most, "halves": like.halves, "dtype": like.dtype} | changed
        return Value(self.fresh("v"), tuple(int(extent) for extent in shape), **facts)  # type: ignore[arg-type]


# --- products


def _conv(d: _Drawing) -> None:
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
        raise _Impossible
    shape = (filters, channels // group, *kernel)
    weights = d.weights.get(shape, "") if pick.random() < 0.5 else ""
    if weights not in d.constants:
        weights = d.weights[shape] = d.constant(d.numbers(shape, 1), "w")
    inputs = [x.name, weights] + ([d.constant(d.numbers((filters,)), "b")] if pick.random() < 0.5 else [])
    most = x.most * prod(shape[1:]) + 2
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": group, "kernel_shape": kernel}
    d.node("Conv", inputs, d.made((x.shape[0], filters, *outs), x, most=most), **attributes)


def _matmul(d: _Drawing) -> None:
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
            raise _Impossible from None
        most, halves = x.most * other.most * k, x.halves + other.halves
        d.node("MatMul", [x.name, other.name], d.made(whole, x, most=most, halves=halves))
        return
    whole = np.matmul(np.zeros(x.shape), np.zeros(shape)).shape
    d.node("MatMul", [x.name, d.constant(d.numbers(shape, 1), "w")], d.made(whole, x, most=x.most * k))


def _gemm(d: _Drawing) -> None:
    x = d.value(lambda v: v.axes == 2)
    pick = d.random
    across, turned = pick.random() < 0.3, pick.random() < 0.5
    m, k = x.shape[::-1] if across else x.shape
    n = pick.choice((1, 3, 8, 16, 21))
    alpha, beta = pick.choice((1.0, 1.0, 2.0, -1.0)), pick.choice((1.0, 1.0, 2.0))
    inputs = [x.name, d.constant(d.numbers((n, k) if turned else (k, n), 1), "w")]
    if pick.random() < 0.7:
        inputs.append(d.constant(d.numbers(pick.choice(((n,), (1, n), (m, 1), (m, n), (1,), ()))), "b"))
    attributes = {"transA": int(across), "transB": int(turned), "alpha": alpha, "beta": beta}
    d.node("Gemm", inputs, d.made((m, n), x, most=2 * x.most * k + 4), **attributes)


# --- maps


def _unary(d: _Drawing) -> None:
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


def _twice(d: _Drawing) -> None:
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


def _binary(d: _Drawing) -> None:
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


def _norm(d: _Drawing) -> None:
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


# --- windows and reductions


def _pool(d: _Drawing) -> None:
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
        raise _Impossible
    attributes: dict[str, object] = {"kernel_shape": kernel, "pads": pads, "strides": strides}
    if mean:
        attributes["count_include_pad"] = 1
    halves = x.halves + (prod(kernel).bit_length() - 1 if mean else 0)
    op = "AveragePool" if mean else "MaxPool"
    d.node(op, [x.name], d.made((*x.shape[:2], *outs), x, halves=halves), **attributes)


def _reduce(d: _Drawing) -> None:
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
            raise _Impossible
        halves += points.bit_length() - 1
    made = d.made(shape, x, most=most, halves=halves)
    d.node(op, [x.name, d.constant(np.array(axes))], made, keepdims=keep)


def _position(d: _Drawing) -> None:
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


# --- moves


def _reshape(d: _Drawing) -> None:
    x, pick = d.value(), d.random
    axes = pick.randint(1, 4)
    shape, left = [], x.elements
    for _ in range(axes - 1):
        shape.append(pick.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= shape[-1]
    shape.append(left)
    pick.shuffle(shape)
    if pick.random() < 0.3 and x.axes == 4:
        n, c, h, w = x.shape
        shape = list(pick.choice(((n, c, h * w), (n, h, c, w), (n * c, h, w), (n, c, w, h), (n, c * h, w, 1))))
    d.node("Reshape", [x.name, d.constant(np.array(shape))], d.made(tuple(shape), x))


def _transpose(d: _Drawing) -> None:
    x = d.value(lambda v: v.axes >= 2)
    order = d.random.sample(range(x.axes), x.axes)
    d.node("Transpose", [x.name], d.made(tuple(x.shape[a] for a in order), x), perm=order)


def _squeeze(d: _Drawing) -> None:
    x, pick = d.value(lambda v: v.axes < 5), d.random
    ones = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    if ones and pick.random() < 0.5:
        axis = pick.choice(ones)
        shape = tuple(e for a, e in enumerate(x.shape) if a != axis)
        d.node("Squeeze", [x.name, d.constant(np.array([axis]))], d.made(shape, x))
    else:
        axis = pick.randint(0, x.axes)
        shape = (*x.shape[:axis], 1, *x.shape[axis:])
        d.node("Unsqueeze", [x.name, d.constant(np.array([axis]))], d.made(shape, x))


def _concat(d: _Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axis = pick.randrange(x.axes)

    def fits(value: Value) -> bool:
        pairs = zip(value.shape, x.shape)
        return value.axes == x.axes and all(a == axis or one == other for a, (one, other) in enumerate(pairs))

    parts = [x, *(d.value(fits) for _ in range(pick.randint(1, 2)))]
    if pick.random() < 0.3:
        shape = tuple(2 if a == axis else e for a, e in enumerate(x.shape))
        parts.append(Value(d.constant(d.numbers(shape)), shape))
    pick.shuffle(parts)
    shape = tuple(sum(p.shape[axis] for p in parts) if a == axis else e for a, e in enumerate(x.shape))
    most, halves = max(p.most for p in parts), max(p.halves for p in parts)
    d.node("Concat", [p.name for p in parts], d.made(shape, x, most=most, halves=halves), axis=axis)


def _split(d: _Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1 and max(v.shape) > 1), d.random
    axis = pick.choice([a for a, extent in enumerate(x.shape) if extent > 1])
    first = pick.randint(1, x.shape[axis] - 1)
    sizes = (first, x.shape[axis] - first)
    parts = [d.made((*x.shape[:axis], size, *x.shape[axis + 1 :]), x) for size in sizes]
    d.node("Split", [x.name, d.constant(np.array(sizes))], *parts, axis=axis)


def _slice(d: _Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axes = sorted(pick.sample(range(x.axes), pick.randint(1, x.axes)))
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        extent, step = x.shape[axis], pick.choice((1, 1, 1, 2, -1, -2))
        low, high = sorted((pick.choice((0, pick.randrange(extent))), pick.randint(1, extent)))
        start, end = (low, high) if step > 0 else (high, low - extent - 1)
        starts.append(start)
        ends.append(end)
        steps.append(step)
        shape[axis] = len(range(*slice(start, end, step).indices(extent)))
    given = [d.constant(np.array(each)) for each in (starts, ends, axes, steps)]
    d.node("Slice", [x.name, *given], d.made(tuple(shape), x))


def _pad(d: _Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    mode = pick.choice(("constant", "constant", "edge", "reflect"))
    most = [2 if mode != "reflect" else min(2, extent - 1) for extent in x.shape]
    widths = [pick.choice((0, 0, pick.randint(0, m))) for m in (*most, *most)]
    shape = tuple(e + low + high for e, low, high in zip(x.shape, widths, widths[x.axes :]))
    inputs = [x.name, d.constant(np.array(widths))]
    if mode == "constant" and pick.random() < 0.5:
        inputs.append(d.constant(np.array(pick.choice((1, -2)), np.float32)))
    d.node("Pad", inputs, d.made(shape, x, most=max(2, x.most)), mode=mode)


def _expand(d: _Drawing) -> None:
    x, pick = d.value(lambda v: v.axes <= 4), d.random
    if pick.random() < 0.5 and x.axes:
        times = [pick.choice((1, 1, 2, 3)) for _ in x.shape]
        shape = tuple(e * t for e, t in zip(x.shape, times))
        d.node("Tile", [x.name, d.constant(np.array(times))], d.made(shape, x))
    else:
        shape = tuple(pick.choice((1, 3)) if e == 1 else e for e in x.shape)
        shape = (*(pick.choice(((), (2,)))), *shape)
        d.node("Expand", [x.name, d.constant(np.array(shape, np.int64))], d.made(shape, x))


def _gather(d: _Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axis = pick.randrange(x.axes)
    extent = x.shape[axis]
    shape = pick.choice(((), (1,), (3,), (2, 2)))
    drawn = np.random.default_rng(pick.randrange(2**32)).integers(-extent, extent, shape)
    whole = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
    d.node("Gather", [x.name, d.constant(np.asarray(drawn))], d.made(whole, x), axis=axis)


def _resize(d: _Drawing) -> None:
    x = d.value(lambda v: v.axes == 4)
    pick = d.random
    if pick.random() < 0.5:
        n, c, h, w = x.shape
        fits = [b for b in (1, 2, 3) if c % (b * b) == 0]
        b = pick.choice(fits)
        made = d.made((n, c // b // b, h * b, w * b), x)
        d.node("DepthToSpace", [x.name], made, blocksize=b, mode=pick.choice(("DCR", "CRD")))
        return
    scales = [1.0, 1.0, *(float(pick.choice((1, 2, 3))) for _ in range(2))]
    shape = tuple(int(e * s) for e, s in zip(x.shape, scales))
    inputs = [x.name, "", d.constant(np.array(scales, np.float32))]
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    d.node("Resize", inputs, d.made(shape, x), mode="nearest", **attributes)


def _cast(d: _Drawing) -> None:
    x = d.value(lambda v: v.halves == 0)
    kind = d.random.choice(("s32", "s64"))
    between = d.made(x.shape, x, dtype=kind)
    d.node("Cast", [x.name], between, to=_TYPES[kind])
    added = d.made(x.shape, between, most=x.most + 3)
    three = d.constant(np.array(3, _KINDS[kind]))
    d.node(d.random.choice(("Add", "Max", "Sub")), [between.name, three], added)
    d.node("Cast", [added.name], d.made(x.shape, added, dtype="f32"), to=TensorProto.FLOAT)


# --- control flow


def _mapped(d: _Drawing, inputs: list[Value], scope: str) -> tuple[list[onnx.NodeProto], str]:
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


def _alike(d: _Drawing) -> tuple[Value, Value]:
    """Two values of one shape, small enough for products."""
    x = d.value(lambda v: 0 < v.axes <= 4 and v.most << v.halves < 1 << 12)
    return x, d.value(lambda v: v.shape == x.shape and v.halves <= x.halves and v.most <= 1 << 12)


def _branch(d: _Drawing) -> None:
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


def _loop(d: _Drawing) -> None:
    """Two states, which may change places, a stack of what each turn computes, and the number of the turn."""
    if not d.loops:
        raise _Impossible
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


_OPERATORS: tuple[Callable[[_Drawing], None], ...] = (
    *(_conv, _conv, _conv, _matmul, _matmul, _gemm, _unary, _unary, _twice, _twice, _binary, _binary, _binary, _binary),
    *(_norm, _pool, _reduce, _reduce, _position, _reshape, _reshape, _transpose, _squeeze, _concat, _split, _slice),
    *(_pad, _expand, _gather, _resize, _cast, _branch, _loop),
)
