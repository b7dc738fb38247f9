"""Which weights come to L2 before their turn: the lines that emitted kernels ask for, written down as they run."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from cpu.emit import emit
from cpu.host import supports
from cpu.library import load
from microkernels.isa import isa_named
from tiling.notation import parse
from tiling.operators import conv2d, matmul

RECORDER = """
static long asked[1 << 20], count;
long *lines_asked(void) { return asked; }
long how_many(void) { return count; }
static void record(const void *line) { if (count < 1 << 20) asked[count++] = (long)line; }
"""

POINTWISE = dict(c=512, h=4, w=4, k=1040, r=1, s=1)
CASES = {
    "a panel after the other": (conv2d(**POINTWISE), "T(k,65) T(h,4) S(y) T(c,512) U(w,4)"),
    "parts of panels": (conv2d(**POINTWISE), "T(k,65) T(c,4) T(h,4) S(y) T(c,128) U(w,4)"),
    "several panels at once": (conv2d(**POINTWISE), "T(k,5) T(h,4) T(k,13) S(y) T(c,512) U(w,4)"),
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
}


def scheme_of(problem, text: str, lanes: int):
    """The scheme with vectors of 16 lanes, or of two of half as many in their place."""
    dim = problem.vector_dim
    if lanes == 16:
        return parse(problem, f"{text} V({dim},16)")
    if f"{dim},λ" in text:
        pytest.skip("counts vectors of 16 lanes")
    return parse(problem, f"{text} U({dim},{16 // lanes}) V({dim},{lanes})")


@pytest.mark.parametrize("isa", ["avx512f", "avx2"])
@pytest.mark.parametrize("case", CASES)
def test_every_line_of_the_weights_but_the_first_piece_is_asked_for_once_and_in_order(case, isa):
    problem, text = CASES[case]
    isa = isa_named(isa)
    if not supports(isa.cpu_flags):
        pytest.skip(f"needs {isa.name}")
    source = emit(scheme_of(problem, text, isa.lanes), isa)
    assert "__builtin_prefetch(ahead, 0, 2);" in source.text
    text = RECORDER + source.text.replace("__builtin_prefetch(ahead, 0, 2)", "record(ahead)")
    library = load(text, source.compiler_flags, ctypes.CDLL)
    library.lines_asked.restype, library.how_many.restype = ctypes.POINTER(ctypes.c_long), ctypes.c_long
    w = np.zeros(source.packed + 16, np.float32)
    w = w[-w.ctypes.data // 4 % 16 :][: source.packed]
    x, y = (np.zeros(tensor.shape, np.float32) for tensor in (problem.broadcast, problem.output))
    getattr(library, source.symbol)(*(ctypes.c_void_p(array.ctypes.data) for array in (x, w, y)))
    asked = (np.array(library.lines_asked()[: library.how_many()]) - w.ctypes.data) / 64
    first = asked[0]
    assert 0 < first < w.nbytes / 64 / 2
    np.testing.assert_array_equal(asked, np.arange(first, -(-w.nbytes // 64)))


@pytest.mark.parametrize(
    "problem, text",
    [
        (conv2d(c=64, h=4, w=4, k=1024, r=1, s=1), "T(k,64) T(h,4) S(y) T(c,64) U(w,4)"),  # few weights
        (conv2d(c=512, h=4, w=4, k=1024, r=1, s=1), "T(h,4) T(k,64) S(y) T(c,512) U(w,4)"),  # read once a row
        (conv2d(c=512, h=4, w=4, k=2048, r=1, s=1), "T(k,2) T(h,4) T(k,64) S(y) T(c,512) U(w,4)"),  # pieces of 2 MiB
        (conv2d(c=512, h=4, w=4, k=1024, r=1, s=1), "T(c,2) T(k,2) T(h,4) T(k,32) S(y) T(c,256) U(w,4)"),  # scattered
    ],
)
def test_kernels_that_would_gain_nothing_ask_for_nothing(problem, text):
    assert "ahead" not in emit(scheme_of(problem, text, 16), isa_named("avx512f")).text
