"""The pass that takes tests of windows out of loops."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.programs import after, inputs_of, interpreted, lines
from tiling.loops.language import For
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

POOLING = "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -inf"
MEAN = "y[h,w,c] = mean[r,s] x[h+2*r-2,w+2*s-2,c] else 0"
PRODUCT = "y[h,w,c] = sum[r,s] x[h+r-1,w+s-1,c] * g[r,s,c]"
LOCAL = "y[i,j] = sum[r] x[i,j+r-2] else 0"
ONES = "y[h,w,c] = sum[r,s] x[h+r-1,w+s-1,c] else 1"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "text, shape, extents",
    [
        (POOLING, (14, 14, 16), {"h": 7, "w": 7}),
        (POOLING, (13, 11, 3), {"h": 7, "w": 6}),
        (MEAN, (6, 9, 16), {"h": 6, "w": 9}),
        (PRODUCT, (5, 7, 40), {"h": 5, "w": 7}),
        (PRODUCT, (3, 3, 16), {"h": 3, "w": 3}),
        (ONES, (4, 6, 16), {"h": 4, "w": 6}),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_windows_keep_their_values(text, shape, extents, threads, monkeypatch):
    monkeypatch.setattr("cpu.passes.program.bind_tasks.LEAST_ELEMENTS", 1)
    sizes = {"x": shape, "c": shape[-1], **extents, "r": 3, "s": 3}
    kernel = after("bound windows", text, threads, **sizes)
    program = sized(read(text), {dim: size for dim, size in sizes.items() if dim != "x"}, {"x": shape})
    arrays = inputs_of(program, Random(1))
    found = interpreted(program, kernel, arrays)["y"]
    np.testing.assert_array_equal(found, evaluate(program, arrays)["y"].astype(np.float32))


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", [PORTABLE, AVX2, AVX512F])
@pytest.mark.parametrize(
    "text, shape, extents",
    [
        ("y[i] = sum[j] x[i,j-4] else 0", (3, 42), {"i": 3, "j": 42}),
        ("y[i] = sum[j,r] x[i,j+r-1] else 0", (2, 73), {"i": 2, "j": 73, "r": 3}),
        ("y[i,j] = sum[r] x[i,j+r-2] else 0", (2, 101), {"i": 2, "j": 101, "r": 5}),
    ],
)
def test_a_loop_with_a_last_vector_that_is_no_whole_one_is_cut_once(text, shape, extents, isa):
    """In each form, as tails are peeled beside: every element counts once."""
    program = sized(read(text), extents, {"x": shape})
    arrays = inputs_of(program, Random(3))
    expected = evaluate(program, arrays)["y"]
    for name, kernel in program_forms(program, isa, 1):
        np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], expected, err_msg=name)


@pytest.mark.parametrize("index", ["h+r+r//2-1", "h+r+r%2-1"])
def test_a_tap_that_a_part_of_its_index_names_too_keeps_its_test(index):
    text = f"y[h,c] = max[r] x[{index},c] else -inf"
    program = sized(read(text), {"h": 6, "c": 16, "r": 4}, {"x": (8, 16)})
    arrays = inputs_of(program, Random(4))
    kernel = after("bound windows", text, x=(8, 16), h=6, c=16, r=4)
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], evaluate(program, arrays)["y"])


def test_lanes_along_a_window_are_cut_too():
    program = sized(read(LOCAL), {"r": 5, "j": 2048, "i": 2}, {"x": (2, 2048)})
    kernel = after("bound windows", LOCAL, x=(2, 2048), r=5, j=2048, i=2)
    before, middle, behind = (s for s in walk(kernel.body) if isinstance(s, For) and s.name == "j")
    shown = [lines(replace(kernel, body=(part,))) for part in (before, middle, behind)]
    assert [any(" if " in line for line in part) for part in shown] == [True, False, True]
    arrays = inputs_of(program, Random(2))
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], evaluate(program, arrays)["y"])


def test_the_middle_has_no_tests():
    text = lines(after("bound windows", POOLING, x=(112, 112, 16), h=56, w=56, c=16, r=3, s=3))
    assert "for w in 1..56:" in text and "for r in max(0, 1 - 2*h)..3:" in text
    assert not any(" if " in line for line in text)


def test_a_product_is_not_left_out():
    """0 times what is no number is no number: only a sum of elements is bounded."""
    text = lines(after("bound windows", PRODUCT, x=(56, 56, 16), h=56, w=56, c=16, r=3, s=3))
    assert "for r in 0..3:" in text and not any("max(" in line for line in text)
    middle = text[next(n for n, line in enumerate(text) if line.startswith("for w in") and "56" not in line) :]
    assert any("<= w" not in line and " if 0 <= h" in line for line in middle)


def test_what_counts_outside_is_not_left_out():
    text = lines(after("bound windows", ONES, x=(56, 56, 16), h=56, w=56, c=16, r=3, s=3))
    assert not any("max(" in line for line in text)
