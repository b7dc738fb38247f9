"""The traced kernel against an independent simulator, and `perf stat`'s lines read from a made-up perf."""

from __future__ import annotations

import stat
from statistics import median

import pytest

import bench.studies.accuracy.counters as counters
from bench.studies.accuracy.traffic import Moved, compare, simulate, traced
from cpu.codegen.emit import emit
from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from search.space.sample import random_schemes
from tests.support.search.cache_simulator import moved_bytes
from tiling.machine import CacheLevel, Machine
from tiling.operators import conv2d, matmul
from tiling.rewrite.pointwise import pointwise2d
from tiling.scheme.specifiers import Stage
from tiling.text.notation import parse

SMALL = [
    conv2d(c=8, h=10, w=9, k=32, r=3, s=3),
    conv2d(c=5, h=11, w=11, k=48, r=3, s=3, stride=2),
    matmul(m=20, n=32, k=24),
    pointwise2d(conv2d(c=24, h=6, w=8, k=20, r=1, s=1, layout="nchw")),
]


def machine(*caches: CacheLevel) -> Machine:
    return Machine("test", "avx512f", 16, 32, 268e9, 2, caches, 25e9, 12e9, 20e9)


@pytest.mark.slow
@pytest.mark.exhaustive(problem=lambda problem: {problem.op, problem.layout})
@pytest.mark.parametrize("problem", SMALL, ids=str)
def test_a_traced_kernel_moves_what_the_nest_moves(problem):
    # The other simulator walks the nest and starts cold, so the cache is one that keeps little between two calls; it is
    # fully associative, for the arrays start in other sets there. No padding: the kernel leaves its taps' weights out.
    one = machine(CacheLevel("L1", 2048, 64, 0, 1e9))
    ratios = []
    found = random_schemes(problem, one, Catalog("test", "avx512f", problem.op), 12, seed=3)
    # The other simulator knows no panels.
    for scheme in [scheme for scheme in found if Stage("x") not in scheme.specifiers][:6]:
        (moved,) = simulate(scheme, one, AVX512F)
        ratios.append(moved / sum(moved_bytes(scheme, one.caches[0]).values()))
    # Within a step the two read in another order: that shows where a step is just as large as the cache.
    assert median(ratios) == pytest.approx(1, rel=0.05)
    assert all(0.7 < ratio < 1.4 for ratio in ratios)


def test_a_panel_is_read_and_written_once_a_line():
    """Two rows of tiles read 24 channels of 48 pixels: 72 lines, where a cache of nothing is asked for each again."""
    problem, everything = SMALL[3], machine(CacheLevel("L1", 64, 64, 1, 1e9))
    text = "{} T(k,2) S(y) T(c,24) U(k,10) U(w,3) V(w,16)"
    plain, staged = (simulate(parse(problem, text.format(s)), everything, AVX512F)[0] for s in ("", "S(x)"))
    assert staged - plain == 72 * 64  # stored once more, then read in place of x


def test_a_cache_that_holds_everything_moves_nothing_once_warm():
    problem = SMALL[0]
    scheme = parse(problem, "T(h,8) T(k,2) S(y) T(c,8) T(r,3) T(s,3) U(w,7) V(k,16)")
    small, large = compare(
        scheme, machine(CacheLevel("L1", 2048, 64, 8, 1e9), CacheLevel("L2", 1 << 20, 64, 16, 1e9)), AVX512F
    )
    assert small.level == "L1" and small.observed > small.compulsory and not small.counted
    assert large.observed == 0 and large.predicted == 0 and large.ratio == 1


@pytest.mark.parametrize("isa, vectors", [(PORTABLE, "U(k,2) V(k,4)"), (AVX2, "V(k,8)"), (AVX512F, "V(k,16)")])
def test_a_masked_tail_is_traced_too(isa, vectors):
    problem = conv2d(c=3, h=4, w=4, k=7, r=1, s=1)
    scheme = parse(problem, f"T(h,4) S(y) T(c,3) U(w,4) {vectors}")
    everything = machine(CacheLevel("L1", 64, 64, 1, 1e9))
    assert simulate(scheme, everything, isa)[0] > 0
    assert "TAIL" in emit(scheme, traced(isa)).text


def test_a_tile_that_takes_all_registers_computes_nothing_either():
    problem = conv2d(c=8, h=4, w=12, k=16, r=3, s=3, padding=1)
    scheme = parse(problem, "R(n) T(h,4) T(w,2) R(k) S(y) T(r,3) T(c,8) U(s,3) U(w,6) U(k,2) V(k,8)")
    assert "FMA_IN_PLACE" in emit(scheme, AVX2).text
    assert "vfmadd" not in emit(scheme, traced(AVX2)).text


def test_the_ratio_forgives_what_takes_no_time():
    assert Moved("L1", 200, 100, False, 1000).ratio == 2
    assert Moved("L1", 0, 5, False, 1000).ratio == 1
    assert Moved("L1", 0, 20, False, 1000).ratio == 0.5


@pytest.fixture
def perf(tmp_path, monkeypatch):
    """Puts a made-up perf first on PATH that prints `lines` and runs nothing; as many lines a call as given."""

    def install(*calls: str):
        program = tmp_path / "perf"
        for number, lines in enumerate(calls):
            (tmp_path / f"said{number}").write_text(lines)
        program.write_text(
            f"#!/bin/sh\nn=$(cat {tmp_path}/n 2>/dev/null || echo 0)\ncat {tmp_path}/said$n >&2\necho $((n+1)) > "
            f"{tmp_path}/n\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    counters.available.cache_clear()
    yield install
    counters.available.cache_clear()


CACHES = machine(CacheLevel("L1", 1024, 64, 4, 1e9), CacheLevel("L2", 8192, 64, 4, 1e9))


def test_counters_count_the_difference_of_two_runs(perf):
    first = "5,,L1-dcache-load-misses:u,100,100.00,,\n<not supported>,,LLC-load-misses:u,0,100.00,,\n"
    perf(first, "1000,,L1-dcache-load-misses:u,1,1,,\n", "3000,,L1-dcache-load-misses:u,1,1,,\n")
    assert counters.counted({}, CACHES) == {"L1": 2000 * 64 // counters.CALLS}


def test_without_counters_nothing_is_counted(perf):
    perf("<not supported>,,L1-dcache-load-misses:u,0,100.00,,\n<not counted>,,LLC-load-misses:u,0,,,\n")
    assert counters.counted({}, CACHES) == {}


def test_without_perf_nothing_is_counted(tmp_path, monkeypatch):
    counters.available.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert counters.counted({}, CACHES) == {}
    counters.available.cache_clear()
