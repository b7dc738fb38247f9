"""Flattened pixels that are copied strip by strip, S(x): exact wherever strips begin, and where a search puts them."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import patch

import pytest

from cpu.codegen.check import check
from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import isa_named
from search.cost.copies import after_copy
from search.cost.predict import Predictor
from search.evaluator.cpu.backend import CpuBackend
from search.space.explain import explain
from search.space.space import Candidate, trusted
from search.space.strips import with_strips
from search.tuner.target import Target
from tests.exactness import FAR
from tests.support.kernels.flat_pixel_cases import SAME, scheme_of
from tests.support.kernels.guard import PLACES, check_guarded
from tests.support.kernels.matrix_cases import ISA
from tests.support.search.model_cases import MACHINE
from tiling.operators import conv2d
from tiling.rewrite.copies.strips import as_cached, strip_of
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.scheme.specifiers import SchemeError, Stage
from tiling.text.notation import parse

TAPS = "S(y) T(r,3) T(s,3) T(c,{b})"
# More of a convolution than SAME has, a scheme, the words of a dot group, and threads.
CASES = {
    "inside pixels": ({}, f"R(n) T(hw,5) S(x) R(k) {TAPS} U(hw,11)", 16, 1),
    "inside pixels, several tiles each": ({}, f"T(n,2) T(hw,3) S(x) R(k) L(hw, 1x9 + 1x11) {TAPS} U(hw,λ)", 16, 1),
    "of an image": ({}, f"T(n,2) S(x) L(hw, 2x16 + 1x23) R(k) {TAPS} U(hw,λ)", 8, 1),
    "again for every vector": ({}, f"R(k) R(n) T(hw,4) S(x) {TAPS} U(hw,14)", 16, 1),
    "around a loop over channels": (dict(n=1), "T(hw,2) S(x) R(k) R(c) S(y) T(r,3) T(s,3) U(hw,32)", 8, 1),
    "of each core": ({}, f"T(hw,2)@core T(n,2) S(x) R(k) T(hw,2) {TAPS} U(hw,14)", 16, 2),
    "of cores that share the channels of y": ({}, f"T(k,3)@core R(n) T(hw,5) S(x) {TAPS} U(hw,11)", 16, 2),
    "padded on two sides": (dict(padding=((0, 1), (2, 0))), f"R(n) T(hw,4) S(x) R(k) {TAPS} U(hw,13)", 16, 1),
    "dilated": (dict(padding=2, dilation=2), f"R(n) T(hw,6) S(x) R(k) {TAPS} U(hw,12)", 16, 1),
    "channels that fill no block": (dict(c=40), f"R(n) T(hw,5) S(x) R(k) {TAPS} U(hw,11)", 16, 1),
    "groups": (dict(c=80, k=34, groups=2), f"R(n) T(hw,5) S(x) R(g) R(k) {TAPS} U(hw,11)", 16, 1),
    "rows of zeros alone": (dict(h=2, w=3, padding=3), f"R(n) T(hw,8) S(x) R(k) {TAPS} U(hw,6)", 16, 1),
    "of one image after the other": ({}, f"T(hw,5) T(n,2) S(x) R(k) {TAPS} U(hw,11)", 16, 1),
}
# Whose next strip is another image's or another core's.
SILENT = ("of an image", "of each core", "of one image after the other")


@pytest.mark.exhaustive
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize("case", CASES)
def test_exact_on_integers_beside_guard_pages(case, dtype, far, row):
    """Also as if arrays were large, when tiles prefetch the rows of x that the next strip copies."""
    more, text, words, threads = CASES[case]
    output = {"bf16": "f32", "int8": "s32"}[dtype]
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR) if far else nullcontext():
        kernel = build(scheme_of(text, words, dtype, None, output, **SAME | more), row(dtype), threads)
    assert "copy_of_x(" not in kernel.source and "laid_out(" in kernel.source
    assert ("cursors->x = place(X, " in kernel.source) == (far and case not in SILENT)
    for place in PLACES:
        check_guarded(kernel, place)


def test_a_strip_is_as_long_as_what_its_windows_reach():
    scheme = scheme_of(f"R(n) T(hw,5) S(x) R(k) {TAPS} U(hw,11)", 16, "bf16", **SAME)
    dots = scheme_in_dot_groups(scheme)
    assert strip_of(scheme) == strip_of(dots) == 11 and dots.problem.broadcast.shape == (2, 2, 55 + 2 * 8 + 2)
    assert as_cached(dots).problem.broadcast.shape == (2, 11 + 2 * 8 + 2)
    assert emit(scheme, isa_named("amxbf16")).scratch == 2 * 29 * 64


@pytest.mark.parametrize(
    "more, text, why",
    [
        (dict(padding=0), f"R(n) T(hw,3) S(x) R(k) {TAPS} U(hw,11)", r"S\(x\): on a CPU only the output is staged"),
        ({}, f"R(n) R(h) R(w) S(x) R(k) {TAPS}", r"S\(x\): on a CPU only the output is staged"),
        ({}, "R(n) T(hw,5) R(k) S(y) S(x) T(r,3) T(s,3) T(c,{b}) U(hw,11)", r"so it stands outside S\(y\)"),
        ({}, f"R(n) L(hw, 1x11 + 2x22) S(x) R(k) {TAPS} U(hw,λ)", r"so L\(hw, 1x11 \+ 2x22\) may not stand outside it"),
        ({}, "R(n) T(c,{b}) T(hw,5) S(x) R(k) S(y) T(r,3) T(s,3) U(hw,11)", r"so T\(c,2\) may not stand outside it"),
        (
            dict(c=64, k=32, groups=2),
            f"R(n) R(g) S(x) R(k) T(hw,5) {TAPS} U(hw,11)",
            r"so R\(g\) may not stand outside",
        ),
        ({}, f"T(hw,5) S(x) R(n) R(k) {TAPS} U(hw,11)", "a strip is of one image, and inside it are several"),
        ({"n": 1}, f"S(x) T(hw,5)@core R(n) R(k) {TAPS} U(hw,11)", r"each core copies strips of its own, so T\(hw,5\)"),
        ({}, f"L(n, 1x2) T(hw,5) S(x) R(k) {TAPS} U(n,λ) U(hw,11)", "a strip is of one image, and inside it are sev"),
        (
            dict(n=1, c=512, h=68, w=68),
            f"S(x) R(k) T(hw,147) {TAPS} U(hw,32)",
            "a strip of 49.* bytes, more than 4194304",
        ),
        ({}, f"R(n) T(hw,5) S(x, 2) R(k) {TAPS} U(hw,11)", "memory with several stages is a GPU's"),
    ],
)
def test_strips_that_are_none(more, text, why):
    with pytest.raises(SchemeError, match=why):
        emit(scheme_of(text, 16, "bf16", "relu(y)", "f32", **SAME | more), isa_named("amxbf16"))


def test_a_search_tries_the_longest_strips_that_fit():
    problem = conv2d(c=128, h=68, w=68, k=256, r=3, s=3, padding=1, dtype="bf16")
    body = "S(y) T(c,4) T(r,3) T(s,3) U(hw,32) U(k,2) D(c,32) V(k,16)"
    found = with_strips(parse(problem, f"T(hw,147) T(k,8) {body}"), 2**19)
    assert [scheme.text for scheme in found] == [
        f"T(hw,3) S(x) T(hw,49) T(k,8) {body}",
        f"T(hw,7) S(x) T(hw,21) T(k,8) {body}",
    ]
    by_core = with_strips(parse(problem, f"T(hw,2)@core T(hw,74) T(k,8) {body}"), 2**19)
    assert [scheme.text for scheme in by_core] == [
        f"T(hw,2)@core T(hw,2) S(x) T(hw,37) T(k,8) {body}",
        f"T(hw,2)@core T(hw,37) S(x) T(hw,2) T(k,8) {body}",
    ]
    assert with_strips(parse(problem, f"T(k,8) T(hw,147) {body}"), 2**19) == ()
    valid = conv2d(c=128, h=70, w=70, k=256, r=3, s=3, dtype="bf16")
    assert with_strips(parse(valid, f"T(hw,78) T(k,8) {body}".replace("hw,32", "hw,61")), 2**19) == ()


def test_the_model_counts_what_strips_repeat_and_what_tiles_prefetch():
    """Short strips repeat more; long ones are written to L2, and tiles have prefetched x: they cost less than all."""
    problem = conv2d(c=128, h=68, w=68, k=256, r=3, s=3, padding=1, dtype="bf16")
    body = "S(y) T(c,4) T(r,3) T(s,3) U(hw,32) U(k,2) D(c,32) V(k,16)"
    machine = replace(MACHINE, isa="amxbf16")
    score = trusted(Catalog("", "amxbf16", "conv2d"))

    def predicted(text: str) -> Candidate:
        scheme = parse(problem, text)
        dots = as_cached(scheme_in_dot_groups(scheme))
        return Candidate(scheme, after_copy(Predictor(dots.problem, machine, score).predict(dots), scheme, machine))

    def copied(text: str) -> float:
        return predicted(text).prediction.copy

    whole = copied(f"T(hw,147) T(k,8) {body}")
    long = copied(f"T(hw,7) S(x) T(hw,21) T(k,8) {body}")
    short = copied(f"T(hw,147) S(x) T(k,8) {body}")
    assert 0 < long < whole and long < short
    outside = copied(f"T(k,8) T(hw,7) S(x) T(hw,21) {body}")
    assert outside > 7 * long  # each vector's turn copies all strips
    told = explain(predicted(f"T(hw,7) S(x) T(hw,21) T(k,8) {body}"), [], machine)
    assert re.search(
        r"; x is copied strip by strip, with zeros for its padding \([0-9]+% of the time\); tiles run on over", told
    )


@pytest.mark.slow
def test_every_candidate_of_a_search_is_a_kernel(monkeypatch):
    """Strips are of one image: loops over images that stay inside have none."""
    monkeypatch.setattr(CpuBackend, "machine", replace(MACHINE, isa="amxbf16"))
    monkeypatch.setattr(CpuBackend, "catalog", lambda backend, op, by_matrix=False: Catalog("", "amxbf16", op))
    backend = CpuBackend(Target("cpu", "here", "amxbf16", "bf16", threads=2))
    found = backend.candidates(conv2d(n=3, c=64, h=30, w=31, k=64, r=3, s=3, padding=1, dtype="bf16"))
    assert any("S(x)" in scheme.text for scheme in found) and any("(hw," not in scheme.text for scheme in found)
    for scheme in found:
        check(scheme, backend.isa)


def test_a_scheme_with_strips_goes_to_dot_groups_and_back():
    problem = conv2d(c=128, h=68, w=68, k=256, r=3, s=3, padding=1, dtype="bf16")
    text = "T(hw,7) S(x) T(hw,21) T(k,8) S(y) T(c,4) T(r,3) T(s,3) U(hw,32) U(k,2) D(c,32) V(k,16)"
    scheme = parse(problem, text)
    dots = scheme_in_dot_groups(scheme)
    assert scheme.text == text and Stage("x") in dots.specifiers and strip_of(dots) == 672
    assert "strip by strip" in emit(scheme, isa_named("amxbf16")).text
