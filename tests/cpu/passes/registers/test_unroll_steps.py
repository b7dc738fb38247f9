"""cpu/passes/registers/unroll_steps.py: which loops of tiles are written out, and how often cursors advance."""

from __future__ import annotations

import pytest

from cpu.codegen.emit import emit, forms_of
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE, Isa
from tiling.loops.language import For
from tiling.loops.machines import Advance
from tiling.loops.walk import walk
from tiling.operators import conv2d, matmul
from tiling.problem import Problem
from tiling.text.notation import parse

LARGE = matmul(m=96, n=2048, k=64)  # its weights are prefetched
TILES = "T(n,128) T(m,16) S(c) T(k,64) U(m,6) U(n,2) V(n,8)"


def loops(problem: Problem, text: str, isa: Isa = AVX2) -> list[tuple[str, int, int]]:
    """The loops of the first tile: name, step and how many iterations stand together."""
    form = dict(forms_of(parse(problem, text), isa)).get("unroll steps")
    function = form.functions[0].body if form else ()
    return [(s.name, s.step, s.together) for s in walk(function) if isinstance(s, For) and s.kind == "serial"]


def test_a_tile_whose_taps_all_lie_on_padding_has_loops_without_statements():
    problem = conv2d(n=3, c=31, h=3, w=3, k=8, r=7, s=4, padding=((2, 3), (1, 6)))
    tiles = (
        "T(c,31)@core T(h,2) L(w, 1x5 + 1x1 + 1x1) L(k, 2x1) T(s,1) S(y) T(r,7) T(r,1) T(c,1) T(c,1) T(s,2) U(k,λ) "
        "U(n,3) U(w,λ) U(s,2) V(k,4)"
    )
    form = dict(forms_of(parse(problem, tiles), PORTABLE))["unroll steps"]
    assert any(isinstance(s, For) and not s.body for function in form.functions for s in walk(function.body))


def test_four_steps_stand_together_between_two_advances():
    assert loops(LARGE, TILES) == [("k_part", 16, 1), ("k", 1, 4)]


@pytest.mark.parametrize(
    ("tile", "together"),
    [("U(m,12)", 4), ("U(m,6) U(n,2)", 4), ("U(k,2) U(m,6) U(n,2)", 2), ("U(k,4) U(m,6) U(n,2)", 1)],
)
def test_an_iteration_has_at_most_64_multiplications(tile, together):
    problem, summed = matmul(m=12, n=16, k=64), 4 if "k,4" in tile else 2 if "k,2" in tile else 1
    outer = "T(n,2)" if "U(n" not in tile else "T(m,2)"
    (loop,) = loops(problem, f"{outer} S(c) T(k,{64 // summed}) {tile} V(n,8)")
    assert loop == ("k", summed, together)


def test_loops_of_few_steps_over_taps_and_of_long_vectors_stay():
    assert loops(matmul(m=6, n=16, k=7), "S(c) T(k,7) U(m,6) U(n,2) V(n,8)") == [("k", 1, 1)]
    taps = conv2d(c=8, h=8, w=6, k=16, r=3, s=3, padding=1)
    found = loops(taps, "R(n) T(h,8) S(y) T(c,8) T(r,3) U(s,3) U(w,6) U(k,2) V(k,8)")
    assert [together for _, _, together in found] == [1, 1]  # r has bounds that depend on h
    assert loops(matmul(m=6, n=32, k=64), "S(c) T(k,64) U(m,6) U(n,2) V(n,16)", AVX512F) == []


def test_18_multiplications_a_step_stand_three_together():
    problem = conv2d(c=8, h=5, w=8, k=8, r=3, s=3)
    assert ("c", 1, 3) in loops(problem, "R(n) R(h) S(y) T(r,3) T(c,8) U(s,3) U(w,6) V(k,8)")


def test_a_loop_whose_steps_are_no_multiple_of_16_keeps_its_tests():
    assert loops(matmul(m=96, n=2048, k=68), TILES.replace("T(k,64)", "T(k,68)")) == [("k", 1, 1)]


def test_lines_that_come_more_often_than_every_16_steps_come_together():
    form = dict(forms_of(parse(matmul(m=12, n=2048, k=64), "T(n,128) T(m,2) S(c) T(k,64) U(m,6) U(n,2) V(n,8)"), AVX2))
    (part,) = [s for s in walk(form["unroll steps"].functions[0].body) if isinstance(s, For) and s.name == "k_part"]
    before = sum(isinstance(s, Advance) for s in walk(form["prefetch"].body))
    assert before == 1 and sum(isinstance(s, Advance) for s in part.body) == 8  # 16 lines of 2 tiles


def test_the_text_asks_the_compiler_to_write_the_steps_out():
    text = emit(parse(LARGE, TILES), AVX2).text
    assert "#pragma GCC unroll 4\n        for (long k = k_part; k < k_part + 16; ++k) {" in text
    assert "k % 16" not in text
