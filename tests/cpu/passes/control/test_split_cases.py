"""Padding and the last vector, decided by position."""

from __future__ import annotations

import pytest

from cpu.passes.control.cases import cases
from tests.support.loops.loops import conditions, ones, statements
from tests.support.loops.passes import SAME, TILES, around, forms_by_name, products
from tiling.loops.index import variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, For, If, Inside
from tiling.loops.walk import walk
from tiling.operators import conv2d

TAIL = conv2d(c=2, h=3, w=5, k=6, r=3, s=3, padding=1)
KERNELS = [
    (SAME, TILES),
    (TAIL, "R(k) T(h,3) S(y) T(r,3) T(s,3) T(c,2) U(w,5) V(k,{v})"),
    (TAIL, "R(k) T(w,5) S(y) T(c,2) U(r,3) U(s,3) U(h,3) V(k,{v})"),
    (TAIL, "T(s,3) T(r,3) R(k) T(h,3) S(y) T(c,2) U(w,5) V(k,{v})"),
]


@pytest.mark.parametrize("problem, text", KERNELS)
def test_what_is_left_is_decided_by_unrolling(problem, text):
    """So tiles have no condition on an index, and multiply nothing by padding: masked lanes by zeros."""
    by_name = forms_by_name(problem, text)
    split, unrolled = by_name["cut taps"], by_name["unroll"]
    inner = {name for s in statements(split) if isinstance(s, Block) for name in loops_of(s)}
    assert conditions(by_name["bound taps"])
    in_tiles = [c for s in statements(split) if isinstance(s, Block) for c in found(s.body)]
    assert all(set(c.index.names()) <= inner for c in in_tiles)
    assert not [c for f in unrolled.functions for c in found(f.body)]
    lanes = -(-problem.extents["k"] // 4) * 4 / problem.extents["k"]
    wanted = round(problem.flops // 2 * problem.inside_fraction * lanes)
    assert products(split, ones(split)) == products(unrolled, ones(unrolled)) == wanted


def found(body):
    return conditions(Kernel((), body))


def loops_of(tile):
    return {s.name for s in walk(tile.body) if isinstance(s, For)} | {"lane"}


def test_kinds_of_tiles_are_chosen_by_position():
    _, after = around("split cases")
    names = [s.name for s in statements(after) if isinstance(s, Block)]
    assert names == ["3wx4kx3s_wpad0", "3wx4kx3s_wpad1"]
    (choice,) = [s for s in statements(after) if isinstance(s, If) and isinstance(s.body[0], Block)]
    assert choice.conditions == (Inside(variable("w"), None, 3),)
    assert [s.notes for s in statements(after) if isinstance(s, Block)] == [("w < 3",), ("3 <= w",)]


def test_positions_with_the_same_test_are_one_case():
    """A row of 3 outputs at w = 0, 3, 6, 9 of an x of 12, which a tap s_u - 1 reaches."""
    test = Inside(variable("w") + variable("w_u") + variable("s_u") - 1, 0, 12)
    kinds = cases(test, "w", range(0, 12, 3), {"w_u": range(3), "s_u": range(3)})
    assert [(case.first, case.last) for case in kinds] == [(0, 0), (3, 6), (9, 9)]
    rest = variable("w_u") + variable("s_u") - 1
    assert [case.test for case in kinds] == [Inside(rest, 0, None), True, Inside(rest, None, 3)]
    nowhere = Inside(variable("w") + 100, 0, 12)
    assert [case.test for case in cases(nowhere, "w", range(3), {})] == [False]
