"""Plain loops compute the definition: that of any problem, for any scheme, on any machine."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings

from tests.support.loops.loops import inputs, result, statements, sums
from tests.support.sampled import examples
from tests.support.search.strategies import schemes
from tiling.epilogue import fused
from tiling.loops.language import Alloc, Block, Decide, For, StagedPart
from tiling.loops.lowering.lower import lower_scheme
from tiling.loops.walk import walk, with_blocks
from tiling.operators import conv2d, in_layout, matmul
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

# So many products at most, those beyond edges included: the interpreter takes some µs for each.
MOST_PRODUCTS = 1500


def check(problem: Problem, text: str) -> None:
    """The loops of a scheme give the sums of the definition, exactly."""
    arrays = inputs(problem)
    np.testing.assert_array_equal(result(lower_scheme(parse(problem, text)), arrays), sums(problem, arrays))


def exact(scheme) -> None:
    assume(scheme.problem.flops // 2 * scheme.lanes <= MOST_PRODUCTS)
    arrays = inputs(scheme.problem)
    np.testing.assert_array_equal(result(lower_scheme(scheme), arrays), sums(scheme.problem, arrays))


@settings(max_examples=25)
@given(schemes())
def test_any_scheme_gives_the_definition(scheme):
    """With V or without, with S(output) or without, inputs staged or not."""
    exact(scheme)


@pytest.mark.slow
@examples(300)
@given(schemes())
def test_many_schemes_give_the_definition(scheme):
    exact(scheme)


# ---- no V, no S, no M: every point of the innermost loop keeps its sum in the output

PRODUCT = matmul(m=3, n=4, k=5)


@pytest.mark.parametrize(
    "text",
    [
        "R(m) R(n) R(k)",
        "R(k) R(m) R(n)",
        "T(k,5) T(m,3) U(n,4)",
        "R(m) R(n) U(k,5)",
        "U(m,3) U(n,4) U(k,5)",
        "R(m) R(n) S(c) R(k)",
        "T(m,3)@core R(k) R(n)",
        "R(m) S(a) R(n) S(b, 2) R(k)",
        "L(n, 1x1 + 1x3) R(m) R(k) U(n,λ)",
    ],
)
def test_a_scheme_needs_no_vector_and_no_accumulators(text):
    check(PRODUCT, text)


def test_without_accumulators_sums_wait_in_the_output():
    """So the first pass over a point begins at 0, and later ones read it again."""
    kernel = lower_scheme(parse(PRODUCT, "R(m) R(n) R(k)"))
    (decide,) = [s for s in statements(kernel) if isinstance(s, Decide)]
    assert decide.name == "first" and str(decide.conditions[0].index) == "k"
    held = lower_scheme(parse(PRODUCT, "R(m) R(n) S(c) R(k)"))
    assert not [s for s in statements(held) if isinstance(s, Decide)]


def test_without_accumulators_dims_are_still_covered_exactly():
    with pytest.raises(SchemeError, match="no specifier is on dim k"):
        parse(PRODUCT, "R(m) R(n)")
    with pytest.raises(SchemeError, match=r"cover 4 points of dim k, which has 5"):
        parse(PRODUCT, "R(m) R(n) T(k,4)")


@pytest.mark.parametrize("text", ["R(n) R(k) R(h) R(w) R(c) R(r) R(s)", "R(s) R(k) R(c) R(w) R(h) R(n) U(r,3)"])
def test_a_convolution_of_plain_loops(text):
    check(conv2d(c=2, h=4, w=3, k=2, r=3, s=2, padding=((1, 0), (2, 1)), stride=(1, 2), dilation=(1, 2)), text)


def test_a_group_is_a_dim():
    check(conv2d(c=4, k=6, groups=2, h=3, w=3, r=2, s=2, padding=1), "R(g) R(k) R(h) R(w) R(c) R(r) R(s)")
    check(conv2d(c=3, k=3, groups=3, h=3, w=3, r=2, s=2, padding=1), "R(c) R(h) R(w) S(y) R(r) R(s)")


def test_channels_first_is_another_order_of_axes():
    problem = in_layout(conv2d(n=2, c=2, h=3, w=4, k=5, r=2, s=3, padding=1), "nchw")
    check(problem, "R(n) R(k) R(h) S(y) T(c,2) T(r,2) T(s,3) U(w,4) V(k,4)")


# ---- masks, λ, epilogues


@pytest.mark.parametrize(
    "text", ["R(m) R(n) S(c) T(k,5) V(n,4)", "R(k) R(m) R(n) V(n,4)", "R(k) L(n, 1x1 + 1x2) R(m) S(c) U(n,λ) V(n,4)"]
)
def test_lanes_beyond_the_last_column_are_left_out(text):
    check(matmul(m=3, n=9, k=5), text)


def test_the_epilogue_follows_the_last_pass():
    problem = fused(PRODUCT, "relu(y*scale + b) - z")
    arrays = inputs(problem)
    wanted = sums(problem, arrays) * arrays["E_scale"] + arrays["E_b"]
    wanted = np.maximum(wanted, 0) - arrays["E_z"]
    for text in (
        "R(m) R(n) S(c) R(k) V(n,4)",
        "R(k) R(m) R(n) V(n,4)",
        "R(m) R(k) R(n)",
        "T(k,5) R(n) R(m) S(c) U(m,3)",
    ):
        np.testing.assert_array_equal(result(lower_scheme(parse(problem, text)), arrays), wanted)


# ---- what the loops are called


def test_variables_are_positions():
    problem = conv2d(c=4, h=6, w=6, k=8, r=1, s=1)
    kernel = lower_scheme(parse(problem, "T(h,3) T(c,2) R(k) T(h,2) S(y) T(c,2) U(w,6) V(k,4)"))
    loops = [(s.name, str(s.start), str(s.stop), s.step, s.kind) for s in statements(kernel) if isinstance(s, For)]
    assert loops[:5] == [
        ("h_1", "0", "6", 2, "serial"),
        ("c_1", "0", "4", 2, "serial"),
        ("k", "0", "8", 4, "serial"),
        ("h", "h_1", "h_1 + 2", 1, "serial"),
        ("w_u", "0", "6", 1, "unrolled"),
    ]
    (tile,) = [s for s in statements(kernel) if isinstance(s, Block)]
    (accumulators,) = [s.buffer for s in tile.body if isinstance(s, Alloc)]
    assert tile.name == "6wx4k" and accumulators.shape == (6, 1, 4) and accumulators.memory == "registers"


# ---- schemes of GPUs end with M: fused dims, tiles beyond the end, inputs in stages of shared memory

GPU = [
    (
        matmul(m=20, n=12, k=24, dtype="f16"),
        "T(m,2)@block T(n,1)@block S(c) T(k,2) S(a, 3) S(b, 3) T(n,2)@warp M(m16n8k16)",
    ),
    (matmul(m=40, n=15, k=8, dtype="f16"), "S(c) S(a, 2) T(m,2)@warpgroup T(n,2)@warp U(m,2) M(m16n8k8)"),
    (matmul(m=5, n=9, k=16, dtype="f16"), "T(n,2)@block S(c) S(a) M(m16n8k16)"),
    (matmul(m=16, n=8, k=40, dtype="f16"), "T(k,2)@block S(c) T(k,2) M(m16n8k16)"),
    (matmul(m=16, n=8, k=16, batch=2, dtype="f16"), "T(l,2)@block S(c) U(k,2) M(m16n8k8)"),
    (
        conv2d(n=2, c=3, h=4, w=3, k=5, r=2, s=2, padding=1, dtype="f16", filters="krsc"),
        "T(nhw,3)@block S(y) S(x, 2) S(w, 2) M(nhw16k8rsc16)",
    ),
    (
        conv2d(c=3, h=5, w=4, k=9, r=3, s=2, padding=1, stride=2, dilation=(1, 2), dtype="f16", filters="krsc"),
        "T(nhw,1)@block T(k,2)@block S(y) T(rsc,3) S(x, 3) S(w, 3) M(nhw16k8rsc8)",
    ),
    (
        conv2d(c=5, h=3, w=3, k=8, r=2, s=2, padding=1, dtype="f16", filters="krsc"),
        "T(nhw,1)@cluster S(y) T(r,2) T(s,2) S(x, 4) T(k,1)@warpgroup M(nhw16k8c8)",
    ),
]  # fmt: skip


@pytest.mark.parametrize("problem, text", GPU, ids=[re.sub(r"\W+", "_", text) for _, text in GPU])
def test_a_gpus_scheme_gives_the_definition(problem, text):
    check(problem, text)


@pytest.mark.parametrize("problem, text", [GPU[0], GPU[5]])
def test_staging_is_a_matter_of_passes(problem, text):
    """Plain loops say what is staged, and read inputs where they are: the same with more stages, and with none."""
    plain = lower_scheme(parse(problem, re.sub(r" S\([abxw](, \d)?\)", "", text)))
    found = lower_scheme(parse(problem, text))
    assert _unstaged(found.body) == plain.body
    assert {s.buffer for s in walk(found.body) if isinstance(s, StagedPart)} == {"X", "W"}


def _unstaged(body):
    found = []
    for statement in body:
        inside = with_blocks(statement, _unstaged)
        found += inside.body if isinstance(inside, StagedPart) else [inside]
    return tuple(found)


def test_workers_stage_the_part_of_all_of_them():
    text = "T(m,2)@block S(c) T(k,2) S(a) T(m,4)@warp T(n,2)@lane U(k,3) U(m,2) U(n,4)"
    found = lower_scheme(parse(matmul(m=16, n=8, k=6), text))
    (stage,) = (s for s in walk(found.body) if isinstance(s, StagedPart))
    parts = {along.dim: (str(along.start), along.points) for along in stage.part}
    assert parts == {"m": ("m_1", 8), "k": ("k", 3)}
