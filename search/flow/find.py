"""Finds a kernel for a problem. Every command and entry point that searches uses this function.

problem ──► as the target computes it ──► candidates ──► compiled, measured in turns ──► last check ──► Found
                                     └─► kept by an earlier search ───┴ where that is in doubt ──────────┘
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from search.evaluator import backend_of
from search.evaluator.interface.protocol import Backend, Verdict
from search.flow.debug import ASSEMBLY, CHOICES, SCHEMES, SOURCE, tell
from search.flow.recorded import VERDICT_SECONDS, Recalled, passed, recalled, tuned
from search.tuner import store
from search.tuner.measured import AnyScheme, Measured
from search.tuner.target import Target
from search.tuner.tune import SearchState, TuningError
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.shapes import canonical

if TYPE_CHECKING:
    from search.evaluator.kernels import CpuKernel, GpuKernel, TwinKernel

DEFAULT_BUDGET = 30.0  # seconds
DEFAULT_TRIALS = 32
# A search that takes this many times its budget is reported, since the tuner stops in time wherever it can.
OVERRUN = 1.2
_LEAST_BUDGET = 0.1  # seconds of measuring, so that a search with candidates measures one
# What is said of a choice in doubt, after the reason. MARKED: by a search that measures. UNSETTLED: where its choice is
# taken later.
MARKED = "the choice is in doubt, and measured again when it is next asked for and the machine is quiet"
UNSETTLED = 'the choice is in doubt: a search that measures (tune="measure") settles it when the machine is quiet'


@dataclass(frozen=True)
class Found:
    """What a search chose, and how.

    timing: None where nothing was measured; `disturbed` says why the choice is in doubt. verdict: the result of the
    last check; None where there was no check. ranked: the candidates, the model's choice first. tried: every scheme
    with a timing, as measured before the finals, but those that failed the last check. known: how many timings and
    failures of earlier searches took part. listing, measuring: seconds; a choice of the model counts its compilation as
    measuring. recalled: whether an earlier search made the choice. given: whether the caller gave the scheme.
    rivals: texts of the schemes to measure again beside a choice in doubt.
    """

    backend: Backend
    scheme: AnyScheme
    timing: Timing | None = None
    verdict: Verdict | None = None
    ranked: Sequence[AnyScheme] = ()
    tried: tuple[Measured, ...] = ()
    trials: int = 0
    failed: int = 0
    known: int = 0
    listing: float = 0.0
    measuring: float = 0.0
    interrupted: bool = False
    recalled: bool = False
    given: bool = False
    rivals: tuple[str, ...] = ()

    @property
    def max_error(self) -> float | None:
        """The largest error on random reals; None where reals were not checked."""
        return self.verdict.max_error if self.verdict else None

    @property
    def seconds(self) -> float:
        """Seconds of the search without the last check."""
        return self.listing + self.measuring

    def build(self) -> CpuKernel | GpuKernel | TwinKernel:
        """The kernel, with its timing. Raises what the back end raises."""
        kernel: CpuKernel | GpuKernel | TwinKernel = self.backend.build(self.scheme, self.timing)
        return kernel

    def explained(self) -> str:
        """Why this scheme is chosen before the next ones, by the model."""
        others = [scheme for scheme in self.ranked if scheme != self.scheme]
        why_not = "it was measured slower, or failed" if self.trials else "ptxas spills its registers"
        return self.backend.explain(self.scheme, others, why_not)

    def keep(self, tune: str) -> None:
        """Stores this choice. A search that was cut short does not replace an earlier choice."""
        key, kind = self.backend.key(self.scheme.problem), self.backend.kind(tune, self.scheme.problem)
        if key and kind and not (self.interrupted and store.choice(key, kind)):
            store.choose(key, kind, self.scheme.text, self.timing, self.rivals)


def find(
    problem: Problem,
    target: Target,
    *,
    tune: str = "measure",
    scheme: str | None = None,
    budget: float = DEFAULT_BUDGET,
    trials: int = DEFAULT_TRIALS,
    seed: int = 0,
    forget: bool = False,
    recall: bool = False,
    verify: bool = True,
    progress: Callable[[SearchState], None] = lambda stage: None,
) -> Found:
    """The best scheme for a problem on a target.

    tune: "model" trusts the model and measures nothing; "measure" tries the most promising schemes for about `budget`
    seconds, at most `trials` of them. scheme: take exactly this scheme. recall: take the choice of an earlier search
    where there is one; with "measure" one in doubt is first measured again beside its rivals, if the machine is quiet
    now. forget: ignore earlier measurements. verify: end with the last check, on integers and on random
    reals of `seed`, where the target can run.

    A Ctrl-C ends a measured search with the best scheme so far, if there is one. Raises ProblemError, SchemeError,
    TuningError where no candidate runs, CandidateError where none passes the last check, and what the back end raises.
    """
    backend = backend_of(target)
    problem = backend.problem(problem)
    kept = recalled(backend, problem, tune) if recall and scheme is None else None
    if scheme is not None:
        found = _exactly(backend, backend.parsed(problem, scheme))
    elif kept and not (tune == "measure" and _can_be_settled(backend, kept)):
        return _told(Found(backend, kept.scheme, kept.timing, ranked=(kept.scheme,), recalled=True))
    elif tune == "measure":
        again = (kept.scheme, *kept.rivals) if kept else None
        measured = _measured(
            backend, problem, again, budget, verify, trials=trials, seed=seed, forget=forget, progress=progress
        )
        return _told(measured)
    else:
        found = _predicted(backend, problem, progress)
    if verify and not target.absent:
        progress(SearchState("checking"))
        with closing(backend.checker(problem)) as checker:
            verdict = checker.verify(found.scheme, VERDICT_SECONDS, seed)
        found = replace(found, verdict=verdict, timing=verdict.timing)
    return _told(found)


def _exactly(backend: Backend, scheme: AnyScheme) -> Found:
    backend.compile(scheme)  # here rather than in a worker, so that the error says why it cannot be emitted
    return Found(backend, scheme, ranked=(scheme,), given=True)


def _can_be_settled(backend: Backend, kept: Recalled) -> bool:
    """Whether a choice is in doubt, and the machine quiet enough to measure it again."""
    return bool(kept.timing and kept.timing.disturbed) and not backend.disturbance()


def _listed(
    backend: Backend, problem: Problem, progress: Callable[[SearchState], None]
) -> tuple[Sequence[AnyScheme], float]:
    """The candidates, and the seconds that listing them took. Raises TuningError where there are none."""
    started = time.monotonic()
    progress(SearchState("listing candidates"))
    candidates = backend.candidates(problem)
    if not candidates:
        raise TuningError(f"no schedule of {problem} fits {backend.target.device or backend.target.isa}")
    tell(SCHEMES, lambda: "\n".join(candidate.text for candidate in candidates))
    return candidates, time.monotonic() - started


def _predicted(backend: Backend, problem: Problem, progress: Callable[[SearchState], None]) -> Found:
    candidates, listing = _listed(backend, problem, progress)
    started = time.monotonic()
    chosen = backend.first_built(candidates)
    return Found(backend, chosen, ranked=candidates, listing=listing, measuring=time.monotonic() - started)


def _measured(
    backend: Backend,
    problem: Problem,
    schemes: Sequence[AnyScheme] | None,
    budget: float,
    verify: bool,
    *,
    trials: int,
    seed: int,
    forget: bool,
    progress: Callable[[SearchState], None],
) -> Found:
    with closing(backend.evaluator(problem)) as evaluator:
        candidates, listing = (schemes, 0.0) if schemes else _listed(backend, problem, progress)
        progress(SearchState("starting"))
        evaluator.ready()
        started = time.monotonic()
        left = max(budget - listing, _LEAST_BUDGET)
        outcome, known = tuned(
            backend,
            evaluator,
            candidates,
            forget=forget,
            budget=left,
            trials=trials,
            seed=seed,
            progress=progress,
        )
        measuring = time.monotonic() - started
        verdict, interrupted = None, outcome.interrupted
        if verify:
            progress(SearchState("checking"))
            checked = passed(backend, evaluator, outcome, seed)
            outcome, verdict = checked.outcome, checked.verdict
            interrupted = outcome.interrupted or verdict is None
        timing = _quietest(verdict, outcome.best.timing)
        timing = replace(timing, disturbed=outcome.doubt or timing.disturbed)
    return Found(
        backend,
        outcome.best.scheme,
        timing,
        verdict,
        candidates,
        outcome.tried,
        outcome.trials,
        outcome.failed,
        known,
        listing,
        measuring,
        interrupted,
        rivals=outcome.rivals,
    )


def _quietest(verdict: Verdict | None, searched: Timing) -> Timing:
    """The timing of the last check, or that of the search where only this one was undisturbed."""
    checked = (verdict and verdict.timing) or searched
    return searched if checked.disturbed and not searched.disturbed else checked


def _told(found: Found) -> Found:
    """Prints what `TILEWRIGHT_DEBUG` asks for, and returns the same Found."""
    problem, backend, scheme = found.scheme.problem, found.backend, found.scheme
    how = f"the best of {len(found.ranked)} ranked"
    if found.recalled or found.given:
        how = "kept by an earlier search" if found.recalled else "as given"
    tell(CHOICES, lambda: f"{problem.op} {canonical(problem)}: {scheme.text}, {how}")
    tell(SOURCE, lambda: backend.source(scheme))
    tell(ASSEMBLY, lambda: backend.assembly(scheme))
    return found
