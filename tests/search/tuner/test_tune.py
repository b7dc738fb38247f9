"""The tuner on a machine of known speeds: who wins, what is measured, when it ends."""

from __future__ import annotations

import pytest

from search.tuner.tune import BATCH, FINALISTS, ROUNDS, tune
from tests.support.search.known_speeds import CANDIDATES, Bench
from tiling.machine import Timing


def test_the_fastest_wins():
    bench = Bench({c.text: 1.0 + abs(place - 3) for place, c in enumerate(CANDIDATES)})
    outcome = bench.tune()
    assert outcome.best.scheme == CANDIDATES[3]
    assert outcome.trials == len(CANDIDATES) and not outcome.interrupted


def test_how_much_of_a_visit_was_slow_does_not_decide():
    """Whatever runs on the other hyperthread halves the speed, longer beside the fastest than beside the others."""
    bench = Bench({c.text: 1.1 for c in CANDIDATES} | {CANDIDATES[2].text: 1.0})
    measure = bench.measure

    def shared(scheme, *rest):
        alone = measure(scheme, *rest).samples[0]
        slow = 4 if scheme == CANDIDATES[2] else 1
        return Timing((*(2 * alone,) * slow, *(alone,) * (5 - slow)), 100.0)

    bench.measure = shared
    assert bench.tune().best.scheme == CANDIDATES[2]


def test_what_was_measured_while_it_was_prepared_is_not_visited_again():
    """As on a cluster, whose visits take no time here. The finals compare two, however little time is left."""
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)}, each=10.0)

    def prepare(schemes, patience):
        return {s.text: Timing((bench.seconds[s.text],) * 5, 100.0) for s in schemes}

    outcome = tune(CANDIDATES, bench.measure, prepare, budget=3.0, trials=6, clock=lambda: bench.now)
    assert bench.calls == [c.text for c in CANDIDATES[:2]]
    assert outcome.best.scheme == CANDIDATES[0] and len(outcome.runners_up) == 1
    assert outcome.trials == len(outcome.tried) == 6


def test_what_was_measured_counts_where_the_time_is_over():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})

    def prepare(schemes, patience):
        bench.now += 9.0
        return {s.text: Timing((1.0 + CANDIDATES.index(s),) * 5, 100.0) for s in schemes}

    outcome = tune(CANDIDATES[::-1], bench.measure, prepare, budget=8.0, trials=6, clock=lambda: bench.now)
    assert bench.calls == [] and outcome.best.scheme == CANDIDATES[0] and outcome.trials == 6


def test_a_drifting_clock_does_not_choose():
    """Every measurement finds a slower machine, so that the last schemes tried look slowest in seconds alone."""
    bench = Bench(
        {c.text: 1.0 if place == 5 else 1.2 for place, c in enumerate(CANDIDATES)}, peak=lambda n: 100.0 / (1 + n / 10)
    )
    assert bench.tune().best.scheme == CANDIDATES[5]


def test_finalists_are_measured_in_turns():
    """A B C D A B C D …, so that a slow moment hits all alike; the result's samples are of all turns.

    After each heat the slower half is out.
    """
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)})
    outcome = bench.tune()
    texts, finals = [c.text for c in CANDIDATES], bench.calls[len(CANDIDATES) :]
    assert finals == [*texts * ROUNDS, *texts[:3] * ROUNDS, *texts[:2] * ROUNDS]
    assert len(outcome.best.timing.samples) == 5 * 3 * ROUNDS


def test_a_slow_moment_in_the_finals_does_not_choose():
    """One of the fastest one's three visits takes twice as long: pooled, a third of its samples would."""
    fast = CANDIDATES[2].text
    bench = Bench({c.text: 1.1 for c in CANDIDATES} | {fast: 1.0}, jitter=0.15)
    measure = bench.measure

    def disturbed(scheme, *rest):
        if scheme.text != fast or bench.calls.count(fast) != 2:
            return measure(scheme, *rest)
        bench.seconds[fast] = 2.0
        timing = measure(scheme, *rest)
        bench.seconds[fast] = 1.0
        return timing

    bench.measure = disturbed
    outcome = bench.tune(budget=len(CANDIDATES) + FINALISTS * ROUNDS)
    assert bench.calls.count(fast) == 1 + ROUNDS and outcome.best.scheme.text == fast


@pytest.mark.parametrize("failing, budget", [((), 10.0), ((1,), 16.0)])
def test_a_slow_start_does_not_end_the_search(failing, budget):
    """The first visit, and the one after a crash, also start a worker and compute the reference."""
    bench = Bench({c.text: "crashed" if i in failing else 1.0 for i, c in enumerate(CANDIDATES)}, each=0.1)
    measure, worker = bench.measure, []

    def starting(scheme, *rest):
        bench.now += 0 if worker else 4.0
        found = measure(scheme, *rest)
        worker[:] = [] if isinstance(found, str) else [1]
        return found

    bench.measure = starting
    outcome = bench.tune(budget=budget)
    assert outcome.trials == len(CANDIDATES) and len(bench.calls) > 2 * outcome.trials


def test_the_first_candidate_has_a_place_in_the_finals():
    """Its one visit was in a slow moment; it is the fastest."""
    first = CANDIDATES[0].text
    bench = Bench({c.text: 1.1 for c in CANDIDATES} | {first: 5.0})
    measure = bench.measure

    def disturbed(scheme, *rest):
        timing = measure(scheme, *rest)
        bench.seconds[first] = 1.0
        return timing

    bench.measure = disturbed
    outcome = bench.tune(budget=len(CANDIDATES) + FINALISTS * ROUNDS)
    assert len(set(bench.calls[len(CANDIDATES) :])) == FINALISTS and outcome.best.scheme.text == first


def test_fewer_take_part_in_the_finals_where_time_is_short():
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)})
    bench.tune(budget=len(CANDIDATES) + ROUNDS * FINALISTS)
    assert bench.calls[len(CANDIDATES) :] == [c.text for c in CANDIDATES[:FINALISTS]] * ROUNDS


def test_the_budget_ends_the_search():
    bench = Bench({c.text: 1.0 for c in CANDIDATES}, each=10.0)
    outcome = bench.tune(budget=45.0)
    assert 1 <= outcome.trials < len(CANDIDATES) and bench.now <= 45.0
    assert len(bench.calls) > outcome.trials, "nobody reached the finals"


def test_what_is_compiled_is_measured():
    """Compiling takes most of a small budget; then all of the first batch is measured, and no other compiled."""
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)}, each=0.1)
    prepare = bench.prepare

    def slow(schemes, patience):
        bench.now += 7.0
        return prepare(schemes, patience)

    bench.prepare = slow
    assert bench.tune(budget=10.0).trials == BATCH == len(bench.prepared[0]) and len(bench.prepared) == 1


def test_a_tiny_budget_still_gives_a_result():
    bench = Bench({c.text: 1.0 for c in CANDIDATES}, each=10.0)
    assert bench.tune(budget=1.0).trials == 1


def test_runners_up_are_the_other_finalists_fastest_first():
    outcome = Bench({c.text: 1.0 + abs(place - 3) for place, c in enumerate(CANDIDATES)}).tune()
    works = [m.work for m in (outcome.best, *outcome.runners_up)]
    assert works == sorted(works) and len(outcome.runners_up) == 5 and outcome.best not in outcome.runners_up


def test_known_results_are_not_measured_again_before_the_finals():
    known = {c.text: Timing((1.0 + place,) * 5, 100.0) for place, c in enumerate(CANDIDATES)}
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)})
    outcome = bench.tune(known=known)
    assert outcome.trials == 0 and bench.prepared == [] and outcome.best.scheme == CANDIDATES[0]
    assert set(bench.calls) == {c.text for c in CANDIDATES}


def test_candidates_are_compiled_in_batches():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    bench.tune(batch=4)
    assert [len(batch) for batch in bench.prepared] == [4, 2]
    assert {text for batch in bench.prepared for text in batch} == {c.text for c in CANDIDATES}


def test_where_the_time_is_over_no_finals_are_held():
    """A first visit that takes longer than the budget is all there is: its schemes are compared by it."""
    bench = Bench({c.text: 1.0 for c in CANDIDATES}, each=9.0)
    assert bench.tune(budget=8.0).best.scheme == CANDIDATES[0]
    assert len(bench.calls) == 1


def test_where_little_time_is_left_few_are_compiled_ahead():
    bench = Bench({c.text: 1.0 for c in CANDIDATES}, each=0.1)
    bench.tune(budget=1.0)
    assert len(bench.prepared[0]) == 2


def test_progress_goes_on_through_the_finals():
    """They take longer than the trials where there are few of these: a bar that stands still would say nothing."""
    bench, told = Bench({c.text: 1.0 for c in CANDIDATES}), []
    bench.tune(trials=2, progress=told.append)
    assert [stage.name for stage in told[:3]] == ["compiling", "measuring", "measuring"]
    finals = [stage for stage in told if stage.name == "comparing the best 2 in turns"]
    assert [(stage.done, stage.of) for stage in finals] == [(turn, 2 * ROUNDS) for turn in range(2 * ROUNDS)]
    assert len(bench.calls) == 2 + len(finals)
