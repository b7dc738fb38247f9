"""Products of whole numbers: sums are exact, and one factor requantises them.

With known weights, their zero points are subtracted now, and the zero point of x is subtracted from the sums: bytes are
multiplied. Else all zero points are subtracted before the product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from graph.model.node import Made, Node, Text, at
from graph.model.windows import groups_of, windows

_RANGES = {"u8": (0, 255), "s8": (-128, 127)}
_HELD = 1 << 24  # f32 holds every whole number up to this one


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

    factor: s8 numbers, known now. axis: the axis of the outputs. zero: the zero point of x, where it is known. place:
    the input of that zero point.
    """

    factor: np.ndarray
    axis: int
    shift: int
    zero: int | None
    place: int

    @classmethod
    def of(cls, node: Node, places: tuple[int, int, int, int], axis: int) -> _Bytes | None:
        """None where the factor is computed in the call, or is not of s8.

        places: where the node has x, the zero point of x, w, and that of w.
        """
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
        """The term that is added to a sum, the table that the term reads, and its inputs."""
        total = self.factor.sum(tuple(a for a in range(self.factor.ndim) if a != self.axis), dtype=np.int32)
        if self.zero is None:
            zero = f"z{at(['0'] * len(node.shape(self.place)))}"
            return f" - ({zero} + {self.shift}) * total[{dim}]", {"total": total}, {"z": self.place}
        if self.zero + self.shift == 0:
            return "", {}, {}
        return f" - total[{dim}]", {"total": (self.zero + self.shift) * total}, {}


@dataclass(frozen=True)
class _Sums:
    """Statements, and the value of a sum after them. dims: those that the sums have. channel: the axis of outputs.
    known: the factor, where bytes are multiplied. The rest is as in a Text.
    """

    text: str
    value: str
    dims: list[str]
    channel: int
    inputs: dict[str, int]
    extents: dict[str, int]
    made: dict[str, np.ndarray]
    known: _Bytes | None = None

    def whole(self) -> Made:
        """The sums themselves."""
        return Text(f"{self.text}y{at(self.dims)} = {self.value}", self.inputs, self.extents, ("s32",), made=self.made)

    def quantised(self, node: Node, scales: tuple[int, int, int], axes: tuple[int, int], zero: int, bias: int) -> Made:
        """The sums times sx * sw / sy, rounded, and a zero point added.

        scales: the places of sx, sw and sy among the inputs. axes: the dims that sx and sw lie along, as axes of the
        output. zero, bias: places among the inputs.
        """
        wanted = node.dtype(zero) if node.has(zero) else node.dtype(0)
        if wanted not in _RANGES:
            raise node.refuse(f"numbers are not quantised to {wanted}")
        low, high = _RANGES[wanted]
        here = at(self.dims)
        exact = _in_f32(node, self.known, scales, zero, bias, (low, high))
        if exact:
            shift, scale, point = exact
            channel = self.dims[self.channel]
            value = f"round_mul(f32(sums{here}) + shift[{channel}], scale[{channel}]) + {point}"
            made = {"factor": self.made["factor"], "shift": shift, "scale": scale}
            kept = {name: place for name, place in self.inputs.items() if name in ("a", "x")}
            text = f"{self.text}y{here} = {wanted}(clamp(round({value}), {low}, {high}))"
            return Text(text, kept, self.extents, (wanted,), made=made)
        along = (*axes, self.channel)
        factors = [
            f"f32({name}{_one(node, place, self.dims, axis)})"
            for name, place, axis in zip(("sx", "sw", "sy"), scales, along)
        ]
        sums = self.value + (f" + bias[{self.dims[self.channel]}]" if node.has(bias) else "")
        added = f" + zy{_one(node, zero, self.dims, self.channel)}" if node.has(zero) else ""
        value = f"round(f64({sums}) * ({factors[0]} * {factors[1]} / {factors[2]})){added}"
        inputs = self.inputs | dict(zip(("sx", "sw", "sy"), scales))
        inputs |= ({"zy": zero} if node.has(zero) else {}) | ({"bias": bias} if node.has(bias) else {})
        text = f"{self.text}y{here} = {wanted}(clamp({value}, {low}, {high}))"
        return Text(text, inputs, self.extents, (wanted,), made=self.made)


def _in_f32(
    node: Node,
    known: _Bytes | None,
    scales: tuple[int, int, int],
    zero: int,
    bias: int,
    ends: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """The addend of a sum, its factor, and the zero point, where f32 gives the same results; else None.

    That is so where all three are known, and f32 holds every possible sum of bytes, before and after the addition, or
    every sum that it does not hold saturates: f32 rounds it to no smaller one than those it holds. ends: the smallest
    and the largest result.
    """
    numbers = [found for found in (node.known[place] for place in scales) if found is not None]
    added = node.known[bias] if node.has(bias) else np.zeros(1, np.int32)
    point = node.known[zero] if node.has(zero) else np.zeros(1, np.int32)
    if known is None or known.zero is None or added is None or point is None or point.size > 1:
        return None
    if len(numbers) < len(scales) or any(number.dtype != np.float32 for number in numbers):
        return None
    (sx, sw, sy), others = numbers, tuple(axis for axis in range(known.factor.ndim) if axis != known.axis)
    count, offset = known.factor.shape[known.axis], int(point.reshape(-1)[0])
    if sx.size > 1 or sy.size > 1 or sw.size not in (1, count) or sw.ndim > 1:
        return None
    with np.errstate(all="ignore"):
        scale = np.broadcast_to((sx.reshape(-1) * sw.reshape(-1) / sy.reshape(-1)).astype(np.float32), (count,))
    if not np.isfinite(scale).all():
        return None
    factor = known.factor.astype(np.int64)
    shift = added.reshape(-1).astype(np.int64) - (known.zero + known.shift) * factor.sum(others)
    bounds = [255 * end(factor, 0).sum(others) for end in (np.minimum, np.maximum)]
    most = np.max(np.abs([*bounds, shift, *(bound + shift for bound in bounds)]), axis=0)
    # A sum beyond _HELD is at least _HELD - |shift| after the addition, on the same side of 0.
    saturated = (_HELD - np.abs(shift)) * np.abs(scale.astype(np.float64)) > max(abs(end - offset) for end in ends) + 1
    if not np.all((most <= _HELD) | saturated & (most < 1 << 31)):
        return None
    return shift.astype(np.float32), np.ascontiguousarray(scale), offset


def _matmul(node: Node, places: tuple[int, int, int, int]) -> _Sums:
    """The sums of a product of matrices. places: where the node has a, the zero point of a, b, and that of b."""
    a, b = node.shape(places[0]), node.shape(places[2])
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise node.refuse(f"shapes {a} and {b} are no factors of a product")
    whole = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    dims = node.dims(len(whole))
    channel, extents = len(whole) - 1, dict(zip(dims, whole)) | {"c": a[-1]}
    known = _Bytes.of(node, places, -1) if len(b) == 2 else None
    if known:
        here, text, left = at([*dims[:-1], "c"]), "", "a"
        if known.shift:
            text, left = f"left: u8; left{here} = a{here} + {known.shift}; ", "left"
        rest, tables, inputs = known.rest(node, dims[-1])
        text += f"sums: s32; sums{at(dims)} = sum[c] {left}{here} * factor{at(['c', dims[-1]])}; "
        value, made = f"(sums{at(dims)}{rest})", {"factor": known.factor} | tables
        return _Sums(text, value, dims, channel, {"a": places[0]} | inputs, extents, made, known)
    outer = [[d if e > 1 else "0" for d, e in zip(dims[len(whole) - len(s) : -2], s)] for s in (a, b)]
    own = [f"o{number}" for number in range(len(a) - 2)], [f"v{number}" for number in range(len(b) - 2)]
    first, one = _off(node, "left", "a", places[0], places[1], [*own[0], dims[-2], "c"], len(a) - 2)
    second, two = _off(node, "right", "b", places[2], places[3], [*own[1], "c", dims[-1]], len(b) - 1)
    factors = f"left{at([*outer[0], dims[-2], 'c'])} * right{at([*outer[1], 'c', dims[-1]])}"
    text = f"{first}{second}sums{at(dims)} = sum[c] {factors}; "
    extents |= dict(zip(own[0], a)) | dict(zip(own[1], b))
    return _Sums(text, f"sums{at(dims)}", dims, channel, one | two, extents, {})


def _qlinear_matmul(node: Node) -> Made:
    return _matmul(node, (0, 2, 3, 5)).quantised(node, (1, 4, 6), (-2, -1), 7, 8)


def _conv(node: Node, places: tuple[int, int, int, int]) -> _Sums:
    """The sums of a convolution. places: where the node has x, the zero point of x, w, and that of w."""
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
        made = {"factor": known.factor} | tables
        return _Sums(text, value, dims, 1, {"x": places[0]} | inputs, outer, made, known)
    first, one = _off(node, "image", "x", places[0], places[1], own, 1)
    second, two = _off(node, "filters", "f", places[2], places[3], [dims[1], "c", *taps], 0)
    spots = [
        f"{stride}*{dim} + {dilation}*{tap} - {low}"
        for dim, tap, stride, dilation, low in zip(dims[2:], taps, found.strides, found.dilations, found.before)
    ]
    read = f"(image{at([dims[0], channel, *spots])} else 0)"
    text = f"{first}{second}sums{at(dims)} = sum{at(['c', *taps])} {read} * filters{at([dims[1], 'c', *taps])}; "
    return _Sums(text, f"sums{at(dims)}", dims, 1, one | two, outer | dict(zip(own, x)), {})


def _qlinear_conv(node: Node) -> Made:
    found = _conv(node, (0, 2, 3, 5))
    if node.has(7) and prod(node.shape(7)) > 1:
        raise node.refuse("several zero points of the output are not supported")
    return found.quantised(node, (1, 4, 6), (1, 1), 7, 8)


QUANTISED: dict[str, Callable[[Node], Made]] = {
    "MatMulInteger": lambda node: _matmul(node, (0, 2, 1, 3)).whole(),
    "QLinearMatMul": _qlinear_matmul,
    "ConvInteger": lambda node: _conv(node, (0, 2, 1, 3)).whole(),
    "QLinearConv": _qlinear_conv,
}
