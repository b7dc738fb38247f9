"""Problems and schemes whose pixels are flattened."""

from __future__ import annotations

from tests.support.kernels.matrix_cases import NUMBERS
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.scheme.counts import groups_of
from tiling.scheme.specifiers import DotGroup
from tiling.text.notation import parse

# Extents of a convolution, a scheme with {b} blocks, and how many words of 32 bits a block has, of bf16 as of int8.
CASES = {
    "1x1, nothing between rows": (dict(c=64, h=5, w=7, k=16, r=1, s=1), "T(hw,5) S(y) T(c,{b}) U(hw,7)", 16),
    "1x1, channels that fill no block": (
        dict(n=2, c=37, h=4, w=5, k=16, r=1, s=1),
        "R(n) T(hw,2) S(y) T(c,{b}) U(hw,10)",
        8,
    ),
    "valid": (
        dict(c=32, h=6, w=8, k=40, r=3, s=3),
        "T(hw,2) R(k) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,15)",
        8,
    ),
    "valid, composed": (
        dict(n=2, c=64, h=7, w=9, k=64, r=3, s=3),
        "R(n) L(hw, 2x14 + 1x15) T(k,2) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,λ) U(k,2)",
        16,
    ),
    "valid, dilated, channels that fill no block": (
        dict(c=26, h=7, w=8, k=16, r=2, s=3, dilation=2),
        "T(hw,2) S(y) T(c,{b}) U(r,2) U(s,3) U(hw,18)",
        7,
    ),
    "padded": (
        dict(c=64, h=7, w=7, k=37, r=3, s=3, padding=1),
        "T(hw,5) R(k) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,11)",
        16,
    ),
    "padded, some points beyond the last": (
        dict(n=3, c=32, h=7, w=7, k=32, r=3, s=3, padding=1),
        "R(k) T(n,3) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,64)",
        8,
    ),
    "padded, a whole tile beyond the last point": (
        dict(c=16, h=7, w=7, k=16, r=3, s=3, padding=1),
        "T(hw,2) T(hw,2) S(y) T(r,3) T(c,{b}) U(s,3) U(hw,29)",
        4,
    ),
    "padded, composed beyond the last point": (
        dict(c=40, h=6, w=7, k=48, r=3, s=3, padding=1),
        "L(hw, 2x16 + 1x20) R(k) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,λ)",
        16,
    ),
    "padded on two sides": (
        dict(c=20, h=6, w=8, k=32, r=3, s=3, padding=((0, 1), (2, 0))),
        "T(hw,3) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,16) U(k,2)",
        5,
    ),
    "padded along h": (
        dict(c=32, h=6, w=5, k=16, r=3, s=1, padding=(1, 0)),
        "S(y) T(r,3) T(c,{b}) U(hw,30)",
        8,
    ),
    "padded along h, gaps of a valid row": (
        dict(n=2, c=32, h=5, w=6, k=16, r=3, s=3, padding=(1, 0)),
        "R(n) T(hw,2) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,14)",
        16,
    ),
    "padded along w": (
        dict(c=32, h=4, w=6, k=20, r=1, s=3, padding=(0, 1)),
        "R(k) R(hw) S(y) T(s,3) T(c,{b}) U(hw,9)",
        16,
    ),
    "1x1, padded: rows of y longer than those of x": (
        dict(n=2, c=32, h=4, w=5, k=24, r=1, s=1, padding=1),
        "T(hw,3) T(n,2) R(k) S(y) R(c) U(hw,14)",
        16,
    ),
    "padded beyond what the kernel reaches": (
        dict(c=8, h=1, w=2, k=16, r=2, s=2, padding=((4, 3), (3, 4))),
        "R(hw) S(y) T(r,2) T(s,2) T(c,{b}) U(hw,14)",
        4,
    ),
    "dilated": (
        dict(c=48, h=8, w=7, k=64, r=3, s=3, padding=2, dilation=2),
        "T(k,2) T(hw,5) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,14) U(k,2)",
        16,
    ),
    "dilated by axis": (
        dict(c=24, h=7, w=9, k=16, r=3, s=2, padding=((3, 1), (0, 2)), dilation=(2, 3)),
        "R(hw) S(y) T(r,3) T(s,2) T(c,{b}) U(hw,37)",
        12,
    ),
    "tiles of one point": (
        dict(c=24, h=5, w=4, k=32, r=3, s=2, padding=1),
        "R(hw) S(y) T(r,3) T(s,2) T(c,{b}) U(k,2)",
        4,
    ),
    "tiles of several images": (
        dict(n=2, c=32, h=5, w=5, k=16, r=3, s=3, padding=1),
        "T(hw,5) S(y) T(r,3) T(s,3) T(c,{b}) U(n,2) U(hw,6)",
        16,
    ),
    "groups": (
        dict(n=2, c=128, h=4, w=5, k=64, groups=2, r=3, s=3, padding=1),
        "R(n) R(g) R(k) R(hw) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,23)",
        8,
    ),
    "groups that fill no block": (
        dict(n=2, c=80, h=5, w=4, k=34, groups=2, r=3, s=3, padding=((1, 0), (0, 1))),
        "R(g) R(k) R(n) T(hw,2) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,10)",
        16,
    ),
    "groups, valid": (
        dict(n=2, c=96, h=5, w=6, k=48, groups=3, r=2, s=2),
        "R(g) R(n) R(hw) S(y) T(r,2) T(s,2) T(c,{b}) U(hw,23)",
        8,
    ),
}


def scheme_of(text: str, words: int, dtype: str, epilogue: str | None = None, output: str | None = None, **extents):
    problem = conv2d(**extents, dtype=dtype, output_dtype=output)
    dot = DotGroup("c", words * NUMBERS[dtype])
    text = f"{text.format(b=groups_of(problem, dot))} {dot} V(k,16)"
    return parse(fused(problem, epilogue), text)


SAME = dict(n=2, c=64, h=7, w=7, k=37, r=3, s=3, padding=1)
