"""Taps on padding, left out by the bounds of their loop."""

from __future__ import annotations

import pytest

from tests.support.loops.loops import conditions, ones, statements
from tests.support.loops.passes import SAME, TILES, around, products
from tiling.loops.language import Define, For
from tiling.operators import conv2d

STRIDED = conv2d(c=1, h=5, w=7, k=4, r=3, s=2, stride=(2, 1), padding=((2, 1), (0, 0)), dilation=(2, 1))


def windows(kernel, dim):
    return [c for c in conditions(kernel) if c.index.coefficient(dim)]


def test_the_bounds_take_the_place_of_the_test():
    before, after = around("bound taps")
    assert windows(before, "r") and not windows(after, "r")
    defines = {s.name: str(s.index) for s in statements(after) if isinstance(s, Define)}
    assert defines == {"r_begin": "max(0, 1 - h)", "r_end": "min(3, 5 - h)"}
    (loop,) = [s for s in statements(after) if isinstance(s, For) and s.name == "r"]
    assert (str(loop.start), str(loop.stop)) == ("r_begin", "r_end")
    assert windows(before, "s_u") and windows(before, "s_u") == windows(after, "s_u")  # several rows: not by bounds


@pytest.mark.parametrize(
    "problem, text",
    [
        (SAME, TILES),
        (SAME, "R(k) T(h,4) T(w,6) S(y) T(s,3) T(r,3) T(c,2) V(k,{v})"),
        (STRIDED, "R(k) R(h) R(w) S(y) T(r,3) T(s,2) V(k,{v})"),
        (conv2d(c=4, k=4, groups=4, h=3, w=3, r=5, s=5, padding=2), "R(c) R(h) R(w) S(y) T(r,5) T(s,5) V(c,{v})"),
    ],
)
def test_nothing_is_multiplied_by_padding(problem, text):
    """The multiplications are exactly those that read x."""
    _, after = around("bound taps", problem, text)
    assert products(after, ones(after)) == round(problem.flops // 2 * problem.inside_fraction)
