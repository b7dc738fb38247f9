"""Fourier transforms, as products with tables of sines and cosines.

A complex number is a pair along the last axis. A transform of N points takes N^2 products.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graph.model.node import Made, Node, Text, at

_LONGEST = 4096  # points: a table of N^2 numbers is kept among the weights


def _tables(node: Node, points: int, count: int, used: int, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of the angles of `count` frequencies at `used` points."""
    if points > _LONGEST:
        raise node.refuse(f"a transform of {points} points is longer than {_LONGEST}")
    turns = np.outer(np.arange(count), np.arange(used)) % points
    angle = sign * 2 * np.pi * turns / points
    return np.cos(angle), np.sin(angle)


def _kind(dtype: str) -> type:
    return np.float64 if dtype == "f64" else np.float32


def _dft(node: Node) -> Made:
    shape = node.shape()
    one, inverse = bool(node.attribute("onesided", 0)), bool(node.attribute("inverse", 0))
    axis = node.attribute("axis", 1)
    if node.version >= 20:
        axis = node.whole(2, "the axis")[0] if node.has(2) else -2
    axis = node.axis(axis, len(shape))
    if axis == len(shape) - 1 or shape[-1] not in (1, 2):
        raise node.refuse(f"the last axis of {shape} holds no real or complex numbers beside axis {axis}")
    real = shape[-1] == 1
    points = 2 * (shape[axis] - 1) if inverse and one else shape[axis]
    if node.has(1):
        points = int(np.ravel(node.constant(1, "the number of points"))[0])
    half = points // 2 + 1
    used = min(shape[axis], half if inverse and one else points)
    count = half if one and not inverse else points
    cos, sin = _tables(node, points, count, used, 1 if inverse else -1)
    if inverse:
        scale = np.full(used, 1 / points)
        if one:  # the other half is the mirror image
            scale[1:] *= 2
            if points % 2 == 0 and used == half:
                scale[-1] /= 2
        cos, sin = cos * scale, sin * scale
    dims = node.dims(len(shape))
    here, last = dims[axis], dims[-1]
    out = at(dims)
    before = [at([*("o" if d == here else d for d in dims[:-1]), part]) for part in ("0", "1")]
    re, im = f"x{before[0]}", f"x{before[1]}"
    first = f"{re} * c[{here},o]" + ("" if real else f" - {im} * s[{here},o]")
    second = f"{re} * s[{here},o]" + ("" if real else f" + {im} * c[{here},o]")
    # Sums are in f64: many results of a transform are 0 except for rounding, and so stay near 0.
    made: dict[str, np.ndarray] = {"c": cos, "s": sin}
    extents = dict(zip(dims, shape)) | {here: count, last: 2, "o": used}
    if inverse and one:
        extents[last] = 1
        return Text(f"y{out} = sum[o] {first}", {"x": 0}, extents, (node.dtype(),), made=made)
    text = f"a{at(dims[:-1])} = sum[o] {first}; b{at(dims[:-1])} = sum[o] {second}; "
    text += f"y{out} = where({last} == 0, a{at(dims[:-1])}, b{at(dims[:-1])})"
    return Text(text, {"x": 0}, extents, (node.dtype(),), made=made)


def _stft(node: Node) -> Made:
    shape = node.shape()
    step = int(np.ravel(node.constant(1, "the step of frames"))[0])
    if node.has(3):
        length = int(np.ravel(node.constant(3, "the length of a frame"))[0])
    elif node.has(2):
        length = node.shape(2)[0]
    else:
        raise node.refuse("neither a window nor the length of a frame is given")
    real = len(shape) < 3 or shape[2] == 1
    frames = 1 + (shape[1] - length) // step
    if frames < 1 or step < 1:
        raise node.refuse(f"there is no frame of {length} in {shape[1]} points")
    count = length // 2 + 1 if node.attribute("onesided", 1) else length
    cos, sin = _tables(node, length, count, length, -1)
    place = f"{step}*j + o"
    re, im = ((f"x[i,{place},{part}]" if len(shape) > 2 else f"x[i,{place}]") for part in (0, 1))
    window = " * v[o]" if node.has(2) else ""
    first = f"({re} * c[k,o]" + ("" if real else f" - {im} * s[k,o]") + f"){window}"
    second = f"({re} * s[k,o]" + ("" if real else f" + {im} * c[k,o]") + f"){window}"
    kind = _kind(node.dtype())
    text = f"a[i,j,k] = sum[o] {first}; b[i,j,k] = sum[o] {second}; y[i,j,k,l] = where(l == 0, a[i,j,k], b[i,j,k])"
    extents = {"i": shape[0], "j": frames, "k": count, "l": 2, "o": length}
    inputs = {"x": 0} | ({"v": 2} if node.has(2) else {})
    made: dict[str, np.ndarray] = {"c": cos.astype(kind), "s": sin.astype(kind)}
    return Text(text, inputs, extents, (node.dtype(),), made=made)


SIGNALS: dict[str, Callable[[Node], Made]] = {"DFT": _dft, "STFT": _stft}
