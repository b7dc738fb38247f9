"""The text of schemes of one stage that end with a matrix instruction: on the twin, and through NVRTC."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.model.devices import DEVICES
from gpu.model.loops import predict_loops
from gpu.model.predict import predict
from gpu.passes.order import scheme_forms
from gpu.runtime.compiler.compile import compile_cubin, cuda_text
from gpu.twin.launch import run_on_twin
from search.matmul import main
from tests.support.gpu.compiling import needs_nvrtc, ptx_of
from tests.support.gpu.schemes import on_twin, scheme_of, survives, unnoticed
from tests.support.gpu.staged_once import EPILOGUE, conflicts, staged_once
from tiling.epilogue import fused
from tiling.loops.meaning.narrow import to_tf32
from tiling.operators import conv2d, in_layout, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
def test_products_of_odd_sizes_are_exact_without_bank_conflicts(dtype):
    assert conflicts(staged_once(matmul(m=67, n=41, k=139, dtype=dtype))[0]) == 0


@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=20, n=12, k=20, batch=3, dtype="f16"),
        matmul(m=100, n=72, k=88, dtype="f16", transpose_a=True),
        matmul(m=40, n=24, k=20, dtype="tf32", transpose_a=True, transpose_b=True),
        fused(matmul(m=40, n=44, k=28, dtype="bf16", output_dtype="f32"), EPILOGUE),
        conv2d(n=2, c=5, h=7, w=6, k=9, r=3, s=3, padding=1, dtype="bf16", filters="krsc"),
        conv2d(n=2, c=8, h=9, w=7, k=24, r=3, s=3, padding=1, stride=2, dtype="tf32", filters="krsc"),
    ],
    ids=str,
)
def test_other_problems_are_exact_without_bank_conflicts(problem):
    assert conflicts(staged_once(problem)[0]) == 0


@pytest.mark.parametrize(
    "problem, text",
    [
        (  # taps are looped over, as TMA pipelines do
            conv2d(n=1, c=16, h=5, w=6, k=16, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
            "T(nhw,2)@block S(y) T(r,3) T(s,3) S(x) S(w) T(nhw,1)@warp U(k,2) M(nhw16k8c16)",
        ),
        (  # channels first: rows of 16 pixels of an image
            in_layout(conv2d(n=2, c=16, h=3, w=9, k=16, r=1, s=1, dtype="f16"), "nchw"),
            "T(n,2)@block T(h,3)@block S(y) T(c,1) T(r,1) T(s,1) S(x) S(w) T(w,1)@warp U(k,2) M(w16k8c16)",
        ),
        (  # neighbours of a tile that are none in the image
            in_layout(conv2d(n=1, c=16, h=3, w=32, k=16, r=1, s=1, stride=2, dtype="f16"), "nchw"),
            "T(h,2)@block S(y) T(c,1) T(r,1) T(s,1) S(x) S(w) T(w,1)@warp U(k,2) M(w16k8c16)",
        ),
        (  # groups, which no pipeline takes
            conv2d(n=1, c=16, h=4, w=5, k=32, r=1, s=1, groups=2, dtype="f16"),
            "T(g,2)@block S(y) S(x) S(w) T(nhw,2)@warp U(k,2) M(nhw16k8c16)",
        ),
        (  # four neighbours of six channels are of two taps, of which one may lie on padding
            conv2d(n=1, c=6, w=7, k=16, s=4, stride=2, padding=2, dtype="f16", filters="krsc"),
            "S(y) S(x) S(w) T(w,1)@warp U(sc,2) U(k,2) M(w16k8sc16)",
        ),
        (  # a is staged for several tiles of columns
            matmul(m=32, n=64, k=16, dtype="f16"),
            "S(a) T(n,2) S(c) S(b) T(m,2)@warp T(n,2)@warp U(n,2) M(m16n8k16)",
        ),
    ],
    ids=["taps", "channels first", "strided, channels first", "groups", "rows of taps", "staged outside"],
)
def test_what_is_looped_over_is_free(problem, text):
    assert on_twin(parse(problem, text))


@pytest.mark.slow
def test_nothing_is_one_too_many():
    scheme = scheme_of("matrices of a convolution")
    text = emit_scheme(scheme).text
    # Without a load of matrices, registers hold what they held before: now and then the same.
    calls = ("__syncthreads", "mma_m16n8k16_f16", "copy_async_8", "cp_async_commit", "cp_async_wait")
    for call in calls:
        found, needless = unnoticed(scheme, rf"{call}\(.*\);")
        assert found and not needless
    assert not survives(scheme, text.replace("get_matrices(", "get_matrices_across("))
    assert not survives(scheme, re.sub(r"(copy_async_8\(.*), [^,\n]*\);", r"\1, 1);", text))
    assert not survives(scheme, re.sub(r"(copy_async_8\(.*), [^,\n]*\);", r"\1, 0);", text))


@pytest.mark.parametrize("k, bytes_", [(24, {"16"}), (28, {"8"}), (30, {"4"}), (31, set())])
def test_rows_are_copied_by_what_divides_them(k, bytes_):
    scheme = staged_once(matmul(m=16, n=64, k=k, dtype="f16", transpose_b=True))[0]
    assert set(re.findall(r"copy_async_(\d+)\(", emit_scheme(scheme).text)) == bytes_
    assert on_twin(scheme, seeds=(0,))


def test_a_swizzle_keeps_rows_in_different_banks(monkeypatch):
    scheme = staged_once(matmul(m=64, n=64, k=64, dtype="f16"), unrolled=(2, 4, 4))[0]
    monkeypatch.setattr("gpu.passes.matrices.swizzle.BANK_CHUNKS", 1)
    monkeypatch.setattr("tests.support.gpu.staged_once.emit_scheme", emit_scheme.__wrapped__)  # as now
    assert conflicts(scheme) > 0


def test_words_that_are_read_across_rows_lie_in_different_banks():
    """As 32 lanes read b of tf32: four rows of eight words."""
    for columns in (8, 16, 32, 64, 96):
        words = set()
        for row in range(4):
            for column in range(8):
                every = 8 // np.gcd(columns // 4, 8)
                chunk = (column // 4) ^ (row // every % max(1, 8 // every // 2) * 2)
                words.add((row * columns + 4 * chunk + column % 4) % 32)
        assert len(words) == 32


def test_f32_are_rounded_to_tf32():
    scheme = scheme_of("matrices, tf32")
    rng = np.random.default_rng(1)
    a, b = (
        1 + rng.integers(1, 1 << 20, t.shape) / (1 << 20) for t in (scheme.problem.broadcast, scheme.problem.vector)
    )
    a, b = a.astype(np.float32), b.astype(np.float32)
    rounded = to_tf32(a).astype(np.float64) @ to_tf32(b)
    assert abs(a - to_tf32(a)).max() > 2**-12
    found = run_on_twin(emit_scheme(scheme), a, b).output
    bound = 12 * 2**-23 * rounded.max()  # of f32 sums of 12 products
    assert abs(found - rounded).max() < bound < abs(found - a.astype(np.float64) @ b).max()


@pytest.mark.slow
@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", ["f16", "tf32"])
def test_large_tiles_take_the_registers_and_the_instructions_of_a_ring(dtype, architecture):
    problem = matmul(m=4096, n=4096, k=4096, dtype=dtype, transpose_b=True)
    once, twice = staged_once(problem, warps=(2, 4), unrolled=(4, 8, 2))
    source, other = emit_scheme(once), emit_scheme(twice)
    cubin, its = (compile_cubin(each, architecture) for each in (source, other))
    assert cubin.spilled == 0 and cubin.registers <= its.registers and 2 * source.shared_bytes == other.shared_bytes
    ptx = ptx_of(cuda_text(source))
    assert "cp.async.cg" in ptx
    assert ptx.count("mma.sync") == 4 * 8 * 2 and ptx.count("ldmatrix") == 2 * (4 + 8 // 2)


@pytest.mark.parametrize("operator", ["matmul", "conv2d"])
def test_the_model_counts_warps_tiles_and_tensor_cores(operator):
    """The same as of the pipeline: products on the tensor cores, and words of fragments."""
    problem = {
        "matmul": matmul(m=4096, n=4096, k=4096, dtype="f16"),
        "conv2d": conv2d(n=16, c=256, h=56, w=56, k=256, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
    }[operator]
    once, twice = staged_once(problem, warps=(2, 2), unrolled=(4, 8, 2))
    device = DEVICES["A100"]
    mine, its = (dict(each.parts) for each in (predict_loops(emit_scheme(once), device), predict(twice, device)))
    assert mine["multiply-adds"] == pytest.approx(its["matrix"], rel=0.01)
    assert mine["shared"] <= its["shared"]


def test_the_command_prints_the_loops(capsys):
    text = "T(m,2)@block S(c) T(k,2) S(a) S(b) T(m,2)@warp U(k,2) U(n,2) M(m16n8k16)"
    given = ["--target", "cuda-twin", "--dtype", "f16", "--shape", "m=64,n=16,k=64", "--scheme", text]
    assert main([*given, "--show-passes", "multiply-matrices"]) == 0
    assert "mma_m16n8k16_f16(to: acc" in capsys.readouterr().out


def test_every_pass_is_shown():
    stages = [name for name, _ in scheme_forms(scheme_of("matrices"))]
    assert {"stage matrices", "multiply matrices", "load matrices", "swizzle"} < set(stages)
    assert "stage tiles" not in stages


PRODUCT = matmul(m=64, n=64, k=32, dtype="f16")


@pytest.mark.parametrize(
    "problem, text, words",
    [
        (PRODUCT, "S(c) S(a) T(m,4)@warp U(k,2) U(n,8) M(m16n8k16)", r"S\(b\) is missing"),
        (PRODUCT, "S(c) S(a) S(b) U(k,2) U(m,4) U(n,8) M(m16n8k16)", r"T\(m,1\)@warp for one"),
        (PRODUCT, "S(c) S(a) S(b) T(m,4)@warp T(n,8)@warp U(k,2) M(m16n8k16)", r"U\(n,…\): .* even factor"),
        (PRODUCT, "S(c) S(a) S(b) T(m,8)@warp U(k,4) U(n,8) M(m8n8k8)", "is m16n8k16"),
        (PRODUCT, "S(c) S(a) S(b) T(m,2)@lane T(m,2)@warp U(k,2) U(n,8) M(m16n8k16)", "leave it out"),
        (PRODUCT, "S(c) S(a) S(b) T(m,8)@warp U(k,2) U(n,4) M(n16m8k16)", "names rows, on which b does not depend"),
        (
            conv2d(n=1, c=16, h=4, w=4, k=16, r=1, s=3, padding=((0, 0), (1, 1)), dtype="f16", filters="krsc"),
            "S(y) S(x) S(w) T(nhw,1)@warp U(s,3) U(k,2) M(nhw16k8c16)",
            r"U\(s,3\): only nhw, k and c",
        ),
    ],
)
def test_what_no_matrix_instruction_fits_is_refused(problem, text, words):
    with pytest.raises(SchemeError, match=words):
        list(scheme_forms(parse(problem, text)))
