"""Candidates that fail, hang or are interrupted cost a search no more than themselves."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from search.tuner.tune import TuningError, tune
from tests.support.search.known_speeds import CANDIDATES, Bench
from tiling.machine import Timing


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
