"""Panels of x that register tiles share, S(x): where a search puts them, what the model makes of them."""

from dataclasses import replace

import pytest

from search.cost.costs import COSTS
from search.cost.predict import predict
from search.space.panels import with_panels
from search.space.space import candidates
from tests.support.search.model_cases import CATALOG, MACHINE
from tiling.operators import conv2d
from tiling.rewrite.copies.panels import panel_elements, visits_of_panel
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse

PIXELS = pointwise2d(conv2d(c=512, h=34, w=34, k=256, r=1, s=1, layout="nchw"))
LINES = pointwise2d(conv2d(c=512, h=32, w=36, k=256, r=1, s=1, layout="nchw"))  # channels of whole lines
SMALL = pointwise2d(conv2d(n=3, c=6, h=5, w=7, k=24, r=1, s=1, layout="nchw"))
BODY = "S(y) T(c,6) U(k,2) V(w,4)"

PLACES = {
    "rows inside pixels": ("R(n) R(w) T(k,12)", ["R(n) R(w) S(x) T(k,12)"]),
    "pixels inside rows": ("T(k,12) R(n) R(w)", ["S(x) T(k,12) R(n) R(w)"]),
    "rows in two places": (
        "R(n) T(k,3) R(w) T(k,4)",
        ["R(n) S(x) T(k,3) R(w) T(k,4)", "R(n) T(k,3) R(w) S(x) T(k,4)"],
    ),
    "two loops over rows": ("T(k,3) T(k,4) R(n) R(w)", ["S(x) T(k,3) T(k,4) R(n) R(w)"]),
    "rows for cores": ("T(k,3)@core T(k,4) R(n) R(w)", ["T(k,3)@core S(x) T(k,4) R(n) R(w)"]),
    "no rows": ("T(k,12)@core R(n) R(w)", []),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_panel_stands_before_loops_over_rows(case):
    loops, expected = PLACES[case]
    found = with_panels(parse(SMALL, f"{loops} {BODY}"), 1e9)
    assert [scheme.text for scheme in found] == [f"{text} {BODY}" for text in expected]


def test_a_panel_is_no_larger_than_asked_for():
    scheme = parse(SMALL, f"R(n) T(k,3) R(w) T(k,4) {BODY}")
    sizes = [panel_elements(staged) for staged in with_panels(scheme, 1e9)]
    assert sizes == [6 * 36, 6 * 4]  # of 35 pixels whole vectors
    assert [panel_elements(staged) for staged in with_panels(scheme, 6 * 36 * 4 - 1)] == [6 * 4]
    assert panel_elements(scheme) == 0


def test_only_what_is_read_in_place_has_panels():
    other = parse(conv2d(c=6, h=5, w=7, k=24, r=1, s=1), "R(h) T(k,6) R(w) S(y) T(c,6) V(k,4)")
    assert with_panels(other, 1e9) == ()


@pytest.mark.parametrize(
    "loops, threads, visits",
    [
        ("R(n) R(w) T(k,12)", 1, 0),
        ("R(n) R(w) S(x) T(k,12)", 1, 12),
        ("R(n) S(x) T(k,3) R(w) T(k,4)", 1, 12),
        ("R(n) T(k,3) R(w) S(x) T(k,4)", 1, 4),
        ("T(k,3)@core S(x) T(k,4) R(n) R(w)", 1, 12),  # the first of three tasks packs it for all
        ("T(k,3)@core S(x) T(k,4) R(n) R(w)", 2, 8),
        ("T(k,3)@core S(x) T(k,4) R(n) R(w)", 3, 4),
        ("T(k,3)@core S(x) T(k,4) R(n) R(w)", 8, 4),
        ("T(n,3)@core S(x) T(k,12) R(w)", 1, 12),
    ],
)
def test_how_many_tiles_read_what_one_packs(loops, threads, visits):
    assert visits_of_panel(parse(SMALL, f"{loops} {BODY}"), threads) == visits


def seconds(problem, stage: str, **costs) -> float:
    text = (
        f"T(w,24) {stage} T(k,32) S(y) T(c,512) U(k,8) U(w,3) V(w,16)"
        if problem is LINES
        else (f"L(w, 2x2 + 23x3) {stage} T(k,32) S(y) T(c,512) U(k,8) U(w,λ) V(w,16)")
    )
    return predict(parse(problem, text), MACHINE, lambda kernel: 0.9, costs=replace(COSTS, **costs)).seconds


def test_a_panel_pays_where_vectors_are_two_lines():
    assert seconds(PIXELS, "S(x)") < seconds(PIXELS, "")
    assert seconds(LINES, "S(x)") > seconds(LINES, "")


def test_what_a_panel_costs_and_saves():
    """Planes of 1156 floats begin at multiples of 16 bytes, so that three of four vectors are two lines."""
    cycle = COSTS.pipes * MACHINE.lanes * 2 / MACHINE.peak
    vectors = 512 * 73
    more = seconds(PIXELS, "", split=1.5) - seconds(PIXELS, "", split=0.5)
    assert more == pytest.approx(32 * vectors * 0.75 * cycle)
    more = seconds(PIXELS, "S(x)", split=1.5) - seconds(PIXELS, "S(x)", split=0.5)
    assert more == pytest.approx(vectors * 0.75 * cycle)
    assert seconds(PIXELS, "S(x)", pack=5) - seconds(PIXELS, "S(x)", pack=3) == pytest.approx(vectors * 2 * cycle)
    assert seconds(LINES, "", split=1.5) == seconds(LINES, "", split=0.5)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_search_finds_them(threads):
    found = {c.scheme.text: c.prediction.seconds for c in candidates(PIXELS, MACHINE, CATALOG, threads)}
    panels = [text for text in found if "S(x) " in text]
    assert 0 < len(panels) < len(found)
    assert any(found[text] < found.get(text.replace("S(x) ", ""), 0.0) for text in panels)
    assert threads > 1 or next(iter(found)) in panels
