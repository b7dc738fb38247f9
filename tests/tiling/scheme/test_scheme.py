"""Schemes: the rules they keep, and their text, of designed and of random ones."""

import pytest
from hypothesis import given

from tests.support.sampled import examples
from tests.support.search.strategies import schemes
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape

CONV = conv2d(c=8, h=10, w=10, k=32, r=3, s=3, padding=1)
GOOD = "T(h,10) T(w,5) S(y) T(c,8) T(r,3) T(s,3) U(w,2) U(k,2) V(k,16)"


@pytest.mark.parametrize(
    "text, named",
    [
        ("", "empty"),
        (GOOD.replace("T(h,10)", "T(h,9)"), "T(h,9): cover 9 points of dim h, which has 10"),
        (GOOD.replace("U(k,2)", "U(k,3)"), "U(k,3) V(k,16): cover 3 vectors of dim k, which has 2"),
        (GOOD.replace("T(r,3)", ""), "no specifier is on dim r"),
        (GOOD.replace("T(h,10)", "R(h) T(h,3)"), "R(h) T(h,3): 3 points do not divide the 10"),
        (GOOD.replace("T(h,10)", "R(h) R(h)"), "R(h): at most one R"),
        (GOOD.replace("T(h,10)", "T(h,5) R(h)"), "R(h): R is the outer loop of its dim, but stands inside T(h,5)"),
        (GOOD.replace("T(h,10)", "T(h,0)"), "T(h,0): a tile loop has at least 1"),
        (GOOD.replace("T(h,10)", "T(z,10)"), "T(z,10): conv2d has no dim 'z'"),
        (GOOD.replace("T(h,10)", "T(h,10)@thread"), "T(h,10)@thread: unknown worker 'thread'"),
        (GOOD.replace("T(c,8)", "T(c,8)@warp"), "T(c,8)@warp: c is summed over"),
        (GOOD.replace("T(c,8)", "T(c,8)@core"), "T(c,8)@core: core loops stand outermost"),
        (GOOD.replace("T(w,5)", "T(w,5)@core"), "T(w,5)@core: core loops stand outermost"),
        (GOOD.replace("U(w,2)", "U(w,0)"), "U(w,0): the unroll factor"),
        ("U(n,1) " + GOOD, "U(n,1): an unrolled loop may not hold T(h,10)"),
        (GOOD.replace("S(y)", "U(n,1) S(y)"), "U(n,1): an unrolled loop may not hold S(y)"),
        (GOOD.replace("U(k,2) V(k,16)", "V(k,16) U(k,2)"), "V(k,16): V and M stand innermost"),
        (GOOD + " V(k,16)", "V(k,16): V and M stand innermost"),
        (GOOD.replace("V(k,16)", "V(w,16)"), "V(w,16): conv2d is vectorised over k"),
        (GOOD.replace("V(k,16)", "V(k,0)"), "V(k,0): a vector has at least 1 lane"),
        (GOOD.replace("S(y)", "S(q)"), "S(q): conv2d has no tensor 'q'"),
        (GOOD.replace("S(y)", "S(x, 0)"), "S(x, 0): the depth"),
        (GOOD.replace("S(y)", "S(y) S(y)"), "S(y): y is staged twice"),
        ("S(y) " + GOOD.replace("S(y)", ""), "S(y): T(h,10) loops over an output dim inside it"),
        (GOOD.replace("T(h,10)", "L(h, 1x4 + 1x6)"), "L(h, 1x4 + 1x6): needs exactly one U(h,λ) inside, found 0"),
        (GOOD.replace("U(w,2)", "U(w,λ)"), "U(w,λ): has no L(w, …) outside it"),
        (GOOD.replace("T(h,10)", "L(h, 0x4 + 1x10)"), "L(h, 0x4 + 1x10): counts and sizes"),
        (GOOD.replace("T(h,10)", "L(h, 1x2) L(h, 1x5)"), "L(h, 1x2): dim h is composed twice"),
        (GOOD.replace("T(h,10)", "L(h, 1x10)").replace("U(w,2)", "U(h,λ) U(h,λ)"), "U(h,λ) inside, found 2"),
        (GOOD.replace("T(h,10)", "T(h,ten)"), "'ten' is not a whole number"),
        (GOOD.replace("T(h,10)", "T(h,1234567890)"), "'1234567890' is not a whole number of at most 9 digits"),
        (GOOD.replace("T(h,10)", "T(h)"), "T(h): expected T(dim,iterations)"),
        (GOOD.replace("T(h,10)", "Q(h,10)"), "unknown specifier 'Q'"),
        (GOOD.replace("T(h,10)", "L(h, 10)"), "'10' is not COUNTxSIZE"),
        (GOOD.replace("U(w,2)", "U(w,2)@core"), "U(w,2)@core: only a tile loop"),
        (GOOD.replace("S(y)", "S(y,1,1)"), "S(y,1,1): expected S(tensor)"),
        (GOOD + " and more", "cannot read 'and more'"),
        (GOOD.replace("V(k,16)", "M(../x)"), "M(../x): a matrix instruction"),
    ],
)
def test_a_scheme_that_breaks_a_rule_is_refused_by_name(text, named):
    with pytest.raises(SchemeError) as raised:
        parse(CONV, text)
    assert named in str(raised.value)


def test_a_composed_scheme_knows_its_tiles():
    yolo5 = parse(
        parse_shape("yolo9000:Y5"),
        "T(n,1) T(h,4) T(w,136) T(k,2) L(h, 1x8 + 2x13) S(y) T(c,128) T(r,1) T(s,1) U(h,λ) U(k,2) V(k,16)",
    )
    assert yolo5.branches == {"h": ((1, 8), (2, 13))} and yolo5.lanes == 16 and yolo5.units["k"] == 4
    assert [(tile["h"], tile["k"]) for tile in yolo5.tiles] == [(8, 2), (13, 2)]


@pytest.mark.parametrize(
    "problem, text",
    [
        (
            parse_shape("yolo9000:Y5"),
            "T(h,4) T(w,136) T(k,2) L(h, 1x8 + 2x13) S(y) T(c,128) U(h,λ) U(k,2) V(k,16)",
        ),
        (
            parse_shape("yolo9000:Y12"),
            "L(h, 2x11 + 1x12) T(k,16) T(w,34) S(y) T(c,256) T(r,3) T(s,3) U(h,λ) U(k,2) V(k,16)",
        ),
        (
            matmul(m=4096, n=4096, k=4096),
            "T(m,32)@block T(n,16)@block S(c) T(k,64) S(a, 4) S(b, 4) T(m,2)@warpgroup U(k,4) M(m64n256k16)",
        ),
    ],
)
def test_the_examples_of_the_design_are_schemes(problem, text):
    scheme = parse(problem, text)
    assert scheme.text == text and parse(problem, scheme.text.replace(" ", "")) == scheme


def test_white_space_is_free_and_lambda_has_an_ascii_form():
    loose = GOOD.replace("T(h,10)", " L ( h ,1x4+1x6 )").replace("U(w,2)", "U(w,2)U(h,lambda)")
    assert parse(CONV, loose).text == "L(h, 1x4 + 1x6) T(w,5) S(y) T(c,8) T(r,3) T(s,3) U(w,2) U(h,λ) U(k,2) V(k,16)"


@pytest.mark.slow
@examples(300)
@given(schemes())
def test_the_text_of_a_scheme_parses_back_to_it(scheme):
    assert parse(scheme.problem, scheme.text) == scheme
    assert parse(scheme.problem, scheme.text.replace(" ", "").replace("λ", "lambda")) == scheme
