"""Outputs and residuals of Hopper's TMA pipeline: boxes that the copy engine brings and stores, or rows by threads."""

import re
from dataclasses import replace

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.runtime.compiler.compile import cuda_text
from gpu.twin.launch import run_on_twin
from tests.support.gpu.cases import (
    check_on_twin,
    image,
    integers,
    product,
    survives,
    tma_scheme,
)
from tests.support.gpu.compiling import needs_nvrtc, ptx_of
from tiling.epilogue import fused

WITH_Z = fused(product(m=200, n=264, k=72, dtype="bf16"), "relu(y + b + z)")


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (WITH_Z, {"columns": 256}),
        (WITH_Z, {"columns": 128, "rows": 2, "cluster": (2, 1)}),
        (WITH_Z, {"groups": (2, 1), "cluster": (1, 2)}),
        (fused(product(m=200, n=264, k=36, dtype="tf32"), "z - y*scale"), {"columns": 128, "rows": 2}),
        (fused(product(m=130, n=200, k=72, output_dtype="f32"), "y*z + q[m,n]*p[m]"), {"columns": 256}),
        (fused(product(m=130, n=72, k=72, batch=3), "z + y*r[l,n] - q[l,m,n] + t[l]"), {"rows": 2}),
        (fused(image(k=72), "max(y, z) + p[n,w]*q[h,k]"), {"columns": 128}),
    ],
    ids=str,
)
def test_what_lies_as_the_output_comes_by_tma(problem, options):
    """In several stores a tile or in one, whose buffers take turns across tiles."""
    source = emit_scheme(tma_scheme(problem, **options))
    assert [tensor.name for tensor in source.maps] == ["X", "W", "E_z", "Y"]
    assert not re.search(r"\bE_z \+", source.text)
    check_on_twin(source.scheme, seeds=(1, 2, 3))


FOUR_STORES = tma_scheme(fused(product(m=500, n=256, k=130), "relu(y + z)"), columns=256)
THREE_STORES = tma_scheme(fused(product(m=800, n=128, k=72), "relu(y + z)"), rows=3)


@pytest.mark.parametrize(
    ("scheme", "old", "new"),
    [
        (FOUR_STORES, "((4 * turn + n_box / 64 + m_u / 64) / 2) % 2", "(n_box / 64 / 2 + 1) % 2"),
        (FOUR_STORES, "+ 2 < 4)", "+ 2 < 3)"),
        (FOUR_STORES, "+ 2 < 4)", "+ 2 <= 4)"),
        (FOUR_STORES, ", 2048);", ", 1024);"),
        (FOUR_STORES, "n + 64, m", "n, m"),
        (FOUR_STORES, "(m_u / 64) + 128,", "(m_u / 64) + 64,"),
        (FOUR_STORES, "&E_z_map, shared_address(loaded + 2 * warp + 1)", "&E_z_map, shared_address(loaded + 2 * warp)"),
        (FOUR_STORES, "loaded = SHARED(unsigned long long, 139328)", "loaded = SHARED(unsigned long long, 139296)"),
        (THREE_STORES, "3 * turn", "2 * turn"),
        (THREE_STORES, "3 * turn", "4 * turn"),
        (THREE_STORES, "m + 16 * (warp % 4)", "m + 16 * (warp % 2)"),
    ],
)
def test_mistakes_about_z_are_found(scheme, old, new):
    source = emit_scheme(scheme)
    assert old in source.text
    assert not survives(replace(source, text=source.text.replace(old, new)), range(8))


def test_texts_load_a_bias_for_each_pair_of_sums_and_a_residual_too_or_not_at_all():
    """z by TMA, where it stores the output."""
    by_tma = tma_scheme(fused(product(m=256, n=256, k=64), "relu(y + b + z)"), columns=128, rows=2)
    by_threads = tma_scheme(fused(product(m=256, n=252, k=64), "relu(y + b + z)"))
    for scheme, loads in ((by_tma, 2 * 64 * 256), (by_threads, 256 * 252)):
        assert run_on_twin(emit_scheme(scheme), *integers(scheme.problem)).loads == loads


@needs_nvrtc
def test_the_compiler_leaves_one_load_of_a_bias_for_each_pair_of_columns():
    """A warp has 128 columns, of which each of its quads of lanes takes 8 at once."""
    scheme = tma_scheme(fused(product(m=256, n=256, k=64), "relu(y + b + z)"), columns=128, rows=2)
    assert len(re.findall(r"\bld\.global", ptx_of(cuda_text(emit_scheme(scheme)), "compute_90a"))) == 128 // 8


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (product(n=131), {"cluster": (2, 1)}),
        (product(n=132, k=72), {"cluster": (1, 2), "depth": 4}),
        (product(n=131, output_dtype="f32"), {"columns": 128}),
        (fused(product(m=71, n=73, k=136, batch=3), "relu(y + b + z)"), {"cluster": (2, 1)}),
        (fused(image(k=41), "y*scale + z"), {"rows": 2}),
        (product(n=131, k=100, dtype="tf32"), {"cluster": (1, 2)}),
    ],
    ids=str,
)
def test_rows_of_the_output_that_cannot_be_stored_by_tma(problem, options):
    scheme = tma_scheme(problem, **options)
    assert len(emit_scheme(scheme).maps) == 2
    check_on_twin(scheme, seeds=(1, 2))
