"""A scheme without V and M as one for a CPU."""

from __future__ import annotations

import pytest

from tiling.operators import conv2d, matmul
from tiling.rewrite.unvectorised import vectorised
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

PRODUCT = matmul(m=64, n=64, k=16)


@pytest.mark.parametrize(
    "problem, text, wanted",
    [
        (
            PRODUCT,
            "T(m,2)@block S(c) T(k,2) S(a) S(b) T(m,4)@warp T(m,8)@lane T(n,2)@lane U(k,8) U(n,32)",
            "T(m,2)@core T(m,4) T(m,8) T(n,2) S(c) T(k,2) U(k,8) U(n,2) V(n,16)",
        ),
        (PRODUCT, "R(m) R(n) S(c) R(k) U(n,16)", "R(m) R(n) S(c) R(k) V(n,16)"),
        (
            conv2d(c=8, h=6, w=8, k=16, r=3, s=3, padding=1),
            "T(h,6)@block S(y) T(c,8) S(x) T(w,4)@lane U(r,3) U(s,3) U(w,2) U(k,16)",
            "T(h,6)@core T(w,4) S(y) T(c,8) U(r,3) U(s,3) U(w,2) V(k,16)",
        ),
    ],
)
def test_workers_and_vectors_of_a_cpu(problem, text, wanted):
    assert vectorised(parse(problem, text), 16).text == wanted


@pytest.mark.parametrize(
    "problem, text", [(PRODUCT, "R(m) R(n) S(c) R(k) V(n,8)"), (matmul(m=4, n=4, k=4, dtype="f16"), "R(m) R(n) R(k)")]
)
def test_others_stay_as_they_are(problem, text):
    scheme = parse(problem, text)
    assert vectorised(scheme, 16) is scheme


def test_vectors_are_cut_from_what_is_unrolled():
    with pytest.raises(SchemeError, match=r"16 lanes along n: end the scheme with V\(n,16\)"):
        vectorised(parse(PRODUCT, "R(m) R(n) S(c) R(k) U(n,8)"), 16)
