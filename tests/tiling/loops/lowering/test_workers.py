"""Loops whose workers hold tiles of their own, moved around S(output)."""

from dataclasses import replace

from tiling.loops.lowering.nest import Loop, Staged, nest_of
from tiling.loops.lowering.workers import with_workers_outside
from tiling.operators import matmul
from tiling.text.notation import parse

PRODUCT = matmul(m=16, n=8, k=6)


def held(text):
    (node,) = nest_of(parse(PRODUCT, text))
    assert isinstance(node, Staged) and node.holds_sums
    return node


def test_the_outermost_loop_of_workers_goes_around_the_tile():
    tile = held("S(c) T(k,2) S(a) T(m,8)@warp T(n,2)@lane U(k,3) U(m,2) U(n,4)")
    loop = with_workers_outside(tile, PRODUCT.reductions)
    assert (loop.dim, loop.worker, loop.trips) == ("m", "warp", 8)
    (rest,) = loop.body
    inner = with_workers_outside(rest, PRODUCT.reductions)
    assert (inner.dim, inner.worker, inner.trips) == ("n", "lane", 2)
    assert with_workers_outside(inner.body[0], PRODUCT.reductions) is None


def test_nothing_else_of_the_tile_changes():
    tile = held("S(c) T(k,2) S(a) T(m,8)@warp U(k,3) U(m,2) U(n,8)")
    (sums,) = tile.body
    (stage,) = sums.body
    (workers,) = stage.body
    assert isinstance(workers, Loop) and workers.worker == "warp"
    (rest,) = with_workers_outside(tile, PRODUCT.reductions).body
    assert rest == replace(tile, body=(replace(sums, body=(replace(stage, body=workers.body),)),))


def test_a_tile_without_workers_has_no_such_loop():
    assert with_workers_outside(held("S(c) T(k,6) U(m,16) U(n,8)"), PRODUCT.reductions) is None
