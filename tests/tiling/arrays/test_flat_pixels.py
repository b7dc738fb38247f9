"""Schemes that take the pixels of an image as one dim, hw: their points, what is refused and why, and
where a search looks for them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cpu.codegen.emit import emit
from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import isa_named
from search.space.layouts import layouts
from search.space.space import candidates
from tests.support.kernels.flat_pixel_cases import CASES, scheme_of
from tests.support.kernels.matrix_cases import ISA, NUMBERS
from tests.support.search.model_cases import MACHINE
from tiling.arrays.flat_pixels import flat_pixels_of
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.rewrite.dot_groups import (
    copies,
    in_dot_groups,
    matrix_dot_group,
    points_of,
    scheme_from_dot_groups,
    scheme_in_dot_groups,
)
from tiling.scheme.specifiers import DotGroup, SchemeError
from tiling.tensor import FlatPixels
from tiling.text.notation import parse

TAPS = "S(y) R(r) R(s) R(c)"
BLOCK = "D(c,32) V(k,16)"


@pytest.mark.parametrize(
    "more, epilogue, text, why",
    [
        (dict(stride=2), None, f"R(hw) R(k) {TAPS} {BLOCK}", r"R\(hw\): only convolutions of stride 1"),
        (dict(stride=(1, 2)), None, f"R(hw) R(k) {TAPS} {BLOCK}", "only convolutions of stride 1"),
        (dict(layout="nchw"), None, f"R(hw) R(k) {TAPS} {BLOCK}", "only images with channels last"),
        (dict(layout="nchw", dtype="f32"), None, f"R(hw) R(k) {TAPS} V(k,16)", "only images with channels last"),
        (dict(groups=64, k=64), None, "R(hw) R(c) S(y) R(r) R(s) V(c,16)", "only convolutions whose weights all"),
        (
            {},
            None,
            f"R(hw) R(k) {TAPS} D(c,2) V(k,16)",
            r"around matrix instructions alone, .* D\(c,…\) of more than 32",
        ),
        ({}, None, f"R(hw) R(k) {TAPS} V(k,16)", "pixels are one dim around matrix instructions alone"),
        (dict(c=3), None, "R(hw) R(k) S(y) R(r) R(sc) D(sc,12) V(k,16)", "matrix instructions alone, with dot groups"),
        (dict(dtype="f32"), None, f"R(hw) R(k) {TAPS} V(k,16)", "pixels as one dim only on a CPU, without taps"),
        (
            dict(dtype="f32", r=1, s=1, padding=0),
            None,
            "T(hw,7)@block S(y) R(c) T(hw,1)@lane T(k,8)@lane U(hw,11) U(k,8)",
            "f32 has its pixels as one dim only on a CPU",
        ),
        (dict(dtype="f32"), None, f"R(hw) R(k) {TAPS} {BLOCK}", r"D\(c,32\): a lane of 32 bits holds 1 of f32"),
        ({}, None, f"R(h) T(hw,5) R(k) {TAPS} U(hw,11) {BLOCK}", r"R\(h\): T\(hw,5\) fuses dim h, which may then not"),
        ({}, None, f"T(hw,5) R(k) {TAPS} U(w,11) {BLOCK}", r"U\(w,11\): T\(hw,5\) fuses dim w, which may then not"),
        ({}, None, f"R(wh) R(k) {TAPS} {BLOCK}", "only a scheme that ends with a matrix instruction M may fuse dims"),
        (
            dict(padding=0),
            None,
            f"T(hw,4) R(k) {TAPS} U(hw,9) {BLOCK}",
            "36 points of dim hw, which has 33: cover it ex",
        ),
        ({}, None, f"T(hw,6) R(k) {TAPS} U(hw,9) {BLOCK}", "54 points of dim hw, which has 55: cover it exactly"),
        ({}, None, f"T(hw,7) R(k) {TAPS} U(hw,17) {BLOCK}", "119 points of dim hw, which has 55: cover it exactly"),
        ({}, None, f"T(hw,1) T(hw,99) R(k) {TAPS} U(hw,64) {BLOCK}", "6336 points of dim hw, which has 55: cover it"),
        ({}, None, f"R(hw) R(k) {TAPS} U(hw,16) {BLOCK}", "16 points do not divide the 55 of dim hw: no partial tiles"),
        ({}, "y + z[h,k]", f"R(hw) R(k) {TAPS} {BLOCK}", "its epilogue is indexed by rows or columns alone"),
        (
            dict(dtype="f32", r=1, s=1),
            None,
            f"R(hw) R(k) {TAPS} V(k,16)",
            "f32 has its pixels as one dim only on a CPU, without taps and padding",
        ),
        (
            dict(dtype="f32", r=1, s=1, padding=0),
            None,
            "T(c,2)@core R(hw) R(k) S(y) R(c) V(k,16)",
            r"T\(c,2\)@core shares sums among cores",
        ),
        ({}, "y + b + z[n,w]", f"R(hw) R(k) {TAPS} {BLOCK}", "its epilogue is indexed by rows or columns alone"),
    ],
)
def test_pixels_that_are_no_one_dim(more, epilogue, text, why):
    problem = conv2d(**dict(c=64, h=7, w=7, k=32, r=3, s=3, padding=1, dtype="bf16") | more)
    with pytest.raises(SchemeError, match=why):
        parse(fused(problem, epilogue), text)


def test_a_product_has_no_pixels():
    with pytest.raises(SchemeError, match="matmul has no dim 'hw'"):
        parse(matmul(m=8, n=16, k=64, dtype="bf16"), "R(hw) S(c) R(k) D(k,32) V(n,16)")


def test_pixels_as_one_dim_may_go_on_to_the_end_of_four_tile_registers():
    text = f"T(hw,2) R(k) {TAPS} U(hw,59) {BLOCK}"
    problem = conv2d(c=64, h=7, w=7, k=32, r=3, s=3, padding=1, dtype="bf16")
    assert points_of(parse(problem, text)) == 118 == flat_pixels_of(problem).points + 63


@pytest.mark.parametrize(
    "extents, flat, points",
    [
        (dict(h=5, w=7, r=1, s=1), FlatPixels(5, 7, 5, 7, pitch=7, lead=0, reach=0, padded=False), 35),
        (dict(h=6, w=8), FlatPixels(6, 8, 4, 6, pitch=8, lead=0, reach=18, padded=False), 30),
        (dict(h=7, w=7, padding=1), FlatPixels(7, 7, 7, 7, pitch=8, lead=9, reach=18, padded=True), 55),
        (dict(h=68, w=68, padding=1), FlatPixels(68, 68, 68, 68, pitch=69, lead=70, reach=140, padded=True), 4691),
        (dict(h=6, w=8, padding=((0, 1), (2, 0))), FlatPixels(6, 8, 5, 8, pitch=10, lead=2, reach=22, padded=True), 48),
        (dict(h=6, w=8, padding=((2, 0), (0, 1))), FlatPixels(6, 8, 6, 7, pitch=9, lead=18, reach=20, padded=True), 52),
        (dict(h=5, w=6, padding=(1, 0)), FlatPixels(5, 6, 5, 4, pitch=6, lead=6, reach=14, padded=True), 28),
        (dict(h=8, w=7, padding=2, dilation=2), FlatPixels(8, 7, 8, 7, pitch=9, lead=20, reach=40, padded=True), 70),
        (dict(h=8, w=9, dilation=(2, 3)), FlatPixels(8, 9, 4, 3, pitch=9, lead=0, reach=42, padded=False), 30),
        (dict(h=4, w=5, r=1, s=1, padding=1), FlatPixels(4, 5, 6, 7, pitch=7, lead=8, reach=0, padded=True), 42),
        (
            dict(h=1, w=2, r=2, s=2, padding=((4, 3), (3, 4))),
            FlatPixels(1, 2, 7, 8, pitch=8, lead=35, reach=9, padded=True),
            56,
        ),
    ],
)
def test_flattened_pixels_of_an_image(extents, flat, points):
    found = flat_pixels_of(conv2d(**{"r": 3, "s": 3, **extents}, c=64, k=16, dtype="bf16"))
    assert found == flat and found.points == points and found.pixels == flat.rows * flat.columns


@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize("case", CASES)
def test_schemes_go_to_words_and_back(case, dtype):
    extents, text, words = CASES[case]
    scheme = scheme_of(text, words, dtype, **extents)
    problem, inner = scheme.problem, scheme_in_dot_groups(scheme)
    assert parse(problem, scheme.text) == scheme
    assert scheme_from_dot_groups(problem, inner, DotGroup("c", words * NUMBERS[dtype])) == scheme
    flat = flat_pixels_of(problem)
    assert inner.problem.flat_pixels == flat and inner.extents["h"] == 1 and inner.extents["w"] >= flat.points
    assert copies(scheme) == (flat.padded or problem.extents["c"] % (words * NUMBERS[dtype]) > 0)


@pytest.mark.parametrize(
    "more, points",
    [
        (dict(padding=1), [209, 224, 256]),
        (dict(h=7, w=7, padding=1), [55, 64]),
        ({}, [166]),
        (dict(r=1, s=1), [196]),
        (dict(padding=1, dtype="int8"), [209, 224, 256]),
        (dict(padding=1, stride=2), []),
        (dict(padding=1, layout="nchw"), []),
        (dict(c=3, padding=1), []),
        (dict(groups=64, k=64), []),
        (dict(padding=1, dtype="f32"), []),
        (dict(h=7, w=7, dtype="f32"), []),
        (dict(h=7, w=7, r=1, s=1, dtype="f32"), [49]),
        (dict(h=7, w=7, r=1, s=1, dtype="f32", stride=2), []),
        (dict(h=7, w=7, r=1, s=1, dtype="f32", layout="nchw"), []),
        (dict(h=1, w=7, r=1, s=1, dtype="f32"), []),
        (dict(r=1, s=1, dtype="f32"), []),
    ],
)
def test_layouts_that_a_search_looks_at(more, points):
    problem = conv2d(**dict(c=64, h=14, w=14, k=32, r=3, s=3, dtype="bf16") | more)
    dot = matrix_dot_group(problem)
    rows, *flattened = layouts(problem, dot)
    assert rows == in_dot_groups(problem, dot) and rows.flat_pixels is None
    assert [found.extents["w"] for found in flattened] == points
    assert all(found.extents["h"] == 1 and found.flat_pixels == flat_pixels_of(problem) for found in flattened)


def test_words_of_32_bits_have_the_layout_of_rows_alone():
    problem = conv2d(c=64, h=14, w=14, k=32, r=3, s=3, padding=1, dtype="bf16")
    assert layouts(problem, DotGroup("c", 2)) == (in_dot_groups(problem, DotGroup("c", 2)),)


def test_what_the_search_finds_of_every_layout_is_a_scheme_of_the_problem():
    problem = conv2d(c=64, h=14, w=14, k=32, r=3, s=3, padding=1, dtype="bf16")
    dot, isa = matrix_dot_group(problem), isa_named("amxbf16")
    for dots in layouts(problem, dot):
        found = candidates(dots, replace(MACHINE, isa=isa.name), Catalog("", isa.name, "conv2d"))[:5]
        schemes = [scheme_from_dot_groups(problem, candidate.scheme, dot) for candidate in found]
        for scheme in schemes:
            assert parse(problem, scheme.text) == scheme and ("(hw," in scheme.text) == bool(dots.flat_pixels)
            assert points_of(scheme) == (dots.extents["w"] if dots.flat_pixels else 0)
        assert emit(schemes[0], isa).isa == isa.name


def test_rows_of_f32_that_are_too_short_for_tiles_run_on():
    """7 pixels leave tiles of 7 and 14 rows by one vector in 16 registers; 49 are 5 and 6 rows by two."""
    problem = conv2d(c=320, h=7, w=7, k=64, r=1, s=1)
    rows, pixels = (
        candidates(dots, replace(MACHINE, isa="avx2", lanes=8, registers=16), Catalog("", "avx2", "conv2d"))[0]
        for dots in layouts(problem, None)
    )
    assert pixels.prediction.seconds < rows.prediction.seconds
    scheme = scheme_from_dot_groups(problem, pixels.scheme)
    assert "(hw," in scheme.text and parse(problem, scheme.text) == scheme and points_of(scheme) == 49
    assert scheme_in_dot_groups(scheme) == pixels.scheme
