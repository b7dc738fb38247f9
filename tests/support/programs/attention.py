"""Attention as one program, in float64 too, and a bound that is derived from the roundings."""

from __future__ import annotations

import numpy as np

from cpu.kernel.program import build_program
from microkernels.tile.isa import isa_named
from tiling.program.infer import sized
from tiling.program.lowering.online import BLOCK
from tiling.program.read import read

SCORES = "s[h,i,j] = sum[c] q[h,i,c] * k[{h},j,c]; t[h,i,j] = {t}; m[h,i] = max[j] t[h,i,j]; "
AFTER = SCORES + (
    "e[h,i,j] = exp(t[h,i,j] - m[h,i]); d[h,i] = sum[j] e[h,i,j]; a[h,i,c] = sum[j] e[h,i,j] * v[{h},j,c]; "
    "y[h,i,c] = a[h,i,c] / d[h,i]"
)
# As a softmax and a product that know nothing of each other.
BEFORE = SCORES + (
    "e[h,i,j] = exp(t[h,i,j] - m[h,i]); d[h,i] = sum[j] e[h,i,j]; p[h,i,j] = e[h,i,j] / d[h,i]; "
    "y[h,i,c] = sum[j] p[h,i,j] * v[{h},j,c]"
)
SCALED = "s[h,i,j] * 0.125"
MASKS = {
    "none": (SCALED, lambda i, j, b: 0 * (i + j)),
    "causal": (f"where(j <= i, {SCALED}, -inf)", lambda i, j, b: np.where(j <= i, 0, -np.inf)),
    "a window": (
        f"where(j <= i and j > i - 40, {SCALED}, -inf)",
        lambda i, j, b: np.where((j <= i) & (j > i - 40), 0, -np.inf),
    ),
    "an array": (f"{SCALED} + b[i,j]", lambda i, j, b: b),
}


def attention(q, k, v, bias, scale=0.125):
    """In float64: the result, what the magnitudes of the values add up to, and the scores."""
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    shared = q.shape[0] // k.shape[0]
    k, v = (np.repeat(array, shared, 0) for array in (k, v))
    t = q @ k.transpose(0, 2, 1) * scale + bias
    with np.errstate(invalid="ignore"):
        e = np.exp(t - t.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
    rounding = np.abs(q) @ np.abs(k).transpose(0, 2, 1) * scale
    return p @ v, p @ np.abs(v), np.where(np.isfinite(t), rounding, 0).max(-1, keepdims=True)


def bound(magnitudes, rounding, keys, channels, u=2.0**-24):
    """The largest error in f32 with a unit roundoff u.

    A score is wrong by `channels` roundings of what it adds up, and its difference from the maximum by one of each.
    An exponential, of 2 roundings, has that as a relative error. So have its rescalings, one in each block. Sums have
    one for each key and block. Numerator and denominator may be wrong in opposite directions.
    """
    blocks = -(-keys // BLOCK)
    exponential = (channels + 4) * u * rounding + 2 * 4 * u * rounding + 4 * u
    rescaled = blocks * (4 * u + 4 * u * rounding)
    return 2 * (exponential + rescaled + (keys + blocks + 2) * u) * magnitudes


def drawn(random, heads, shared, queries, keys, channels):
    shapes = ((heads, queries, channels), (heads // shared, keys, channels), (heads // shared, keys, channels))
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def kernel_of(text, arrays, isa, threads=1, **options):
    given = {name: array.shape for name, array in zip("qkvb", arrays) if name in read(text).inputs}
    program = sized(read(text), {}, given, **options)
    kernel = build_program(program, isa_named(isa), threads)
    return kernel, [dict(zip("qkvb", arrays))[array.name] for array in program.inputs]


def check(isa, mask, sizes, text=AFTER, shared=1, threads=1, seed=0):
    random = np.random.default_rng(seed)
    _, queries, keys, channels = sizes
    q, k, v = drawn(random, sizes[0], shared, queries, keys, channels)
    bias = np.where(random.random((queries, keys)) < 0.3, -np.inf, random.standard_normal((queries, keys)))
    bias = bias.astype(np.float32)
    bias[0] = -np.inf  # a row that sees nothing is no number
    bias[-1, :-1] = -np.inf  # and one sees the last key alone
    value, meaning = MASKS[mask]
    filled = text.format(t=value, h=f"h//{shared}" if shared > 1 else "h")
    kernel, inputs = kernel_of(filled, (q, k, v, bias), isa, threads)
    seen = meaning(np.arange(queries)[:, None], np.arange(keys), bias)
    wanted, magnitudes, rounding = attention(q, k, v, seen)
    found = kernel(*inputs)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    most = bound(magnitudes, rounding + np.abs(np.where(np.isfinite(seen), seen, 0)).max(), keys, channels)
    assert np.nanmax(np.abs(found - wanted) / most) <= 1, f"seed {seed}: {sizes}"
    assert keys <= BLOCK or "m_run" in kernel.source
    return kernel
