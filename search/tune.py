"""Measured tuning of the few schemes that the model cannot tell apart, within a time budget.

    candidates, best predicted first ──► each measured shortly, in batches ──► the best few again, interleaved ──► one

Clocks drift and a machine is shared, so schemes are compared by seconds x the FMA peak measured beside them, that is
by the work a core could have done meanwhile. The finalists are measured in turns, so that a slow moment hits all
alike; where two lie within their spread, the one the model put first wins, and a second run chooses it again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tiling.machine import Timing
from tiling.scheme import Scheme

BATCH = 6  # compiled together, then measured: a batch is what the budget is checked between
FINALISTS = 4
ROUNDS = 3
# The finals may take this share of the budget; the rest goes to trying candidates.
FINAL_SHARE = 0.3
# Of the trials, this share is drawn from further down the list: where the model is wrong, it is wrong there too.
EXPLORED = 0.25


class TuningError(RuntimeError):
    """No candidate could be measured: with the reason most of them gave."""


@dataclass(frozen=True)
class Measured:
    """A scheme and what it took."""

    scheme: Scheme
    timing: Timing

    @property
    def work(self) -> float:
        """Floating-point operations a core could have done at its peak meanwhile: what schemes are compared by."""
        return self.timing.seconds * self.timing.peak_gflops * 1e9


@dataclass(frozen=True)
class Outcome:
    """The best scheme, how many were tried, and whether a Ctrl-C ended the search early."""

    best: Measured
    trials: int
    failed: int
    interrupted: bool


@dataclass
class _Search:
    """What is known so far: short measurements, failures with their reasons, and the finalists' pooled timings."""

    found: dict[str, Measured] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    finalists: dict[str, Measured] = field(default_factory=dict)
    trials: int = 0


def tune(
    candidates: Sequence[Scheme],
    measure: Callable[[Scheme, float], Timing | str],
    prepare: Callable[[Sequence[Scheme]], None],
    *,
    budget: float,
    trials: int,
    clock: Callable[[], float],
    seed: int = 0,
    known: Mapping[str, Timing | str] | None = None,
    progress: Callable[[int, int, float], None] = lambda tried, of, best: None,
) -> Outcome:
    """Measures up to `trials` candidates (best predicted first) in about `budget` seconds and settles on one.

    measure(scheme, seconds) gives a timing or the reason why there is none; prepare(schemes) compiles ahead. `known`
    has earlier measurements, which are not repeated before the finals. progress(tried, of, best work). A
    KeyboardInterrupt ends the search with the best so far, if there is one. Raises TuningError.
    """
    started = clock()
    search, interrupted = _Search(), False
    chosen = _trials(candidates, trials, seed)
    try:
        _try_all(search, chosen, measure, prepare, started + budget * (1 - FINAL_SHARE), clock, known or {}, progress)
        _finals(search, measure, started + budget, clock)
    except KeyboardInterrupt:
        if not search.found:
            raise
        interrupted = True
    if not search.found:
        reasons = list(search.failed.values())
        common = max(set(reasons), key=reasons.count) if reasons else "the budget was over before the first one"
        raise TuningError(f"none of {len(reasons)} candidates could be measured: {common}")
    return Outcome(_settle(search, chosen), search.trials, len(search.failed), interrupted)


def _trials(candidates: Sequence[Scheme], trials: int, seed: int) -> list[Scheme]:
    """The first ones in order, and among them some drawn from the rest, most of them from its top."""
    head = list(candidates[: max(1, round(trials * (1 - EXPLORED)))])
    rest = list(candidates[len(head) : len(head) + 8 * trials])
    drawn = random.Random(seed).sample(rest, min(len(rest), trials - len(head)))
    step = max(1, len(head) // (len(drawn) + 1))
    mixed = []
    for i, scheme in enumerate(head):
        mixed.append(scheme)
        if drawn and i % step == step - 1:
            mixed.append(drawn.pop(0))
    return mixed + drawn


def _try_all(search, schemes, measure, prepare, deadline, clock, known, progress) -> None:
    for first in range(0, len(schemes), BATCH):
        batch = schemes[first : first + BATCH]
        fresh = [scheme for scheme in batch if scheme.text not in known]
        if fresh:
            prepare(fresh)
        for scheme in batch:
            if scheme.text in known:
                outcome = known[scheme.text]
            elif search.found and clock() > deadline:
                return
            else:
                outcome = measure(scheme, 0.06)
                search.trials += 1
            if isinstance(outcome, str):
                search.failed[scheme.text] = outcome
            else:
                search.found[scheme.text] = Measured(scheme, outcome)
            best = min((m.work for m in search.found.values()), default=float("inf"))
            progress(first + batch.index(scheme) + 1, len(schemes), best)
        if search.found and clock() > deadline:
            return


def _finals(search, measure, deadline, clock) -> None:
    leaders = sorted(search.found.values(), key=lambda m: m.work)[:FINALISTS]
    rounds: dict[str, list[Timing]] = {leader.scheme.text: [] for leader in leaders}
    for turn in range(ROUNDS):
        for leader in leaders:
            if turn and clock() > deadline:
                return
            outcome = measure(leader.scheme, 0.12)
            if isinstance(outcome, str):
                search.failed[leader.scheme.text] = outcome
                continue
            rounds[leader.scheme.text].append(outcome)
            search.finalists[leader.scheme.text] = Measured(leader.scheme, _pooled(rounds[leader.scheme.text]))


def _pooled(timings: list[Timing]) -> Timing:
    samples = tuple(sample for timing in timings for sample in timing.samples)
    return Timing(samples, median(timing.peak_gflops for timing in timings))


def _settle(search: _Search, schemes: Sequence[Scheme]) -> Measured:
    """The fastest finalist; or, of those within its spread, the one that was predicted fastest."""
    contenders = search.finalists or search.found
    best = min(contenders.values(), key=lambda m: m.work)
    near = best.work * (1 + min(best.timing.spread, 0.01))
    return next(m for s in schemes if (m := contenders.get(s.text)) and m.work <= near)
