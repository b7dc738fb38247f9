"""Sums that cores share: exact, whoever adds up what, and the same bits for any number of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpu.codegen.check import check
from cpu.kernel.callable import build
from cpu.kernel.measure import exact_case
from cpu.runtime.machine.host import host
from microkernels.tile.isa import ISAS, best_isa, isa_named
from tests.support.kernels.cases import ON_EVERY_ISA
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape

ROW = matmul(m=1, n=101, k=96)
TRANSPOSED = matmul(m=5, n=37, k=24, transpose_a=True, transpose_b=True)
LAST = conv2d(c=48, h=1, w=1, k=100, r=1, s=1)
IMAGE = conv2d(n=2, c=12, h=7, w=5, k=37, r=3, s=3, padding=1)
FIRST = conv2d(n=2, c=12, h=7, w=5, k=37, r=3, s=3, padding=1, layout="nchw")
CASES = {
    "a row": (ROW, "T(k,8)@core R(n) S(c) T(k,12) V(n,{v})"),
    "a row, outputs shared too": (ROW, "T(k,4)@core T(n,{n})@core S(c) T(k,8) U(k,3) V(n,{v})"),
    "transposed operands": (TRANSPOSED, "T(k,3)@core R(n) S(c) T(k,8) U(m,5) V(n,{v})"),
    "a transposed and copied": (TRANSPOSED, "S(a) T(k,3)@core R(n) S(c) T(k,8) U(m,5) V(n,{v})"),
    "one part of one product": (TRANSPOSED, "T(k,24)@core R(n) S(c) U(m,5) V(n,{v})"),
    "few outputs of many channels": (LAST, "T(c,6)@core R(k) S(y) T(c,8) V(k,{v})"),
    "padding, a last vector": (IMAGE, "T(h,7)@core T(c,3)@core R(n) R(k) S(y) T(r,3) T(s,3) T(c,4) U(w,5) V(k,{v})"),
    "sums wait": (IMAGE, "T(c,2)@core T(c,3) R(n) R(h) R(k) S(y) T(r,3) T(s,3) T(c,2) U(w,5) V(k,{v})"),
    "channels first": (FIRST, "T(c,4)@core R(n) R(h) R(k) S(y) T(r,3) T(s,3) T(c,3) U(w,5) V(k,{v})"),
}
EPILOGUES = (None, "relu(y + b)", "min(y*scale + z, 9) - t[{row}]")


def scheme_of(problem, text, isa):
    lanes = isa_named(isa).lanes
    vectors = -(-problem.extents[problem.vector_dim] // lanes)
    return parse(problem, text.format(v=lanes, n=vectors))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("name", CASES)
def test_exact(name, epilogue, isa):
    problem, text = CASES[name]
    problem = fused(problem, epilogue and epilogue.format(row=problem.row_dims[-1]))
    for threads in (1, 3):
        kernel = build(scheme_of(problem, text, isa), isa_named(isa), threads)
        (x, w, *arrays), expected, _ = exact_case(kernel.scheme)
        np.testing.assert_array_equal(kernel(x, kernel.pack(w), *arrays), expected)


@pytest.mark.slow
def test_the_bits_are_those_of_any_number_of_threads():
    """Random reals: another order of additions would round otherwise."""
    isa = best_isa(host().flags)
    random = np.random.default_rng(0)
    x, w = random.standard_normal((1, 96), np.float32), random.standard_normal((96, 101), np.float32)
    found = []
    for threads in (1, 2, 3, 4):
        kernel = build(scheme_of(ROW, CASES["a row"][1], isa.name), isa, threads)
        found.append(kernel(x, kernel.pack(w)))
        assert kernel.emitted.threads == threads
    whole = build(scheme_of(ROW, "R(n) S(c) T(k,96) V(n,{v})", isa.name), isa)
    assert all(np.array_equal(found[0], y) for y in found)
    assert not np.array_equal(found[0], whole(x, whole.pack(w)))


def test_the_text_says_what_is_added_up():
    text = build(scheme_of(ROW, CASES["a row"][1], "portable"), ISAS["portable"], 2).source
    assert "T(k,8)@core" in text and "the sums of 8 parts" in text and "Adds up the 8 parts" in text
    assert text.count("#pragma omp barrier") == 1


@pytest.mark.parametrize(
    "problem, text, named",
    [
        (
            conv2d(c=4, h=5, w=5, k=16, r=3, s=3),
            "T(r,3)@core R(h) R(w) R(k) S(y) T(s,3) T(c,4) V(k,4)",
            "T(r,3)@core: r counts taps of a window, which cores never share",
        ),
        (
            matmul(m=1, n=16, k=512),
            "T(k,512)@core R(n) S(c) U(m,1) V(n,4)",
            "T(k,512)@core: cores share a sum in at most 256 parts",
        ),
        (
            replace(conv2d(c=3, h=12, w=12, k=16, r=3, s=3), dtype="bf16"),
            "T(sc,5)@core R(h) R(w) S(y) T(r,3) D(sc,2) V(k,16)",
            "T(sc,5)@core: sc is no whole dim",
        ),
        (
            parse_shape("c=64,h=2,w=2,k=16,r=1,s=1,k_of=40"),
            "T(c,4)@core R(h) R(w) R(k) S(y) T(c,16) V(k,4)",
            "T(c,4)@core: y lies in a longer array",
        ),
        (ROW, "T(k,2)@core T(k,3)@core R(n) S(c) T(k,16) V(n,4)", "T(k,3)@core: cores share one summed dim"),
        (
            conv2d(c=8, h=3, w=3, k=16, r=1, s=1, groups=2),
            "T(c,2)@core R(g) R(h) R(w) R(k) S(y) T(c,2) V(k,4)",
            "T(c,2)@core: every g has sums of its own",
        ),
    ],
)  # fmt: skip
def test_refused(problem, text, named):
    with pytest.raises(SchemeError) as error:
        check(parse(problem, text), ISAS["portable"])
    assert str(error.value).startswith(named)
