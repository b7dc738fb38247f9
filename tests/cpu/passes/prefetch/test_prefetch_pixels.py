"""The lines that the next tile of a depthwise convolution is first to read are prefetched, if its pixels are others."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.exactness import FAR
from tests.support.loops.loops import ones, result, statements
from tests.support.loops.passes import around
from tiling.loops.language import LINE, Prefetch
from tiling.loops.lowering.prefetch.plan import plan_prefetches
from tiling.loops.meaning.prefetches import Prefetched
from tiling.operators import conv2d
from tiling.text.notation import parse

NAME = "prefetch pixels"
BELOW = "R(c) T(w,2) T(h,3) S(y) U(r,3) U(s,3) U(w,2) V(c,16)"


def depthwise(c: int, stride: int):
    return conv2d(h=3 * stride, w=4 * stride, c=c, k=c, groups=c, r=3, s=3, stride=stride, padding=1)


def prefetched(c: int = 16, text: str = BELOW, stride: int = 2) -> list[tuple[int, int, int]]:
    """The row, the column and the line of a pixel that tiles prefetch, in order, as if L1 were small."""
    problem = depthwise(c, stride)
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR | {"MOST_A_LINE_OF_LANES": 2}):
        before, after = around(NAME, problem, text, isa="avx512f")
    assert not any(isinstance(statement, Prefetch) for statement in statements(before))
    found: list[Prefetched] = []
    result(after, ones(after), prefetched=found)
    found = [each for each in found if each.array == "X"]
    assert {each.level for each in found} <= {1}
    lines, columns = c * 4 // LINE, 4 * stride
    return [
        (byte // LINE // lines // columns, byte // LINE // lines % columns, byte // LINE % lines)
        for byte in (each.byte for each in found)
    ]


def test_each_tile_prefetches_the_two_rows_that_are_new_to_the_next():
    """Tiles of a row of two outputs read three rows, and the next one begins two rows further down.

    Pixels have a line each, and the first of two is enough.
    """
    left = [(row, column, 0) for row in range(2, 8) for column in (0, 2)]
    right = [(row, column, 0) for row in range(2, 8) for column in (3, 5, 7)]
    found = prefetched()
    assert sorted(found[: len(left)]) == left and sorted(found[len(left) :]) == right


def test_one_of_two_lines_of_a_pixel_is_prefetched():
    found = prefetched(32, BELOW.replace("R(c) ", "").replace("U(w,2)", "U(w,2) U(c,2)"))
    assert {line for _, _, line in found} == {0} and {column for _, column, _ in found} == {*range(8)}


@pytest.mark.parametrize(
    ("order", "loop"),
    [
        ("T(w,2) T(h,3)", ("h", 1)),
        ("T(h,3) T(w,2)", ("w", 2)),
        ("T(w,2) T(h,3) T(c,2)", None),  # the channels beside these come next
        ("T(h,3) T(c,2) L(w, 1x1 + 1x3)", None),  # another branch comes next
    ],
)
def test_the_plan_names_the_loop_that_goes_to_the_next_tile(order, loop):
    c = 32 if "c" in order else 16
    width = "λ" if "L" in order else 2
    scheme = parse(depthwise(c, 2), f"R(n) {order} S(y) U(r,3) U(s,3) U(w,{width}) V(c,16)")
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR | {"MOST_A_LINE_OF_LANES": 2}):
        found = [plan.next_pixels for plan in plan_prefetches(scheme)]
    assert {(each.loop.dim, each.loop.step) if each else None for each in found} == {loop}


@pytest.mark.parametrize(
    "given",
    [
        {"stride": 1, "text": "R(c) T(h,3) S(y) U(r,3) U(s,3) U(w,4) V(c,16)"},  # a line serves more products
        {"c": 32, "text": "T(w,2) T(h,3) T(c,2) S(y) U(r,3) U(s,3) U(w,2) V(c,16)"},  # channels beside these come next
        {"text": "R(c) T(w,2) T(h,3) S(y) T(r,3) U(s,3) U(w,2) V(c,16)"},  # a loop over taps
    ],
)
def test_other_tiles_prefetch_nothing(given):
    assert not prefetched(**given)


def test_an_x_that_leaves_l2_is_not_prefetched():
    with patch("tiling.loops.lowering.prefetch.limits.LARGEST_L2", 0):
        assert not prefetched()
