"""Candidates: exact, balanced, repeatable, for every problem; random schemes; the explanation."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microkernels.scores.catalog import Catalog
from microkernels.tile.estimate import estimate
from microkernels.tile.microkernel import parse as kernel_named
from search.cost.additions import after_addition
from search.cost.predict import Predictor
from search.cost.volume import tasks
from search.space.explain import explain
from search.space.parts import part_counts
from search.space.plan import core_splits, plans
from search.space.registers import Covering, coverings
from search.space.sample import random_schemes
from search.space.space import ALIKE, NEAR_TIES, Candidate, candidates, in_order, shortlist
from search.tuner.tune import tune
from tests.support.sampled import examples
from tests.support.search.model_cases import CATALOG, DEPTHWISE, L1, LAYERS, MACHINE, check_scheme, layer
from tiling.machine import Timing
from tiling.operators import conv2d, matmul
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.parts import in_parts, scheme_from_parts, scheme_in_parts, shared_sum
from tiling.scheme.compose import Composition
from tiling.scheme.specifiers import Lambda, Tile
from tiling.text.notation import parse


class TwoTiles:
    """A catalog in which one tile was measured fast and everything else is slow."""

    fast = kernel_named("f32_conv2d_ukernel_8wx32k_s1__avx512f")

    def score(self, kernel):
        return 0.9 if self.is_measured(kernel) else 0.3

    def is_measured(self, kernel):
        return kernel == self.fast


@pytest.mark.exhaustive(name=lambda name: LAYERS[name][3:])
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


@pytest.mark.parametrize("waits, slower, first", [(True, 1.009, "w"), (True, 1.011, "h"), (False, 1.009, "h")])
def test_of_what_waits_for_memory_neighbours_go_first_within_a_percent(waits, slower, first):
    """Whether the fastest waits decides, not each candidate for itself."""
    problem = conv2d(c=16, h=28, w=28, k=32, r=1, s=1)
    inner_h, inner_w = (
        parse(problem, f"T({a},14) T({b},14) S(y) T(c,16) U(h,2) U(w,2) U(k,2) V(k,16)") for a, b in ("wh", "hw")
    )
    base = candidates(problem, MACHINE, CATALOG)[0].prediction
    still = replace(base, compute=2.0, overhead=0.0, movement=(1.0,) * len(base.movement))
    moving = replace(still, compute=0.5)
    fastest = Candidate(inner_h, replace(moving if waits else still, seconds=1.0))
    for other in (still, moving):
        found = in_order([fastest, Candidate(inner_w, replace(other, seconds=slower))])
        assert [c.scheme for c in found] == ([inner_w, inner_h] if first == "w" else [inner_h, inner_w])


def test_of_what_waits_for_memory_tiles_of_fewer_loops_go_first():
    """Whatever their texts, of which one with loops over taps is no longer than one with unrolled taps."""
    problem = conv2d(c=96, k=96, groups=96, h=28, w=28, r=3, s=3, padding=1)
    base = candidates(problem, MACHINE, CATALOG)[0].prediction
    waiting = replace(base, compute=0.5, overhead=0.0, movement=(1.0,) * len(base.movement))
    found = [
        Candidate(
            parse(problem, f"T(h,14) T(w,4) T(c,6) S(y) {taps} U(h,2) U(w,7) V(c,16)"), replace(waiting, seconds=s)
        )
        for taps, s in (("T(r,3) T(s,3)", 1.0), ("T(r,3) U(s,3)", 1.004), ("U(r,3) U(s,3)", 1.008))
    ]
    assert in_order(found) == found[::-1]


def test_pixels_of_a_depthwise_convolution_are_read_whole_and_row_by_row():
    """With an x that no L2 holds, so that each part of their channels would be a sweep through all of it."""
    first = candidates(conv2d(c=96, k=96, groups=96, h=112, w=112, r=3, s=3, stride=2, padding=1), MACHINE, CATALOG)[0]
    loops = [s.dim for s in first.scheme.specifiers[: first.scheme.accumulators_at]]
    assert list(dict.fromkeys(loops)) == ["h", "w", "c"] and loops == sorted(loops, key="hwc".index)


@pytest.mark.parametrize("name", ["Y5", "Y18", "R1", "R12"])
def test_two_threads_share_the_work(name):
    found = candidates(layer(name), MACHINE, CATALOG, threads=2, limit=10)
    assert len(found) == 10
    for candidate in found:
        check_scheme(candidate.scheme, 16)
        assert tasks(candidate.scheme) > 1
        assert candidate.prediction.imbalance < 1.1


def test_channels_first_neighbours_are_innermost_where_the_model_sees_no_difference():
    first = candidates(conv2d(c=32, h=136, w=136, k=64, r=3, s=3, padding=1, layout="nchw"), MACHINE, CATALOG)
    best = first[0].prediction.seconds
    alike = [c for c in first if float(f"{c.prediction.seconds:.2e}") == float(f"{best:.2e}")]
    loops = [s.dim for s in first[0].scheme.specifiers if isinstance(s, (Tile, Lambda)) and s.dim in "hwk"]
    assert loops[-1] == "w" and len(alike) > 1


@pytest.mark.slow
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


@pytest.mark.slow
def test_rows_that_evict_each_other_are_not_chosen():
    problem = conv2d(k=256, c=2048, h=14, w=14, r=3, s=3, padding=1)
    best = candidates(problem, MACHINE, CATALOG, limit=1)[0]
    assert all(part.kernel.row_count <= L1.ways for part in best.prediction.parts)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_depthwise_convolution_has_candidates():
    for threads in (1, 2):
        for candidate in candidates(DEPTHWISE, MACHINE, Catalog("test", "avx512f", "depthwise2d"), threads):
            check_scheme(candidate.scheme, 16)
    best = candidates(DEPTHWISE, MACHINE, Catalog("test", "avx512f", "depthwise2d"), limit=1)[0].scheme
    # Weights of a step in registers, x shared by neighbouring rows: what needs fewest loads.
    assert best.tiles[0]["s"] == 3 and best.tiles[0]["w"] > 1


GROUPED = grouped2d(conv2d(c=128, h=28, w=28, k=128, r=3, s=3, padding=1, groups=32))


@pytest.mark.slow
def test_groups_side_by_side_have_candidates():
    for threads in (1, 2):
        for candidate in candidates(GROUPED, MACHINE, Catalog("test", "avx512f", "grouped2d"), threads):
            check_scheme(candidate.scheme, 16)
            assert all(tile["c"] == 4 for tile in candidate.scheme.tiles)
    best = candidates(GROUPED, MACHINE, Catalog("test", "avx512f", "grouped2d"), limit=1)[0].scheme
    assert best.tiles[0]["s"] == 3 and best.tiles[0]["w"] > 1  # each exchanged x serves three taps


def test_core_splits_balance():
    problem = layer("Y18")
    covering = coverings(problem, Predictor(problem, MACHINE, estimate, 2), 1)[0]
    assert core_splits(problem, covering, 1) == ((),)
    for split in core_splits(problem, covering, 2):
        count = prod(n for _, n in split)
        assert -(-count // 2) / count < 0.55


def test_a_slow_tile_beside_fast_ones_covers_a_dim_that_none_covers_alone():
    """125 vectors of outputs: tiles of one vector cover them alone, and have a load for each multiplication."""
    problem = conv2d(c=512, h=13, w=13, k=1000, r=1, s=1)
    machine = replace(MACHINE, isa="avx2", lanes=8, registers=16)
    best = candidates(problem, machine, Catalog("test", "avx2", "conv2d"), limit=1)[0].scheme
    assert max(tile["k"] for tile in best.tiles) >= 2


def test_cores_can_share_covers_of_the_best_tiles():
    """125 vectors of outputs are 41 times 3 and 2, which cores cannot share, and 25 times 2 and 3."""
    problem = conv2d(c=512, h=13, w=13, k=1000, r=1, s=1)
    machine = replace(MACHINE, isa="avx2", lanes=8, registers=16)

    def score(kernel):
        return 0.5 if kernel.vectors == 1 else 0.9

    alone, shared = (coverings(problem, Predictor(problem, machine, score, threads), 1)[0] for threads in (1, 2))
    assert alone.cover("k").repeat == 1
    assert shared.cover("k") == Composition(((1, 2), (1, 3)), 25)


def test_a_balanced_split_comes_before_those_of_fewer_tasks():
    """Y23 has 1767 = 3·19·31 vectors of outputs and 17 rows of 17: nothing small is even for two threads."""
    problem = layer("Y23")
    rows = {dim: Composition(((extent, 1),), 1) for dim, extent in problem.dims if dim in "nw"}
    covers = rows | {"h": Composition(((1, 1),), 17), "k": Composition(((1, 3),), 589)}
    covering = Covering(tuple(covers.items()), (), 1.0)
    assert core_splits(problem, covering, 2) == ((("k", 589),), (("k", 31),))


def test_the_shortlist_begins_with_different_bodies_and_what_is_predicted_like_the_first():
    found = candidates(layer("R2"), MACHINE, CATALOG)
    short = shortlist(found, 8 + NEAR_TIES)
    assert short[0] == found[0]
    bodies = [c.scheme.text.split("S(y)")[1] + str(c.scheme.branches) for c in short]
    again = [c for place, c in enumerate(short) if bodies[place] in bodies[:place]]
    assert len(set(bodies)) >= 8 and len(again) == NEAR_TIES
    assert all(c.prediction.seconds <= ALIKE * found[0].prediction.seconds for c in again)
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


@pytest.mark.slow
@examples(25, deadline=None)
@given(problems(), st.integers(1, 3), st.sampled_from([("avx512f", 16, 32), ("avx2", 8, 16), ("portable", 4, 16)]))
def test_any_problem_has_a_candidate(problem, threads, target):
    isa, lanes, registers = target
    machine = replace(MACHINE, isa=isa, lanes=lanes, registers=registers)
    found = candidates(problem, machine, Catalog("test", isa, problem.op), threads, limit=3)
    assert found
    for candidate in found:
        check_scheme(candidate.scheme, lanes)


@pytest.mark.slow
@examples(25, deadline=None)
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


def test_an_explanation_names_lines_that_were_left_for_later():
    predictor = Predictor(DEPTHWISE, MACHINE, lambda kernel: 0.9)
    rows, parts = (
        Candidate(scheme, predictor.predict(scheme))
        for loops in ("T(h,28) T(w,4) T(c,9)", "T(c,9) T(h,28) T(w,4)")
        for scheme in [parse(DEPTHWISE, f"{loops} S(y) U(r,3) U(s,3) U(h,2) U(w,14) V(c,16)")]
    )
    assert rows.prediction.left == 0 < parts.prediction.left
    assert explain(rows, [parts], MACHINE).endswith("most of all by its lines left for later.")
    assert "tiles wait for lines that they left for later (" in explain(parts, [rows], MACHINE)


@pytest.mark.parametrize("c, pieces", [(128, []), (192, [2, 96]), (256, [2, 128])])
def test_channels_are_cut_where_the_window_of_a_tile_is_more_than_half_of_l1(c, pieces):
    """Three rows of 16 pixels are 24 KiB with 128 channels; a piece has the largest divisor up to them."""
    problem = conv2d(c=c, h=16, w=16, k=32, r=3, s=3, padding=1)
    covers = {"n": Composition(((1, 1),), 1), "h": Composition(((1, 1),), 16)}
    covers |= {"w": Composition(((1, 16),), 1), "k": Composition(((1, 2),), 1)}
    covering = Covering(tuple(covers.items()), (), 1.0)
    inner = [plan.inner for plan in plans(problem, MACHINE, covering, 1, thorough=True)]
    of_channels = [[trips for dim, trips in loops if dim == "c"] for loops in inner]
    assert [found for found in of_channels if len(found) == 2] == ([pieces] if pieces else [])


@pytest.mark.parametrize(
    "problem, threads, expected",
    [
        (conv2d(c=2048, h=1, w=1, k=1000, r=1, s=1), 1, ()),
        (conv2d(c=2048, h=1, w=1, k=1000, r=1, s=1), 64, (("c", 32),)),
        (matmul(m=1, n=24, k=20480), 2, (("k", 2),)),
        (matmul(m=1, n=24, k=20481), 2, (("k", 3),)),
        (matmul(m=1, n=24, k=100), 2, ()),
        (matmul(m=512, n=512, k=512), 2, ()),
        (conv2d(c=64, h=8, w=8, k=64, r=1, s=1, groups=2), 8, ()),
    ],
)
def test_sums_are_shared_where_there_are_few_outputs(problem, threads, expected):
    assert part_counts(problem, 16, threads) == expected


def test_schemes_with_shared_sums_cover_the_problem():
    problem = matmul(m=1, n=24, k=20480)
    parts = in_parts(problem, "k", 8)
    found = candidates(parts, MACHINE, CATALOG, threads=8, limit=10)
    for candidate in found:
        scheme = scheme_from_parts(problem, "k", candidate.scheme)
        assert shared_sum(scheme) == Tile("k", 8, "core") and scheme_in_parts(scheme) == candidate.scheme
        whole = after_addition(candidate.prediction, scheme, MACHINE)
        assert whole.addition > 0 and whole.seconds == candidate.prediction.seconds + whole.addition
    alone = candidates(problem, MACHINE, CATALOG, threads=8, limit=1)[0]
    assert whole.seconds < alone.prediction.seconds


def test_candidates_that_are_predicted_alike_are_told_apart_by_measuring():
    """Even where there is time for a few only, and where they have one body. The model alone takes the slow one."""
    found = in_order(candidates(layer("Y8"), MACHINE, CATALOG))
    ranked = [c.scheme for c in shortlist(tuple(found), 32)]
    alike = [c.scheme for c in found if c.prediction.seconds <= ALIKE * found[0].prediction.seconds]
    fast = next(s for s in ranked[1 : 1 + NEAR_TIES] if s in alike and s.tiles == ranked[0].tiles)
    now = [0.0]

    def measured(scheme, seconds, patience):
        now[0] += 1.0
        return Timing((1.0 if scheme == fast else 1.56,) * 5, 100.0)

    outcome = tune(ranked, measured, lambda *_: {}, budget=12.0, trials=32, clock=lambda: now[0])
    assert outcome.best.scheme == fast != ranked[0] and outcome.trials < len(ranked) / 2
