"""The masks of stores are loaded for them."""

from __future__ import annotations

import pytest

from tests.support.loops.passes import around, instructions
from tiling.loops.rewrite import instructions_in
from tiling.loops.walk import bodies, walk
from tiling.operators import conv2d

TRANSPOSED = conv2d(c=8, h=4, w=12, k=16, r=3, s=3, padding=1, layout="nchw")
BLOCKS_OF_6 = "R(n) T(h,4) T(w,2) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,6) U(k,2) V(k,8)"
LAST_OF_4 = conv2d(c=8, h=4, w=12, k=12, r=3, s=3, padding=1)


@pytest.mark.parametrize("problem", [TRANSPOSED, LAST_OF_4], ids=["a transposed block", "the last vector"])
def test_masks_are_loaded_beside_the_stores(problem):
    before, after = around("mask stores", problem, BLOCKS_OF_6, isa="avx2")
    assert not instructions(before, "store_tail_apart") and not instructions(after, "store_tail")
    moved, kept = instructions(after, "store_tail_apart"), instructions(before, "store_tail")
    assert [m.operands for m in moved] == [k.operands for k in kept] and kept


def test_all_else_stays():
    before, after = (
        [
            i
            for body in bodies(kernel)
            for s in walk(body)
            for i in instructions_in(s)
            if "store" not in i.instruction.name
        ]
        for kernel in around("mask stores", TRANSPOSED, BLOCKS_OF_6, isa="avx2")
    )
    assert before == after


def test_a_row_whose_masks_have_registers_of_their_own_keeps_its_stores():
    wide = BLOCKS_OF_6.replace("U(k,2) V(k,8)", "V(k,16)")
    before, after = around("mask stores", TRANSPOSED, wide, isa="avx512f")
    assert before == after and instructions(after, "store_tail")
