"""Measures the most promising schemes within a time budget and chooses one.

candidates, best predicted first ──► each shortly, in batches ──► the best few and the first, in turns ──► one

A disturbed measurement is repeated. It counts only where a scheme has no other; then the choice is in doubt.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from search.tuner.choosing import RIVALS, doubt, settled
from search.tuner.measured import AnyScheme, Measured
from tiling.machine import Timing

BATCH = 6  # schemes that one machine compiles together, then measures; the budget is checked before each batch
LEAST_FOR_A_BATCH = 2.0  # seconds left of the budget
# How many schemes take part in the finals: up to MOST_FINALISTS where there is time for a heat of them. Candidates are
# a percent apart, and the best of thirty short measurements was also lucky.
FINALISTS, MOST_FINALISTS = 4, 8
ROUNDS = 3
# The finals may take this share of the budget; the rest goes to trying candidates. On a shared machine one visit of a
# scheme differs from the next by some 2 % (docs/decisions/062), as the best ten candidates do from each other.
FINAL_SHARE = 0.4
# This share of the trials is drawn at random from further candidates, DEEPER times as many as the trials, since the
# model's order may be wrong.
EXPLORED, DEEPER = 0.25, 8
# Seconds that a visit may take before it counts as hung, however little of the budget is left. As long as nothing was
# measured the machine may be at fault: each wait in vain makes the next longer by so much, up to MOST_PATIENCE, and
# after MOST_IN_VAIN of them a search whose time is over ends.
LEAST_PATIENCE, MOST_PATIENCE, MOST_IN_VAIN = 5.0, 20.0, 8
# Above that, the share of the remaining budget that a visit may take: a hung scheme must not cost the others their
# turn.
PATIENT_SHARE = 1 / 3
# Seconds of samples in a visit: SHORT to sort out slow schemes, LONG in the finals.
SHORT, LONG = 0.06, 0.12


@dataclass(frozen=True)
class SearchState:
    """What a search is doing. done, of: steps, where they can be counted. best: the work of the best scheme so far."""

    name: str
    done: int = 0
    of: int | None = None
    best: float = float("inf")


class TuningError(RuntimeError):
    """No candidate could be measured; the message holds the most frequent reason."""


@dataclass(frozen=True)
class Outcome:
    """The result of tuning.

    interrupted: whether a Ctrl-C ended it early. tried: every scheme with a timing, as measured before the finals.
    runners_up: the schemes that may take the place of the best, fastest first. doubt: why another scheme may be the
    fastest on a quiet machine; empty where every scheme had an undisturbed visit.
    """

    best: Measured
    trials: int
    failed: int
    interrupted: bool
    tried: tuple[Measured, ...] = ()
    runners_up: tuple[Measured, ...] = ()
    doubt: str = ""

    @property
    def rivals(self) -> tuple[str, ...]:
        """The texts of the schemes to measure again beside a choice in doubt: schemes in doubt first."""
        others = sorted((*self.runners_up, *self.tried), key=lambda m: (not m.disturbed, m.work))
        texts = dict.fromkeys(m.scheme.text for m in others)
        return tuple(text for text in texts if text != self.best.scheme.text)[:RIVALS] if self.doubt else ()


def tune(
    candidates: Sequence[AnyScheme],
    measure: Callable[[AnyScheme, float, float], Timing | str],
    prepare: Callable[[Sequence[AnyScheme], float], Mapping[str, Timing | str]],
    *,
    budget: float,
    trials: int,
    clock: Callable[[], float],
    batch: int = BATCH,
    seed: int = 0,
    known: Mapping[str, Timing | str] | None = None,
    incumbent: str | None = None,
    again: Callable[[str], bool] = lambda reason: False,
    progress: Callable[[SearchState], None] = lambda stage: None,
) -> Outcome:
    """Measures up to `trials` candidates in about `budget` seconds and chooses one. Raises TuningError.

    measure(scheme, seconds, patience) gives a timing, or the reason why there is none within `patience` seconds. One
    that is in doubt is repeated, once a batch later and up to ROUNDS times in the finals. prepare(schemes, patience)
    compiles at most `batch` schemes. It gives, by text, why schemes fail, which are then left out, and the timings of
    schemes that were measured before. known: earlier outcomes by text, which do not count as trials. A scheme with a
    known timing is measured again only in the finals. A scheme that is known to fail is left out, unless all known
    outcomes are failures: then the machine was at fault, and all are tried again. incumbent: the text that an earlier
    search chose. again(reason): whether the machine, not the scheme, may be at fault. progress(stage) hears of each
    step. A KeyboardInterrupt ends the search with the best scheme so far, if there is one.
    """
    search = _Search(measure, prepare, clock, clock() + budget, batch, again)
    timings = {text: found for text, found in (known or {}).items() if isinstance(found, Timing)}
    search.found = {s.text: Measured(s, (timings[s.text],)) for s in candidates if s.text in timings}
    done = frozenset(known or ()) if search.found else frozenset()
    left = [scheme for scheme in candidates if scheme.text not in done]
    # An earlier choice whose time is in doubt comes first.
    chosen = [s for s in left if s.text == incumbent] + [s for s in _trials(left, trials, seed) if s.text != incumbent]
    interrupted = False
    try:
        search.try_all(chosen, clock() + budget * (1 - FINAL_SHARE), progress)
        search.finals(incumbent, candidates[0].text if candidates else None, progress)
    except KeyboardInterrupt:
        if not search.found:
            raise
        interrupted = True
    if not search.found:
        reasons = list(search.failed.values())
        alone = "the one candidate that was tried could not"
        none = alone if len(reasons) == 1 else f"none of {len(reasons)} candidates could"
        reason = max(set(reasons), key=reasons.count)
        busy = "; the machine may be busy: search again, or let the model choose" * again(reason)
        raise TuningError(f"{none} be measured: {reason}{busy}")
    contenders = search.contenders(incumbent)
    best = settled(contenders, candidates, incumbent)
    runners_up = tuple(sorted((m for m in contenders.values() if m is not best), key=lambda m: m.work))
    tried = tuple(search.found.values())
    why = doubt({**search.found, **search.finalists}.values())
    return Outcome(best, search.trials, len(search.failed), interrupted, tried, runners_up, why)


@dataclass
class _Search:
    """The state of a search: short measurements, failures with their reasons, and the finalists' visits.

    starting: whether the next visit is a worker's first, which also starts the worker and computes the reference.
    slowest: seconds of the longest other visit.
    """

    measure: Callable[[AnyScheme, float, float], Timing | str]
    prepare: Callable[[Sequence[AnyScheme], float], Mapping[str, Timing | str]]
    clock: Callable[[], float]
    deadline: float
    batch: int
    again: Callable[[str], bool]
    found: dict[str, Measured] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    finalists: dict[str, Measured] = field(default_factory=dict)
    trials: int = 0
    starting: bool = True
    slowest: float = 0.0

    def visit(self, scheme: AnyScheme, seconds: float) -> Timing | None:
        """Measures a scheme once. A scheme that fails is out, even if it was timed before."""
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

    @property
    def in_vain(self) -> int:
        """How many schemes failed through the machine's fault, perhaps, while none was measured."""
        return 0 if self.found else sum(map(self.again, self.failed.values()))

    def patience(self) -> float:
        """Seconds for the next visit."""
        least = min(LEAST_PATIENCE * (1 + self.in_vain), MOST_PATIENCE)
        return max(least, PATIENT_SHARE * (self.deadline - self.clock()))

    def try_all(self, schemes: list[AnyScheme], deadline: float, progress: Callable[[SearchState], None]) -> None:
        """Measures each scheme once, in batches that are compiled together.

        No batch begins after `deadline`, and no visit begins that would leave too little time for the finals.
        """
        first = 0
        while first < len(schemes):
            if self.clock() > deadline and (self.found or self.in_vain >= MOST_IN_VAIN):
                return
            # Where little time is left, it goes into compiling what will be measured.
            size = self.batch if self.deadline - self.clock() > LEAST_FOR_A_BATCH else 2
            batch = schemes[first : first + size]
            first += size
            progress(SearchState("compiling", self.trials, len(schemes), self.best))
            known = self.prepare(batch, self.patience())
            self.trials += len(known)
            for scheme in batch:
                outcome = known.get(scheme.text)
                if isinstance(outcome, str):
                    self.failed[scheme.text] = outcome
                elif outcome:
                    self.found[scheme.text] = Measured(scheme, (outcome,))
                if outcome:
                    continue
                # The finals need two visits to compare anything.
                if self.found and self.clock() + 3 * self.slowest > self.deadline:
                    return
                timing = self.visit(scheme, SHORT)
                self.trials += 1
                if timing:
                    self.found[scheme.text] = Measured(scheme, (timing,))
                progress(SearchState("measuring", self.trials, len(schemes), self.best))
            for text in [scheme.text for scheme in batch if scheme.text in self.found]:
                if not self.found[text].disturbed:
                    continue
                if self.clock() + 3 * self.slowest > self.deadline:
                    return
                progress(SearchState("measuring again what was disturbed", self.trials, len(schemes), self.best))
                if timing := self.visit(self.found[text].scheme, SHORT):
                    self.found[text] = self.found[text].after(timing)

    @property
    def best(self) -> float:
        """The least work so far."""
        return min((m.work for m in self.found.values()), default=float("inf"))

    def finals(self, incumbent: str | None, first: str | None, progress: Callable[[SearchState], None]) -> None:
        """Runs heats of ROUNDS turns until the deadline. After each heat the slower half is out.

        A disturbed turn is taken again at the end of its heat. The model's first choice always takes part. The choice
        of an earlier search stays to the end.
        """
        fitting = int((self.deadline - self.clock()) / (ROUNDS * self.slowest)) if self.slowest else MOST_FINALISTS
        count = min(max(FINALISTS, fitting), MOST_FINALISTS)
        leaders = sorted(self.found, key=lambda text: (text != first, self.found[text].work))[:count]
        leaders.sort(key=lambda text: self.found[text].work)  # the fastest first, since time may run out
        if self.trials and self.clock() > self.deadline:
            return  # there was time for the first visits only
        while leaders:
            entered = leaders
            if incumbent is not None and incumbent in self.found and incumbent not in leaders:
                entered = [*leaders, incumbent]
            turns, taken, again = deque(entered * ROUNDS), 0, Counter[str]()
            while turns:
                # One finalist is compared with nothing, and first visits may have been other computers'.
                least = min(2, sum(text not in self.failed for text in entered))
                if len(self.finalists) >= least and self.clock() + self.slowest > self.deadline:
                    return
                text = turns.popleft()
                name = f"comparing the best {len(entered)} in turns"
                progress(SearchState(name, taken, taken + len(turns) + 1, self.best))
                taken += 1
                timing = None if text in self.failed else self.visit(self.found[text].scheme, LONG)
                if not timing:
                    continue
                before = self.finalists.get(text) or Measured(self.found[text].scheme, ())
                self.finalists[text] = before.after(timing)
                if timing.disturbed and again[text] < ROUNDS:
                    again[text] += 1
                    turns.append(text)
            remaining = sorted((t for t in leaders if t in self.finalists), key=lambda text: self.finalists[text].work)
            leaders = remaining[: max(2, len(leaders) // 2)] if len(leaders) > 2 else []

    def contenders(self, incumbent: str | None) -> dict[str, Measured]:
        """The finalists, or all measured schemes where there are none; and always the choice of an earlier search."""
        kept = self.found.get(incumbent) if incumbent is not None else None
        earlier = {kept.scheme.text: kept} if kept else {}
        return earlier | (self.finalists or self.found)


def _trials(candidates: list[AnyScheme], trials: int, seed: int) -> list[AnyScheme]:
    """The first candidates in order, with some random further candidates spread among them."""
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
