"""Attention as one program, with a running maximum and running sums: exact where exponentials are 0 or 1, else within a
bound that is derived from the roundings.
"""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from cpu.codegen.program.emit import emit
from cpu.kernel.program import build_program
from cpu.runtime.machine.host import supports
from microkernels.tile.isa import AVX2, PORTABLE, isa_named
from tests.support.kernels.cases import ON_EVERY_ISA
from tests.support.programs.attention import (
    AFTER,
    BEFORE,
    MASKS,
    SCALED,
    attention,
    bound,
    check,
    drawn,
    kernel_of,
)
from tiling.program.infer import sized
from tiling.program.read import read


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("mask", MASKS)
def test_a_result_is_within_the_bound(isa, mask):
    check(isa, mask, (1, 290, 600, 8))


@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("sizes", [(3, 1, 300, 40), (2, 33, 257, 7), (1, 64, 512, 64)])
def test_sizes_that_no_block_divides(isa, sizes):
    check(isa, "none", sizes, threads=2)


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("queries", [1, 70])
def test_heads_that_share_keys(isa, queries):
    check(isa, "causal", (6, queries, 300, 16), shared=3)


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_softmax_and_a_product_are_attention(isa):
    check(isa, "causal", (2, 40, 300, 16), BEFORE)


def test_a_long_sequence():
    check("avx2" if supports(AVX2.cpu_flags) else "portable", "none", (1, 3, 20000, 16))


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
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


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None, output=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
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
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
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
    arrays = drawn(random, 3, 1, 70, 300, 8)
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
