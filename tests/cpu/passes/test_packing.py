"""The loops that pack the weights: made of what `pack_weights` changed."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.passes.order import LOWER
from cpu.passes.packing import packing
from tests.support.loops import inputs, statements
from tests.support.passes import PACKING, SAME, TILES, by_loops, packed, stages_by_name
from tiling.loops.language import For, Store
from tiling.loops.listing import listing
from tiling.operators import conv2d, matmul

KERNELS = [
    (SAME, TILES),
    (matmul(m=7, n=9, k=5), "L(m, 1x3 + 2x2) R(n) S(c) T(k,5) U(m,λ) V(n,{v})"),
    (matmul(m=2, n=20, k=6), "T(k,2) L(n, 1x1 + 2x2) R(m) S(c) U(k,3) U(n,λ) V(n,{v})"),
    (
        conv2d(c=4, k=10, groups=2, h=2, w=2, r=3, s=3, padding=1),
        "R(g) R(k) R(h) S(y) R(r) R(s) U(c,2) U(w,2) V(k,{v})",
    ),
    (conv2d(c=6, k=6, groups=6, h=2, w=2, r=3, s=3, padding=1), "R(c) R(h) R(w) S(y) R(r) R(s) V(c,{v})"),
]


@pytest.mark.parametrize("problem, text", KERNELS)
def test_every_weight_comes_to_where_products_read_it(problem, text):
    by_name, w = stages_by_name(problem, text), inputs(problem)["W"]
    plain, after = by_name[LOWER], by_name[PACKING]
    np.testing.assert_array_equal(by_loops(plain, after, w), packed(plain, after, w))


def test_loops_that_move_no_weight_are_left_out():
    by_name = stages_by_name(SAME, TILES)
    kernel = packing(by_name[LOWER], by_name[PACKING])
    assert [s.name for s in statements(kernel) if isinstance(s, For)] == ["k", "r", "c", "s_u", "lane"]
    assert len([s for s in statements(kernel) if isinstance(s, Store)]) == 1


def test_a_column_that_does_not_exist_is_zeros():
    problem, text = KERNELS[1]
    by_name = stages_by_name(problem, text)
    kernel = packing(by_name[LOWER], by_name[PACKING])
    assert "if n + lane < 9:\n" in listing(kernel) and "= 0" in listing(kernel)
