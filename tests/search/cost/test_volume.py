"""Bytes into each cache: by hand, and against a simulated cache."""

from dataclasses import replace
from statistics import median

import pytest

from search.cost.cache_conflicts import USABLE, USABLE_SHARED, cache_conflicts, geometries
from search.cost.volume import EVERYTHING, NOTHING, WEIGHTS, Volumes, tasks, traffic
from search.space.sample import random_schemes
from tests.support.search.cache_simulator import moved_bytes
from tests.support.search.model_cases import CATALOG, L1, L2, L3, MACHINE, layer
from tiling.arrays.footprint import footprint, read_share
from tiling.machine import CacheLevel
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse


def one_cache(size, ways=0, **other):
    """A machine with one cache, fully associative by default."""
    return replace(MACHINE, caches=(CacheLevel("L1", size, 64, ways, 1e9, **other),))


def moved(problem, text, machine, **options):
    return dict(traffic(parse(problem, text), machine, cold=EVERYTHING, **options)[0].moved)


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


def test_what_falls_on_padding_is_not_read():
    """The first of 7 rows under 3 taps has no tap above it, and the last none below: 19 of 21 are read."""
    problem = conv2d(k=16, c=16, h=7, w=7, r=3, s=3, padding=1)
    one = dict.fromkeys(problem.extents, 1)
    row = {**one, "w": 7, "s": 3}
    x, w = problem.broadcast, problem.vector
    assert read_share(problem, w, row) == pytest.approx(19 / 21)
    assert read_share(problem, x, row) == pytest.approx(19 / 21)  # a row of 7 pixels with both ends on padding is 7
    assert read_share(problem, x, {**one, "r": 3, "s": 3}) == pytest.approx((19 / 21) ** 2)
    assert read_share(problem, w, {**row, "h": 2}) == pytest.approx(11 / 12)  # blocks of 2, 2, 2 and 1 rows
    assert read_share(problem, w, {**row, "h": 7}) == read_share(problem, x, {**row, "h": 7, "r": 3}) == 1
    assert read_share(problem, problem.output, row) == 1
    unpadded = conv2d(k=16, c=16, h=9, w=9, r=3, s=3)
    assert read_share(unpadded, unpadded.vector, one) == read_share(unpadded, unpadded.broadcast, one) == 1


def test_weights_that_meet_only_padding_stay_where_they_are():
    """The panel of weights does not stay in the cache: each row of y brings it, the first and last without a tap."""
    problem = conv2d(k=16, c=64, h=7, w=7, r=3, s=3, padding=1)
    found = moved(problem, "T(h,7) S(y) T(r,3) T(s,3) T(c,64) U(w,7) V(k,16)", one_cache(16 << 10))
    assert found["w"] == 19 * 3 * 64 * 64


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


def test_cache_conflicts_of_a_strided_tile():
    problem = conv2d(k=16, c=1024, h=1, w=28, r=1, s=1)
    extents = {**dict.fromkeys(problem.extents, 1), "w": 14}
    found = cache_conflicts(problem, problem.broadcast, extents, geometries(MACHINE, 1))
    assert found.bytes == 14 * 64
    assert found.reached[0] == 14
    assert found.reached[2] == found.average[2]  # the third cache is hashed


def test_a_shared_cache_is_divided_among_threads():
    sizes = [L1.bytes, USABLE * L2.bytes, USABLE_SHARED * L3.bytes]
    assert [g.bytes for g in geometries(MACHINE, 1)] == pytest.approx(sizes)
    assert [g.bytes for g in geometries(MACHINE, 2)] == pytest.approx([*sizes[:2], sizes[2] / 2])
    assert geometries(MACHINE, 64)[2].bytes == pytest.approx(sizes[2] / 2)


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


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("ways", [0, 4])
@pytest.mark.parametrize("name", SMALL)
def test_volumes_against_a_simulated_cache(name, ways):
    # Some schemes sit on the edge of what fits, where the model is all or nothing; most are nearly exact.
    problem, level = SMALL[name], CacheLevel("L1", 4096, 64, ways, 1e9)
    machine = replace(MACHINE, caches=(level,))
    ratios = []
    for scheme in random_schemes(problem, machine, CATALOG, 12, seed=5):
        simulated = moved_bytes(scheme, level)
        ratios.append(traffic(scheme, machine, cold=EVERYTHING)[0].total / sum(simulated.values()))
    assert 0.9 < median(ratios) < 1.1
    assert sum(0.75 < ratio < 1.33 for ratio in ratios) >= 9
    assert all(1 / 3 < ratio < 3 for ratio in ratios)


def test_a_depthwise_tile_one_vector_wide_brings_the_neighbours_of_its_lines():
    """Channels in the outer loop move x and y twice where the cache does not hold them, in the inner one once."""
    problem = conv2d(c=32, k=32, groups=32, h=28, w=28, r=1, s=1)
    body = "S(y) U(w,7) V(c,16)"
    outside = moved(problem, f"T(c,2) T(h,28) T(w,4) {body}", one_cache(16 << 10))
    inside = moved(problem, f"T(h,28) T(w,4) T(c,2) {body}", one_cache(16 << 10))
    assert inside["x"] == 4 * 28 * 28 * 32 and outside["x"] == 2 * inside["x"]
    assert outside["y"] == 2 * inside["y"] and outside["w"] == inside["w"]


def test_weights_that_do_not_stay_come_from_memory_and_nothing_else_does():
    scheme = parse(layer("R12"), "T(k,16) T(h,7) S(y) T(r,3) T(s,3) T(c,512) U(w,7) U(k,2) V(k,16)")
    stays, cold = (Volumes(scheme.problem, MACHINE, cold=cold).traffic(scheme)[-1].moved for cold in (NOTHING, WEIGHTS))
    assert all(amount == 0 for _, amount in stays)
    assert dict(cold) == {"x": 0, "w": 4 * 512 * 512 * 9, "y": 0}
