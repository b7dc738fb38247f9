"""Attention as one program, with a running maximum and running sums: exact where exponentials are 0 or 1, else within a
bound that is derived from the roundings.
"""

from __future__ import annotations

import re
import time
from random import Random

import ml_dtypes
import numpy as np
import pytest

from cpu.codegen.program.emit import emit
from cpu.kernel.program import build_program
from cpu.runtime.machine.host import supports
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE, isa_named
from tiling.program.infer import sized
from tiling.program.lowering.online import BLOCK
from tiling.program.read import read

ISAS = [pytest.param(isa.name, marks=pytest.mark.isa(isa.name)) for isa in (PORTABLE, AVX2, AVX512F)]
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


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("mask", MASKS)
def test_a_result_is_within_the_bound(isa, mask):
    check(isa, mask, (1, 290, 600, 8))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("sizes", [(3, 1, 300, 40), (2, 33, 257, 7), (1, 64, 512, 64)])
def test_sizes_that_no_block_divides(isa, sizes):
    check(isa, "none", sizes, threads=2)


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("queries", [1, 70])
def test_heads_that_share_keys(isa, queries):
    check(isa, "causal", (6, queries, 300, 16), shared=3)


@pytest.mark.parametrize("isa", ISAS)
def test_a_softmax_and_a_product_are_attention(isa):
    check(isa, "causal", (2, 40, 300, 16), BEFORE)


def test_a_long_sequence():
    check("avx2" if supports(AVX2.cpu_flags) else "portable", "none", (1, 3, 20000, 16))


@pytest.mark.parametrize("isa", ISAS)
def test_exact_where_exponentials_are_0_or_1(isa):
    """Scores are 100 apart, so a maximum that grows takes all that was before to 0; sums of whole numbers are exact."""
    random = np.random.default_rng(2)
    b = random.integers(-3, 4, (37, 300)).astype(np.float32)
    b[5] = np.sort(b[5])  # grows from block to block
    b[6] = -np.inf
    b[7, :270] = -np.inf
    q, k = np.zeros((2, 37, 8), np.float32), np.zeros((2, 300, 8), np.float32)
    v = random.integers(-9, 10, (2, 300, 8)).astype(np.float32)
    kernel, inputs = kernel_of(AFTER.format(t="s[h,i,j] + b[i,j] * 100", h="h"), (q, k, v, b), isa)
    top = (b == b.max(-1, keepdims=True)) & np.isfinite(b)
    with np.errstate(invalid="ignore"):
        wanted = (top @ v).astype(np.float32) / top.sum(-1, keepdims=True).astype(np.float32)
    np.testing.assert_array_equal(kernel(*inputs), wanted)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("output", ["f32", "bf16"])
def test_stored_in_bf16(isa, output):
    random = np.random.default_rng(3)
    q, k, v = (array.astype(ml_dtypes.bfloat16) for array in drawn(random, 2, 1, 35, 300, 24))
    text = f"y: {output}; " + AFTER.format(t=SCALED, h="h")
    kernel, _ = kernel_of(text, (q, k, v), isa, dtype="bf16")
    found = kernel(*(array.view(np.uint16) for array in (q, k, v)))
    found = found.view(ml_dtypes.bfloat16).astype(np.float32) if output == "bf16" else found
    wanted, magnitudes, rounding = attention(q, k, v, 0)
    most = bound(magnitudes, rounding, 300, 24) + (2.0**-8 * np.abs(wanted) if output == "bf16" else 0)
    assert (np.abs(found - wanted) <= most).all()


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
def test_one_kernel_for_every_length(isa):
    text = AFTER.format(t=MASKS["causal"][0], h="h")
    program = sized(read(text), {"h": 2, "i": "<=100", "j": "<=700", "c": 24})
    kernel = build_program(program, isa_named(isa), 2)
    assert "m_run" in kernel.source
    random = np.random.default_rng(4)
    for queries, keys in ((1, 1), (100, 700), (33, 257), (64, 512), (31, 255), (1, 700)):
        q, k, v = drawn(random, 2, 1, queries, keys, 24)
        seen = MASKS["causal"][1](np.arange(queries)[:, None], np.arange(keys), 0)
        wanted, magnitudes, rounding = attention(q, k, v, seen)
        assert (np.abs(kernel(q, k, v) - wanted) <= bound(magnitudes, rounding, keys, 24)).all(), (queries, keys)


@pytest.mark.slow
def test_threads_change_no_bit():
    random = np.random.default_rng(6)
    arrays = drawn(random, 3, 1, 70, 300, 16)
    text = AFTER.format(t=SCALED, h="h")
    found = [kernel_of(text, arrays, "portable", threads) for threads in (1, 2, 3)]
    one, *others = (kernel(*inputs) for kernel, inputs in found)
    for other in others:
        np.testing.assert_array_equal(other, one)


def test_nothing_of_a_row_of_scores_is_stored():
    """What lies between inputs and output is as long as a block, whatever the sequence; but for the transposed keys."""
    text = AFTER.format(t=SCALED, h="h")
    sources = []
    for length in (4096, 8192):
        shapes = dict.fromkeys("qkv", (2, length, 64))
        sources.append(emit(sized(read(text), {}, shapes), PORTABLE).text)
    stacks = [re.findall(r"float (\w+)\[(\d+)\]", source) for source in sources]
    assert stacks[0] == stacks[1] and {"s", "e", "a_run"} <= dict(stacks[0]).keys()
    assert all(re.findall(r"(\w+) = \(float \*\)\(?scratch", source) == ["k_columns"] for source in sources)


@pytest.mark.soak
def test_soak_attention(soak_seconds, soak_seed):
    end, random = time.monotonic() + soak_seconds, Random(soak_seed)
    isas = [isa.name for isa in (PORTABLE, AVX2, AVX512F) if supports(isa.cpu_flags)]
    while time.monotonic() < end:
        shared = random.choice((1, 1, 2))
        sizes = (2 * random.randint(1, 2), random.randint(2, 300), random.randint(2, 700), random.randint(1, 70))
        mask, text = random.choice(list(MASKS)), random.choice((AFTER, BEFORE))
        check(random.choice(isas), mask, sizes, text, shared, random.randint(1, 3), random.randrange(2**32))
