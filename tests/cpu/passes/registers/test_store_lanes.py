"""Masked stores become plain ones, where these take less time."""

from __future__ import annotations

import pytest

from tests.support.loops.passes import around, instructions
from tiling.loops.index import constant
from tiling.loops.language import Immediate
from tiling.loops.rewrite import instructions_in
from tiling.loops.walk import bodies, walk
from tiling.operators import conv2d

TRANSPOSED = conv2d(c=8, h=4, w=12, k=16, r=3, s=3, padding=1, layout="nchw")
BLOCKS_OF_6 = "R(n) T(h,4) T(w,2) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,6) U(k,2) V(k,8)"
LAST_OF_4 = conv2d(c=8, h=4, w=12, k=12, r=3, s=3, padding=1)


def without_number(invoke):
    return tuple((name, given) for name, given in invoke.operands if name != "lanes")


@pytest.mark.parametrize("problem", [TRANSPOSED, LAST_OF_4], ids=["a transposed block", "the last vector"])
def test_lanes_are_stored_by_plain_stores(problem):
    before, after = around("store lanes", problem, BLOCKS_OF_6, isa="avx2")
    assert not instructions(before, "store_lanes") and not instructions(after, "store_tail")
    plain, masked = instructions(after, "store_lanes"), instructions(before, "store_tail")
    assert [*map(without_number, plain)] == [*map(without_number, masked)] and masked
    lanes = [dict(m.operands)["lanes"].lanes.offset for m in masked]
    assert [dict(p.operands)["lanes"] for p in plain] == [Immediate(constant(number)) for number in lanes]


# y has 38 MB, in planes of 289 whole pages: the rows of a tile of 16 channels lie at one place of 16 pages.
PAGES = conv2d(c=3, h=544, w=544, k=32, r=3, s=3, padding=1, layout="nchw")
TILES_OF_PAGES = "R(n) T(h,544) L(w, 2x5 + 89x6) {k} S(y) T(r,3) T(c,3) U(s,3) U(w,λ) {tile}"
OF_16, OF_8 = {"k": "T(k,2)", "tile": "U(k,2) V(k,8)"}, {"k": "T(k,4)", "tile": "V(k,8)"}


def of_pages(tile):
    return around("store lanes", PAGES, TILES_OF_PAGES.format(**tile), isa="avx2")


def test_masks_stay_where_many_lines_of_one_set_come_from_memory():
    before, after = of_pages(OF_16)
    assert before == after and instructions(after, "store_tail")


def test_masks_go_where_the_set_has_room_for_the_lines():
    _, after = of_pages(OF_8)
    assert instructions(after, "store_lanes") and not instructions(after, "store_tail")


def test_one_plain_store_takes_the_place_of_a_masked_one_wherever_lines_lie():
    scheme = "R(n) T(h,544) T(w,136) T(k,2) S(y) T(r,3) T(c,3) U(s,3) U(w,4) U(k,2) V(k,8)"
    _, after = around("store lanes", PAGES, scheme, isa="avx2")
    assert instructions(after, "store_lanes") and not instructions(after, "store_tail")


def test_all_else_stays():
    before, after = (
        [
            i
            for body in bodies(kernel)
            for s in walk(body)
            for i in instructions_in(s)
            if "store" not in i.instruction.name
        ]
        for kernel in around("store lanes", TRANSPOSED, BLOCKS_OF_6, isa="avx2")
    )
    assert before == after


def test_a_row_that_stores_by_masks_as_fast_keeps_them():
    wide = BLOCKS_OF_6.replace("U(k,2) V(k,8)", "V(k,16)")
    before, after = around("store lanes", TRANSPOSED, wide, isa="avx512f")
    assert before == after and instructions(after, "store_tail")
