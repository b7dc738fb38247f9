"""Weights in the order in which loops read them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpu.passes.memory.pack_weights import pack_weights
from tests.support.loops.loops import conditions, inputs, statements
from tests.support.loops.packed_weights import PACKING, packed
from tests.support.loops.passes import SAME, TILES, around, forms_by_name
from tiling.loops.index import ZERO, constant
from tiling.loops.language import For, If, Load, Store
from tiling.loops.passes import LOWER
from tiling.loops.rewrite import places
from tiling.loops.walk import with_blocks
from tiling.operators import conv2d, matmul


def test_a_tile_walks_memory_forwards():
    """W lies as [k / 4, r, c, s, lane]: that is the order of the loops."""
    w = inputs(SAME)["W"]
    by_name = forms_by_name(SAME, TILES)
    found = packed(by_name[LOWER], by_name[PACKING], w)
    np.testing.assert_array_equal(found, w.reshape(2, 4, 2, 3, 3).transpose(0, 3, 2, 4, 1).ravel())


def test_only_the_weights_change():
    before, after = around(PACKING)
    others = [[p for p in places(k.body) if p.buffer != "W"] for k in (before, after)]
    assert [str(p.at) for p in others[0]] == [str(p.at) for p in others[1]]
    assert [b for b in before.arrays if b.name != "W"] == [b for b in after.arrays if b.name != "W"]
    (load,) = [p for p in places(after.body) if isinstance(p, Load) and p.buffer == "W"]
    assert len(load.at) == 1 and [b.axes for b in after.arrays if b.name == "W"] == [("packed",)]


@pytest.mark.parametrize(
    "problem, text, tests",
    [
        # All lanes share their x: beyond the last column they multiply it by zeros. The store keeps its test.
        (matmul(m=3, n=6, k=2), "R(m) R(n) S(c) T(k,2) V(n,4)", 1),
        # Each lane has an x of its own, which is not there.
        (conv2d(c=6, k=6, groups=6, h=2, w=2, r=1, s=1), "R(c) R(h) R(w) S(y) V(c,4)", 2),
    ],
)
def test_lanes_beyond_the_last_column_multiply_zeros_where_they_share_their_x(problem, text, tests):
    before, after = around(PACKING, problem, text)
    masks = [[c for c in conditions(k) if c.index.coefficient("lane")] for k in (before, after)]
    assert (len(masks[0]), len(masks[1])) == (2, tests)
    by_name, w = forms_by_name(problem, text), inputs(problem)["W"]
    found = packed(by_name[LOWER], by_name[PACKING], w)
    assert len(found) == 8 * w.size // 6 and sorted(found[found != 0]) == sorted(w[w != 0])
    assert [s for s in statements(after) if isinstance(s, Store)]


def test_lanes_keep_their_test_where_more_than_products_stands_below_it():
    """A loop beside the product may read anything by lanes."""
    problem, text = matmul(m=3, n=6, k=2), "R(m) R(n) S(c) T(k,2) V(n,4)"
    before, after = around(PACKING, problem, text)

    def looped(body):
        return tuple(
            replace(s, body=(*s.body, For("again", ZERO, constant(1), 1, s.body)))
            if isinstance(s, If) and any(isinstance(p, Load) and p.buffer == "W" for p in places(s.body))
            else with_blocks(s, looped)
            for s in body
        )

    (elements,) = next(b.shape for b in after.arrays if b.name == "W")
    with_loop = replace(before, body=looped(before.body))
    assert with_loop != before
    masks = [
        [c for c in conditions(k) if c.index.coefficient("lane")]
        for k in (before, pack_weights(with_loop, problem, elements))
    ]
    assert len(masks[0]) == len(masks[1]) == 2
