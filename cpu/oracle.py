"""The reference a kernel is checked against: written from the definition, with NumPy, in float64.

It shares nothing with the emitter or with `tiling`'s window arithmetic: the input is padded for real and every tap is
one matrix product. Inputs are values, as float32, of whatever dtype (`cpu.numbers.stored` makes a kernel's arrays of
them). Small integers make it exact in float32, so the check there is `==`; on reals the bound is K·eps.
"""

from __future__ import annotations

import numpy as np

from cpu.epilogue_oracle import UNIT, finished, spread
from cpu.numbers import from_bits, to_bits
from tiling.bias import bias_of
from tiling.operators import transposed
from tiling.problem import Problem


def reference(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
    """What the operator gives for x (N,H,W,C) and w (K,C/groups,R,S), or a and b as the problem has them: float64, in
    y's shape.

    The arrays of the problem's epilogue follow, in the order of `epilogue_arrays`.
    """
    problem = problem.asked
    sums = _sums(problem, x, w)
    return finished(problem, sums, arrays).value if problem.epilogue else sums


def _sums(problem: Problem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    x, w = x.astype(np.float64), w.astype(np.float64)
    if problem.op == "matmul":
        turned = {t.name for t in transposed(problem)}
        return (x.swapaxes(-1, -2) if "a" in turned else x) @ (w.swapaxes(-1, -2) if "b" in turned else w)
    if problem.layout == "nchw":
        return np.ascontiguousarray(np.moveaxis(_channels_last(problem, np.moveaxis(x, 1, -1), w), -1, 1))
    return _channels_last(problem, x, w)


def _channels_last(problem: Problem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The sums of a convolution of x (N,H,W,C) as (N,OH,OW,K), whatever the problem's layout."""
    n, out_h, out_w, k = (dict(zip(problem.layout, problem.output.shape))[axis] for axis in "nhwc")
    rows, cols = (dict(zip(problem.layout, problem.broadcast.indices))[axis] for axis in "hw")
    y = np.zeros((n, out_h, out_w, k))
    stride_h, stride_w = rows.coefficient("h"), cols.coefficient("w")
    dilation_h, dilation_w = rows.coefficient("r"), cols.coefficient("s")
    taps_r, taps_s = w.shape[2:]
    reach_h = (out_h - 1) * stride_h + (taps_r - 1) * dilation_h + 1
    reach_w = (out_w - 1) * stride_w + (taps_s - 1) * dilation_w + 1
    top, left = -rows.offset, -cols.offset
    bottom, right = max(0, reach_h - top - x.shape[1]), max(0, reach_w - left - x.shape[2])
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    for r in range(taps_r):
        for s in range(taps_s):
            h, v = r * dilation_h, s * dilation_w
            seen = padded[
                :, h : h + (out_h - 1) * stride_h + 1 : stride_h, v : v + (out_w - 1) * stride_w + 1 : stride_w
            ]
            y += _pointwise(seen, w[:, :, r, s])
    return y


def _pointwise(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x (N,H,W,C) times w (K,C/groups): group by group a matrix product.

    NumPy hands a product to BLAS where the elements of a row, or of a column, are neighbours, which those of one tap
    of w are not; without BLAS the largest layers take seconds instead of a tenth.
    """
    groups = x.shape[-1] // w.shape[1]
    if w.shape[1] == 1:  # the same without a loop over as many groups as there are channels
        return np.repeat(x, len(w) // groups, axis=-1) * w[:, 0]
    points = x.reshape(-1, x.shape[-1])
    parts = zip(np.split(points, groups, axis=-1), np.split(np.ascontiguousarray(w), groups))
    return np.concatenate([part @ weights.T for part, weights in parts], axis=-1).reshape(*x.shape[:-1], len(w))


def integers(problem: Problem, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Inputs of small whole numbers, so that every order of summation gives the same float32 result.

    Entries lie in [-b, b] with b·b·K < 2^24, K the reduction length; b falls to 1 for the longest reductions. x and w,
    then the epilogue's arrays, whose entries are -4 … 4 without 0. Of int8 all numbers there are: any sum is exact.
    """
    problem = problem.asked
    bound = max(1, min(4, int((2**24 / problem.reduction_length) ** 0.5)))
    rng = np.random.default_rng(seed)

    def draw(shape, low, high):
        return rng.integers(low, high + 1, shape).astype(np.float32)

    limits = ((0, 255), (-128, 127)) if problem.dtype == "int8" else ((-bound, bound),) * 2
    x, w = (draw(t.shape, *ends) for t, ends in zip((problem.broadcast, problem.vector), limits))
    values = np.array([-4, -3, -2, -1, 1, 2, 3, 4], np.float32)
    return x, w, *(rng.choice(values, t.shape) for t in problem.epilogue_arrays)


def reals(problem: Problem, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Inputs drawn evenly from [-1, 1), rounded to bf16 where that is the dtype, of int8 from all numbers: x and w,
    then the epilogue's arrays.
    """
    problem, rng = problem.asked, np.random.default_rng(seed)
    tensors = (problem.broadcast, problem.vector, *problem.epilogue_arrays)
    x, w, *arrays = (rng.random(t.shape, np.float32) * 2 - 1 for t in tensors)
    if problem.dtype == "int8":
        x, w, *_ = integers(problem, seed)
    elif problem.dtype == "bf16":
        x, w = (from_bits(to_bits(array, "bf16"), "bf16") for array in (x, w))
    return x, w, *arrays


def error_bound(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray | float:
    """The largest error a float32 result may have, per output.

    Of a sum K·eps · Σ|x·w|, whatever the order of summation, with the bias that it may begin with as one summand more;
    an epilogue carries it on and adds its own (`cpu.epilogue_oracle`).
    Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1: |error| <= gamma_K · Σ|x·w|.
    """
    problem = problem.asked
    if problem.sum_dtype == "s32":
        return exact_bound(problem, x, w, *arrays)
    bias = bias_of(problem)
    begin = np.abs(spread(problem, bias, arrays[problem.epilogue_arrays.index(bias)])) if bias else 0.0
    bound = problem.reduction_length * UNIT * (_sums(problem, np.abs(x), np.abs(w)) + begin)
    return finished(problem, _sums(problem, x, w), arrays, bound).error if problem.epilogue else bound


def exact_bound(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray | float:
    """As `error_bound` for inputs of `integers`, whose sums are exact: 0 but for what an epilogue rounds, and a float32
    of an int32.
    """
    problem = problem.asked
    as_summed = problem.sum_dtype == "f32" or problem.keeps_sums
    if as_summed and not problem.epilogue:
        return 0.0
    sums = _sums(problem, x, w)
    bound = 0.0 if as_summed else np.where(np.abs(sums) > 2**24, UNIT * np.abs(sums), 0.0)
    return finished(problem, sums, arrays, bound).error if problem.epilogue else bound


def wrong(problem: Problem, y: np.ndarray, expected: np.ndarray, bound: np.ndarray | float) -> np.ndarray:
    """Which elements of an output as a kernel stores it are further from `expected` than `bound` and the store's
    rounding.

    Rounding keeps the order of numbers, so a narrow output lies between the rounded ends of what is allowed.
    """
    dtype = problem.output_dtype
    if dtype == "f32":
        return beyond(y, expected, bound)
    with np.errstate(invalid="ignore"):
        low, high = (from_bits(to_bits(end, dtype), dtype) for end in (expected - bound, expected + bound))
    found = from_bits(y, dtype)
    # Where an epilogue divides by what may be 0 its bound is infinite, and anything is accepted.
    return ~((low <= found) & (found <= high) | np.isinf(bound) | np.isnan(expected))


def beyond(y: np.ndarray, expected: np.ndarray, bound: np.ndarray | float) -> np.ndarray:
    """Which elements of a float32 result are further from `expected` than `bound`; infinities and NaN must be the same.

    An epilogue may leave the range of float32: from where that may be, y is infinite or not. Where it divides by what
    may be 0 its bound is infinite, and anything is accepted.
    """
    if np.isscalar(bound) and bound == 0:
        return y != expected
    with np.errstate(all="ignore"):
        near = np.abs(y - expected) <= bound
        same = (y == expected.astype(np.float32)) | (np.isnan(y) & np.isnan(expected))
        overflows = np.isfinite(expected) & (np.abs(expected) + bound > np.finfo(np.float32).max)
    return ~(near | same | overflows | np.isinf(bound))
