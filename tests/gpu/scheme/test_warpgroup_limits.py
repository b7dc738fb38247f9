"""Which schemes warpgroups run, and with how many threads and stages; the others are refused in a sentence."""

from __future__ import annotations

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.model.devices import DEVICES
from gpu.model.loops import predict_loops
from gpu.model.space import limits
from gpu.passes.order import scheme_forms
from gpu.passes.warpgroups.kinds import threads_copy
from tests.support.gpu.cases import product_scheme, wgmma_scheme
from tests.support.gpu.schemes import on_twin
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

CONV = conv2d(n=1, c=16, h=9, w=9, k=40, r=3, s=3, dtype="bf16", filters="krsc")
PRODUCT = matmul(m=128, n=128, k=256, dtype="f16", transpose_b=True)
SHARED = matmul(m=128, n=128, k=384, dtype="f16", transpose_b=True)
TEXT = "T(m,2)@block S(c) T(k,4) S(a, 3) S(b, 3) T(n,2)@warpgroup U(k,4) M(m64n64k16)"


@pytest.mark.parametrize(
    ("problem", "text", "words"),
    [
        (PRODUCT, TEXT.replace("S(a, 3) S(b, 3)", "S(a, 3) S(b, 2)"), "give both inputs the same"),
        (PRODUCT, TEXT.replace("(a, 3)", "(a)").replace("(b, 3)", "(b)"), "the same 2 or more stages"),
        (PRODUCT, TEXT.replace("T(k,4)", "T(k,8)").replace("U(k,4)", "U(k,2)"), r"use U\(k,4\)"),
        (PRODUCT, TEXT.replace("T(n,2)@warpgroup", "T(n,2)@warp"), r"T@warpgroup is missing"),
        (SHARED, "T(k,2)@block " + TEXT.replace("T(k,4)", "T(k,3)").replace(", 3)", ", 2)"), "threads copy these"),
        (PRODUCT, TEXT.replace("T(k,4)", "T(k,2) T(k,2)"), r"T\(k,steps\) is missing"),
        (
            PRODUCT,
            TEXT.replace("n64k16", "n32k16").replace("T(n,2)", "T(n,4)"),
            "matrix instruction for f16 is m64n64k16",
        ),
        (
            matmul(m=128, n=128, k=127, dtype="tf32", transpose_b=True),
            TEXT.replace("k16", "k8"),
            "wgmma cuts tf32 off",
        ),
        (matmul(m=128, n=128, k=128, dtype="tf32"), TEXT.replace("k16", "k8"), "only where b lies along k"),
        (
            conv2d(n=1, c=192, h=8, w=16, k=64, r=1, s=1, dtype="f16", filters="krsc"),
            "T(nhw,2)@block S(y) T(rsc,3) S(x, 2) S(w, 2) T(k,1)@warpgroup U(rsc,4) M(nhw64k64rsc16)",
            "threads copy these tiles",
        ),
        (
            conv2d(n=1, c=12, h=8, w=16, k=64, r=1, s=2, dtype="f16", filters="krsc"),
            "T(nhw,2)@block S(y) T(r,1) T(s,2) T(c,1) S(x, 3) S(w, 3) T(k,1)@warpgroup U(c,4) M(nhw64k64c16)",
            "with all taps of a row",
        ),
        (
            matmul(m=512, n=512, k=64, dtype="f16", transpose_b=True),
            "S(c) T(k,1) S(a, 2) S(b, 2) T(m,8)@warpgroup T(n,8)@warpgroup U(k,4) M(m64n64k16)",
            "these are 257 warps; a block has at most 32",
        ),
        (
            matmul(m=512, n=64, k=64, dtype="f16", transpose_b=True),
            "S(c) T(k,1) S(a, 2) S(b, 2) T(m,4)@warpgroup U(k,4) U(m,2) M(m64n64k16)",
            "the copy engine takes 256",
        ),
        (
            matmul(m=128, n=256, k=64, dtype="f16", transpose_b=True),
            "S(c) T(k,1) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) U(m,2) M(m64n256k16)",
            "256 sums a thread",
        ),
    ],
)
def test_what_warpgroups_cannot_run_is_refused(problem, text, words):
    with pytest.raises(SchemeError, match=words):
        list(scheme_forms(parse(problem, text)))


def test_threads_copy_what_the_copy_engine_cannot():
    for problem in (matmul(m=200, n=100, k=301, dtype="f16"), CONV):
        scheme = wgmma_scheme(problem)
        assert threads_copy(scheme)
    assert not threads_copy(wgmma_scheme(matmul(m=200, n=104, k=304, dtype="f16")))


def test_threads_that_copy_for_blocks_with_a_shared_sum_need_three_stages():
    problem = matmul(m=128, n=64, k=512, dtype="f16", transpose_b=True)
    text = wgmma_scheme(problem, depth=2).text.replace("T(k,8)", "T(k,4)")
    with pytest.raises(SchemeError, match=r"S\(a, 2\): threads copy these tiles, .* use 3$"):
        emit_scheme(parse(problem, f"T(k,2)@block {text}"))
    three = parse(problem, f"T(k,2)@block {text.replace(', 2)', ', 3)')}")
    assert on_twin(three, emit_scheme(three))


def test_rings_of_two_stages_and_tf32_need_no_clusters():
    """No pipeline reads them, as threads that copy neither round nor get far enough ahead."""
    for dtype, depth in (("f16", 2), ("tf32", 3)):
        scheme = wgmma_scheme(matmul(m=100, n=64, k=200, dtype=dtype, transpose_b=True), depth=depth)
        assert limits(scheme, DEVICES["H200"])


def test_the_model_knows_the_threads_and_the_rate_of_warpgroups():
    """In tf32 no pipeline reads the scheme. A warp's instruction multiplies more slowly."""
    problem = matmul(m=4096, n=4096, k=4096, dtype="tf32", transpose_b=True)
    ours, theirs = wgmma_scheme(problem, columns=128), product_scheme(problem, unrolled=(4, 8, 2), depth=1)
    of_groups, of_warps = (predict_loops(emit_scheme(scheme), DEVICES["H200"]) for scheme in (ours, theirs))
    assert dict(of_groups.parts)["multiply-adds"] < dict(of_warps.parts)["multiply-adds"] and of_groups.resident == 1
    with pytest.raises(ValueError, match="A100 has no wgmma"):
        predict_loops(emit_scheme(ours), DEVICES["A100"])
