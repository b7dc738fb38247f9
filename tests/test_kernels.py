"""Emitted kernels against the definition: exact on small integers, within K·eps on reals, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.emit import emit
from cpu.kernel import build
from cpu.measure import WrongResult, check_exact
from cpu.oracle import error_bound, integers, reals, reference
from microkernels.isa import ISAS
from tiling.epilogue import fused
from tiling.grouped import grouped2d
from tiling.notation import parse
from tiling.operators import conv2d, in_layout, matmul
from tiling.pointwise import pointwise2d
from tiling.scheme import SchemeError

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
EIGHTS = grouped2d(conv2d(c=40, k=40, groups=5, h=7, w=7, r=3, s=3, padding=1))
POINTWISE = conv2d(c=24, h=9, w=9, k=32, r=1, s=1, stride=2)
PRODUCT = matmul(m=23, n=50, k=19)
TURNED = matmul(m=23, n=50, k=19, transpose_a=True, transpose_b=True)
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
    "matrix product, both transposed": (TURNED, "L(m, 1x5 + 3x6) R(n) S(c) T(k,19) U(m,λ) V(n,{v})"),
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


PLANES = pointwise2d(conv2d(n=2, c=12, h=9, w=11, k=18, r=1, s=1, layout="nchw"))


# Vectors along pixels: x in place, rows of packed weights, the last vector of a plane masked.
CASES |= {
    "pixels, rows of weights": (PLANES, "R(n) R(w) T(k,3) S(y) T(c,12) U(k,6) V(w,{v})"),
    "pixels, weights outside": (PLANES, "T(k,9) R(n) R(w) S(y) T(c,6) U(c,2) U(k,2) V(w,{v})"),
    "pixels, composed rows": (PLANES, "R(w) L(k, 1x8 + 2x5) R(n) S(y) T(c,12) U(k,λ) V(w,{v})"),
    "pixels, accumulated": (PLANES, "T(c,2) L(k, 1x8 + 2x5) T(c,3) R(n) R(w) S(y) T(c,2) U(k,λ) V(w,{v})"),
    "pixels, for cores": (PLANES, "T(n,2)@core T(k,3)@core R(w) T(k,2) S(y) U(c,12) U(k,3) V(w,{v})"),
    "pixels, a panel for all rows": (PLANES, "R(n) R(w) S(x) T(k,3) S(y) T(c,12) U(k,6) V(w,{v})"),
    "pixels, a panel of all": (PLANES, "S(x) L(k, 1x8 + 2x5) T(c,3) R(n) R(w) S(y) T(c,2) U(c,2) U(k,λ) V(w,{v})"),
    "pixels, panels of channels": (PLANES, "T(c,3) R(n) S(x) L(k, 1x8 + 2x5) T(c,2) R(w) S(y) U(c,2) U(k,λ) V(w,{v})"),
    "pixels, a panel of each branch": (
        PLANES,
        "T(n,2)@core L(k, 1x8 + 2x5) S(x) R(w) T(k,1) S(y) T(c,12) U(k,λ) V(w,{v})",
    ),
    "pixels, a panel for a core's tasks": (PLANES, "T(k,3)@core S(x) R(n) R(w) T(k,2) S(y) T(c,12) U(k,3) V(w,{v})"),
    "pixels, a panel for each task": (
        PLANES,
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
    "pixels, then arrays of planes": (
        pointwise2d(fused(PLANES.asked, "relu(y + b) * t[h,w] + z - s[n,h,w]")),
        CASES["pixels, accumulated"][1],
    ),
    "product, then arrays of every shape": (fused(PRODUCT, "abs(y + b) - t[m] * z"), CASES["matrix product"][1]),
}


ALL_CASES = CASES | EPILOGUE_CASES


def kernel_of(problem, text, isa, **options):
    return build(parse(problem, text.format(v=ISAS[isa].lanes)), ISAS[isa], **options)


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("case", CASES)
def test_exact_on_integers_and_bounded_on_reals(case, isa):
    problem, text = CASES[case]
    kernel = kernel_of(problem, text, isa)
    check_exact(kernel)
    x, w = reals(problem, seed=1)
    assert np.all(np.abs(kernel(x, w) - reference(problem, x, w)) <= error_bound(problem, x, w))


@pytest.mark.parametrize("isa", [pytest.param(name, marks=pytest.mark.isa(name)) for name in ("avx512f", "avx2")])
@pytest.mark.parametrize("tile", ["U(w,7)", "U(h,7) U(w,1)", "U(w,7) U(k,2)"])
def test_groups_of_eight_side_by_side(tile, isa):
    loops = "T(h,7)" if "U(h" not in tile else "T(w,7)"
    blocks = "L(k, 1x1 + 1x2) " if "U(k" in tile and isa == "avx512f" else ""
    tile = tile.replace("U(k,2)", "U(k,λ)" if blocks else "")
    text = f"{blocks}{loops} {'' if blocks else 'R(k) '}S(y) T(r,3) U(c,8) U(s,3) {tile} V(k,{{v}})"
    check_exact(kernel_of(EIGHTS, text, isa))


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_group_of_a_whole_vector_meets_in_its_lanes(isa):
    size = ISAS[isa].lanes
    problem = grouped2d(conv2d(c=2 * size, k=2 * size, groups=2, h=3, w=4, r=1, s=3, padding=(0, 1)))
    check_exact(kernel_of(problem, f"R(k) T(h,3) T(w,4) S(y) T(s,3) U(c,{size}) V(k,{{v}})", isa))


@pytest.mark.parametrize(
    "text, isa, named",
    [
        (
            "R(n) R(k) R(h) R(w) S(y) T(r,3) T(c,4) U(s,3) V(k,4)",
            "portable",
            "U(c,4) is missing: each c is another exchange",
        ),
        ("R(n) R(k) R(h) R(w) S(y) T(r,3) T(c,2) U(s,3) U(c,2) V(k,8)", "avx2", "U(c,4) is missing"),
    ],
)
def test_an_exchange_of_lanes_is_never_looped(text, isa, named):
    with pytest.raises(SchemeError) as raised:
        emit(parse(FOURS, text), ISAS[isa])
    assert named in str(raised.value)


def test_a_group_fits_the_lanes():
    with pytest.raises(SchemeError, match="a group of 8 channels does not fit 4 lanes"):
        emit(parse(EIGHTS, "R(k) R(h) R(w) S(y) T(r,3) U(c,8) U(s,3) V(k,4)"), ISAS["portable"])


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_composed_vectors(isa):
    vectors = -(-SAME_3X3.extents["k"] // ISAS[isa].lanes)
    text = f"L(k, 1x1 + {(vectors - 1) // 2}x2) T(h,12) T(w,6) S(y) T(r,3) T(s,3) T(c,8) U(w,2) U(k,λ) V(k,{{v}})"
    if vectors % 2 == 0:
        text = f"L(k, 2x1 + {(vectors - 2) // 2}x2) T(h,12) T(w,6) S(y) T(r,3) T(s,3) T(c,8) U(w,2) U(k,λ) V(k,{{v}})"
    check_exact(kernel_of(SAME_3X3, text, isa))


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_streaming_stores_and_unaligned_outputs(isa):
    text = CASES["one window looped, one clipped"][1]
    kernel = kernel_of(SAME_3X3, text, isa, stream=True)
    check_exact(kernel)  # aligned: streamed
    row = ISAS[isa]
    if row.stream != row.store:  # portable C has no streaming store
        assert row.stream.partition("{")[0] in kernel.source and f"{row.stream_fence};" in kernel.source
    x, w = integers(SAME_3X3)
    memory = np.empty(SAME_3X3.output.elements + 1, np.float32)
    out = memory[1:].reshape(SAME_3X3.output.shape)
    assert np.array_equal(kernel(x, w, out=out), reference(SAME_3X3, x, w))


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_channels_first_streams_blocks_of_as_many_rows_as_lanes(isa):
    row = ISAS[isa]
    problem = conv2d(n=2, c=3, h=4, w=3 * row.lanes, k=21, r=1, s=3, padding=(0, 1), layout="nchw")
    for tile, streamed in ((row.lanes, True), (row.lanes // 2, False)):
        text = f"R(n) R(k) T(h,4) T(w,{3 * row.lanes // tile}) S(y) T(c,3) T(s,3) U(w,{tile}) V(k,{{v}})"
        kernel = kernel_of(problem, text, isa, stream=True)
        check_exact(kernel)
        assert ("int stream" in kernel.source) == streamed
        x, w = integers(problem)
        memory = np.empty(problem.output.elements + 1, np.float32)
        out = memory[1:].reshape(problem.output.shape)
        assert np.array_equal(kernel(x, w, out=out), reference(problem, x, w))


def test_the_oracle_is_the_definition():
    """The reference itself, against seven nested loops."""
    problem = conv2d(n=2, c=2, h=5, w=4, k=3, r=3, s=2, stride=(2, 1), padding=((1, 0), (2, 1)), dilation=(1, 2))
    x, w = integers(problem)
    y = np.zeros(problem.output.shape)
    for n, oh, ow, k in np.ndindex(*y.shape):
        for c, r, s in np.ndindex(2, 3, 2):
            ih, iw = oh * 2 + r - 1, ow + s * 2 - 2
            if 0 <= ih < 5 and 0 <= iw < 4:
                y[n, oh, ow, k] += x[n, ih, iw, c] * w[k, c, r, s]
    assert np.array_equal(reference(problem, x, w), y)


def test_a_wrong_kernel_is_found(monkeypatch):
    text = CASES["single rows"][1].format(v=4)
    source = emit(parse(SAME_3X3, text), ISAS["portable"])
    broken = source.text.replace("for (long c = 0; c < 8; ++c)", "for (long c = 0; c < 7; ++c)", 1)
    assert broken != source.text
    import cpu.kernel

    monkeypatch.setattr(cpu.kernel, "emit", lambda *_: type(source)(**{**vars(source), "text": broken}))
    with pytest.raises(WrongResult, match="of .* outputs differ"):
        check_exact(cpu.kernel.build(parse(SAME_3X3, text), ISAS["portable"]))


@pytest.mark.parametrize(
    "text, message",
    [
        ("R(k) R(h) R(w) T(r,3) T(s,3) T(c,8) V(k,4)", r"S\(y\) is missing"),
        ("R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,16)", r"V\(k,16\): portable has vectors of 4 lanes"),
        ("R(k) R(h) R(w) S(x) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", r"S\(x\): on a CPU only the output"),
        ("T(h,2)@warp R(k) R(w) T(h,6) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", r"T\(h,2\)@warp: a CPU has cores"),
        ("R(k) R(h) R(w) S(y) T(r,3) T(s,3) L(c, 1x3 + 1x5) U(c,λ) V(k,4)", r"L\(c, 1x3 \+ 1x5\): c is summed over"),
        ("R(k) R(h) S(y) T(r,3) T(s,3) T(c,8) U(k,2) U(w,12) V(k,4)", "needs 24 accumulators, portable has 16"),
    ],
)
def test_schemes_that_the_emitter_refuses(text, message):
    with pytest.raises(SchemeError, match=message):
        emit(parse(SAME_3X3, text), ISAS["portable"])


@pytest.mark.parametrize(
    "text, message",
    [
        ("R(n) R(w) T(k,3) S(x, 2) S(y) T(c,12) U(k,6) V(w,4)", r"S\(x, 2\): memory with several slots is a GPU's"),
        ("R(n) R(w) S(w) T(k,3) S(y) T(c,12) U(k,6) V(w,4)", r"S\(w\): on a CPU only the output"),
        ("R(n) R(w) T(k,3) S(y) S(x) T(c,12) U(k,6) V(w,4)", r"S\(x\): tiles share a panel of x, so it stands outside"),
        ("R(n) R(w) T(k,3) S(x) S(y) T(c,12) U(k,6) V(w,4)", r"S\(x\): no loop over k stands between it and S\(y\)"),
        ("R(n) R(w) S(x) T(k,3) S(y, 2) T(c,12) U(k,6) V(w,4)", r"S\(y, 2\): memory with several slots is a GPU's"),
    ],
)
def test_panels_that_the_emitter_refuses(text, message):
    with pytest.raises(SchemeError, match=message):
        emit(parse(PLANES, text), ISAS["portable"])


def test_a_panel_is_no_larger_than_a_cache():
    large = pointwise2d(conv2d(c=1024, h=64, w=64, k=8, r=1, s=1, layout="nchw"))
    with pytest.raises(SchemeError, match=r"S\(x\): a panel of 16777216 bytes, more than 4194304: .* a loop over w"):
        emit(parse(large, "S(x) T(k,4) R(w) S(y) T(c,1024) U(k,2) V(w,4)"), ISAS["portable"])


@pytest.mark.parametrize("loop, unrolled", [("T(g,1)", "U(g,3)"), ("L(g, 1x1 + 1x2)", "U(g,λ)")])
def test_groups_are_never_unrolled(loop, unrolled):
    scheme = parse(GROUPED, f"{loop} R(n) R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,4) {unrolled} V(k,4)")
    with pytest.raises(SchemeError, match="every g has vectors of its own, so a register tile holds one"):
        emit(scheme, ISAS["portable"])
