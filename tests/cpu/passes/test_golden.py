"""A handful of small kernels after each pass, kept to be read in a diff: `pytest -k golden --update-golden`."""

from __future__ import annotations

import pytest

from search.commands.passes import loops_text
from search.evaluator.cpu.backend import cpu_backend
from tests.support.golden import GOLDEN, check_golden
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.rewrite.grouped import grouped2d
from tiling.text.notation import parse

DEPTHWISE = conv2d(c=8, k=8, groups=8, h=3, w=5, r=3, s=3, padding=1)
STRIDED = conv2d(c=8, k=8, groups=8, h=65, w=65, r=3, s=3, stride=2)
MASKED = fused(conv2d(c=2, h=3, w=4, k=6, r=3, s=3, padding=1), "relu(y + b)")
KERNELS = {
    "matmul_composed": (matmul(m=5, n=12, k=6), "L(m, 1x2 + 1x3) R(n) S(c) T(k,6) U(m,λ) U(n,1) V(n,4)"),
    # 1 MB of weights, 64 KB of which one tile reads.
    "matmul_prefetches": (matmul(m=8, n=64, k=4096), "R(n) R(m) S(c) T(k,4096) U(m,4) V(n,4)"),
    "conv2d_masked_epilogue": (MASKED, "R(k) T(h,3) T(w,2) S(y) T(r,3) T(c,2) U(s,3) U(w,2) V(k,4)"),
    "conv2d_accumulated": (conv2d(c=2, h=2, w=2, k=4, r=1, s=1), "T(c,2) R(k) T(h,2) S(y) U(w,2) V(k,4)"),
    "conv2d_channels_first": (
        conv2d(c=2, h=2, w=3, k=6, r=1, s=1, layout="nchw"),
        "T(c,2) R(k) S(y) U(h,2) U(w,3) V(k,4)",
    ),
    "grouped2d_masked": (
        grouped2d(conv2d(c=6, k=6, groups=3, h=2, w=2, r=1, s=1)),
        "R(k) T(h,2) S(y) U(c,2) U(w,2) V(k,4)",
    ),
    # 132 KiB of x, more than L1 holds; each tile is the first to read most of its lines.
    "depthwise2d_prefetches": (STRIDED, "R(c) R(h) R(w) S(y) U(r,3) U(s,3) U(w,2) V(c,4)"),
    "depthwise2d_cores": (DEPTHWISE, "T(h,3)@core R(c) S(y) T(r,3) U(s,3) U(w,5) V(c,4)"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_golden_loops(name, update_golden):
    """The whole listing, of instructions that every CPU has: what `--show-passes` prints."""
    problem, text = KERNELS[name]
    shown = loops_text(cpu_backend("portable"), parse(problem, text), "")
    check_golden(f"passes/{name}.txt", shown + "\n", update_golden)


def test_every_golden_listing_is_compared():
    assert {path.stem for path in (GOLDEN / "passes").iterdir()} == set(KERNELS)
