"""Measured tuning of the few schemes that the model cannot tell apart, within a time budget.

    candidates, best predicted first ──► each measured shortly, in batches ──► the best few again, interleaved ──► one
                                                                           and the first

Clocks drift and a machine is shared, so schemes are compared by seconds x the FMA peak measured beside them, that is
by the work a core could have done meanwhile. The finalists are measured in turns, so that a slow moment hits all
alike. Where some lie within the spread of the fastest, the choice of an earlier search stays, so that the same store
gives the same answer; without one the simplest wins, and of equally simple ones the first among the candidates.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tiling.machine import Timing
from tiling.scheme import Scheme

BATCH = 6  # compiled together, then measured: a batch is what the budget is checked between
# In the finals that many take part, more where the time left is enough for a heat of them: candidates are a percent
# apart, and the best of thirty short measurements was lucky besides.
FINALISTS, MOST_FINALISTS = 4, 8
ROUNDS = 3
# The finals may take this share of the budget; the rest goes to trying candidates. On a shared machine one visit of a
# scheme differs from the next by 2 to 5 %, as much as the best ten candidates do from each other.
FINAL_SHARE = 0.4
# Of the trials, this share is drawn from the next DEEPER x as many candidates: the model may be wrong about its order.
EXPLORED, DEEPER = 0.25, 8
# A visit may take at least this long before it counts as hung, however little of the budget is left; seconds. And at
# most this share of what is left: one that hangs must not cost the others their turn.
LEAST_PATIENCE = 5.0
PATIENT_SHARE = 1 / 3
# Those within the spread of the fastest are as good, but at most this far behind it, since on a noisy machine the
# spread alone would let a slow scheme in: an earlier choice, so that it stays; and a simpler scheme.
NEAR, LEVEL = 0.01, 0.005
# Seconds of samples of a visit: to sort out the slow ones, and in the finals.
SHORT, LONG = 0.06, 0.12


class TuningError(RuntimeError):
    """No candidate could be measured: with the reason most of them gave."""


@dataclass(frozen=True)
class Measured:
    """A scheme and what it took, visit by visit."""

    scheme: Scheme
    visits: tuple[Timing, ...]

    @property
    def timing(self) -> Timing:
        """Of all visits together."""
        samples = tuple(sample for visit in self.visits for sample in visit.samples)
        return Timing(samples, median(visit.peak_gflops for visit in self.visits))

    @property
    def work(self) -> float:
        """Floating-point operations a core could have done at its peak meanwhile: what schemes are compared by.

        The median of the visits, each beside its own peak, so that one visit in a slow moment does not count: it would
        if their samples were pooled.
        """
        return median(visit.seconds * visit.peak_gflops for visit in self.visits) * 1e9


@dataclass(frozen=True)
class Outcome:
    """The best scheme, how many were tried, how many failed, whether a Ctrl-C ended the search early, every scheme
    with a timing, as first measured, and those that may take the best one's place, fastest first."""

    best: Measured
    trials: int
    failed: int
    interrupted: bool
    tried: tuple[Measured, ...] = ()
    runners_up: tuple[Measured, ...] = ()


def tune(
    candidates: Sequence[Scheme],
    measure: Callable[[Scheme, float, float], Timing | str],
    prepare: Callable[[Sequence[Scheme], float], Mapping[str, str]],
    *,
    budget: float,
    trials: int,
    clock: Callable[[], float],
    seed: int = 0,
    known: Mapping[str, Timing | str] | None = None,
    incumbent: str | None = None,
    progress: Callable[[int, int, float], None] = lambda tried, of, best: None,
) -> Outcome:
    """Measures up to `trials` candidates, the first ones first, in about `budget` seconds and settles on one.

    measure(scheme, seconds, patience) gives a timing, or the reason why there is none within `patience` seconds;
    prepare(schemes, patience) compiles ahead and gives, by text, the reasons of those that do not compile: they are
    out. Schemes with a `known` timing take part without being measured again before the finals, those known to fail do
    not take part, and neither count as trials; where nothing but failures is known the machine was at fault, and they
    are tried again. incumbent: the text that an earlier search settled on. progress(tried, of, best work). A
    KeyboardInterrupt ends the search with the best so far, if there is one. Raises TuningError.
    """
    search = _Search(measure, prepare, clock, clock() + budget)
    timings = {text: found for text, found in (known or {}).items() if isinstance(found, Timing)}
    search.found = {s.text: Measured(s, (timings[s.text],)) for s in candidates if s.text in timings}
    done = frozenset(known or ()) if search.found else frozenset()
    chosen = _trials([scheme for scheme in candidates if scheme.text not in done], trials, seed)
    interrupted = False
    try:
        search.try_all(chosen, clock() + budget * (1 - FINAL_SHARE), progress)
        search.finals(incumbent, candidates[0].text if candidates else None)
    except KeyboardInterrupt:
        if not search.found:
            raise
        interrupted = True
    if not search.found:
        reasons = list(search.failed.values())
        raise TuningError(
            f"none of {len(reasons)} candidates could be measured: {max(set(reasons), key=reasons.count)}"
        )
    contenders = search.contenders(incumbent)
    best = _settle(contenders, candidates, incumbent)
    runners_up = tuple(sorted((m for m in contenders.values() if m is not best), key=lambda m: m.work))
    return Outcome(best, search.trials, len(search.failed), interrupted, tuple(search.found.values()), runners_up)


@dataclass
class _Search:
    """What is known so far: short measurements, failures with their reasons, and the finalists' visits.

    starting: whether the next visit is the first of a worker, which also starts it and computes what is correct;
    slowest: seconds of the longest of the others.
    """

    measure: Callable[[Scheme, float, float], Timing | str]
    prepare: Callable[[Sequence[Scheme], float], Mapping[str, str]]
    clock: Callable[[], float]
    deadline: float
    found: dict[str, Measured] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    finalists: dict[str, Measured] = field(default_factory=dict)
    trials: int = 0
    starting: bool = True
    slowest: float = 0.0

    def visit(self, scheme: Scheme, seconds: float) -> Timing | None:
        """Measures once; a scheme that fails is out, whatever it reached before."""
        begun, starting = self.clock(), self.starting
        outcome = self.measure(scheme, seconds, self.patience())
        # A failure may have ended the worker.
        self.starting = isinstance(outcome, str)
        if isinstance(outcome, str):
            self.failed[scheme.text] = outcome
            self.found.pop(scheme.text, None)
            self.finalists.pop(scheme.text, None)
            return None
        if not starting:
            self.slowest = max(self.slowest, self.clock() - begun)
        return outcome

    def patience(self) -> float:
        return max(LEAST_PATIENCE, PATIENT_SHARE * (self.deadline - self.clock()))

    def try_all(self, schemes: list[Scheme], deadline: float, progress: Callable[[int, int, float], None]) -> None:
        """Each scheme once, in batches that are compiled together: none begins after the deadline, and none is measured
        too close to the finals'.
        """
        for first in range(0, len(schemes), BATCH):
            if self.found and self.clock() > deadline:
                return
            batch = schemes[first : first + BATCH]
            uncompiled = self.prepare(batch, self.patience())
            self.failed |= uncompiled
            self.trials += len(uncompiled)
            for scheme in batch:
                if scheme.text in uncompiled:
                    continue
                # The finals need two visits to compare anything.
                if self.found and self.clock() + 3 * self.slowest > self.deadline:
                    return
                timing = self.visit(scheme, SHORT)
                self.trials += 1
                if timing:
                    self.found[scheme.text] = Measured(scheme, (timing,))
                best = min((m.work for m in self.found.values()), default=float("inf"))
                progress(self.trials, len(schemes), best)

    def finals(self, incumbent: str | None, first: str | None) -> None:
        """Heats of ROUNDS turns until the deadline, after each of which the slower half is out.

        The model's first choice takes part whatever its one visit said; that of an earlier search stays to the end.
        """
        fitting = int((self.deadline - self.clock()) / (ROUNDS * self.slowest)) if self.slowest else MOST_FINALISTS
        count = min(max(FINALISTS, fitting), MOST_FINALISTS)
        leaders = sorted(self.found, key=lambda text: (text != first, self.found[text].work))[:count]
        leaders.sort(key=lambda text: self.found[text].work)  # the fastest first, since time may run out
        while leaders:
            entered = leaders + [incumbent] * (incumbent in self.found and incumbent not in leaders)
            for text in entered * ROUNDS:
                if self.finalists and self.clock() + self.slowest > self.deadline:
                    return
                timing = None if text in self.failed else self.visit(self.found[text].scheme, LONG)
                if timing:
                    before = self.finalists[text].visits if text in self.finalists else ()
                    self.finalists[text] = Measured(self.found[text].scheme, (*before, timing))
            remaining = sorted((t for t in leaders if t in self.finalists), key=lambda text: self.finalists[text].work)
            leaders = remaining[: max(2, len(leaders) // 2)] if len(leaders) > 2 else []

    def contenders(self, incumbent: str | None) -> dict[str, Measured]:
        """The finalists, where there are none all; with the choice of an earlier search even if its turn never came."""
        earlier = {incumbent: self.found[incumbent]} if incumbent in self.found else {}
        return earlier | (self.finalists or self.found)


def _trials(candidates: list[Scheme], trials: int, seed: int) -> list[Scheme]:
    """The first ones in order, and spread among them some drawn from those that follow."""
    head = candidates[: max(1, round(trials * (1 - EXPLORED)))]
    rest = candidates[len(head) : len(head) + DEEPER * trials]
    drawn = random.Random(seed).sample(rest, min(len(rest), trials - len(head)))
    step = max(1, len(head) // (len(drawn) + 1))
    mixed = []
    for i, scheme in enumerate(head):
        mixed.append(scheme)
        if drawn and i % step == step - 1:
            mixed.append(drawn.pop(0))
    return mixed + drawn


def _settle(contenders: Mapping[str, Measured], candidates: Sequence[Scheme], incumbent: str | None) -> Measured:
    """The incumbent if it is near the fastest contender; else of those level with that one the simplest, the first."""
    best = min(contenders.values(), key=lambda m: m.work)

    def within(share: float) -> float:
        return best.work * (1 + min(best.timing.spread, share))

    if incumbent in contenders and contenders[incumbent].work <= within(NEAR):
        return contenders[incumbent]
    level = [m for s in candidates if (m := contenders.get(s.text)) and m.work <= within(LEVEL)]
    return min(level, key=lambda m: complexity(m.scheme))


def complexity(scheme: Scheme) -> tuple[int, int]:
    """What makes a scheme less simple: different register tiles, that is compositions; then specifiers,
    that is loops.
    """
    return len({tuple(tile.items()) for tile in scheme.tiles}), len(scheme.specifiers)
