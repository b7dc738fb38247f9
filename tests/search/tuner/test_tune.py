"""The tuner on a machine of known speeds: who wins, what is measured, when it ends."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from search.tuner.choosing import complexity
from search.tuner.tune import BATCH, FINALISTS, ROUNDS, TuningError, tune
from tests.support.search.searching import PROBLEM
from tiling.machine import Timing
from tiling.text.notation import parse

CANDIDATES = [
    parse(PROBLEM, f"T(h,{12 // rows}) R(k) T(w,12) S(y) T(r,3) T(s,3) T(c,8) U(h,{rows}) V(k,4)")
    for rows in (1, 2, 3, 4, 6, 12)
]


class Bench:
    """A machine of known speeds with a clock of its own; `seconds` by scheme text, or a reason."""

    def __init__(self, seconds, peak=lambda n: 100.0, each=1.0, jitter=0.0):
        self.seconds, self.peak, self.each, self.jitter = seconds, peak, each, jitter
        self.now, self.calls, self.prepared, self.uncompiled = 0.0, [], [], {}

    def measure(self, scheme, seconds, patience):
        self.calls.append(scheme.text)
        self.now += self.each
        found = self.seconds[scheme.text]
        if isinstance(found, (str, BaseException)):
            if isinstance(found, BaseException):
                raise found
            return found
        peak = self.peak(len(self.calls))
        exact = found * 100 / peak
        low, high = exact * (1 - self.jitter), exact * (1 + self.jitter)
        return Timing((low, low, exact, high, high), peak)

    def tune(self, **options):
        options = {"budget": 1e6, "trials": len(CANDIDATES)} | options
        return tune(CANDIDATES, self.measure, self.prepare, clock=lambda: self.now, **options)

    def prepare(self, schemes, patience):
        self.prepared.append([scheme.text for scheme in schemes])
        return {text: reason for text, reason in self.uncompiled.items() if text in self.prepared[-1]}


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


def test_an_earlier_choice_is_measured_to_the_end():
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)})
    bench.tune(incumbent=CANDIDATES[5].text)
    assert bench.calls[-3:] == [c.text for c in (CANDIDATES[0], CANDIDATES[1], CANDIDATES[5])]


def test_a_near_tie_of_equally_simple_schemes_goes_to_the_one_that_stands_first():
    """Within the winner's spread: 0.4 % slower and first in the list beats the fastest."""
    bench = Bench({c.text: 1.0 - place * 0.0009 for place, c in enumerate(CANDIDATES)}, jitter=0.01)
    assert bench.tune().best.scheme == CANDIDATES[0]
    sure = Bench({c.text: 1.0 - place * 0.0009 for place, c in enumerate(CANDIDATES)})
    assert sure.tune().best.scheme == CANDIDATES[5]


def test_a_near_tie_goes_to_the_simpler_scheme():
    """Fewer register tiles first, then fewer loops: 0.4 % slower and simpler beats the fastest; 2 % slower does not."""
    loops = "S(y) T(r,3) T(s,3) T(c,8)"
    composed, split, simple = (
        parse(PROBLEM, text)
        for text in (
            f"R(k) T(h,12) L(w, 1x5 + 1x7) {loops} U(w,λ) V(k,4)",
            f"R(k) T(h,6) T(w,2) T(h,2) {loops} U(w,6) V(k,4)",
            f"R(k) T(h,12) T(w,2) {loops} U(w,6) V(k,4)",
        )
    )
    assert complexity(simple) < complexity(split) < complexity(composed)

    def choice(seconds, jitter=0.01):
        bench = Bench({scheme.text: taken for scheme, taken in seconds.items()}, jitter=jitter)
        return tune(
            list(seconds), bench.measure, bench.prepare, clock=lambda: bench.now, budget=1e6, trials=9
        ).best.scheme

    assert choice({composed: 1.0, split: 1.002, simple: 1.004}) == simple
    assert choice({composed: 1.0, split: 1.002, simple: 1.02}, jitter=0.03) == split
    assert choice({composed: 1.0, split: 1.002, simple: 1.004}, jitter=0.0) == composed


def test_an_earlier_choice_stays_unless_something_is_faster_by_more_than_its_spread():
    speeds = {c.text: 1.0 - place * 0.0009 for place, c in enumerate(CANDIDATES)}
    for kept in CANDIDATES:
        assert Bench(speeds, jitter=0.01).tune(incumbent=kept.text).best.scheme == kept
    slow = speeds | {CANDIDATES[3].text: 1.1}
    assert Bench(slow, jitter=0.01).tune(incumbent=CANDIDATES[3].text).best.scheme != CANDIDATES[3]
    assert Bench(speeds).tune(incumbent="R(x)").best.scheme == CANDIDATES[5]


def test_noise_does_not_change_the_choice():
    """The same store and seed, ten noisy searches one after the other: the first one's choice stays."""
    noise = Random(5)
    known: dict[str, Timing] = {}
    choices = []
    for _ in range(10):
        speeds = {c.text: 1.0 + noise.uniform(0, 0.008) for c in CANDIDATES}
        bench = Bench(speeds, jitter=0.01)
        outcome = bench.tune(known=known, incumbent=choices[-1].text if choices else None)
        known = {c.text: known.get(c.text) or Timing((speeds[c.text],) * 5, 100.0) for c in CANDIDATES}
        choices.append(outcome.best.scheme)
    assert len(set(choices)) == 1


def test_failures_are_counted_and_the_run_goes_on():
    seconds = {c.text: "crashed with SIGSEGV" for c in CANDIDATES}
    seconds[CANDIDATES[4].text] = 1.0
    outcome = Bench(seconds).tune()
    assert outcome.best.scheme == CANDIDATES[4] and outcome.failed == 5


def test_when_all_fail_the_reason_is_told():
    with pytest.raises(TuningError, match="none of 6 candidates could be measured: crashed with SIGILL"):
        Bench({c.text: "crashed with SIGILL" for c in CANDIDATES}).tune()
    with pytest.raises(
        TuningError, match="the one candidate that was tried could not be measured: crashed with SIGILL"
    ):
        Bench({c.text: "crashed with SIGILL" for c in CANDIDATES}).tune(trials=1)


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


def test_a_finalist_that_fails_is_out():
    """It wins the short round and one final, then returns a wrong result."""
    flaky = CANDIDATES[1].text
    bench = Bench({c.text: 2.0 for c in CANDIDATES} | {flaky: 1.0})
    measure = bench.measure
    bench.measure = lambda s, *rest: (
        "wrong result" if bench.calls.count(flaky) == 2 and s.text == flaky else measure(s, *rest)
    )
    outcome = bench.tune()
    assert outcome.best.scheme.text != flaky and outcome.failed == 1


def test_the_finals_do_not_go_on_for_one_that_is_out():
    """Two are to be compared even if the budget is over, but the second returns a wrong result."""
    known = {c.text: Timing((1.0 + place,) * 5, 100.0) for place, c in enumerate(CANDIDATES[:2])}
    bench = Bench({CANDIDATES[0].text: 1.0, CANDIDATES[1].text: "wrong result"}, each=10.0)
    told = dict(budget=1.0, trials=2, clock=lambda: bench.now, known=known)
    outcome = tune(CANDIDATES[:2], bench.measure, bench.prepare, **told)
    assert bench.calls == [c.text for c in CANDIDATES[:2]] and outcome.best.scheme == CANDIDATES[0]


def test_an_earlier_choice_stays_where_the_finals_end_before_its_turn():
    """It is known and within the spread of the fastest, and the budget is over before it has been visited again.

    A slow one does not stay: the two that were visited are level, so the first candidate wins.
    """
    bench = Bench({c.text: 1.0 - place * 0.0005 for place, c in enumerate(CANDIDATES)}, each=10.0, jitter=0.01)
    known = {c.text: bench.measure(c, 0.1, 1.0) for c in CANDIDATES}
    bench.calls.clear()
    bench.now = 0.0
    outcome = bench.tune(known=known, incumbent=CANDIDATES[0].text, budget=1.0)
    assert bench.calls == [CANDIDATES[5].text, CANDIDATES[4].text] and outcome.best.scheme == CANDIDATES[0]
    slow = known | {CANDIDATES[0].text: Timing((1.1,) * 5, 100.0)}
    assert bench.tune(known=slow, incumbent=CANDIDATES[0].text, budget=1.0).best.scheme == CANDIDATES[4]


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


def test_known_failures_are_not_tried_again_unless_nothing_else_is_known():
    first, *others = (c.text for c in CANDIDATES)
    failed = {text: "crashed with SIGILL" for text in others[:2]}
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    outcome = bench.tune(known={first: Timing((1.0,) * 5, 100.0), **failed})
    assert not set(bench.calls) & set(failed) and outcome.trials == 3
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    assert bench.tune(known=failed).trials == len(CANDIDATES)


def test_what_does_not_compile_is_not_visited():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    bench.uncompiled = {CANDIDATES[0].text: "CompileError: no such register"}
    outcome = bench.tune()
    assert CANDIDATES[0].text not in bench.calls and (outcome.trials, outcome.failed) == (len(CANDIDATES), 1)


def test_a_candidate_that_hangs_leaves_time_for_the_others():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    measure, patience_given = bench.measure, []

    def hangs(scheme, seconds, patience):
        patience_given.append(patience)
        if scheme == CANDIDATES[0]:
            bench.now += patience
            return "no answer"
        return measure(scheme, seconds, patience)

    bench.measure = hangs
    assert bench.tune(budget=60.0).trials == len(CANDIDATES) and patience_given[0] == pytest.approx(20.0)


def in_vain(reason):
    return reason.startswith("no answer")


def slow_machine(bench, takes):
    """Every visit takes so many seconds, or ends in vain before."""
    measure, patience_given = bench.measure, []

    def visit(scheme, seconds, patience):
        patience_given.append(patience)
        bench.now += min(patience, takes)
        return measure(scheme, seconds, patience) if patience > takes else f"no answer within {patience:g} s: killed"

    bench.measure = visit
    return patience_given


def test_on_a_busy_machine_visits_get_more_time_until_one_succeeds():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    patience_given = slow_machine(bench, takes=12.0)
    assert bench.tune(budget=3.0, again=in_vain).failed == 2
    assert patience_given == [5.0, 10.0, 15.0]


def test_where_nothing_answers_the_search_ends_and_says_what_to_do():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    slow_machine(bench, takes=float("inf"))
    with (
        patch("search.tuner.tune.MOST_IN_VAIN", 3),
        pytest.raises(
            TuningError, match=r"none of 4 candidates could .* killed; the machine may be busy: search again"
        ),
    ):
        bench.tune(budget=3.0, batch=2, again=in_vain)
    assert bench.now < 3.0 + 4 * 20.0


def test_an_interrupt_keeps_the_best_so_far():
    seconds = {c.text: 2.0 for c in CANDIDATES}
    seconds[CANDIDATES[1].text] = 1.0
    seconds[CANDIDATES[3].text] = KeyboardInterrupt()
    outcome = Bench(seconds).tune()
    assert outcome.interrupted and outcome.best.scheme == CANDIDATES[1]


def test_an_interrupt_before_the_first_result_goes_up():
    with pytest.raises(KeyboardInterrupt):
        Bench({c.text: KeyboardInterrupt() for c in CANDIDATES}).tune()


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
