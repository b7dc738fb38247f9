"""Casts between all dtypes, and the quantisation of floats.

Floats of 8 and 4 bits are tables: the value of each code, and for encoding the least number of each code. Codes are in
the order of their values, so the code of x is how many of these least numbers |x| reaches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from graph.model.dtypes import DTYPES, FLOATS_OF_BITS, SHORT, stored
from graph.model.node import Made, Node, Shape, Text, View, at
from tiling.dtypes.formats import FLOATS, FORMATS, INTEGERS

_RANGES = {name: each.ends for name, each in FORMATS.items() if each.whole and each.bits <= 16}


@dataclass(frozen=True)
class Codes:
    """The codes of a dtype of a few bits.

    meaning: the f32 of each code. least: for each code from 1 on the least number, in f64, that is rounded to it; the
    last entry is for numbers that are too large. negative: added to the code of a negative number. none, beyond: the
    codes of NaN, and of numbers that are too large.
    """

    meaning: np.ndarray
    least: np.ndarray
    negative: int
    none: int
    beyond: int


def codes_of(dtype: str, rounding: str = "nearest") -> Codes:
    """The codes of a dtype. rounding: "nearest", or "up" and "down" of powers of 2, which have no zero and no sign."""
    kind, bits = getattr(ml_dtypes, FORMATS[dtype].named), FORMATS[dtype].bits
    meaning = np.arange(1 << bits, dtype=np.uint8).view(kind).astype(np.float32)
    unsigned = dtype == "f8e8m0"
    values = meaning[: (1 << bits) if unsigned else 1 << (bits - 1)].astype(np.float64)
    values = values[: int(np.argmin(np.isfinite(values)))] if not np.isfinite(values).all() else values
    beyond = values[-1] + (values[-1] - values[-2])
    ends = np.append(values, beyond)
    low, high = ends[:-1], ends[1:]
    if rounding == "nearest":
        middle = (low + high) / 2
        # A tie goes to the even code; of powers of 2 to the larger one.
        least = np.where((np.arange(1, len(ends)) % 2 == 0) | unsigned, middle, np.nextafter(middle, np.inf))
    else:
        least = high if rounding == "down" else np.nextafter(low, np.inf)
    if dtype == "f4e2m1":
        return Codes(meaning, least, 8, 8, 7)  # there is no infinity, and onnx turns NaN into -0
    if dtype.endswith("fnuz"):
        return Codes(meaning, least, 128, 128, 128)
    none = int(np.asarray([np.nan], np.float32).astype(kind).view(np.uint8)[0]) & (255 if unsigned else 127)
    return Codes(meaning, least, 0 if unsigned else 128, none, len(values))


def decoded(node: Node, place: int, element: str, table: str) -> tuple[str, dict[str, np.ndarray]]:
    """A value of an element of an input, and the table that it reads."""
    dtype = node.dtype(place)
    if dtype not in FLOATS_OF_BITS:
        return element, {}
    return f"{table}[s64({element})]", {table: codes_of(dtype).meaning}


def encoded(
    dims: list[str], value: str, source: str, wanted: str, saturate: bool = True, rounding: str = "nearest"
) -> tuple[str, dict[str, np.ndarray], dict[str, int]]:
    """Statements that store a value of a dtype as another one to y, with the tables that they read, and extents."""
    here = at(dims)
    if wanted in SHORT:
        low, high = SHORT[wanted]
        mask = high - low
        text = f"b: s64; b{here} = bitand(s64({value}), {mask}); "
        return (
            text + f"y{here} = " + (f"where(b{here} > {high}, b{here} - {mask + 1}, b{here})" if low else f"b{here}"),
            {},
            {},
        )
    if wanted not in FLOATS_OF_BITS:
        return f"y{here} = {wanted}({value})", {}, {}
    codes = codes_of(wanted, rounding)
    least = codes.least[:-1] if saturate else codes.least
    kind = np.float64 if source == "f64" else np.float32
    table = least.astype(kind)
    table = np.where(table < least, np.nextafter(table, kind(np.inf)), table)
    held = "f64" if source == "f64" else "f32"
    text = f"e: {held}; e{here} = {held}({value}); n{here} = sum[code] abs(e{here}) >= least[code]; "
    code = f"n{here}"
    if not saturate:
        code = f"where({code} == {len(least)}, {codes.beyond}, {code})"
    sign = f"e{here} < 0 or e{here} == 0 and 1.0 / e{here} < 0"
    if wanted.endswith("fnuz"):  # there is no -0: its code means NaN
        code = f"where(e{here} < 0 and n{here} > 0 and {code} < 128, 128 + {code}, {code})"
    elif codes.negative:
        code = f"where({sign}, {codes.negative} + {code}, {code})"
    if not codes.negative:  # in powers of 2 infinity becomes NaN
        return (
            f"{text}y{here} = where(e{here} - e{here} != 0, {codes.none}, {code})",
            {"least": table},
            {"code": len(table)},
        )
    return f"{text}y{here} = where(e{here} != e{here}, {codes.none}, {code})", {"least": table}, {"code": len(table)}


def _cast_to(node: Node, wanted: str) -> Made:
    shape, source = node.shape(), node.dtype()
    if wanted == source:
        return View(shape)
    dims = node.dims(len(shape))
    value, tables = decoded(node, 0, f"x{at(dims)}", "meaning")
    rounding = node.attribute("round_mode", b"up").decode() if wanted == "f8e8m0" else "nearest"
    saturate = bool(node.attribute("saturate", 1))
    text, more, extents = encoded(dims, value, source, wanted, saturate, rounding)
    return Text(text, {"x": 0}, extents | dict(zip(dims, shape)), (wanted,), made=tables | more)


def _cast(node: Node) -> Made:
    wanted = DTYPES.get(node.attribute("to", 0))
    if wanted is None:
        raise node.refuse(f"a cast to ONNX's type {node.attribute('to')} is not supported")
    return _cast_to(node, wanted)


def _bit_cast(node: Node) -> Made:
    wanted = DTYPES.get(node.attribute("to", 0))
    if wanted is None or FORMATS[wanted].bits != FORMATS[node.dtype()].bits:
        raise node.refuse(f"the bits of {node.dtype()} are not seen as ONNX's type {node.attribute('to')}")
    return View(node.shape(), wanted)


# --- quantisation


def along(node: Node, place: int, dims: list[str], axis: int, block: int = 0) -> str:
    """Where a scale or a zero point is read: one number for all, for each position along an axis, or for each block."""
    shape = node.shape(place)
    if max(shape, default=1) == 1 and len(shape) < 2:
        return at(["0"] * len(shape))
    if len(shape) == 1:
        return at([dims[axis]])
    if len(shape) != len(dims) or not block:
        raise node.refuse(f"input {place} of shape {shape} is neither one number nor a row nor blocks")
    return at([f"{dim} // {block}" if number == axis else dim for number, dim in enumerate(dims)])


def _axis(node: Node, shape: Shape) -> int:
    row = len(node.shape(1)) > 0 and max(node.shape(1)) > 1
    return node.axis(node.attribute("axis", 1), len(shape)) if row else 0


def _quantize(node: Node) -> Made:
    shape = node.shape()
    dims, axis, block = node.dims(len(shape)), _axis(node, shape), node.attribute("block_size", 0)
    wanted = node.dtype(2) if node.has(2) else DTYPES.get(node.attribute("output_dtype", 0) or 2, "")
    if node.attribute("output_dtype", 0) and DTYPES.get(node.attribute("output_dtype")) != wanted:
        raise node.refuse("output_dtype is another than the zero point's")
    source = DTYPES.get(node.attribute("precision", 0)) or _met(node.dtype(0), node.dtype(1))
    inputs = {"x": 0, "s": 1}
    value = f"{source}({source}(x{at(dims)}) / {source}(s{along(node, 1, dims, axis, block)}))"
    if wanted in FLOATS_OF_BITS:
        if node.has(2):  # the zero point is 0, and adding it turns -0 into 0
            value = f"({value} + 0.0)"
        text, tables, extents = encoded(dims, value, source, wanted, bool(node.attribute("saturate", 1)))
        return Text(text, inputs, extents | dict(zip(dims, shape)), (wanted,), made=tables)
    if wanted not in _RANGES:
        raise node.refuse(f"numbers are not quantised to {wanted}")
    zero = ""
    if node.has(2):
        inputs["z"] = 2
        zero = f" + z{along(node, 2, dims, axis, block)}"
    low, high = _RANGES[wanted]
    text = f"y{at(dims)} = {stored(wanted)}(clamp(round({value}){zero}, {low}, {high}))"
    return Text(text, inputs, dict(zip(dims, shape)), (wanted,))


def _met(x: str, scale: str) -> str:
    """The dtype of the quotient of a number and its scale, as NumPy has it."""
    if x in INTEGERS:
        return "f64" if x == "s32" else "f32"
    return x if x == scale else "f32"


def _dequantize(node: Node) -> Made:
    shape = node.shape()
    dims, axis, block = node.dims(len(shape)), _axis(node, shape), node.attribute("block_size", 0)
    wanted = DTYPES.get(node.attribute("output_dtype", 0)) or node.dtype(1)
    if wanted not in FLOATS:
        raise node.refuse(f"numbers are not dequantised to {wanted}")
    value, tables = decoded(node, 0, f"x{at(dims)}", "meaning")
    inputs = {"x": 0, "s": 1}
    value = f"f32({value})"
    if node.has(2) and node.dtype(0) not in FLOATS_OF_BITS:
        inputs["z"] = 2
        value = f"({value} - f32(z{along(node, 2, dims, axis, block)}))"
    text = f"y{at(dims)} = {wanted}({value} * s{along(node, 1, dims, axis, block)})"
    return Text(text, inputs, dict(zip(dims, shape)), (wanted,), made=tables)


CASTS: dict[str, Callable[[Node], Made]] = {
    "Cast": _cast,
    "CastLike": lambda node: _cast_to(node, node.dtype(1)),
    "BitCast": _bit_cast,
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
}
