"""The ranking: what is measured, looked at again, resumed."""

from dataclasses import replace

import pytest

import cpu.kernel.measure
from microkernels.ranking.rank import BATCH, RankingError, ensure_ranked, rank
from microkernels.scores.catalog import Failure
from microkernels.scores.records import load
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import AVX2, PORTABLE
from microkernels.tile.space import quick, space
from tests.support.microkernels.cases import L1, TILE, timing_at


def measure_by_estimate(kernels):
    for kernel in kernels:
        yield kernel, timing_at(kernel, estimate(kernel))


def refuse(kernels):
    assert not kernels, "nothing was left to measure"
    yield from ()


def test_a_ranking_scores_by_the_peak_beside(data_folder):
    kernels = quick(PORTABLE)
    seen = []
    state = rank(kernels, measure_by_estimate, "here", L1, progress=seen.append)
    assert (state.total, state.done, state.failed) == (len(kernels), len(kernels), 0)
    assert [s.done for s in seen] == list(range(len(kernels) + 1))
    catalog = load("here", "portable")
    assert len(catalog.entries) == len(kernels)
    for entry in catalog.entries:
        assert entry.score == pytest.approx(estimate(entry.kernel))
    assert state.best.score == catalog.best.score


def test_a_failure_is_recorded_with_its_reason(data_folder):
    def measure(kernels):
        for kernel in kernels:
            yield kernel, "crashed with SIGILL"

    state = rank([TILE], measure, "here", L1)
    assert (state.done, state.failed, state.best) == (1, 1, None)
    assert load("here", "avx2").failures == (Failure(TILE, "crashed with SIGILL"),)
    rank([TILE], refuse, "here", L1, resume=True)
    rank([TILE], measure_by_estimate, "here", L1)
    assert load("here", "avx2").failures == ()


def test_what_was_disturbed_is_measured_again_and_its_best_counts(data_folder):
    repetitions = []
    kernels = quick(PORTABLE)

    def disturbed(asked):
        repetitions.append(asked)
        for kernel in asked:
            slow = (kernel in kernels[::4] and len(repetitions) == 1) or kernel == kernels[0]
            yield kernel, timing_at(kernel, estimate(kernel) * (0.5 / len(repetitions) if slow else 1))

    state = rank(kernels, disturbed, "here", L1)
    assert repetitions == [kernels, kernels[::4], kernels[:1]]
    assert state.done == state.total == len(kernels)
    catalog = load("here", "portable")
    for kernel in kernels:
        assert catalog.score(kernel) == pytest.approx(estimate(kernel) * (0.5 if kernel == kernels[0] else 1))


def test_a_score_above_the_peak_is_not_believed(data_folder):
    answers = iter([1.3, 0.97, 1.2])

    def measure(kernels):
        for kernel in kernels:
            yield kernel, timing_at(kernel, next(answers))

    rank([TILE], measure, "here", L1)
    assert load("here", "avx2").best.score == pytest.approx(0.97)


def test_a_kernel_that_fails_at_a_second_look_keeps_its_score(data_folder):
    other = replace(TILE, vectors=1)
    answers = iter([timing_at(TILE, 0.3), "crashed with SIGSEGV", timing_at(TILE, 0.2)])

    def measure(kernels):
        for kernel in kernels:
            yield kernel, next(answers) if kernel == TILE else timing_at(other, estimate(other))

    state = rank([TILE, other], measure, "here", L1)
    assert (state.done, state.failed) == (2, 0)
    catalog = load("here", "avx2")
    assert (catalog.score(TILE), catalog.failures) == (pytest.approx(0.3), ())


@pytest.mark.slow
def test_an_interrupted_ranking_resumes_with_the_batch_it_was_in(data_folder):
    kernels = space(PORTABLE)[: BATCH + 10]
    assert len(kernels) == BATCH + 10
    rank(kernels, measure_by_estimate, "here", L1)
    ended = []

    def interrupted(asked):
        try:
            for kernel in asked:
                if kernel == kernels[BATCH + 4]:
                    raise KeyboardInterrupt
                yield kernel, timing_at(kernel, 0.01)
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        rank(kernels, interrupted, "here", L1)
    assert ended
    catalog = load("here", "portable")
    assert len(catalog.entries) == BATCH + 10, "scores of the earlier ranking hold until they are replaced"
    assert sum(entry.score == pytest.approx(0.01) for entry in catalog.entries) == BATCH + 4
    asked_again = []

    def rest(asked):
        asked_again.extend(asked)
        yield from measure_by_estimate(asked)

    rank(kernels, rest, "here", L1, resume=True)
    assert asked_again == list(kernels[BATCH:])
    rank(kernels, refuse, "here", L1, resume=True)


def test_a_ranking_cut_short_between_repetitions_repeats(data_folder):
    kernels = quick(PORTABLE)
    repetitions = []

    def cut_short(asked):
        repetitions.append(asked)
        if len(repetitions) == 2:
            raise KeyboardInterrupt
        for kernel in asked:
            yield kernel, timing_at(kernel, estimate(kernel) * (0.5 if kernel in kernels[::4] else 1))

    with pytest.raises(KeyboardInterrupt):
        rank(kernels, cut_short, "here", L1)
    assert repetitions == [kernels, kernels[::4]]
    rank(kernels, measure_by_estimate, "here", L1, resume=True)
    catalog = load("here", "portable")
    assert all(catalog.score(kernel) == pytest.approx(estimate(kernel)) for kernel in kernels)


def test_a_resumed_ranking_repeats_nothing_that_is_beyond_doubt(data_folder):
    kernels = quick(PORTABLE)

    def cut_short(asked):
        yield from measure_by_estimate(asked[:7])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank(kernels, cut_short, "here", L1)
    asked_again = []

    def rest(asked):
        asked_again.extend(asked)
        yield from measure_by_estimate(asked)

    rank(kernels, rest, "here", L1, resume=True)
    assert asked_again == list(kernels[7:])


def test_a_machine_is_ranked_quickly_and_once(data_folder):
    told = []
    catalog = ensure_ranked(AVX2, "conv2d", measure_by_estimate, "here", L1, announce=told.append)
    assert len(catalog.entries) == len(quick(AVX2))
    assert len(told) == 1 and f"ranking {len(quick(AVX2))} conv2d" in told[0]
    assert ensure_ranked(AVX2, "conv2d", refuse, "here", L1, announce=told.append) == catalog
    assert len(told) == 1


@pytest.mark.slow
def test_where_nothing_can_be_measured_the_reason_is_told_and_it_is_tried_again(data_folder):
    def broken(kernels):
        yield from ((kernel, "no space left" if kernel.row_count > 1 else "another") for kernel in kernels)

    with pytest.raises(RankingError, match=r"none of the 40 conv2d microkernels of avx2 .*: no space left$"):
        ensure_ranked(AVX2, "conv2d", broken, "here", L1, announce=lambda _: None)
    catalog = ensure_ranked(AVX2, "conv2d", measure_by_estimate, "here", L1, announce=lambda _: None)
    assert len(catalog.entries) == 40


def test_a_microkernel_is_the_fastest_of_repetitions_in_memory_of_their_own(monkeypatch):
    found, places = iter([5.0, 1.0, 4.0, 2.0, 3.0]), []

    def timed(kernel, *arrays, seconds, threads, sample):
        places.append({array.ctypes.data for array in arrays})
        assert threads == 1 and seconds == pytest.approx(0.5 / cpu.kernel.measure.REPETITIONS)
        assert sample == cpu.kernel.measure.TILE_SAMPLE
        return {"samples": [next(found), 9.0], "peak_gflops": 10.0}

    monkeypatch.setattr(cpu.kernel.measure, "_timed", timed)
    fastest = cpu.kernel.measure.microkernel(
        name="f32_conv2d_ukernel_2wx4k_s1__portable", l1_bytes=32 << 10, seconds=0.5
    )
    assert fastest == {"samples": [1.0, 9.0], "peak_gflops": 10.0}
    assert len(places) == cpu.kernel.measure.REPETITIONS and len(set.union(*places)) == sum(map(len, places))
