"""Products of whole numbers: sums are exact, and one factor quantises them.

Zero points of known weights are taken off now, and that of x from the sums: bytes are multiplied. Else all are taken
off first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from graph.model.node import Made, Node, Text, at
from graph.model.windows import groups_of, windows

_RANGES = {"u8": (0, 255), "s8": (-128, 127)}


def _one(node: Node, place: int, dims: list[str], axis: int) -> str:
    """A scale or a zero point: one number, one for each position along an axis, or an array that broadcasts."""
    shape = node.shape(place)
    if len(shape) > len(dims):
        raise node.refuse(f"input {place} has {len(shape)} axes, and {len(dims)} at most are supported")
    own = dims[axis : axis + 1 or None] if len(shape) == 1 else dims[len(dims) - len(shape) :]
    return at([dim if extent > 1 else "0" for dim, extent in zip(own, shape)])


def _off(
    node: Node, name: str, array: str, place: int, zero: int, dims: list[str], axis: int
) -> tuple[str, dict[str, int]]:
    """A statement for an input without its zero point, and the inputs that it reads."""
    here = at(dims)
    if not node.has(zero):
        return f"{name}: s32; {name}{here} = {array}{here}; ", {array: place}
    read = _one(node, zero, dims, axis)
    return f"{name}: s32; {name}{here} = {array}{here} - z{array}{read}; ", {array: place, f"z{array}": zero}


@dataclass(frozen=True)
class _Bytes:
    """A product of whole numbers as one of u8 and s8, for which CPUs have instructions.

    sum (x - zero) (w - its zero) = sum (x + shift) factor - (zero + shift) sum factor

    factor: of s8, known now. axis: that of the outputs. zero: of x, where it is known. place: of the zero point.
    """

    factor: np.ndarray
    axis: int
    shift: int
    zero: int | None
    place: int

    @classmethod
    def of(cls, node: Node, places: tuple[int, int, int, int], axis: int) -> _Bytes | None:
        """None where the factor is computed in the call, or is not of s8. places: of x, its zero point, w, its own."""
        x, zero_of_x, w, zero_of_w = places
        factor, offset = node.known[w], np.array(0)
        zero: int | None = 0
        if factor is None or (node.has(zero_of_w) and node.known[zero_of_w] is None):
            return None
        if node.has(zero_of_w):
            offset = np.asarray(node.known[zero_of_w], np.int32)
        if offset.ndim == 1:
            offset = offset.reshape([-1 if a == axis % factor.ndim else 1 for a in range(factor.ndim)])
        found = factor.astype(np.int32) - offset
        if found.shape != factor.shape or found.min(initial=0) < -128 or found.max(initial=0) > 127:
            return None
        if node.has(zero_of_x):
            if prod(node.shape(zero_of_x)) != 1:
                return None
            known = node.known[zero_of_x]
            zero = None if known is None else int(known.reshape(-1)[0])
        return cls(found.astype(np.int8), axis % factor.ndim, 128 * (node.dtype(x) == "s8"), zero, zero_of_x)

    def rest(self, node: Node, dim: str) -> tuple[str, dict[str, np.ndarray], dict[str, int]]:
        """What is added to a sum, the table that it reads, and the inputs."""
        total = self.factor.sum(tuple(a for a in range(self.factor.ndim) if a != self.axis), dtype=np.int32)
        if self.zero is None:
            zero = f"z{at(['0'] * len(node.shape(self.place)))}"
            return f" - ({zero} + {self.shift}) * total[{dim}]", {"total": total}, {"z": self.place}
        if self.zero + self.shift == 0:
            return "", {}, {}
        return f" - total[{dim}]", {"total": (self.zero + self.shift) * total}, {}


def _rounded(node: Node, dims: list[str], product: str, factor: str, zero: int, default: str) -> tuple[str, str]:
    """The last statement of a quantised product, and its dtype."""
    wanted = node.dtype(zero) if node.has(zero) else default
    if wanted not in _RANGES:
        raise node.refuse(f"numbers are not quantised to {wanted}")
    low, high = _RANGES[wanted]
    added = f" + zy{_one(node, zero, dims, -1)}" if node.has(zero) else ""
    return f"y{at(dims)} = {wanted}(clamp(round(f64({product}) * ({factor})){added}, {low}, {high}))", wanted


def _matmul(
    node: Node, places: tuple[int, int, int, int], last: Callable[[list[str], str], tuple[str, str, dict[str, int]]]
) -> Made:
    """places: of a, its zero point, b, its zero point. last: the statement after the sums, its dtype and inputs."""
    a, b = node.shape(places[0]), node.shape(places[2])
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise node.refuse(f"shapes {a} and {b} are no factors of a product")
    whole = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    dims = node.dims(len(whole))
    known = _Bytes.of(node, places, -1) if len(b) == 2 else None
    if known:
        here, text, left = at([*dims[:-1], "c"]), "", "a"
        if known.shift:
            text, left = f"left: u8; left{here} = a{here} + {known.shift}; ", "left"
        rest, tables, inputs = known.rest(node, dims[-1])
        text += f"sums: s32; sums{at(dims)} = sum[c] {left}{here} * factor{at(['c', dims[-1]])}; "
        statement, dtype, more = last(dims, f"(sums{at(dims)}{rest})")
        extents = dict(zip(dims, whole)) | {"c": a[-1]}
        return Text(text + statement, {"a": places[0]} | inputs | more, extents, (dtype,), made=_made(known, tables))
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
            f"f32(sa{_one(node, 1, dims, -2)}) * f32(sb{_one(node, 4, dims, -1)}) / f32(sy{_one(node, 6, dims, -1)})"
        )
        statement, dtype = _rounded(node, dims, sums, factor, 7, node.dtype(0))
        return statement, dtype, {"sa": 1, "sb": 4, "sy": 6} | ({"zy": 7} if node.has(7) else {})

    return _matmul(node, (0, 2, 3, 5), last)


def _made(known: _Bytes, tables: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"factor": known.factor} | tables


@dataclass(frozen=True)
class _Sums:
    """Statements, and the value of a sum after them. dims: of the sums. The rest is as in a Text."""

    text: str
    value: str
    dims: list[str]
    inputs: dict[str, int]
    extents: dict[str, int]
    made: dict[str, np.ndarray]


def _conv(node: Node, places: tuple[int, int, int, int]) -> _Sums:
    """The sums of a convolution. places: of x, its zero point, w, its own."""
    x, w, group = node.shape(places[0]), node.shape(places[2]), groups_of(node)
    if x[1] != w[1] * group or w[0] % group:
        raise node.refuse(f"x has {x[1]} channels, and the {w[0]} filters are for {w[1] * group}")
    found = windows(node, w[2:], x[2:])
    dims, taps = node.dims(len(x)), list("rsv"[: len(x) - 2])
    own = [f"o{number}" for number in range(len(x))]
    channel = "c" if group == 1 else f"{w[1]}*({dims[1]} // {w[0] // group}) + c"
    outer = dict(zip(dims, (x[0], w[0], *found.outputs))) | {"c": w[1]} | dict(zip(taps, w[2:]))
    padded = any((*found.before, *found.after))
    known = _Bytes.of(node, places, 0)
    if known and not (padded and known.zero is None):
        text, image = "", "x"
        if padded or known.shift:  # padding is the zero point
            ends = [b + extent + a for b, extent, a in zip(found.before, x[2:], found.after)]
            moved = [f"{dim} - {low}" if low else dim for dim, low in zip(own[2:], found.before)]
            element = f"x{at([*own[:2], *moved])}" + (f" else {known.zero}" if padded else "")
            text = f"image: u8; image{at(own)} = ({element}) + {known.shift}; "
            image, outer = "image", outer | dict(zip(own, (*x[:2], *ends)))
        spots = [
            f"{stride}*{dim} + {dilation}*{tap}"
            for dim, tap, stride, dilation in zip(dims[2:], taps, found.strides, found.dilations)
        ]
        rest, tables, inputs = known.rest(node, dims[1])
        product = f"{image}{at([dims[0], channel, *spots])} * factor{at([dims[1], 'c', *taps])}"
        text += f"sums: s32; sums{at(dims)} = sum{at(['c', *taps])} {product}; "
        value = f"(sums{at(dims)}{rest})"
        return _Sums(text, value, dims, {"x": places[0]} | inputs, outer, _made(known, tables))
    first, one = _off(node, "image", "x", places[0], places[1], own, 1)
    second, two = _off(node, "filters", "f", places[2], places[3], [dims[1], "c", *taps], 0)
    spots = [
        f"{stride}*{dim} + {dilation}*{tap} - {low}"
        for dim, tap, stride, dilation, low in zip(dims[2:], taps, found.strides, found.dilations, found.before)
    ]
    read = f"(image{at([dims[0], channel, *spots])} else 0)"
    text = f"{first}{second}sums{at(dims)} = sum{at(['c', *taps])} {read} * filters{at([dims[1], 'c', *taps])}; "
    return _Sums(text, f"sums{at(dims)}", dims, one | two, outer | dict(zip(own, x)), {})


def _conv_integer(node: Node) -> Made:
    found = _conv(node, (0, 2, 1, 3))
    text = f"{found.text}y{at(found.dims)} = {found.value}"
    return Text(text, found.inputs, found.extents, ("s32",), made=found.made)


def _qlinear_conv(node: Node) -> Made:
    found = _conv(node, (0, 2, 3, 5))
    scales = [f"f32({name}{_one(node, place, found.dims, 1)})" for name, place in (("sx", 1), ("sw", 4), ("sy", 6))]
    factor = f"{scales[0]} * {scales[1]} / {scales[2]}"
    sums = found.value + (f" + bias[{found.dims[1]}]" if node.has(8) else "")
    statement, dtype = _rounded(node, found.dims, sums, factor, 7, node.dtype(0))
    inputs = found.inputs | {"sx": 1, "sw": 4, "sy": 6}
    inputs |= ({"zy": 7} if node.has(7) else {}) | ({"bias": 8} if node.has(8) else {})
    if node.has(7) and prod(node.shape(7)) > 1:
        raise node.refuse("several zero points of the output are not supported")
    return Text(found.text + statement, inputs, found.extents, (dtype,), made=found.made)


QUANTISED: dict[str, Callable[[Node], Made]] = {
    "MatMulInteger": _matmul_integer,
    "QLinearMatMul": _qlinear_matmul,
    "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv,
}
