"""The rows of the next tile are prefetched, a line in each step, where no other tile brings them."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import pytest

from cpu.codegen.winograd import winograd_forms_of
from microkernels.tile.isa import isa_named
from tests.exactness import FAR
from tests.support.loops.loops import ones, result, statements
from tests.support.loops.passes import around
from tiling.loops.language import LINE, Prefetch
from tiling.loops.lowering.prefetch.plan import plan_prefetches
from tiling.loops.meaning.prefetches import Prefetched
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse

NAME = "prefetch rows"


def prefetched_of_x(problem, text):
    """The bytes of X that the pass adds to what is prefetched, in order."""
    found: list[list[Prefetched]] = [[], []]
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        forms = around(NAME, problem, text)
    for form, prefetched in zip(forms, found):
        result(form, ones(form), prefetched=prefetched)
    before, after = ([a.byte for a in prefetched if (a.array, a.level) == ("X", 1)] for prefetched in found)
    assert not before
    return after


@pytest.mark.parametrize(
    "rows, k, text, times",
    [
        (
            4,
            32,
            "T(m,3) S(c) T(k,32) U(m,4) V(n,{v})",
            {4},
        ),  # 8 lines in 32 steps: four steps prefetch the same one
        (8, 16, "T(m,3) S(c) T(k,16) U(m,8) V(n,{v})", {2}),  # 8 lines in 16 steps
        (16, 16, "T(m,3) S(c) T(k,16) U(m,16) V(n,{v})", {1}),  # as many as steps
        (12, 48, "T(m,3) S(c) T(k,48) U(m,12) V(n,{v})", {1, 2}),  # 36 lines in 48 steps, 3 lines a row
    ],
)
def test_the_next_rows_are_prefetched_in_order_while_this_tile_multiplies(rows, k, text, times):
    tile = rows * k * 4
    found = prefetched_of_x(matmul(m=3 * rows, n=4, k=k), text)
    assert len(found) == 3 * k
    for turn in range(3):
        prefetched = found[turn * k : (turn + 1) * k]
        assert prefetched == sorted(prefetched)
        counts = Counter(prefetched)
        assert list(counts) == list(range((turn + 1) * tile, (turn + 2) * tile, LINE)) and {*counts.values()} == times


def test_more_lines_than_steps_are_left_alone():
    """17 rows in 16 steps."""
    assert not prefetched_of_x(matmul(m=51, n=4, k=16), "T(m,3) S(c) T(k,16) U(m,17) V(n,{v})")


def planned(text: str, n: int, in_turn: int):
    """What the one tile of a product prefetches, with its limits as they are: 16 KB of x."""
    (plan,) = plan_prefetches(parse(matmul(m=256, n=n, k=16), text), in_turn=in_turn)
    return plan.next_rows


def test_x_is_prefetched_where_what_is_read_in_turn_leaves_l2():
    two = "T(m,32) S(c) T(k,16) U(m,8) U(n,2) V(n,16)"
    found = planned(two, 32, 64)
    assert found and (found.rows, found.lines, found.in_line) == (8, 1, 16)
    assert not planned(two, 32, 63)  # less than 1 MB
    assert not planned(two, 32, 1)
    (plan,) = plan_prefetches(parse(matmul(m=1 << 15, n=32, k=16), two.replace("T(m,32)", "T(m,4096)")))
    assert not plan.next_rows  # 2 MB, but one array


def test_steps_without_room_for_a_load_prefetch_nothing():
    assert not planned("T(m,32) S(c) T(k,16) U(m,8) V(n,16)", 16, 64)  # 9 loads for 8 FMAs
    assert planned("T(m,64) S(c) T(k,16) U(m,4) U(n,2) V(n,16)", 32, 64)  # 6 for 8
    assert not planned("T(m,128) S(c) T(k,16) U(m,2) U(n,2) V(n,16)", 32, 64)  # 4 for 4


@pytest.mark.parametrize("lanes, both", [(8, False), (16, True)])
def test_short_vectors_leave_room_for_the_next_rows_or_the_next_weights(lanes, both):
    """36 products of resnet18:R2, in tiles with all columns."""
    problem = matmul(m=196, n=2 * lanes, k=64)
    text = f"T(m,14) S(c) T(k,64) U(m,14) U(n,2) V(n,{lanes})"
    (plan,) = plan_prefetches(parse(problem, text), in_turn=36, weights_in_turn=36 * 64 // lanes)
    assert plan.next_rows and bool(plan.next_weights) is both


def test_products_of_winograd_s_algorithm_prefetch_rows_of_v():
    text = "F(4x4,3x3) B(196,32) T(m,14) S(c) T(k,64) U(m,14) U(n,2) V(n,16)"
    problem = conv2d(c=64, h=56, w=56, k=32, r=3, s=3, padding=1)
    forms = dict(winograd_forms_of(parse(problem, text), isa_named("avx512f"), 1))
    loads = [s for s in statements(forms[NAME]) if isinstance(s, Prefetch) and s.address.buffer == "VP"]
    assert [(str(s.address.at[0]), s.level) for s in loads] == [("m + 56*k / 64 / 4 + 14", 1)]


def test_pixels_of_a_row_are_rows_too():
    found = prefetched_of_x(conv2d(c=16, h=2, w=8, k=4, r=1, s=1), "T(h,2) T(w,2) R(k) S(y) T(c,16) U(w,4) V(k,4)")
    assert set(range(4 * LINE, 8 * LINE, LINE)) <= set(found)


@pytest.mark.parametrize(
    "problem, text",
    [
        (matmul(m=12, n=8, k=32), "T(n,2) T(m,3) S(c) T(k,32) U(m,4) V(n,4)"),  # tiles of other columns read them too
        (matmul(m=12, n=4, k=32), "T(k,2) T(m,3) S(c) T(k,16) U(m,4) V(n,4)"),  # and each a part of them
        (conv2d(c=16, h=2, w=8, k=4, r=1, s=3, padding=(0, 1)), "T(h,2) T(w,2) S(y) T(s,3) T(c,16) U(w,4) V(k,4)"),
        (conv2d(c=16, h=4, w=8, k=4, r=1, s=1), "T(h,4) R(k) S(y) T(c,16) U(w,8) V(k,4)"),  # a row of the next 8 pixels
    ],
)
def test_other_rows_are_left_alone(problem, text):
    assert not prefetched_of_x(problem, text)


def test_x_that_l2_keeps_is_left_alone():
    before, after = around(NAME, matmul(m=12, n=4, k=32), "T(m,3) S(c) T(k,32) U(m,4) V(n,{v})")
    assert before == after
