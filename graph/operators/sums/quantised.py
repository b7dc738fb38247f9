"""Products of whole numbers: zero points are taken off first, sums are exact, and one factor quantises them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from graph.model.node import Made, Node, Text, at
from graph.model.windows import windows

_RANGES = {"u8": (0, 255), "s8": (-128, 127)}
# What is made of the dims and the sums: the statement after them, its dtype, and the inputs that it reads.
_Last = Callable[[list[str], str], tuple[str, str, dict[str, int]]]


def _one(node: Node, place: int, dim: str) -> str:
    """A scale or a zero point: one number, or one for each position along a dim."""
    shape = node.shape(place)
    return at([dim if extent > 1 else "0" for extent in shape])


def _off(
    node: Node, name: str, array: str, place: int, zero: int, dims: list[str], axis: int
) -> tuple[str, dict[str, int]]:
    """A statement for an input without its zero point, and the inputs that it reads."""
    here = at(dims)
    if not node.has(zero):
        return f"{name}: s32; {name}{here} = {array}{here}; ", {array: place}
    shape = node.shape(zero)
    if len(shape) == len(dims):
        read = at([dim if extent > 1 else "0" for dim, extent in zip(dims, shape)])
    else:
        read = _one(node, zero, dims[axis])
    return f"{name}: s32; {name}{here} = {array}{here} - z{array}{read}; ", {array: place, f"z{array}": zero}


def _rounded(node: Node, dims: list[str], product: str, factor: str, zero: int, default: str) -> tuple[str, str]:
    """The last statement of a quantised product, and its dtype."""
    wanted = node.dtype(zero) if node.has(zero) else default
    if wanted not in _RANGES:
        raise node.refuse(f"numbers are not quantised to {wanted}")
    low, high = _RANGES[wanted]
    added = f" + zy{_one(node, zero, dims[-1])}" if node.has(zero) else ""
    return f"y{at(dims)} = {wanted}(clamp(round(f64({product}) * ({factor}){added}), {low}, {high}))", wanted


def _matmul(
    node: Node, places: tuple[int, int, int, int], last: Callable[[list[str], str], tuple[str, str, dict[str, int]]]
) -> Made:
    """places: of a, its zero point, b, its zero point. last: the statement after the sums, its dtype and inputs."""
    a, b = node.shape(places[0]), node.shape(places[2])
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise node.refuse(f"shapes {a} and {b} are no factors of a product")
    whole = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    dims = node.dims(len(whole))
    outer = [[d if e > 1 else "0" for d, e in zip(dims[len(whole) - len(s) : -2], s)] for s in (a, b)]
    own = [f"o{number}" for number in range(len(a) - 2)], [f"v{number}" for number in range(len(b) - 2)]
    first, one = _off(node, "left", "a", places[0], places[1], [*own[0], dims[-2], "c"], len(a) - 2)
    second, two = _off(node, "right", "b", places[2], places[3], [*own[1], "c", dims[-1]], len(b) - 1)
    factors = f"left{at([*outer[0], dims[-2], 'c'])} * right{at([*outer[1], 'c', dims[-1]])}"
    text = f"{first}{second}sums{at(dims)} = sum[c] {factors}; "
    statement, dtype, more = last(dims, f"sums{at(dims)}")
    extents = dict(zip(dims, whole)) | {"c": a[-1]} | dict(zip(own[0], a)) | dict(zip(own[1], b))
    return Text(text + statement, one | two | more, extents, (dtype,))


def _matmul_integer(node: Node) -> Made:
    return _matmul(node, (0, 2, 1, 3), lambda dims, sums: (f"y{at(dims)} = {sums}", "s32", {}))


def _qlinear_matmul(node: Node) -> Made:
    def last(dims: list[str], sums: str) -> tuple[str, str, dict[str, int]]:
        factor = (
            f"f32(sa{_one(node, 1, dims[-2])}) * f32(sb{_one(node, 4, dims[-1])}) / f32(sy{_one(node, 6, dims[-1])})"
        )
        statement, dtype = _rounded(node, dims, sums, factor, 7, node.dtype(0))
        return statement, dtype, {"sa": 1, "sb": 4, "sy": 6} | ({"zy": 7} if node.has(7) else {})

    return _matmul(node, (0, 2, 3, 5), last)


def _conv(node: Node, places: tuple[int, int, int, int]) -> tuple[str, list[str], dict[str, int], dict[str, int]]:
    """The statement of the sums, their dims, the inputs and the extents. places: of x, its zero point, w, its own."""
    x, w, group = node.shape(places[0]), node.shape(places[2]), node.attribute("group", 1)
    if x[1] != w[1] * group or w[0] % group:
        raise node.refuse(f"x has {x[1]} channels, and the {w[0]} filters are for {w[1] * group}")
    found = windows(node, w[2:], x[2:])
    dims, taps = node.dims(len(x)), list("rsv"[: len(x) - 2])
    own = [f"o{number}" for number in range(len(x))]
    first, one = _off(node, "image", "x", places[0], places[1], own, 1)
    second, two = _off(node, "filters", "f", places[2], places[3], [dims[1], "c", *taps], 0)
    channel = "c" if group == 1 else f"{w[1]}*({dims[1]} // {w[0] // group}) + c"
    spots = [
        f"{stride}*{dim} + {dilation}*{tap} - {low}"
        for dim, tap, stride, dilation, low in zip(dims[2:], taps, found.strides, found.dilations, found.before)
    ]
    read = f"(image{at([dims[0], channel, *spots])} else 0)"
    text = f"{first}{second}sums{at(dims)} = sum{at(['c', *taps])} {read} * filters{at([dims[1], 'c', *taps])}; "
    extents = dict(zip(dims, (x[0], w[0], *found.outputs))) | {"c": w[1]} | dict(zip(taps, w[2:])) | dict(zip(own, x))
    return text, dims, one | two, extents


def _conv_integer(node: Node) -> Made:
    text, dims, inputs, extents = _conv(node, (0, 2, 1, 3))
    return Text(f"{text}y{at(dims)} = sums{at(dims)}", inputs, extents, ("s32",))


def _qlinear_conv(node: Node) -> Made:
    text, dims, inputs, extents = _conv(node, (0, 2, 3, 5))
    factor = f"f32(sx{_one(node, 1, dims[1])}) * f32(sw{_one(node, 4, dims[1])}) / f32(sy{_one(node, 6, dims[1])})"
    sums = f"sums{at(dims)}" + (f" + bias[{dims[1]}]" if node.has(8) else "")
    statement, dtype = _rounded(node, dims, sums, factor, 7, node.dtype(0))
    inputs |= {"sx": 1, "sw": 4, "sy": 6} | ({"zy": 7} if node.has(7) else {}) | ({"bias": 8} if node.has(8) else {})
    if node.has(7) and prod(node.shape(7)) > 1:
        raise node.refuse("several zero points of the output are not supported")
    return Text(text + statement, inputs, extents, (dtype,))


QUANTISED: dict[str, Callable[[Node], Made]] = {
    "MatMulInteger": _matmul_integer,
    "QLinearMatMul": _qlinear_matmul,
    "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv,
}
