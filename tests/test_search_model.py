"""The data-movement model against hand counts and a simulated cache, and the candidates against the language."""

from dataclasses import replace
from math import prod
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microkernels.catalog import Catalog
from microkernels.estimate import estimate
from microkernels.microkernel import microkernel_of, parse as kernel_named
from search.explain import explain
from search.occupancy import geometries, occupancy
from search.permutations import CLASSES, orders, parse_class
from search.predict import Predictor, predict
from search.sample import random_schemes
from search.sizes import ROOM, Block, Sizer
from search.space import candidates, core_splits, shortlist
from search.registers import register_tiles
from search.volume import tasks, traffic
from tests.cache_simulator import moved_bytes
from tiling.footprint import footprint
from tiling.machine import CacheLevel, Machine
from tiling.nest import Loop, Register, lower
from tiling.notation import parse
from tiling.operators import conv2d, matmul
from tiling.scheme import Stage, Tile, Unroll

L1 = CacheLevel("L1", 48 << 10, 64, 12, 500e9)
L2 = CacheLevel("L2", 1 << 20, 64, 16, 200e9)
L3 = CacheLevel("L3", 32 << 20, 64, 16, 80e9, shared_by=2)
MACHINE = Machine("test", "avx512f", 16, 32, 268e9, 2, (L1, L2, L3), 25e9, 12e9, 20e9)
CATALOG = Catalog("test", "avx512f", "conv2d")

# name: k, c, h = w of the input, r = s, stride; padding is r // 2.
LAYERS = {
    "Y0": (32, 3, 544, 3, 1),
    "Y2": (64, 32, 272, 3, 1),
    "Y4": (128, 64, 136, 3, 1),
    "Y5": (64, 128, 136, 1, 1),
    "Y8": (256, 128, 68, 3, 1),
    "Y9": (128, 256, 68, 1, 1),
    "Y12": (512, 256, 34, 3, 1),
    "Y13": (256, 512, 34, 1, 1),
    "Y18": (1024, 512, 17, 3, 1),
    "Y19": (512, 1024, 17, 1, 1),
    "Y23": (28269, 1024, 17, 1, 1),
    "R1": (64, 3, 224, 7, 2),
    "R2": (64, 64, 56, 3, 1),
    "R3": (64, 64, 56, 1, 1),
    "R4": (128, 64, 56, 3, 2),
    "R5": (128, 64, 56, 1, 2),
    "R6": (128, 128, 28, 3, 1),
    "R7": (256, 128, 28, 3, 2),
    "R8": (256, 128, 28, 1, 2),
    "R9": (256, 256, 14, 3, 1),
    "R10": (512, 256, 14, 3, 2),
    "R11": (512, 256, 14, 1, 2),
    "R12": (512, 512, 7, 3, 1),
}


DEPTHWISE = conv2d(c=144, k=144, groups=144, h=56, w=56, r=3, s=3, padding=1)


def layer(name):
    k, c, size, taps, stride = LAYERS[name]
    return conv2d(k=k, c=c, h=size, w=size, r=taps, s=taps, stride=stride, padding=taps // 2)


def one_cache(size, ways=0, **other):
    """A machine with one cache, fully associative by default."""
    return replace(MACHINE, caches=(CacheLevel("L1", size, 64, ways, 1e9, **other),))


def moved(problem, text, machine, **options):
    return dict(traffic(parse(problem, text), machine, resident=False, **options)[0].moved)


def points_covered(nodes):
    """Points visited, counted over the nest."""
    total = 0
    for node in nodes:
        if isinstance(node, Register):
            total += prod(extent for _, extent in node.points)
        else:
            total += (node.trips if isinstance(node, Loop) else 1) * points_covered(node.body)
    return total


def check_scheme(scheme, lanes):
    """The scheme covers its problem exactly, in the form that the emitter reads."""
    problem = scheme.problem
    assert parse(problem, scheme.text) == scheme
    padded = {**problem.extents, problem.vector_dim: -(-problem.extents[problem.vector_dim] // lanes) * lanes}
    assert points_covered(lower(scheme)) == prod(padded.values())
    stages = [i for i, s in enumerate(scheme.specifiers) if isinstance(s, Stage)]
    assert [scheme.specifiers[i].tensor for i in stages] == [problem.output.name]
    inside = [s for s in scheme.specifiers[stages[0] :] if isinstance(s, Tile)]
    assert all(s.dim in problem.reductions for s in inside)
    assert all(s.trips > 1 for s in scheme.specifiers if isinstance(s, Tile))
    assert all(s.factor != 1 for s in scheme.specifiers if isinstance(s, Unroll))


# --- volumes -------------------------------------------------------------------------------------------------------


def test_footprints_of_the_check_value():
    # TTile's [V(F,16);U(F,2);U(Y,8);T(C,2);T(X,68)] in floats: y and x its X and Y, every pixel a line of its own.
    problem = layer("Y5")
    tile, floats = dict.fromkeys(problem.extents, 1), []
    for dim, points in (("k", 16), ("k", 32), ("w", 8), ("c", 2), ("h", 68)):
        tile[dim] = points
        floats.append(sum(footprint(problem, t, tile) // 4 for t in problem.tensors))
    assert floats == [48, 80, 416, 448, 26176]


def test_what_fits_moves_once():
    problem = matmul(m=8, n=32, k=16)
    text = "T(m,2) T(n,2) S(c) T(k,16) U(m,4) V(n,16)"
    assert moved(problem, text, one_cache(1 << 20)) == {"a": 8 * 16 * 4, "b": 16 * 32 * 4, "c": 2 * 8 * 32 * 4}


def test_a_warm_cache_that_holds_everything_moves_nothing():
    problem = matmul(m=8, n=32, k=16)
    scheme = parse(problem, "T(m,2) T(n,2) S(c) T(k,16) U(m,4) V(n,16)")
    assert traffic(scheme, one_cache(1 << 20))[0].total == 0


def test_saturation_by_hand():
    # Inside S: a 4 rows × 64 B·k/16, b 64 B a point of k. With k = 64: a 1 KiB, b 4 KiB, c 256 B. The cache of
    # 6 KiB holds one such body, not two panels of b: over m the panel of b stays, over n a tile of a does.
    problem = matmul(m=32, n=64, k=64)
    a, b, c = 32 * 64 * 4, 64 * 64 * 4, 32 * 64 * 4
    machine = one_cache(6 << 10)
    inner_m = moved(problem, "T(n,4) T(m,8) S(c) T(k,64) U(m,4) V(n,16)", machine)
    inner_n = moved(problem, "T(m,8) T(n,4) S(c) T(k,64) U(m,4) V(n,16)", machine)
    assert inner_m == {"a": 4 * a, "b": b, "c": 2 * c}
    assert inner_n == {"a": a, "b": 8 * b, "c": 2 * c}


def test_a_sliding_window_moves_its_new_rows_only():
    # One row of 16 channels is a line a pixel; the body touches 3 rows, the next h two of them again.
    problem = conv2d(k=16, c=16, h=34, w=10, r=3, s=3)
    text = "T(h,32) T(w,2) S(y) T(r,3) T(s,3) T(c,16) U(w,4) V(k,16)"
    fits_a_row = moved(problem, text, one_cache(16 << 10))
    assert fits_a_row["x"] == 34 * 10 * 64
    assert fits_a_row["w"] == 9 * 16 * 64


def test_branches_of_lambda_are_summed():
    # 11 = 2·4 + 1·3 rows; the panel of b does not survive a body, so each of the 3 visits brings all of it.
    problem = matmul(m=11, n=16, k=256)
    together = moved(problem, "L(m, 2x4 + 1x3) S(c) T(k,256) U(m,λ) V(n,16)", one_cache(4 << 10))
    assert together["b"] == 3 * 256 * 64
    assert together["a"] == 11 * 256 * 4
    assert together["c"] == 2 * 11 * 64


def test_output_summed_in_passes_counts_both_ways_each_pass():
    problem = matmul(m=64, n=64, k=64)
    machine = one_cache(8 << 10)
    once = moved(problem, "T(m,16) T(n,4) S(c) T(k,64) U(m,4) V(n,16)", machine)
    passes = moved(problem, "T(k,4) T(m,16) T(n,4) S(c) T(k,16) U(m,4) V(n,16)", machine)
    assert once["c"] == 2 * 64 * 64 * 4
    assert passes["c"] == 4 * once["c"]


def test_rows_a_page_apart_evict_each_other():
    # 1024 channels put pixels 4096 bytes apart: all in one set of a 48 KiB cache with 64 sets of 12 ways.
    problem = conv2d(k=16, c=1024, h=1, w=28, r=1, s=1)
    x = 28 * 1024 * 4
    few = moved(problem, "T(w,4) S(y) T(c,1024) U(w,7) V(k,16)", replace(MACHINE, caches=(L1,)))
    many = moved(problem, "T(w,2) S(y) T(c,1024) U(w,14) V(k,16)", replace(MACHINE, caches=(L1,)))
    assert few["x"] == x
    assert many["x"] == 16 * x  # every scalar brings its line
    spread = conv2d(k=16, c=1040, h=1, w=28, r=1, s=1)
    assert moved(spread, "T(w,2) S(y) T(c,1040) U(w,14) V(k,16)", replace(MACHINE, caches=(L1,)))["x"] == 28 * 1040 * 4


def test_occupancy_of_a_strided_tile():
    problem = conv2d(k=16, c=1024, h=1, w=28, r=1, s=1)
    extents = {**dict.fromkeys(problem.extents, 1), "w": 14}
    found = occupancy(problem, problem.broadcast, extents, geometries(MACHINE, 1))
    assert found.bytes == 14 * 64
    assert found.reached[0] == 14
    assert found.reached[2] == found.average[2]  # the third cache is hashed


def test_a_shared_cache_is_divided_among_threads():
    assert [g.bytes for g in geometries(MACHINE, 1)] == [48 << 10, 1 << 20, 32 << 20]
    assert [g.bytes for g in geometries(MACHINE, 2)] == [48 << 10, 1 << 20, 16 << 20]
    assert geometries(MACHINE, 64)[2].bytes == 16 << 20


def test_each_core_moves_its_share():
    problem = matmul(m=64, n=32, k=16)
    scheme = "T(m,4)@core T(m,4) T(n,2) S(c) T(k,16) U(m,4) V(n,16)"
    assert tasks(parse(problem, scheme)) == 4
    one, two, three = (moved(problem, scheme, one_cache(1 << 20), threads=n)["c"] for n in (1, 2, 3))
    assert one == 2 * two == 2 * three


SMALL = {
    "3x3": conv2d(k=64, c=24, h=8, w=8, r=3, s=3, padding=1),
    "strided": conv2d(k=48, c=32, h=11, w=11, r=3, s=3, stride=2, padding=1),
    "powers of two": conv2d(k=32, c=256, h=4, w=6, r=1, s=1),
    "matmul": matmul(m=24, n=64, k=48),
}


@pytest.mark.parametrize("ways", [0, 4])
@pytest.mark.parametrize("name", SMALL)
def test_volumes_against_a_simulated_cache(name, ways):
    # Some schemes sit on the edge of what fits, where the model is all or nothing; most are nearly exact.
    problem, level = SMALL[name], CacheLevel("L1", 4096, 64, ways, 1e9)
    machine = replace(MACHINE, caches=(level,))
    ratios = []
    for scheme in random_schemes(problem, machine, CATALOG, 12, seed=5):
        simulated = moved_bytes(scheme, level)
        ratios.append(traffic(scheme, machine, resident=False)[0].total / sum(simulated.values()))
    assert 0.9 < median(ratios) < 1.1
    assert sum(0.75 < ratio < 1.33 for ratio in ratios) >= 9
    assert all(1 / 3 < ratio < 3 for ratio in ratios)


# --- predictions ---------------------------------------------------------------------------------------------------


def test_microkernel_of_a_tile():
    problem = layer("R1")
    scheme = parse(problem, "T(h,112) T(w,8) T(k,2) S(y) T(r,7) U(c,3) U(s,7) U(w,14) U(k,2) V(k,16)")
    kernel = microkernel_of(problem, scheme.tiles[0], "avx512f")
    assert kernel == kernel_named("f32_conv2d_ukernel_14wx32kx3cx7s_s2__avx512f")


def test_parts_of_a_prediction():
    problem = layer("R3")
    scheme = parse(problem, "T(h,56) T(w,4) T(k,2) S(y) T(c,64) U(w,14) U(k,2) V(k,16)")
    found = predict(scheme, MACHINE, lambda kernel: 0.5)
    assert found.compute == pytest.approx(problem.flops / (0.5 * MACHINE.peak))
    assert found.seconds >= max(found.compute + found.overhead, *found.movement)
    assert found.seconds <= found.compute + found.overhead + sum(found.movement)
    assert sum(part.visits for part in found.parts) == 56 * 4 * 2
    assert found.bottleneck == "compute"


def test_a_faster_microkernel_a_second_core_and_fewer_passes_help():
    problem = layer("Y8")
    text = "T(h,68) T(k,8) L(w, 1x12 + 4x14) S(y) T(r,3) T(s,3) T(c,128) U(w,λ) U(k,2) V(k,16)"
    shared = text.replace("T(h,68)", "T(h,2)@core T(h,34)")
    cut = text.replace("T(h,68)", "T(c,8) T(h,68)").replace("T(c,128)", "T(c,16)")
    base = predict(parse(problem, text), MACHINE, estimate)
    assert predict(parse(problem, text), MACHINE, lambda kernel: estimate(kernel) / 2).seconds > 1.5 * base.seconds
    two = predict(parse(problem, shared), MACHINE, estimate, threads=2)
    assert 0.5 < two.seconds / base.seconds < 0.6
    assert two.imbalance == 1.0
    assert predict(parse(problem, cut), MACHINE, estimate).overhead > base.overhead


def test_an_uneven_share_costs_what_its_busiest_core_does():
    problem = layer("Y18")
    text = "T(h,17)@core T(k,64) S(y) T(r,3) T(s,3) T(c,512) U(w,17) V(k,16)"
    assert predict(parse(problem, text), MACHINE, estimate, threads=2).imbalance == pytest.approx(18 / 17)


# --- orders and sizes ----------------------------------------------------------------------------------------------


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
    blocks = (Block("h", 1, 34), Block("k", 32, 16), Block("w", 34, 1))
    inside = {**dict.fromkeys(problem.extents, 1), "c": 256, "r": 3, "s": 3}
    sizer = Sizer(problem, MACHINE, blocks, inside)
    assert sizer.tiled == 1
    for order in orders(problem, ("h", "k")):
        for chain in sizer.choose((order,)):
            assert len(chain) == 2 and chain[1] == (34, 16, 1)
            tile = {**inside, **{b.dim: b.points * n for b, n in zip(blocks, chain[0])}}
            assert all(b.count % n == 0 for b, n in zip(blocks, chain[0]))
            assert sum(footprint(problem, t, tile) for t in problem.tensors) <= 1.02 * ROOM * L2.bytes


def test_levels_of_sizes_follow_the_machine():
    problem = layer("Y12")
    blocks = (Block("h", 1, 34), Block("k", 32, 16))
    inside = {**dict.fromkeys(problem.extents, 1), "c": 256, "r": 3, "s": 3, "w": 34}
    for caches, tiled in (((L1,), 0), ((L1, L2), 1), ((L1, L2, replace(L3, bytes=2 << 20)), 2)):
        sizer = Sizer(problem, replace(MACHINE, caches=caches), blocks, inside)
        assert sizer.tiled == tiled
        (first, *_) = sizer.choose((("k", "h"),) * tiled)
        for inner, outer in zip(first, first[1:]):
            assert all(b % a == 0 for a, b in zip(inner, outer))


# --- candidates ----------------------------------------------------------------------------------------------------


class TwoTiles:
    """A catalog in which one tile was measured fast and everything else is slow."""

    fast = kernel_named("f32_conv2d_ukernel_8wx32k_s1__avx512f")

    def score(self, kernel):
        return 0.9 if self.is_measured(kernel) else 0.3

    def is_measured(self, kernel):
        return kernel == self.fast


@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_exact_candidates(name):
    problem = layer(name)
    found = candidates(problem, MACHINE, CATALOG)
    assert len(found) >= 5
    assert len({c.scheme.text for c in found}) == len(found)
    seconds = [c.prediction.seconds for c in found]
    assert seconds == pytest.approx(sorted(seconds), rel=1e-7)
    for candidate in found[:: max(1, len(found) // 20)]:
        check_scheme(candidate.scheme, 16)
    assert problem.flops / seconds[0] / MACHINE.peak > 0.45


@pytest.mark.parametrize("name", ["Y5", "Y18", "R1", "R12"])
def test_two_threads_share_the_work(name):
    found = candidates(layer(name), MACHINE, CATALOG, threads=2, limit=10)
    assert len(found) == 10
    for candidate in found:
        check_scheme(candidate.scheme, 16)
        assert tasks(candidate.scheme) > 1
        assert candidate.prediction.imbalance < 1.1


def test_candidates_are_the_same_every_time():
    first, second = (candidates(layer("R6"), MACHINE, CATALOG) for _ in range(2))
    assert [c.scheme.text for c in first] == [c.scheme.text for c in second]


def test_the_measured_tile_wins():
    best = candidates(layer("R2"), MACHINE, TwoTiles(), limit=1)[0]
    assert best.scheme.tiles == ({"n": 1, "k": 2, "c": 1, "h": 1, "w": 8, "r": 1, "s": 1},)


def test_small_channels_are_unrolled():
    best = candidates(layer("R1"), MACHINE, CATALOG, limit=1)[0]
    assert best.scheme.tiles[0]["c"] == 3
    assert best.scheme.tiles[0]["s"] == 7


def test_rows_that_evict_each_other_are_not_chosen():
    problem = conv2d(k=256, c=2048, h=14, w=14, r=3, s=3, padding=1)
    best = candidates(problem, MACHINE, CATALOG, limit=1)[0]
    assert all(part.kernel.row_count <= L1.ways for part in best.prediction.parts)


@pytest.mark.parametrize("isa, lanes, registers", [("avx2", 8, 16), ("portable", 4, 16)])
def test_other_instruction_sets(isa, lanes, registers):
    machine = replace(MACHINE, isa=isa, lanes=lanes, registers=registers)
    found = candidates(layer("R9"), machine, Catalog("test", isa, "conv2d"), limit=5)
    for candidate in found:
        check_scheme(candidate.scheme, lanes)
        assert all(part.kernel.registers <= registers for part in candidate.prediction.parts)


def test_a_matrix_product_has_candidates():
    problem = matmul(m=100, n=200, k=300)
    found = candidates(problem, MACHINE, Catalog("test", "avx512f", "matmul"), limit=5)
    for candidate in found:
        check_scheme(candidate.scheme, 16)


def test_a_depthwise_convolution_has_candidates():
    for threads in (1, 2):
        for candidate in candidates(DEPTHWISE, MACHINE, Catalog("test", "avx512f", "depthwise2d"), threads):
            check_scheme(candidate.scheme, 16)
    best = candidates(DEPTHWISE, MACHINE, Catalog("test", "avx512f", "depthwise2d"), limit=1)[0].scheme
    # Weights of a step in registers, x shared by neighbouring rows: what needs fewest loads.
    assert best.tiles[0]["s"] == 3 and best.tiles[0]["w"] > 1


def test_core_splits_balance():
    problem = layer("Y18")
    tile = register_tiles(problem, Predictor(problem, MACHINE, estimate, 2), 1)[0]
    assert core_splits(problem, tile, 1) == ((),)
    for split in core_splits(problem, tile, 2):
        count = prod(n for _, n in split)
        assert -(-count // 2) / count < 0.55


def test_the_shortlist_begins_with_different_bodies():
    found = candidates(layer("R2"), MACHINE, CATALOG)
    short = shortlist(found, 8)
    assert short[0] == found[0]
    assert len({c.scheme.text.split("S(y)")[1] + str(c.scheme.branches) for c in short}) == 8
    assert len(shortlist(found, 10**6)) == len(found)


SOME = st.integers(1, 9)


@st.composite
def problems(draw):
    taps_h, taps_w = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    dilation = draw(st.integers(1, 2))
    reach = (max(taps_h, taps_w) - 1) * dilation + 1
    groups = draw(st.sampled_from([1, 1, 1, 2, 7]))
    c, k = draw(st.sampled_from([1, 2, 3, 5, 16, 31, 64])), draw(st.sampled_from([1, 7, 16, 17, 48, 127, 300]))
    if draw(st.integers(0, 3)) == 0:
        groups, c, k = k, 1, 1  # depthwise
    return conv2d(
        n=draw(st.integers(1, 5)),
        c=c * groups,
        k=k * groups,
        h=reach + draw(st.integers(0, 23)),
        w=reach + draw(st.integers(0, 23)),
        r=taps_h,
        s=taps_w,
        stride=draw(st.integers(1, 3)),
        padding=draw(st.integers(0, 1)) if reach > 1 else 0,
        dilation=dilation,
        groups=groups,
    )


@settings(max_examples=25, deadline=None)
@given(problems(), st.integers(1, 3), st.sampled_from([("avx512f", 16, 32), ("avx2", 8, 16), ("portable", 4, 16)]))
def test_any_problem_has_a_candidate(problem, threads, target):
    isa, lanes, registers = target
    machine = replace(MACHINE, isa=isa, lanes=lanes, registers=registers)
    found = candidates(problem, machine, Catalog("test", isa, problem.op), threads, limit=3)
    assert found
    for candidate in found:
        check_scheme(candidate.scheme, lanes)


@settings(max_examples=25, deadline=None)
@given(problems(), st.integers(0, 99))
def test_random_schemes_are_valid(problem, seed):
    found = random_schemes(problem, MACHINE, CATALOG, 5, seed)
    assert found
    assert found == random_schemes(problem, MACHINE, CATALOG, 5, seed)
    predictor = Predictor(problem, MACHINE, estimate)
    for scheme in found:
        check_scheme(scheme, 16)
        assert predictor.predict(scheme).seconds > 0


def test_random_schemes_are_of_all_kinds():
    texts = [scheme.text for scheme in random_schemes(layer("R6"), MACHINE, CATALOG, 60, seed=1)]
    assert len(texts) == 60
    outside = [text.split("S(y)")[0] for text in texts]
    assert any("T(c," in text for text in outside)
    assert any("L(w" in text for text in outside) and any("L(k" in text for text in outside)
    assert any("U(s," in text or "U(r," in text for text in texts)


def test_an_explanation_names_the_parts():
    found = candidates(layer("Y12"), MACHINE, CATALOG, limit=4)
    text = explain(found[0], found[1:], MACHINE)
    lines = text.splitlines()
    assert "memory→L3" in lines[0] and "overhead" in lines[0]
    assert lines[1].split()[0] == "chosen"
    assert all(candidate.scheme.text in text for candidate in found)
    assert lines[-1].endswith(".") and "registers" in lines[-1]
