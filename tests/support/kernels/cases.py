"""Problems and schemes that together reach every path of the C emitter."""

from __future__ import annotations

import pytest

from cpu.kernel.callable import build
from microkernels.tile.isa import ISAS
from tiling.epilogue import fused
from tiling.operators import conv2d, in_layout, matmul
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse

ON_EVERY_ISA = [pytest.param(name, marks=pytest.mark.isa(name)) for name in ISAS]
SAME_3X3 = conv2d(c=8, h=12, w=12, k=48, r=3, s=3, padding=1)
TAIL = conv2d(c=5, h=7, w=7, k=37, r=3, s=3, padding=1)
STEM = conv2d(c=3, h=20, w=20, k=16, r=7, s=7, padding=3, stride=2)
ODD = conv2d(n=2, c=6, h=11, w=10, k=16, r=5, s=3, padding=((2, 1), (3, 0)), dilation=(2, 3), stride=(2, 1))
WIDE_PAD = conv2d(c=4, h=3, w=3, k=16, r=5, s=5, padding=4)
GROUPED = conv2d(n=2, c=12, h=7, w=6, k=111, r=3, s=3, padding=1, groups=3)
WHOLE_GROUPS = conv2d(c=8, h=6, w=6, k=64, r=3, s=1, padding=(1, 0), stride=(1, 2), groups=2)
DEPTHWISE = conv2d(n=2, c=37, k=37, groups=37, h=9, w=8, r=3, s=3, padding=1)
ODD_DEPTHWISE = conv2d(
    c=16, k=16, groups=16, h=11, w=10, r=2, s=3, stride=(2, 1), dilation=(3, 2), padding=((2, 0), (1, 3))
)
FOURS = grouped2d(conv2d(n=2, c=44, k=44, groups=11, h=9, w=8, r=3, s=3, padding=1))
ODD_PAIRS = grouped2d(
    conv2d(c=38, k=38, groups=19, h=11, w=10, r=2, s=3, stride=(2, 1), dilation=(3, 2), padding=((2, 0), (1, 3)))
)
POINTWISE = conv2d(c=24, h=9, w=9, k=32, r=1, s=1, stride=2)
PRODUCT = matmul(m=23, n=50, k=19)
TRANSPOSED = matmul(m=23, n=50, k=19, transpose_a=True, transpose_b=True)
BATCHED = matmul(m=8, n=13, k=10, batch=3, transpose_a=True)
# {k}: the loop over vectors of the vectorised dim that is left; {v}: lanes. Each line exercises what it names.
CASES = {
    "one window looped, one clipped": (SAME_3X3, "R(k) T(h,12) T(w,2) S(y) T(r,3) T(s,3) T(c,8) U(w,6) V(k,{v})"),
    "both windows clipped": (SAME_3X3, "R(k) T(h,4) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(h,3) U(w,4) V(k,{v})"),
    "taps unrolled": (SAME_3X3, "R(k) T(h,12) T(w,6) S(y) T(c,8) U(r,3) U(s,3) U(w,2) V(k,{v})"),
    "unrolled taps with a register full": (SAME_3X3, "R(k) T(h,12) S(y) T(r,3) T(c,8) U(s,3) U(w,12) V(k,{v})"),
    "single rows": (SAME_3X3, "R(k) T(h,12) T(w,12) S(y) T(r,3) T(s,3) T(c,8) V(k,{v})"),
    "taps outside the tile": (SAME_3X3, "T(s,3) T(r,3) R(k) T(h,12) T(w,3) S(y) T(c,8) U(w,4) V(k,{v})"),
    "channels split around the tile": (
        SAME_3X3,
        "T(c,2) R(k) T(h,12) T(w,3) T(c,2) S(y) T(r,3) T(s,3) T(c,2) U(w,4) V(k,{v})",
    ),
    "channels split inside the tile": (
        SAME_3X3,
        "R(k) T(h,12) T(w,3) S(y) T(c,2) T(r,3) T(c,2) T(s,3) T(c,2) U(w,4) V(k,{v})",
    ),
    "composed rows": (SAME_3X3, "R(k) T(h,12) L(w, 1x5 + 1x7) S(y) T(r,3) T(s,3) T(c,8) U(w,λ) V(k,{v})"),
    "composed rows in two dims": (
        SAME_3X3,
        "R(k) L(h, 4x2 + 4x1) T(w,3) L(w, 1x1 + 1x3) S(y) T(r,3) T(s,3) T(c,8) U(h,λ) U(w,λ) V(k,{v})",
    ),
    "composed under a tile loop": (
        SAME_3X3,
        "T(h,2) R(k) L(h, 1x4 + 1x2) T(w,12) S(y) T(r,3) T(s,3) T(c,8) U(h,λ) V(k,{v})",
    ),
    "composed, one branch a single tile": (
        SAME_3X3,
        "R(k) T(h,3) T(w,2) L(h, 1x2 + 2x1) S(y) T(r,3) T(s,3) T(c,8) U(h,λ) U(w,6) V(k,{v})",
    ),
    "masked last vector": (TAIL, "R(k) T(h,7) S(y) T(r,3) T(s,3) T(c,5) U(w,7) V(k,{v})"),
    "masked and accumulated": (TAIL, "T(c,5) R(k) T(h,7) S(y) T(r,3) T(s,3) U(w,7) V(k,{v})"),
    "stem": (STEM, "R(k) T(h,10) T(w,2) S(y) T(r,7) U(s,7) U(c,3) U(w,5) V(k,{v})"),
    "strides, dilation, asymmetric padding, batch": (ODD, "R(n) R(k) R(h) R(w) S(y) T(r,5) T(s,3) T(c,6) V(k,{v})"),
    "the same, rows over h": (ODD, "T(n,2) R(k) T(w,7) S(y) T(r,5) T(s,3) T(c,6) U(h,3) V(k,{v})"),
    "padding wider than the image": (WIDE_PAD, "R(k) T(h,7) S(y) T(r,5) T(s,5) T(c,4) U(w,7) V(k,{v})"),
    "padding wider than the image, clipped twice": (WIDE_PAD, "R(k) T(w,7) S(y) T(r,5) T(s,5) T(c,4) U(h,7) V(k,{v})"),
    "strided pointwise": (POINTWISE, "R(k) T(h,5) S(y) T(c,24) U(w,5) V(k,{v})"),
    "loops for cores": (SAME_3X3, "T(h,2)@core T(w,3)@core T(h,6) R(k) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,{v})"),
    "groups": (GROUPED, "R(g) R(n) R(k) T(h,7) S(y) T(r,3) T(s,3) T(c,4) U(w,6) V(k,{v})"),
    "groups inside the image": (GROUPED, "R(n) T(w,6) R(k) R(g) S(y) T(r,3) T(s,3) T(c,4) U(h,7) V(k,{v})"),
    "groups and accumulated": (GROUPED, "T(c,2) R(k) T(g,3) R(n) T(h,7) S(y) T(c,2) T(r,3) U(s,3) U(w,6) V(k,{v})"),
    "groups for cores": (WHOLE_GROUPS, "T(g,2)@core R(k) T(h,2) S(y) T(r,3) T(c,4) U(h,3) U(w,3) V(k,{v})"),
    "depthwise, taps unrolled": (DEPTHWISE, "R(n) R(c) T(h,9) T(w,2) S(y) U(r,3) U(s,3) U(w,4) V(c,{v})"),
    "depthwise, taps unrolled and no register for their weights": (
        DEPTHWISE,
        "R(c) R(n) T(h,9) S(y) U(r,3) U(s,3) U(w,8) V(c,{v})",
    ),
    "depthwise, taps looped": (DEPTHWISE, "R(n) R(c) T(h,9) T(w,2) S(y) T(r,3) T(s,3) U(w,4) V(c,{v})"),
    "depthwise, taps outside": (DEPTHWISE, "T(r,3) R(n) R(c) T(h,3) T(w,4) S(y) U(s,3) U(h,3) U(w,2) V(c,{v})"),
    "depthwise, composed rows": (
        DEPTHWISE,
        "R(n) T(h,3) L(w, 1x3 + 1x5) R(c) S(y) T(r,3) U(s,3) U(h,3) U(w,λ) V(c,{v})",
    ),
    "depthwise, for cores": (DEPTHWISE, "T(n,2)@core T(h,3)@core T(h,3) T(w,8) R(c) S(y) T(s,3) U(r,3) V(c,{v})"),
    "depthwise, everything odd": (ODD_DEPTHWISE, "R(c) R(h) T(w,2) S(y) T(s,3) U(r,2) U(w,5) V(c,{v})"),
    "groups side by side, channels and taps unrolled": (
        FOURS,
        "R(n) R(k) T(h,9) T(w,2) S(y) T(r,3) U(s,3) U(c,4) U(w,4) V(k,{v})",
    ),
    "groups side by side, registers for the weights of one exchange": (
        FOURS,
        "R(k) R(n) T(h,9) S(y) T(r,3) U(s,3) U(c,4) U(w,8) V(k,{v})",
    ),
    "groups side by side, taps outside": (
        FOURS,
        "T(r,3) R(n) R(k) T(h,3) T(w,4) S(y) T(s,3) U(c,4) U(h,3) U(w,2) V(k,{v})",
    ),
    "groups side by side, composed rows": (
        FOURS,
        "R(n) T(h,3) L(w, 1x3 + 1x5) R(k) S(y) T(r,3) U(s,3) U(h,3) U(c,2) U(w,λ) U(c,2) V(k,{v})",
    ),
    "groups side by side, for cores": (
        FOURS,
        "T(n,2)@core T(h,3)@core T(h,3) T(w,8) R(k) S(y) T(s,3) U(r,3) U(c,4) V(k,{v})",
    ),
    "groups side by side, everything odd": (ODD_PAIRS, "R(k) R(h) T(w,2) S(y) T(s,3) U(c,2) U(r,2) U(w,5) V(k,{v})"),
    "matrix product": (PRODUCT, "L(m, 1x5 + 3x6) R(n) S(c) T(k,19) U(m,λ) V(n,{v})"),
    "matrix product, both transposed": (TRANSPOSED, "L(m, 1x5 + 3x6) R(n) S(c) T(k,19) U(m,λ) V(n,{v})"),
    "matrix product, both transposed, a copied": (TRANSPOSED, "S(a) L(m, 1x5 + 3x6) R(n) S(c) T(k,19) U(m,λ) V(n,{v})"),
    "matrix products in a batch, a copied, for cores": (
        BATCHED,
        "S(a) T(l,3)@core T(m,2) R(n) S(c) T(k,10) U(m,4) V(n,{v})",
    ),
    "matrix products in a batch": (BATCHED, "T(l,3) T(m,2) R(n) S(c) T(k,10) U(m,4) V(n,{v})"),
    "matrix products in a batch, for cores": (BATCHED, "T(l,3)@core T(k,2) T(m,2) R(n) S(c) T(k,5) U(m,4) V(n,{v})"),
    "matrix product, k unrolled": (matmul(m=24, n=50, k=18), "T(m,4) R(n) S(c) T(k,9) U(k,2) U(m,6) V(n,{v})"),
}
# The same with the channels of x and y before their pixels: tiles are transposed as they are stored and read back.
_CHANNELS_FIRST = (
    *(
        "both windows clipped",
        "unrolled taps with a register full",
        "composed rows in two dims",
        "masked and accumulated",
    ),
    *("stem", "the same, rows over h", "groups and accumulated", "loops for cores"),
    *("depthwise, taps unrolled", "depthwise, taps outside", "depthwise, composed rows", "depthwise, for cores"),
    "depthwise, everything odd",
)
LONG_ROWS = conv2d(n=2, c=3, h=6, w=13, k=19, r=1, s=1, layout="nchw")
SHORT_ROWS = conv2d(n=2, c=3, h=6, w=6, k=19, r=1, s=1, layout="nchw")
CASES |= {f"{name}, channels first": (in_layout(CASES[name][0], "nchw"), CASES[name][1]) for name in _CHANNELS_FIRST}
CASES |= {
    "more rows than lanes": (LONG_ROWS, "R(n) R(k) T(h,6) S(y) T(c,3) U(w,13) V(k,{v})"),
    "rows of two lines that are neighbours": (SHORT_ROWS, "T(c,3) R(n) R(k) T(h,3) S(y) U(h,2) U(w,6) V(k,{v})"),
}
FLATTENED = pointwise2d(conv2d(n=2, c=12, h=9, w=11, k=18, r=1, s=1, layout="nchw"))
# Vectors along pixels: x in place, rows of packed weights, the last vector of a channel's pixels masked.
CASES |= {
    "pixels, rows of weights": (FLATTENED, "R(n) R(w) T(k,3) S(y) T(c,12) U(k,6) V(w,{v})"),
    "pixels, weights outside": (FLATTENED, "T(k,9) R(n) R(w) S(y) T(c,6) U(c,2) U(k,2) V(w,{v})"),
    "pixels, composed rows": (FLATTENED, "R(w) L(k, 1x8 + 2x5) R(n) S(y) T(c,12) U(k,λ) V(w,{v})"),
    "pixels, accumulated": (FLATTENED, "T(c,2) L(k, 1x8 + 2x5) T(c,3) R(n) R(w) S(y) T(c,2) U(k,λ) V(w,{v})"),
    "pixels, for cores": (FLATTENED, "T(n,2)@core T(k,3)@core R(w) T(k,2) S(y) U(c,12) U(k,3) V(w,{v})"),
    "pixels, a panel for all rows": (FLATTENED, "R(n) R(w) S(x) T(k,3) S(y) T(c,12) U(k,6) V(w,{v})"),
    "pixels, a panel of all": (FLATTENED, "S(x) L(k, 1x8 + 2x5) T(c,3) R(n) R(w) S(y) T(c,2) U(c,2) U(k,λ) V(w,{v})"),
    "pixels, panels of channels": (
        FLATTENED,
        "T(c,3) R(n) S(x) L(k, 1x8 + 2x5) T(c,2) R(w) S(y) U(c,2) U(k,λ) V(w,{v})",
    ),
    "pixels, a panel of each branch": (
        FLATTENED,
        "T(n,2)@core L(k, 1x8 + 2x5) S(x) R(w) T(k,1) S(y) T(c,12) U(k,λ) V(w,{v})",
    ),
    "pixels, a panel for a core's tasks": (FLATTENED, "T(k,3)@core S(x) R(n) R(w) T(k,2) S(y) T(c,12) U(k,3) V(w,{v})"),
    "pixels, a panel for each task": (
        FLATTENED,
        "T(n,2)@core T(k,3)@core S(x) T(k,2) R(w) S(y) T(c,3) T(c,4) U(k,3) V(w,{v})",
    ),
}
# With an epilogue: arrays of every shape, after sums in one part and in several.
EPILOGUE_CASES = {
    "accumulated, then a bias alone": (fused(TAIL, "y + b"), CASES["masked and accumulated"][1]),
    "accumulated, then gelu": (fused(TAIL, "gelu(y*scale + b)"), CASES["masked and accumulated"][1]),
    "strided, then a residual": (fused(POINTWISE, "min(relu(y + b + z), 6)"), CASES["strided pointwise"][1]),
    "composed, then arrays of every shape": (
        fused(SAME_3X3, "relu(y*scale - z) + t[h] * u[n,w]"),
        CASES["composed rows in two dims"][1],
    ),
    "groups, then silu": (fused(GROUPED, "silu(y + b)"), CASES["groups and accumulated"][1]),
    "depthwise, then a residual": (fused(DEPTHWISE, "relu(y + b) + z"), CASES["depthwise, composed rows"][1]),
    "groups side by side, then a residual": (
        fused(FOURS, "relu(y*scale + b) + z"),
        CASES["groups side by side, taps outside"][1],
    ),
    "composed, then arrays of every shape, channels first": (
        fused(in_layout(SAME_3X3, "nchw"), "relu(y*scale - z) + t[h] * u[n,w]"),
        CASES["composed rows in two dims"][1],
    ),
    "rows of two lines, arrays in one of them, channels first": (
        fused(SHORT_ROWS, "y*b + t[k,w] - relu(z) * s[n,h]"),
        CASES["rows of two lines that are neighbours"][1],
    ),
    "depthwise, then a residual, channels first": (
        fused(in_layout(DEPTHWISE, "nchw"), "relu(y + b) + z"),
        CASES["depthwise, taps outside"][1],
    ),
    "groups, then silu, channels first": (
        fused(in_layout(GROUPED, "nchw"), "silu(y + b)"),
        CASES["groups and accumulated"][1],
    ),
    "pixels, then arrays of images": (
        pointwise2d(fused(FLATTENED.original, "relu(y + b) * t[h,w] + z - s[n,h,w]")),
        CASES["pixels, accumulated"][1],
    ),
    "product, then arrays of every shape": (fused(PRODUCT, "abs(y + b) - t[m] * z"), CASES["matrix product"][1]),
}
ALL_CASES = CASES | EPILOGUE_CASES


def kernel_of(problem, text, isa, **options):
    return build(parse(problem, text.format(v=ISAS[isa].lanes)), ISAS[isa], **options)
