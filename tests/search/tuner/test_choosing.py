"""Who is chosen among schemes that differ by less than the noise: the earlier choice, then the simpler one."""

from __future__ import annotations

from random import Random

from search.tuner.choosing import complexity
from search.tuner.tune import tune
from tests.support.search.known_speeds import CANDIDATES, Bench
from tests.support.search.searching import PROBLEM
from tiling.machine import Timing
from tiling.text.notation import parse


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
