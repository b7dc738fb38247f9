"""The rows of the next tile are asked for, each line once, where no other tile brings them."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.exactness import FAR
from tests.support.loops.loops import ones, result
from tests.support.loops.passes import around
from tiling.loops.language import LINE
from tiling.loops.meaning.prefetches import Asked
from tiling.operators import conv2d, matmul

NAME = "prefetch rows"


def asked_of_x(problem, text):
    """The bytes of X that the pass adds to what is asked for, in order."""
    found: list[list[Asked]] = [[], []]
    with patch.multiple("tiling.loops.lowering.prefetch", **FAR):
        forms = around(NAME, problem, text)
    for form, asked in zip(forms, found):
        result(form, ones(form), asked=asked)
    before, after = ([a.byte for a in asked if (a.array, a.level) == ("X", 1)] for asked in found)
    assert not before
    return after


@pytest.mark.parametrize(
    "rows, k, text",
    [
        (4, 32, "T(m,3) S(c) T(k,32) U(m,4) V(n,{v})"),  # 8 lines in 32 steps
        (8, 16, "T(m,3) S(c) T(k,16) U(m,8) V(n,{v})"),  # 8 lines in 16 steps
        (12, 48, "T(m,3) S(c) T(k,48) U(m,12) V(n,{v})"),  # 36 lines in 48 steps, 3 lines a row
    ],
)
def test_each_line_of_the_next_rows_is_asked_for_while_this_tile_multiplies(rows, k, text):
    tile = rows * k * 4
    found = asked_of_x(matmul(m=3 * rows, n=4, k=k), text)
    steps = len(found) // 3
    for turn in range(3):
        lines = range((turn + 1) * tile, (turn + 2) * tile, LINE)
        assert list(dict.fromkeys(found[turn * steps : (turn + 1) * steps])) == list(lines)


def test_more_lines_than_steps():
    """17 rows in 16 steps: two lines a step."""
    found = asked_of_x(matmul(m=51, n=4, k=16), "T(m,3) S(c) T(k,16) U(m,17) V(n,{v})")
    assert len(found) == 3 * 32 and set(range(17 * LINE, 34 * LINE, LINE)) <= set(found[:32])


def test_pixels_of_a_row_are_rows_too():
    found = asked_of_x(conv2d(c=16, h=2, w=8, k=4, r=1, s=1), "T(h,2) T(w,2) R(k) S(y) T(c,16) U(w,4) V(k,4)")
    assert set(range(4 * LINE, 8 * LINE, LINE)) <= set(found)


@pytest.mark.parametrize(
    "problem, text",
    [
        (matmul(m=12, n=8, k=32), "T(n,2) T(m,3) S(c) T(k,32) U(m,4) V(n,4)"),  # tiles of other columns read them too
        (matmul(m=12, n=4, k=32), "T(k,2) T(m,3) S(c) T(k,16) U(m,4) V(n,4)"),  # and each a part of them
        (conv2d(c=16, h=2, w=8, k=4, r=1, s=3, padding=(0, 1)), "T(h,2) T(w,2) S(y) T(s,3) T(c,16) U(w,4) V(k,4)"),
    ],
)
def test_rows_that_several_tiles_read_are_left_alone(problem, text):
    assert not asked_of_x(problem, text)


def test_x_that_l1_keeps_is_left_alone():
    before, after = around(NAME, matmul(m=12, n=4, k=32), "T(m,3) S(c) T(k,32) U(m,4) V(n,{v})")
    assert before == after
