"""Sums of steps that need all registers stay where they are."""

from __future__ import annotations

from tests.support.loops.loops import statements
from tests.support.loops.passes import around, instructions
from tiling.loops.machines import Fence
from tiling.operators import conv2d

TIGHT = conv2d(c=8, h=3, w=12, k=16, r=3, s=3, padding=1)
TIGHT_TEXT = "R(k) T(h,3) T(w,2) S(y) T(r,3) T(c,8) U(s,3) U(w,6) U(k,2) V(k,{v})"  # (6 + 3) * 2 + 1 vectors, of 16


def test_steps_with_fences_add_in_place():
    before, after = around("add in place", TIGHT, TIGHT_TEXT, isa="avx2")
    assert [s for s in statements(before) if isinstance(s, Fence)] and not instructions(before, "fma_in_place")
    assert not instructions(after, "fma")
    assert len(instructions(after, "fma_in_place")) == len(instructions(before, "fma"))


def test_others_leave_the_registers_to_the_compiler():
    roomy = TIGHT_TEXT.replace("U(w,6)", "U(w,3)").replace("T(w,2)", "T(w,4)")
    before, after = around("add in place", TIGHT, roomy, isa="avx2")
    assert before == after and instructions(after, "fma") and not [s for s in statements(after) if isinstance(s, Fence)]


def test_an_x_of_one_multiplication_may_stay_in_memory():
    """A depthwise tile of 14 sums has fences, and multiplies each x once."""
    depthwise = conv2d(c=8, k=8, groups=8, h=4, w=9, r=3, s=3)
    text = "T(c,1) T(h,1) T(w,1) S(y) U(r,3) U(s,3) U(h,2) U(w,7) V(c,8)"
    before, after = around("add in place", depthwise, text, isa="avx2")
    assert before == after and [s for s in statements(after) if isinstance(s, Fence)]


def test_a_row_without_the_text_keeps_its_multiplications():
    before, after = around("add in place", TIGHT, TIGHT_TEXT)
    assert before == after and [s for s in statements(after) if isinstance(s, Fence)]
