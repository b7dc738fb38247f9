"""Loop orders and tile sizes."""

from dataclasses import replace
from itertools import pairwise

from search.cost.cache_conflicts import USABLE
from search.space.permutations import CLASSES, orders, parse_class
from search.space.sizes import Sizer, TiledDim
from tests.support.search.model_cases import DEPTHWISE, L1, L2, L3, MACHINE, layer
from tiling.arrays.footprint import footprint
from tiling.operators import conv2d, matmul


def test_every_class_orders_every_dim_once():
    for problem in (layer("R2"), DEPTHWISE, matmul(m=4, n=16, k=4)):
        for text in CLASSES[problem.op]:
            assert sorted("".join(parse_class(text))) == sorted(problem.extents)


def test_orders_collapse_to_the_dims_that_loop():
    problem = layer("R2")
    assert len(orders(problem, problem.extents)) == 8
    assert orders(problem, ()) == ((),)
    assert orders(problem, ("h",)) == (("h",),)
    assert set(orders(problem, ("k", "w"))) == {("k", "w"), ("w", "k")}
    assert set(orders(matmul(m=4, n=16, k=4), ("m", "n"))) == {("n", "m"), ("m", "n")}


def test_groups_loop_outermost_or_innermost():
    problem = conv2d(c=64, h=56, w=56, k=64, r=3, s=3, padding=1, groups=8)
    plain = orders(layer("R2"), layer("R2").extents)
    found = orders(problem, problem.extents)
    assert found[:-1] == tuple(("g", *order) for order in plain) and found[-1] == (*plain[0], "g")
    assert set(orders(problem, ("g",))) == {("g",)}


def test_sizes_respect_capacity_and_divide():
    problem = layer("Y12")
    blocks = (TiledDim("h", 1, 34), TiledDim("k", 32, 16), TiledDim("w", 34, 1))
    inside = {**dict.fromkeys(problem.extents, 1), "c": 256, "r": 3, "s": 3}
    sizer = Sizer(problem, MACHINE, blocks, inside)
    assert sizer.tiled == 1
    for order in orders(problem, ("h", "k")):
        for chain in sizer.choose((order,)):
            assert len(chain) == 2 and chain[1] == (34, 16, 1)
            tile = {**inside, **{b.dim: b.points * n for b, n in zip(blocks, chain[0])}}
            assert all(b.count % n == 0 for b, n in zip(blocks, chain[0]))
            assert sum(footprint(problem, t, tile) for t in problem.tensors) <= 1.02 * USABLE * L2.bytes


def test_levels_of_sizes_follow_the_machine():
    problem = layer("Y12")
    blocks = (TiledDim("h", 1, 34), TiledDim("k", 32, 16))
    inside = {**dict.fromkeys(problem.extents, 1), "c": 256, "r": 3, "s": 3, "w": 34}
    for caches, tiled in (((L1,), 0), ((L1, L2), 1), ((L1, L2, replace(L3, bytes=2 << 20)), 2)):
        sizer = Sizer(problem, replace(MACHINE, caches=caches), blocks, inside)
        assert sizer.tiled == tiled
        (first, *_) = sizer.choose((("k", "h"),) * tiled)
        for inner, outer in pairwise(first):
            assert all(b % a == 0 for a, b in zip(inner, outer))
