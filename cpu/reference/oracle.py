"""The reference that kernels are checked against: written from the definition, with NumPy, in float64.

It shares nothing with the emitter or with `tiling`'s window arithmetic: it pads the input for real, and every tap is a
matrix product. Inputs are float32 values, whatever the problem's dtype (`cpu.codegen.arrays.stored` makes a kernel's
arrays of them). On small integers float32 is exact, and the check is `==`. On reals the bound is K·eps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpu.reference.epilogue import UNIT, broadcast, finished
from cpu.runtime.numbers import from_bits, to_bits
from tiling.arrays.bias import bias_of
from tiling.dtypes.formats import FORMATS
from tiling.dtypes.products import OPERAND_DTYPES
from tiling.problem import Problem
from tiling.tensor import Tensor


# Here and not in `cpu.kernel.measure`: a worker that measures on a GPU needs no more of the emitter, 0.3 s of imports.
class WrongResult(RuntimeError):
    """A kernel does not compute its problem. The message says how many outputs differ, and where the first one is."""


def reference(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
    """The result of the problem's operator, in float64, in the shape of the part of y that is written.

    x, w: (N,H,W,C) and (K,C/groups,R,S), or a and b in the problem's layout. arrays: the epilogue's arrays, in the
    order of `epilogue_arrays`.
    """
    problem = problem.original
    sums = _sums(problem, x, w)
    return finished(problem, sums, arrays).value if problem.epilogue else sums


def _sums(problem: Problem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    x, w = x.astype(np.float64), w.astype(np.float64)
    if problem.is_product:
        a, b = (_matrices(problem, *each) for each in ((problem.broadcast, x, "mk"), (problem.vector, w, "kn")))
        lie = [index.terms[0][0] for index in problem.output.indices]
        plain = "lmn"[-len(lie) :]
        product: np.ndarray = (a @ b).transpose([plain.index(axis) for axis in lie])
        return product
    if problem.layout == "nchw":
        return np.ascontiguousarray(np.moveaxis(_channels_last(problem, np.moveaxis(x, 1, -1), w), -1, 1))
    return _channels_last(problem, x, w)


def _matrices(problem: Problem, tensor: Tensor, array: np.ndarray, order: str) -> np.ndarray:
    """The matrices of an input of a product, one after the other, with their axes in this order."""
    lie = [index.terms[0][0] for index in tensor.indices]
    first = array[tuple(slice(problem.extents[axis]) for axis in lie)]
    found: np.ndarray = first.transpose([lie.index(axis) for axis in ("l" + order)[-len(lie) :]])
    return found


def _channels_last(problem: Problem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The sums of a convolution, (N,OH,OW,K), for x (N,H,W,C), whatever the problem's layout; volumes have D too."""
    channels = problem.channel_axis
    slides = [index for axis, index in enumerate(problem.broadcast.indices) if axis not in (0, channels)]
    strides, dilations = ([index.terms[part][1] for index in slides] for part in (0, 1))  # of the output, then the tap
    counts = [problem.extents[index.terms[0][0]] for index in slides]
    y = np.zeros((problem.written[0], *counts, problem.written[channels]))
    if problem.layout == "nhwc":
        x = x[..., : problem.broadcast.reached(problem.extents)[-1]]
    padding = []
    for axis, index in enumerate(slides):
        reach = (counts[axis] - 1) * strides[axis] + (w.shape[2 + axis] - 1) * dilations[axis] + 1
        padding.append((-index.offset, max(0, reach + index.offset - x.shape[1 + axis])))
    padded = np.pad(x, ((0, 0), *padding, (0, 0)))
    for taps in np.ndindex(*w.shape[2:]):
        seen: list[Any] = [slice(None)]
        for tap, count, stride, dilation in zip(taps, counts, strides, dilations):
            first = tap * dilation
            seen.append(slice(first, first + (count - 1) * stride + 1, stride))
        every: list[Any] = [slice(None)] * 2
        y += _pointwise(padded[tuple(seen)], w[tuple(every + list(taps))])
    return y


def _pointwise(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x (…,C) times w (K,C/groups): a matrix product for each group."""
    groups = x.shape[-1] // w.shape[1]
    if w.shape[1] == 1:  # depthwise: the same without a loop over all channels
        depthwise: np.ndarray = np.repeat(x, len(w) // groups, axis=-1) * w[:, 0]
        return depthwise
    points = x.reshape(-1, x.shape[-1])
    # NumPy passes a product to BLAS only if the elements of a row or of a column are neighbours. In one tap of w they
    # are not, so it is copied: without BLAS the largest layers take seconds instead of a tenth of a second.
    parts = zip(np.split(points, groups, axis=-1), np.split(np.ascontiguousarray(w), groups))
    products: np.ndarray = np.concatenate([part @ weights.T for part, weights in parts], axis=-1)
    return products.reshape(*x.shape[:-1], len(w))


def integers(problem: Problem, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Inputs of small whole numbers: every order of summation gives the same float32 result.

    Returns x and w, then the epilogue's arrays. Entries of x and w lie in [-b, b], where b·b·K < 2^24 and K is the
    reduction length; for the longest reductions b is 1. The arrays of the epilogue hold -4 … 4 without 0. Where any sum
    is exact, as of int8, x and w hold all numbers of their dtypes.
    """
    problem = problem.original
    bound = max(1, min(4, int((2**24 / problem.reduction_length) ** 0.5)))
    rng = np.random.default_rng(seed)

    def draw(shape: tuple[int, ...], low: int, high: int) -> NDArray[np.float32]:
        return rng.integers(low, high + 1, shape).astype(np.float32)

    limits: tuple[tuple[int, int], ...] = ((-bound, bound),) * 2
    if problem.sums_are_exact:
        limits = tuple(FORMATS[dtype].ends for dtype in OPERAND_DTYPES[problem.dtype])
    x, w = (draw(t.shape, *ends) for t, ends in zip((problem.broadcast, problem.vector), limits))
    values = np.array([-4, -3, -2, -1, 1, 2, 3, 4], np.float32)
    return x, w, *(rng.choice(values, t.shape) for t in problem.epilogue_arrays)


def reals(problem: Problem, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Random inputs: x and w, then the epilogue's arrays, all drawn evenly from [-1, 1).

    x and w are rounded to their dtypes. Where sums are exact, as of int8, they are drawn from all numbers of these.
    """
    problem, rng = problem.original, np.random.default_rng(seed)
    tensors = (problem.broadcast, problem.vector, *problem.epilogue_arrays)
    x, w, *arrays = (rng.random(t.shape, np.float32) * 2 - 1 for t in tensors)
    if problem.sums_are_exact:
        x, w, *_ = integers(problem, seed)
    else:
        given = zip((x, w), OPERAND_DTYPES[problem.dtype])
        x, w = (from_bits(to_bits(array, dtype), dtype) for array, dtype in given)
    return x, w, *arrays


def error_bound(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray | float:
    """The largest error that a float32 result may have, for each output.

    For a sum it is K·eps · Σ|x·w|, whatever the order of summation. A bias that the sum begins with is one more
    summand. An epilogue carries the error on and adds its own (`cpu.reference.epilogue`).
    Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1: |error| <= gamma_K · Σ|x·w|.
    """
    problem = problem.original
    if problem.sum_dtype == "s32":
        return exact_bound(problem, x, w, *arrays)
    bias = bias_of(problem)
    begin = np.abs(broadcast(problem, bias, arrays[problem.epilogue_arrays.index(bias)])) if bias else 0.0
    bound = problem.reduction_length * UNIT * (_sums(problem, np.abs(x), np.abs(w)) + begin)
    return finished(problem, _sums(problem, x, w), arrays, bound).error if problem.epilogue else bound


def exact_bound(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray | float:
    """As `error_bound`, for inputs from `integers`, whose sums are exact.

    The bound is 0, except where an epilogue rounds or where an int32 becomes a float32.
    """
    problem = problem.original
    as_summed = problem.sum_dtype == "f32" or problem.keeps_sums
    if as_summed and not problem.epilogue:
        return 0.0
    sums = _sums(problem, x, w)
    bound = 0.0 if as_summed else np.where(np.abs(sums) > 2**24, UNIT * np.abs(sums), 0.0)
    return finished(problem, sums, arrays, bound).error if problem.epilogue else bound


def part_written(problem: Problem, y: np.ndarray) -> np.ndarray:
    """The part of y that a kernel writes: all of it, unless it lies in a wider array."""
    written: np.ndarray = y[tuple(map(slice, problem.original.written))]
    return written


def wrong(problem: Problem, y: np.ndarray, expected: np.ndarray, bound: np.ndarray | float) -> np.ndarray:
    """Which elements of y, in the kernel's own number format, are further from `expected` than `bound` and the rounding
    to that format allow.
    """
    dtype = problem.output_dtype
    if dtype == "f32":
        return beyond(y, expected, bound)
    # Rounding keeps the order of numbers: a narrow output lies between the rounded ends of the allowed range.
    with np.errstate(invalid="ignore"):
        low, high = (from_bits(to_bits(end, dtype), dtype) for end in (expected - bound, expected + bound))
    found = from_bits(y, dtype)
    # If an epilogue divides by a value that may be 0, its bound is infinite, and every result is accepted.
    accepted: np.ndarray = (low <= found) & (found <= high) | np.isinf(bound) | np.isnan(expected)
    return ~accepted


def beyond(y: np.ndarray, expected: np.ndarray, bound: np.ndarray | float) -> np.ndarray:
    """Which elements of a float32 result are further from `expected` than `bound`. Infinities and NaN must be the same.

    Two cases accept every result. A value within its bound of the end of float32's range may become infinite. And if an
    epilogue divides by a value that may be 0, its bound is infinite.
    """
    if np.isscalar(bound) and bound == 0:
        different: np.ndarray = y != expected
        return different
    with np.errstate(all="ignore"):
        near = np.abs(y - expected) <= bound
        same = (y == expected.astype(np.float32)) | (np.isnan(y) & np.isnan(expected))
        overflows = np.isfinite(expected) & (np.abs(expected) + bound > np.finfo(np.float32).max)
    accepted: np.ndarray = near | same | overflows | np.isinf(bound)
    return ~accepted
