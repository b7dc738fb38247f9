"""A small kernel for each pass, of which the pass's docstring shows lines before and after."""

from __future__ import annotations

from contextlib import nullcontext
from unittest.mock import patch

from cpu.codegen.emit import forms_of
from cpu.passes.forms import program_forms
from microkernels.tile.isa import AVX2, AVX512F, EVERY_ISA
from tests.exactness import FAR
from tiling.epilogue import fused
from tiling.loops.kernel import Kernel
from tiling.operators import conv2d, matmul
from tiling.problem import Problem
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse

PRODUCT = matmul(m=100, n=80, k=60)
TILES = "T(m,10) T(n,5) S(c) T(k,60) U(m,10) V(n,16)"
TAPS = conv2d(c=8, h=56, w=56, k=16, r=3, s=3, padding=1)
IMAGE = conv2d(n=2, c=4, h=7, w=7, k=16, r=3, s=3, padding=1, dtype="bf16", output_dtype="f32")
ROWS = "R(n) T(h,56) T(w,4) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,14) V(k,16)"

# The problem, its scheme, the instruction set and what else `forms_of` gets.
PRODUCTS: dict[str, tuple[Problem, str, str, dict]] = {
    "exchange lanes": (
        grouped2d(conv2d(c=16, h=4, w=4, k=16, r=1, s=1, groups=4)),
        "R(n) T(h,4) T(w,4) R(k) S(y) U(c,4) V(k,16)",
        "avx512f",
        {},
    ),
    "pack weights": (PRODUCT, TILES, "avx512f", {}),
    "stage panels": (
        pointwise2d(conv2d(c=6, h=8, w=10, k=64, r=1, s=1, layout="nchw")),
        "R(n) T(w,5) S(x) T(k,8) S(y) T(c,6) U(k,8) V(w,16)",
        "avx512f",
        {},
    ),
    "stage strips": (
        IMAGE,
        "T(n,2) T(hw,2) S(x) T(hw,2) R(k) S(y) T(r,3) T(s,3) U(hw,14) D(c,4) V(k,16)",
        "amxbf16",
        {},
    ),
    "copy runs": (IMAGE, "T(n,2) T(hw,2) S(x) T(hw,2) R(k) S(y) T(r,3) T(s,3) U(hw,14) D(c,4) V(k,16)", "amxbf16", {}),
    "prefetch": (matmul(m=100, n=80, k=512), "T(m,10) T(n,5) S(c) T(k,512) U(m,10) V(n,16)", "avx512f", {}),
    "prefetch rows": (matmul(m=56, n=32, k=64), "T(m,4) S(c) T(k,64) U(m,14) U(n,2) V(n,16)", "avx512f", {}),
    "bound pixels": (IMAGE, "R(n) T(hw,4) R(k) S(y) T(r,3) T(s,3) U(hw,16) D(c,4) V(k,16)", "amxbf16", {}),
    "bound taps": (TAPS, ROWS, "avx512f", {}),
    "split cases": (TAPS, ROWS, "avx512f", {}),
    "cut taps": (
        conv2d(c=8, h=56, w=14, k=16, r=1, s=3, padding=(0, 1)),
        "R(n) T(h,56) R(k) S(y) T(s,3) T(c,8) U(w,14) V(k,16)",
        "avx512f",
        {},
    ),
    "outline": (PRODUCT, TILES, "avx512f", {}),
    "bind cores": (
        conv2d(c=8, h=56, w=7, k=64, r=1, s=1),
        "T(h,2)@core T(k,2)@core T(h,28) S(y) T(c,8) U(w,7) U(k,2) V(k,16)",
        "avx512f",
        {},
    ),
    "share sums": (
        conv2d(c=8, h=8, w=8, k=16, r=3, s=3, padding=1),
        "F(4x4,3x3) B(4,16) T(n,1) S(c) T(k,8) U(m,4) V(n,16)",
        "avx512f",
        {},
    ),
    **dict.fromkeys(
        ("matrix tiles", "shape tiles"),
        (
            conv2d(c=64, h=4, w=14, k=16, r=1, s=1, dtype="bf16", output_dtype="f32"),
            "R(n) T(h,4) R(k) S(y) T(c,2) U(w,14) D(c,32) V(k,16)",
            "amxbf16",
            {},
        ),
    ),
    "transpose stores": (
        conv2d(c=8, h=4, w=8, k=8, r=1, s=1, layout="nchw"),
        "R(n) T(h,4) T(w,2) T(k,2) S(y) T(c,8) U(w,4) V(k,4)",
        "portable",
        {},
    ),
    "vectorise": (PRODUCT, TILES, "avx512f", {}),
    "unroll steps": (matmul(m=96, n=2048, k=64), "T(n,128) T(m,16) S(c) T(k,64) U(m,6) U(n,2) V(n,8)", "avx2", {}),
    "walk pointers": (PRODUCT, "T(m,10) T(n,5) S(c) T(k,30) U(k,2) U(m,10) V(n,16)", "avx512f", {}),
    "order step": (TAPS, "R(n) T(h,56) T(w,14) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,4) V(k,16)", "avx512f", {}),
    "prefetch pixels": (
        conv2d(c=16, h=28, w=28, k=16, r=3, s=3, groups=16, stride=2, padding=1),
        "R(c) T(w,2) T(h,7) S(y) U(r,3) U(s,3) U(h,2) U(w,7) V(c,16)",
        "avx512f",
        {},
    ),
    "unroll": (PRODUCT, TILES, "avx512f", {}),
    "promote accumulators": (PRODUCT, TILES, "avx512f", {}),
    "add in place": (
        TAPS,
        "R(n) T(h,56) L(w, 4x5 + 6x6) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,λ) U(k,2) V(k,8)",
        "avx2",
        {},
    ),
    "store lanes": (
        conv2d(c=8, h=12, w=12, k=16, r=3, s=3, padding=1, layout="nchw"),
        "R(n) T(h,12) T(w,2) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,6) U(k,2) V(k,8)",
        "avx2",
        {},
    ),
    "own registers": (fused(PRODUCT, "y + b[n]"), TILES, "avx512f", {}),
    "load zero": (fused(PRODUCT, "relu(y)"), TILES, "avx512f", {}),
    "stream stores": (PRODUCT, TILES, "avx512f", {"stream": True}),
    "store lines": (
        matmul(m=10, n=48, k=8, dtype="bf16"),
        "T(m,5) R(n) S(c) R(k) U(m,2) U(n,3) D(k,2) V(n,16)",
        "avx512bf16",
        {},
    ),
    "divide from zero": (
        conv2d(c=8, h=56, w=56, k=16, r=3, s=3, padding=2, dilation=2),
        "R(n) T(h,56) T(w,4) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,14) V(k,16)",
        "avx512f",
        {},
    ),
    **dict.fromkeys(
        ("place buffers", "share threads"),
        (
            pointwise2d(conv2d(c=6, h=8, w=10, k=64, r=1, s=1, layout="nchw")),
            "T(w,5)@core S(x) T(k,8) S(y) T(c,6) U(k,8) V(w,16)",
            "avx512f",
            {"threads": 2},
        ),
    ),
    "place barriers": (
        matmul(m=8, n=32, k=96),
        "T(k,4)@core T(n,2) T(m,2) S(c) T(k,24) U(m,4) V(n,16)",
        "avx512f",
        {"threads": 2},
    ),
}
FAR_AWAY = ("prefetch", "prefetch rows")  # as if all arrays were large


def product_example(name: str) -> dict[str, Kernel]:
    """Every form of the kernel of a pass."""
    problem, text, isa, more = PRODUCTS[name]
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR) if name in FAR_AWAY else nullcontext():
        return dict(forms_of(parse(problem, text), EVERY_ISA[isa], **more))


# The program, the shapes of its inputs and the extents of its dims, and how many threads.
PROGRAMS: dict[str, tuple[str, dict, int]] = {
    "share loops": (
        "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]",
        {"x": (8, 768)},
        1,
    ),
    "split ranges": ("y[j] = where(j < 64, a[j] else 0, b[j-64] else 0)", {"a": (64,), "b": (154,), "j": 218}, 1),
    "spread reads": ("y[i,h,c] = x[h,i,c]", {"x": (12, 128, 64)}, 1),
    "sum rows": ("y[j] = sum[i] x[i,j]", {"x": (64, 1024)}, 1),
    "split lanes": ("y[i] = sum[j] x[i,j]", {"x": (8, 100)}, 1),
    "transpose reads": ("y[j,i] = x[i,j]", {"x": (1024, 1024)}, 1),
    "jam vectors": ("y[j] = sum[i] e[i] * v[i,j]", {"e": (512,), "v": (512, 64)}, 1),
    "pack columns": ("y[i,j] = sum[c] q[i,c] * k[j,c]", {"q": (512, 64), "k": (512, 64)}, 1),
    "jam rows": ("y[i,j] = sum[c] q[i,c] * k[c,j]", {"q": (512, 64), "k": (64, 512)}, 1),
    "repeat steps": ("y[i,j] = sum[c] q[i,c] * k[c,j]", {"q": (512, 64), "k": (64, 512)}, 1),
    "join products": ("e[j] = exp(x[j]); y[c] = sum[j] e[j] * v[j,c]", {"x": (512,), "v": (512, 64)}, 1),
    "claim lines": (
        "m[i] = max[j] x[i,j]; d[i] = sum[j] exp(x[i,j] - m[i]); y[i,j] = x[i,j] - m[i] - d[i]",
        {"x": (32, 50256)},
        1,
    ),
    "prefetch next rows": (
        "v[i] = mean[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(v[i] + 1e-6) * g[j]",
        {"x": (2048, 768), "g": (768,)},
        1,
    ),
    "skew rows": (
        "v[i] = mean[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(v[i] + 1e-6) * g[j]",
        {"x": (2048, 768), "g": (768,)},
        1,
    ),
    "interleave rows": (
        "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]",
        {"x": (1536, 128)},
        1,
    ),
    "bind tasks": ("y[n,i,j] = x[n,i,j] * 2", {"x": (3, 7, 76800)}, 2),
    "bound loops": ("s[i,j] = exp(q[i,j]) - 1; y[i] = sum[j] where(j <= i, s[i,j], 0)", {"q": (512, 512)}, 1),
    "bound windows": (
        "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -inf",
        {"x": (112, 112, 8), "h": 56, "w": 56, "c": 8, "r": 3, "s": 3},
        1,
    ),
    "keep nan": (
        "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -inf",
        {"x": (112, 112, 8), "h": 56, "w": 56, "c": 8, "r": 3, "s": 3},
        1,
    ),
    "peel tails": ("y[j] = x[j] + 1", {"x": (100,)}, 1),
    "place rows": (
        "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]",
        {"x": (8, 768)},
        1,
    ),
    "store columns": ("y[j,i] = x[i,j]", {"x": (512, 1024)}, 1),
    "braid rows": ("y[h,w,c] = x[c,h,w]", {"x": (3, 224, 224)}, 1),
    "begin registers": ("y[i] = sum[j] x[i,j]", {"x": (8, 96)}, 1),
    "vectors": ("y[i,j] = x[i,j] * g[i]", {"x": (8, 96), "g": (8,)}, 1),
}
# Only AVX2 takes "keep nan", and AVX-512 takes no pass of long rows, of sums of rows, of repeated steps or of joined
# products. The first one's example has 8 lanes.
OF_AVX2 = ("bound windows", "sum rows", "skew rows", "prefetch next rows", "repeat steps", "join products", "keep nan")


def program_example(name: str) -> dict[str, Kernel]:
    """Every form of the kernel of a pass of programs."""
    text, sizes, threads = PROGRAMS[name]
    extents = {dim: size for dim, size in sizes.items() if isinstance(size, int)}
    shapes = {array: size for array, size in sizes.items() if not isinstance(size, int)}
    isa = AVX2 if name in OF_AVX2 else AVX512F
    return dict(program_forms(sized(read(text), extents, shapes), isa, threads))
