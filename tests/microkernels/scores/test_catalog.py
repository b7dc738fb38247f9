"""What is remembered of a ranking, and the score of any tile."""

from dataclasses import replace

import pytest

from cpu.codegen.emit import emit
from microkernels.scores.catalog import Catalog, Entry, Failure
from microkernels.scores.records import load, measured, record, revision, settle, start_over
from microkernels.tile.benchmark import benchmark_scheme
from microkernels.tile.estimate import estimate, exchanges_per_step, loads_per_step, moving
from microkernels.tile.isa import ISAS
from microkernels.tile.microkernel import Microkernel
from microkernels.tile.space import space
from tests.support.microkernels.cases import L1, SPACES, TILE, timing_at
from tiling.operators import matmul
from tiling.text import notation


def test_a_catalog_holds_what_was_recorded(data_folder):
    slow = replace(TILE, vectors=1)
    record("here", Entry(slow, 0.5, timing_at(slow, 0.5)))
    record("here", Entry(TILE, 0.9, timing_at(TILE, 0.9)))
    record("here", Failure(replace(TILE, stride=2), "crashed with SIGSEGV"))
    record("elsewhere", Entry(TILE, 0.1, timing_at(TILE, 0.1)))
    catalog = load("here", "avx2")
    assert [entry.kernel for entry in catalog.entries] == [TILE, slow]
    assert catalog.best == Entry(TILE, 0.9, timing_at(TILE, 0.9))
    assert [failure.reason for failure in catalog.failures] == ["crashed with SIGSEGV"]
    assert load("here", "avx512f").entries == ()
    assert load("here", "avx2", "matmul").entries == catalog.entries


def test_another_emitter_begins_a_new_ranking(data_folder, monkeypatch):
    record("here", Entry(TILE, 0.9, timing_at(TILE, 0.9)))
    monkeypatch.setattr("microkernels.scores.records.EMITTER_VERSION", -1)
    assert load("here", "avx2").best is None
    assert not measured("here")
    assert revision("here", "avx2", "conv2d") == "0"


def test_an_outcome_is_settled_once_its_ranking_is_done_with_it(data_folder):
    record("here", Entry(TILE, 0.9, timing_at(TILE, 0.9)))
    assert not measured("here")
    settle("here", [TILE])
    assert measured("here") == {TILE.name}
    start_over("here", [TILE])
    assert not measured("here") and load("here", "avx2").best.score == 0.9


def test_a_failure_takes_no_score_s_place(data_folder):
    record("here", Failure(TILE, "crashed with SIGSEGV"))
    record("here", Failure(TILE, "no answer within 60 s: killed"))
    assert load("here", "avx2").failures == (Failure(TILE, "no answer within 60 s: killed"),)
    known = Entry(TILE, 0.9, timing_at(TILE, 0.9))
    record("here", known)
    record("here", Failure(TILE, "crashed with SIGSEGV"))
    assert (load("here", "avx2").entries, load("here", "avx2").failures) == ((known,), ())
    record("elsewhere", Failure(TILE, "crashed with SIGSEGV"))
    assert len(load("elsewhere", "avx2").failures) == 1


def test_the_revision_changes_with_the_ranking_and_with_nothing_else(data_folder):
    def now():
        return revision("here", "avx2", "conv2d")

    assert now() == "0"
    seen = {now()}
    slow = replace(TILE, vectors=1)
    known = Entry(TILE, 0.9, timing_at(TILE, 0.9))
    for outcome in (known, Failure(slow, "crashed"), Entry(slow, 0.5, timing_at(slow, 0.5)), known, known):
        record("here", outcome)
        assert now() not in seen
        seen.add(now())
    last = now()
    start_over("here", [TILE])
    settle("here", [TILE])
    record("elsewhere", known)
    record("here", Failure(TILE, "crashed"))
    record("here", Failure(replace(TILE, isa="portable"), "crashed"))
    record("here", Failure(Microkernel("matmul", "avx2", (("m", 6),), 2), "crashed"))
    assert now() == last


def test_every_tile_has_a_score():
    known = Entry(TILE, 0.8, timing_at(TILE, 0.8))
    failed = Failure(replace(TILE, vectors=1), "wrong result")
    catalog = Catalog("here", "avx2", "conv2d", (known,), (failed,))
    assert catalog.score(TILE) == 0.8
    assert catalog.score(replace(TILE, stride=2)) == 0.8
    assert catalog.score(failed.kernel) == 0
    other = Microkernel("conv2d", "avx2", (("w", 5),), 2)
    assert catalog.score(other) == estimate(other) * 0.8
    assert Catalog("here", "avx2", "conv2d").score(other) == estimate(other)


def test_a_matmul_tile_has_the_score_of_the_equal_convolution():
    known = Entry(TILE, 0.8, timing_at(TILE, 0.8))
    catalog = Catalog("here", "avx2", "conv2d", (known,))
    product = Microkernel("matmul", "avx2", (("m", 6),), 2)
    assert product.measured_as == TILE and TILE.measured_as == TILE
    assert catalog.score(product) == 0.8 and catalog.is_measured(product)
    unrolled = replace(product, unrolled=(("k", 4),))
    assert unrolled.measured_as == replace(TILE, unrolled=(("c", 4),))
    assert catalog.score(unrolled) == 0.8 and not catalog.is_measured(unrolled)
    pixels = Microkernel("pointwise2d", "avx2", (("k", 6),), 2)
    assert pixels.measured_as == TILE and catalog.score(pixels) == 0.8 and catalog.is_measured(pixels)


def test_a_tile_that_was_not_measured_has_the_score_of_a_row_that_loads_as_much():
    plain, taps = Entry(TILE, 0.8, timing_at(TILE, 0.8)), replace(TILE, unrolled=(("s", 3),))
    catalog = Catalog("here", "avx2", "conv2d", (plain,))
    block = replace(TILE, rows=(("h", 2), ("w", 3)))
    assert catalog.score(block) == catalog.score(replace(block, stride=2)) == catalog.score(taps) == 0.8
    assert not catalog.is_measured(block)
    both = Catalog("here", "avx2", "conv2d", (Entry(taps, 0.9, timing_at(taps, 0.9)), plain))
    assert both.score(replace(block, unrolled=(("s", 3),))) == 0.9 and both.score(block) == 0.8
    assert both.score(replace(block, unrolled=(("r", 3),))) == 0.8
    assert Catalog("here", "avx2", "conv2d", (plain,), (Failure(block, "crashed"),)).score(block) == 0
    # The rows of a depthwise tile share what they read of x.
    deep = Microkernel("depthwise2d", "avx2", (("w", 6),), 1, (("s", 3),))
    lanewise = Catalog("here", "avx2", "depthwise2d", (Entry(deep, 0.5, timing_at(deep, 0.5)),))
    square = replace(deep, rows=(("h", 2), ("w", 3)))
    assert lanewise.score(square) == estimate(square) * 0.5 / estimate(deep)


@pytest.mark.parametrize("isa", ISAS)
def test_equal_tiles_are_emitted_alike(isa):
    """What a matmul tile's score rests on: its inner loop is the convolution's, but for the names of the dims."""
    row = ISAS[isa]
    problem = matmul(m=6, n=2 * row.lanes, k=64)
    product = emit(notation.parse(problem, f"S(c) T(k,64) U(m,6) U(n,2) V(n,{row.lanes})"), row)
    tile = Microkernel("matmul", isa, (("m", 6),), 2)
    convolution = emit(benchmark_scheme(tile.measured_as, L1), row)

    def steps(source):
        return [line.strip() for line in source.text.splitlines() if "acc_" in line and "x_" in line]

    renamed = [line.replace("X_m", "X_w").replace("x_k", "x_c") for line in steps(product)]
    assert renamed == steps(convolution) and len(renamed) == 6


def test_the_estimate_follows_latency_loads_and_registers():
    def tile(w, vectors, unrolled=(), isa="avx512f"):
        return Microkernel("conv2d", isa, (("w", w),) if w > 1 else (), vectors, unrolled)

    assert estimate(tile(1, 1)) == 1 / 8
    assert estimate(tile(4, 1)) == 4 / 8
    assert estimate(tile(12, 2)) == 1
    assert estimate(tile(12, 1)) == 12 / 13  # 12 x and one weight vector
    assert estimate(tile(12, 1, (("s", 3),))) == 1  # of 36 x only 14 differ
    assert estimate(tile(15, 2)) == 30 / 32  # no register left for x: each FMA reads its own
    assert loads_per_step(tile(12, 2)) == 14
    assert loads_per_step(tile(12, 1, (("s", 3),))) == 3 + 14
    assert loads_per_step(tile(8, 3, (("s", 3),))) == 9 + 24  # no room for all taps' weights: no x is shared
    assert loads_per_step(tile(15, 2)) == 32
    assert estimate(tile(16, 2)) < 0.5  # a row too many
    assert all(0 < estimate(kernel) <= 1 for isa, op in SPACES for kernel in space(isa, op))
    depthwise = Microkernel("depthwise2d", "avx512f", (("h", 2), ("w", 7)), 1, (("r", 3), ("s", 3)))
    assert loads_per_step(depthwise) == 9 + 4 * 9  # the weights of all taps, and the x of 4 × 9 pixels
    assert loads_per_step(replace(depthwise, rows=(("w", 5),), vectors=2)) == 2 * (9 + 3 * 7)  # an x for each vector
    assert loads_per_step(replace(depthwise, rows=(("w", 28),))) == 9 + 28 * 9  # no room for nine weights
    grouped = Microkernel("grouped2d", "avx512f", (("w", 14),), 1, (("s", 3), ("c", 4)))
    assert (
        loads_per_step(grouped) == 12 + 16 and exchanges_per_step(grouped) == 16 * 3
    )  # of each x all but the lane's own
    assert estimate(grouped) == 168 / (168 + 48)
    assert (
        loads_per_step(replace(grouped, rows=(("w", 20),))) == 12 + 2 * 22
    )  # weights of 3 exchanges, then of the last one
    assert loads_per_step(replace(grouped, rows=(("w", 27),))) == 12 + 4 * 3 * 27  # no room for any: point by point
    assert exchanges_per_step(replace(grouped, rows=(("w", 27),))) == 3 * 3 * 27 and exchanges_per_step(depthwise) == 0


def test_loads_that_move_narrow_numbers_take_from_a_score():
    """A tile with room for its weights loads each x once, one without for every FMA: for f32 both are as fast."""
    few = Microkernel("depthwise2d", "avx512bf16", (("h", 2), ("w", 7)), 1, (("r", 3), ("s", 3)))
    many = replace(few, rows=(("h", 2), ("w", 14)))
    assert moving(few) == 126 / (126 + 36 / 2) and moving(many) == 252 / (252 + 252 / 2)
    assert moving(few.measured_as) == moving(TILE) == 1
    pair = Microkernel("grouped2d", "avx512vnni", (("w", 14),), 1, (("s", 3), ("c", 2)))
    assert moving(pair) == 84 / (84 + 16 / 2)
    kernels = [few.measured_as, many.measured_as]
    entries = tuple(Entry(kernel, 0.9, timing_at(kernel, 0.9)) for kernel in kernels)
    catalog = Catalog("here", "avx512f", "depthwise2d", entries)
    assert [catalog.score(kernel) for kernel in (*kernels, few, many)] == [0.9, 0.9, 0.9 * moving(few), 0.9 * 2 / 3]
    assert catalog.is_measured(many)
