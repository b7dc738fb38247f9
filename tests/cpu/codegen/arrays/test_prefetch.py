"""Prefetches into L2: the lines that emitted kernels prefetch, written down as they run."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from cpu.codegen.emit import emit
from cpu.kernel.arguments import aligned_empty
from cpu.runtime.compiler.library import load
from microkernels.tile.isa import isa_named
from tiling.loops.lowering.prefetch.limits import PREFETCH_DISTANCE
from tiling.operators import conv2d, matmul
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse

RECORDER = """
static long prefetched[1 << 20], count;
long *lines_prefetched(void) { return prefetched; }
long how_many(void) { return count; }
static void record(const void *line) { if (count < 1 << 20) prefetched[count++] = (long)line; }
#define __builtin_prefetch(line, write, level) ((level) == LEVEL ? record(line) : (void)0)
"""

POINTWISE = dict(c=512, h=4, w=4, k=1040, r=1, s=1)
CASES = {
    "a panel after the other": (conv2d(**POINTWISE), "T(k,65) T(h,4) S(y) T(c,512) U(w,4)"),
    "parts of panels": (conv2d(**POINTWISE), "T(k,65) T(c,4) T(h,4) S(y) T(c,128) U(w,4)"),
    "several panels at once": (conv2d(**POINTWISE), "T(k,13) T(h,4) T(k,5) S(y) T(c,512) U(w,4)"),
    "a line every other step": (conv2d(**POINTWISE), "T(k,65) T(h,2) S(y) T(c,512) U(h,2) U(w,4)"),
    "two lines a step": (conv2d(c=512, h=2, w=1, k=1024, r=1, s=1), "T(k,16) T(h,2) S(y) T(c,512) U(k,4)"),
    "composed rows": (conv2d(**POINTWISE), "T(k,65) T(h,4) L(w, 1x1 + 1x3) S(y) T(c,512) U(w,λ)"),
    "composed panels": (conv2d(**POINTWISE), "L(k, 1x2 + 21x3) T(h,4) S(y) T(c,512) U(w,4) U(k,λ)"),
    "the last panel masked": (conv2d(**POINTWISE | {"k": 1033}), "T(k,65) T(h,4) S(y) T(c,512) U(w,4)"),
    "taps unrolled": (
        conv2d(c=64, h=6, w=4, k=512, r=3, s=3),
        "T(k,32) T(c,2) T(h,4) S(y) T(r,3) T(c,32) U(s,3) U(w,2)",
    ),
    "groups": (conv2d(c=96, h=4, w=4, k=2048, r=1, s=3, groups=2), "R(g) T(k,64) T(h,4) S(y) T(s,3) T(c,48) U(w,2)"),
    "a product": (matmul(m=24, n=512, k=512), "T(n,32) T(m,6) S(c) T(k,512) U(m,4)"),
    "panels of two workers": (conv2d(**POINTWISE | {"k": 1024}), "T(k,2)@core T(k,32) T(h,4) S(y) T(c,512) U(w,4)"),
    "a sum that goes on inside": (
        conv2d(c=1024, h=7, w=7, k=512, r=1, s=1),
        "T(k,2)@core T(c,4) T(k,16) T(h,7) T(c,2) S(y) T(c,128) U(w,7)",
    ),
}


def scheme_of(problem, text: str, lanes: int):
    """The scheme with vectors of 16 lanes, or of two of half as many in their place."""
    dim = problem.vector_dim
    if lanes == 16:
        return parse(problem, f"{text} V({dim},16)")
    return parse(problem, f"{text} U({dim},{16 // lanes}) V({dim},{lanes})")


def on_each_isa(case: str) -> list:
    """The case with vectors of 16 lanes, and with two of 8 in place of each where its scheme counts no vectors."""
    isas = ["avx512f"] if case == "composed panels" else ["avx512f", "avx2"]
    return [pytest.param(case, isa, marks=pytest.mark.isa(isa)) for isa in isas]


@pytest.mark.exhaustive
@pytest.mark.parametrize("case, isa", [each for case in CASES for each in on_each_isa(case)])
def test_every_line_of_the_weights_but_the_first_piece_is_prefetched_once_and_in_order(case, isa):
    problem, text = CASES[case]
    isa = isa_named(isa)
    prefetched, (_, w, _) = lines_prefetched(scheme_of(problem, text, isa.lanes), isa)
    first = prefetched[0] - w.ctypes.data // 64
    assert 0 < first < w.nbytes / 64 / 2
    wanted = lines_of(w)[first:]
    if case == "composed panels":  # a piece of two panels prefetches as much of the next one, of three
        wanted = np.delete(wanted, slice(1024, 1536))
    if case == "a sum that goes on inside":  # a piece lies in each panel; those of the first panel are not prefetched
        assert prefetched[256] - prefetched[0] == 1024
        prefetched = np.sort(prefetched)
    np.testing.assert_array_equal(prefetched, wanted)


CONV = dict(c=64, h=40, w=128, k=16, r=1, s=1)
X_CASES = {  # problem, scheme, rows of 64 channels that the first piece has
    "rows along w": (conv2d(**CONV), "T(h,40) T(w,16) S(y) T(c,64) U(w,8)", 8),
    "composed rows": (conv2d(**CONV), "T(h,40) L(w, 2x7 + 19x6) S(y) T(c,64) U(w,λ)", 7),
    "a branch once": (conv2d(**CONV), "T(h,40) L(w, 1x8 + 15x8) S(y) T(c,64) U(w,λ)", 8),
    "lines of rows": (conv2d(**CONV), "T(h,20) T(w,32) S(y) T(c,64) U(h,2) U(w,4)", 256),
    "single rows": (conv2d(**CONV), "T(h,40) T(w,128) S(y) T(c,64)", 1),
    "a product": (matmul(m=5120, n=16, k=64), "T(m,256) S(c) T(k,64) U(m,20)", 20),
    "rows of each worker": (conv2d(**CONV | {"k": 32}), "T(k,2)@core T(h,40) T(w,16) S(y) T(c,64) U(w,8)", 8),
    "weights inside": (conv2d(**CONV | {"k": 64}), "T(h,40) T(w,16) T(k,4) S(y) T(c,64) U(w,8)", 8),
    "windows": (conv2d(**CONV | {"r": 3, "s": 3}, padding=1), "T(h,40) T(w,16) S(y) T(r,3) T(c,64) U(s,3) U(w,8)", 255),
    "steps": (conv2d(**CONV | {"r": 3, "s": 3}, stride=2), "T(h,19) T(w,9) S(y) T(r,3) T(s,3) T(c,64) U(w,7)", 384),
}


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("case", X_CASES)
def test_every_line_of_x_but_the_first_piece_is_prefetched_and_no_other(case):
    problem, text, rows = X_CASES[case]
    isa = isa_named("avx512f")
    prefetched, (x, _, _) = lines_prefetched(scheme_of(problem, text, isa.lanes), isa)
    assert len(prefetched) <= len(lines_of(x)) * 1.01 * (2 if "@core" in text else 1)
    wanted = lines_of(x)[rows * 4 :]
    if case == "composed rows":  # the last tile of a line of rows, of 6, prefetches as much of the next one, of 7
        wanted = np.setdiff1d(wanted, [lines_of(x)[(128 * h + 6) * 4 :][:4] for h in range(40)])
    np.testing.assert_array_equal(np.unique(prefetched), wanted)


def test_a_panel_larger_than_l1_is_prefetched_steps_before():
    def prefetched(c: int, rows: str = "U(w,4)") -> int:
        scheme = scheme_of(conv2d(c=c, h=4, w=4, k=48, r=1, s=1), f"R(h) S(y) R(c) {rows} U(k,3)", 16)
        second = PREFETCH_DISTANCE * 3 * 16 + 16  # the second line of a later step
        return emit(scheme, isa_named("avx512f")).text.count(f"(w_c + {second}, 0, 3);")

    assert prefetched(c=512) == 1 and prefetched(c=256) == 0  # of 96 and 48 KiB
    assert prefetched(c=512, rows="U(c,2) U(w,4)") == 0


PIXELS = dict(c=256, h=16, w=80, k=24, r=1, s=1, layout="nchw")
PANELS = {  # scheme, vectors of the first panel
    "a line for each tile": ("T(w,40) T(k,4) S(y) T(c,256) U(k,6) U(w,2)", 2),
    "more tiles than lines": ("T(w,40) T(k,12) S(y) T(c,256) U(k,2) U(w,2)", 2),
    "two lines for each tile": ("T(k,2) T(w,20) T(k,2) S(y) T(c,256) U(k,6) U(w,4)", 4),
    "a part of the sums": ("T(c,4) T(w,40) T(k,4) S(y) T(c,64) U(k,6) U(w,2)", 2),
    "composed pixels": ("L(w, 1x2 + 26x3) T(k,3) S(y) T(c,256) U(k,8) U(w,λ)", 2),
    "composed rows": ("T(w,40) L(k, 1x9 + 3x5) S(y) T(c,256) U(k,λ) U(w,2)", 2),
    "composed rows, each once": ("T(w,40) L(k, 1x10 + 1x14) S(y) T(c,256) U(k,λ) U(w,2)", 2),
    "composed rows in a loop": ("T(w,40) T(k,2) L(k, 1x5 + 1x7) S(y) T(c,256) U(k,λ) U(w,2)", 2),
    "weights elsewhere": ("T(k,2) T(w,40) T(k,2) S(y) T(c,256) U(k,6) U(w,2)", 2),
    "packed on the way": ("T(w,40) S(x) T(k,4) S(y) T(c,256) U(k,6) U(w,2)", 2),
    "packed in parts": ("T(c,4) T(w,40) S(x) T(k,4) S(y) T(c,64) U(k,6) U(w,2)", 2),
}


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("case", PANELS)
def test_every_line_of_the_next_panel_of_pixels_is_prefetched_before_its_turn(case):
    problem, (text, first) = pointwise2d(conv2d(**PIXELS)), PANELS[case]
    isa = isa_named("avx512f")
    prefetched, (x, _, _) = lines_prefetched(parse(problem, f"{text} V(w,16)"), isa)
    lines = lines_of(x).reshape(256, 80)
    # Each of up to 12 tiles over the same pixels prefetches one line, or as many as are missing.
    assert len(prefetched) <= 256 * 40 * 12 and max(prefetched) < lines.max() + 8
    # After the last panel of a channel comes the next channel's first.
    missing = np.setdiff1d(lines_of(x), prefetched)
    if case == "composed pixels":  # panels of two vectors prefetch as much of the next, of three
        assert set(missing) <= set(lines[:, :5].ravel())
    else:
        np.testing.assert_array_equal(missing, lines[0, :first])


def test_pixels_that_are_packed_already_are_not_prefetched():
    problem = pointwise2d(conv2d(**PIXELS))
    text = "S(x) T(k,2) T(w,40) T(k,2) S(y) T(c,256) U(k,6) U(w,2) V(w,16)"
    assert "next" not in emit(parse(problem, text), isa_named("avx512f")).text


def test_a_panel_of_pixels_larger_than_l1_is_prefetched_steps_before():
    def prefetched(c: int, body: str = "U(k,6) U(w,3)") -> int:
        problem = pointwise2d(conv2d(**PIXELS | {"c": c, "w": 48}))
        scheme = parse(problem, f"T(w,16) S(x) T(k,4) S(y) R(c) {body} V(w,16)")
        text = emit(scheme, isa_named("avx512f")).text
        return sum(text.count(f"(panel_c + {8 * 48 + at}, 0, 3);") for at in (0, 16, 32))

    assert prefetched(c=512) == 3 and prefetched(c=256) == 0  # of 96 and 48 KiB
    assert prefetched(c=512, body="U(c,2) U(k,6) U(w,3)") == 0


FIRST = dict(c=64, h=20, w=20, k=16, r=1, s=1, layout="nchw")
STEPS = {
    "rows along w": (conv2d(**FIRST), "T(h,20) T(w,2) S(y) T(c,64) U(w,10) V(k,16)"),
    "rows along h and w": (conv2d(**FIRST), "T(h,10) T(w,2) S(y) T(c,64) U(h,2) U(w,10) V(k,16)"),
    "taps": (conv2d(**FIRST | {"r": 3, "s": 3}), "T(h,18) T(w,2) S(y) T(r,3) T(c,64) U(s,3) U(w,9) V(k,16)"),
    "a stride": (conv2d(**FIRST, stride=2), "T(h,10) S(y) T(c,64) U(w,10) V(k,16)"),
    "steps in two parts": (conv2d(**FIRST), "T(h,20) T(w,2) S(y) T(c,4) T(c,16) U(w,10) V(k,16)"),
    "a product": (matmul(m=400, n=16, k=64, transpose_a=True), "T(m,40) S(c) T(k,64) U(m,10) V(n,16)"),
    "pixels": (pointwise2d(conv2d(**FIRST)), "T(w,25) T(k,2) S(y) T(c,64) U(k,8) V(w,16)"),
    "pixels that begin within lines": (
        pointwise2d(conv2d(**FIRST | {"w": 19})),
        "T(w,8) T(k,2) S(y) T(c,64) U(k,8) U(w,3) V(w,16)",
    ),
}


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("case", STEPS)
def test_an_x_whose_steps_lie_apart_is_prefetched(case):
    problem, text = STEPS[case]
    isa = isa_named("avx512f")
    prefetched, (x, _, _) = lines_prefetched(parse(problem, text), isa, level=3)
    pixels, line = problem.tensors[0].elements // 64, 16
    rows = np.arange(pixels).reshape(20, -1)
    read = rows[::2, :19].ravel() if case == "a stride" else rows.ravel()
    begin = x.ctypes.data // 64
    wanted = {begin + (channel * pixels + int(at)) // line for channel in range(8, 64) for at in read}
    assert wanted <= set(prefetched)
    assert max(prefetched) < begin + (64 + 8) * pixels // line + 2


@pytest.mark.parametrize(
    "problem, text",
    [
        (conv2d(**FIRST | {"layout": "nhwc"}), "T(h,20) T(w,2) S(y) T(c,64) U(w,10) V(k,16)"),  # side by side
        (conv2d(**FIRST | {"c": 16}), "T(h,20) T(w,2) S(y) T(c,16) U(w,10) V(k,16)"),  # L1 holds x
        (conv2d(**FIRST | {"c": 128}), "T(h,20) T(w,2) S(y) T(c,16) U(c,8) U(w,10) V(k,16)"),  # its loads run ahead
        (conv2d(**FIRST), "T(h,20) T(w,2) S(y) T(c,8) T(c,8) U(w,10) V(k,16)"),  # few steps
    ],
)
def test_an_x_that_is_near_is_not_prefetched(problem, text):
    assert ", 0, 3);" not in emit(parse(problem, text), isa_named("avx512f")).text  # no line comes to L1


STRIDED = dict(c=64, h=20, w=20, k=64, r=3, s=3, groups=64, stride=2, padding=1)
LANES = {
    "a vector": (conv2d(**STRIDED), "T(h,5) T(w,2) T(c,4) S(y) T(r,3) U(s,3) U(h,2) U(w,5) V(c,16)", 16),
    "two vectors": (conv2d(**STRIDED), "T(h,5) T(w,2) T(c,2) S(y) T(r,3) U(s,3) U(h,2) U(w,5) U(c,2) V(c,16)", 32),
    "composed": (
        conv2d(**STRIDED),
        "T(h,5) T(w,2) L(c, 1x2 + 2x1) S(y) T(r,3) U(s,3) U(h,2) U(w,5) U(c,λ) V(c,16)",
        32,
    ),
    "composed, the last alone": (
        conv2d(**STRIDED),
        "T(h,10) T(w,2) L(c, 1x3 + 1x1) S(y) T(r,3) U(s,3) U(w,5) U(c,λ) V(c,16)",
        48,
    ),
    "taps of a row in a loop": (conv2d(**STRIDED), "T(h,5) T(w,2) T(c,4) S(y) T(r,3) T(s,3) U(h,2) U(w,5) V(c,16)", 16),
}


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("case", LANES)
def test_a_tile_prefetches_the_channels_beside_its_own(case):
    """It prefetches all lines of all pixels but those of the first tile, and none behind the next tile's."""
    problem, text, first = LANES[case]
    isa = isa_named("avx512f")
    prefetched, (x, _, _) = lines_prefetched(parse(problem, text), isa, level=3)
    begin, in_line = x.ctypes.data // 64, 64 // x.itemsize
    lines = 64 // in_line  # of each of 20 x 20 pixels
    wanted = {begin + pixel * lines + line for pixel in range(400) for line in range(first // in_line, lines)}
    assert wanted <= set(prefetched)
    assert max(prefetched) < begin + 400 * lines + 2


@pytest.mark.parametrize(
    "problem, text",
    [
        (
            conv2d(**STRIDED),
            "T(c,4) T(h,5) T(w,2) S(y) T(r,3) U(s,3) U(h,2) U(w,5) V(c,16)",
        ),  # the next tile is beside w
        (conv2d(**STRIDED), "T(h,5) T(c,4) L(w, 1x2 + 2x4) S(y) T(r,3) U(s,3) U(h,2) U(w,λ) V(c,16)"),
        (conv2d(**STRIDED), "T(h,5) T(w,2) T(c,4) S(y) U(r,3) U(s,3) U(h,2) U(w,5) V(c,16)"),  # one step
        (conv2d(**STRIDED | {"stride": 1}), "T(h,10) T(w,2) T(c,4) S(y) T(r,3) U(s,3) U(h,2) U(w,10) V(c,16)"),
        (conv2d(**STRIDED | {"h": 10, "w": 10}), "T(h,5) T(c,4) S(y) T(r,3) U(s,3) U(w,5) V(c,16)"),  # L1 holds x
        (
            conv2d(**STRIDED | {"c": 72, "k": 72, "groups": 72}),  # a line has channels of two pixels
            "T(h,5) T(w,2) R(c) S(y) T(r,3) U(s,3) U(h,2) U(w,5) V(c,16)",
        ),
    ],
)
def test_tiles_whose_lines_come_by_themselves_do_not_prefetch(problem, text):
    assert ", 0, 3);" not in emit(parse(problem, text), isa_named("avx512f")).text


CHANNELS_FIRST = dict(c=48, h=64, w=80, k=64, r=3, s=3, padding=1, layout="nchw")
OUTPUTS = {
    "rows along w": "T(h,64) T(k,2) T(w,8) S(y) T(r,3) T(c,48) U(s,3) U(w,10) U(k,2) V(k,16)",
    "rows along h and w": "T(h,32) T(k,4) T(w,8) S(y) T(r,3) T(c,48) U(s,3) U(h,2) U(w,10) V(k,16)",
    "wide rows": "T(h,64) T(k,4) T(w,4) S(y) T(r,3) T(c,48) U(s,3) U(w,20) V(k,16)",
    "sums in two parts": "T(c,2) T(h,64) T(k,4) T(w,4) S(y) T(r,3) T(c,24) U(s,3) U(w,20) V(k,16)",
}


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs_that_lie_apart_are_prefetched_once_by_each_tile(case):
    isa = isa_named("avx512f")
    scheme = parse(conv2d(**CHANNELS_FIRST), OUTPUTS[case])
    prefetched, (_, _, y) = lines_prefetched(scheme, isa)
    np.testing.assert_array_equal(np.unique(prefetched), lines_of(y))
    assert len(prefetched) <= 4 * len(lines_of(y))  # the first and the last of a run, also where that is one line


@pytest.mark.parametrize(
    "problem, text, stream",
    [
        (conv2d(**CHANNELS_FIRST | {"layout": "nhwc"}), OUTPUTS["rows along w"], False),  # rows are neighbours
        (
            conv2d(**CHANNELS_FIRST | {"h": 40}),
            "T(h,40) T(k,4) T(w,8) S(y) T(r,3) T(c,48) U(s,3) U(w,10) V(k,16)",
            False,
        ),  # near
        (
            conv2d(**CHANNELS_FIRST | {"c": 1}),
            "T(h,64) T(k,4) T(w,8) S(y) T(r,3) T(c,1) U(s,3) U(w,10) V(k,16)",
            False,
        ),  # short
        (
            conv2d(**CHANNELS_FIRST),
            "T(h,64) T(k,4) T(w,5) S(y) T(r,3) T(c,48) U(s,3) U(w,16) V(k,16)",
            True,
        ),  # past the caches
    ],
)
def test_outputs_that_come_soon_enough_are_not_prefetched(problem, text, stream):
    assert ", 1, 2);" not in emit(parse(problem, text), isa_named("avx512f"), stream=stream).text


def lines_prefetched(scheme, isa, level: int = 2):
    """The numbers of the lines that a run of the kernel prefetches into a cache, and its x, packed weights and y."""
    source, problem = emit(scheme, isa), scheme.problem
    library = load(RECORDER.replace("LEVEL", str(level)) + source.text, source.compiler_flags, ctypes.CDLL)
    library.lines_prefetched.restype, library.how_many.restype = ctypes.POINTER(ctypes.c_long), ctypes.c_long
    x, w, y = (aligned_empty((n,)) for n in (problem.tensors[0].elements, source.packed, problem.output.elements))
    getattr(library, source.symbol)(*(ctypes.c_void_p(array.ctypes.data) for array in (x, w, y)))
    return np.array(library.lines_prefetched()[: library.how_many()]) // 64, (x, w, y)


def lines_of(array) -> np.ndarray:
    return np.arange(array.ctypes.data // 64, (array.ctypes.data + array.nbytes - 1) // 64 + 1)


@pytest.mark.parametrize(
    "problem, text",
    [
        (conv2d(c=64, h=4, w=4, k=1024, r=1, s=1), "T(k,64) T(h,4) S(y) T(c,64) U(w,4)"),  # few weights
        (conv2d(c=512, h=4, w=4, k=1024, r=1, s=1), "T(h,4) T(k,64) S(y) T(c,512) U(w,4)"),  # read once a row
        (conv2d(c=512, h=4, w=4, k=2048, r=1, s=1), "T(k,2) T(h,4) T(k,64) S(y) T(c,512) U(w,4)"),  # pieces of 2 MiB
        (conv2d(c=512, h=4, w=4, k=1024, r=1, s=1), "T(c,2) T(k,2) T(h,4) T(k,32) S(y) T(c,256) U(w,4)"),  # scattered
        (conv2d(c=64, h=40, w=64, k=16, r=1, s=1), "T(h,40) T(w,8) S(y) T(c,64) U(w,8)"),  # a small x
        (conv2d(c=64, h=40, w=128, k=32, r=1, s=1), "T(k,2) T(h,40) T(w,16) S(y) T(c,64) U(w,8)"),  # all of it twice
        (conv2d(c=64, h=40, w=128, k=16, r=1, s=1), "T(w,16) T(h,40) S(y) T(c,64) U(w,8)"),  # no neighbours
        (conv2d(c=64, h=80, w=256, k=16, r=1, s=1, stride=2), "T(h,40) T(w,16) S(y) T(c,64) U(w,8)"),  # rows never read
        (conv2d(c=64, h=40, w=128, k=2048, r=1, s=1), "T(h,40) T(w,16) T(k,128) S(y) T(c,64) U(w,8)"),  # read for long
    ],
)
def test_kernels_that_would_gain_nothing_prefetch_nothing(problem, text):
    assert "prefetch" not in emit(scheme_of(problem, text, 16), isa_named("avx512f")).text
