"""Connects a search with the store: earlier outcomes take part, and new outcomes are kept at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from microkernels.scores.database import ignore
from search.evaluator.interface.errors import CandidateError, CompileError, is_worth_another_try
from search.evaluator.interface.protocol import Backend, Evaluator, Verdict
from search.flow.debug import TIMINGS, tell
from search.tuner import store
from search.tuner.measured import AnyScheme
from search.tuner.tune import Outcome, SearchState, tune
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError

VERDICT_SECONDS = 0.5


@dataclass(frozen=True)
class Passed:
    """The outcome of a search whose best scheme is the first finalist that passed the last check.

    verdict: the result of that check; None where a Ctrl-C ended it.
    """

    outcome: Outcome
    verdict: Verdict | None


def tuned(
    backend: Backend,
    evaluator: Evaluator,
    schemes: Sequence[AnyScheme],
    *,
    forget: bool,
    budget: float,
    trials: int,
    seed: int = 0,
    progress: Callable[[SearchState], None] = lambda stage: None,
) -> tuple[Outcome, int]:
    """Runs `search.tuner.tune.tune` and keeps each outcome at once. Also gives how many schemes the store knew.

    Kept outcomes take part, and the store's measured choice is the incumbent. A failure that may be the machine's
    fault, and a time that is in doubt, are tried again. forget: earlier outcomes are ignored. Raises TuningError,
    StoreError, and WorkerError where the machine is at fault and not a candidate.
    """
    problem = schemes[0].problem
    key, kind = backend.key(problem), backend.kind("measure", problem)
    assert key and kind  # whatever can be timed has a place in the store
    known = {} if forget else {text: found for text, found in store.measured(key).items() if _stands(found)}
    kept = None if forget else store.choice(key, kind)

    def measured(scheme: AnyScheme, seconds: float, patience: float) -> Timing | str:
        outcome = evaluator.measure(scheme, seconds, patience)
        store.record(key, scheme.text, outcome)
        tell(TIMINGS, lambda: f"{_said(outcome)}  {scheme.text}")
        return outcome

    def prepared(wanted: Sequence[AnyScheme], patience: float) -> dict[str, Timing | str]:
        found = evaluator.prepare(wanted, patience)
        for text, outcome in found.items():
            store.record(key, text, outcome)
        if found:
            tell(TIMINGS, lambda: "\n".join(f"{_said(outcome)}  {text}" for text, outcome in found.items()))
        return found

    outcome = tune(
        schemes,
        measured,
        prepared,
        budget=budget,
        trials=trials,
        clock=time.monotonic,
        batch=evaluator.batch,
        seed=seed,
        known=known,
        incumbent=kept.scheme if kept else None,
        again=is_worth_another_try,
        progress=progress,
    )
    return outcome, sum(scheme.text in known for scheme in schemes)


def passed(backend: Backend, evaluator: Evaluator, outcome: Outcome, seed: int) -> Passed:
    """Runs the last check on the finalists, the best first, until one passes.

    A finalist that fails is left out of the outcome's schemes, and recorded as failed, unless the machine may be
    at fault, so that no later search chooses it. A Ctrl-C ends only this check. Raises the first CandidateError or
    CompileError where all fail.
    """
    first: CandidateError | CompileError | None = None
    finalists = (outcome.best, *outcome.runners_up)
    for place, finalist in enumerate(finalists):
        rejected = {failed.scheme.text for failed in finalists[:place]}
        rest = replace(
            outcome,
            best=finalist,
            runners_up=finalists[place + 1 :],
            failed=outcome.failed + place,
            tried=tuple(measured for measured in outcome.tried if measured.scheme.text not in rejected),
        )
        try:
            backend.compile(finalist.scheme)
            return Passed(rest, evaluator.verify(finalist.scheme, VERDICT_SECONDS, seed))
        except CompileError as error:
            first = first or error
        except CandidateError as error:
            first = first or error
            key = backend.key(finalist.scheme.problem)
            if key and not is_worth_another_try(error.reason):
                store.reject(key, finalist.scheme.text, error.reason)
        except KeyboardInterrupt:
            return Passed(rest, None)
    assert first  # there is at least one finalist, and each either passed or raised
    raise first


@dataclass(frozen=True)
class Recalled:
    """The choice of an earlier search. rivals: the schemes to measure again beside a choice in doubt."""

    scheme: AnyScheme
    timing: Timing | None
    rivals: tuple[AnyScheme, ...] = ()


def recalled(backend: Backend, problem: Problem, tune: str) -> Recalled | None:
    """The choice of an earlier search, unless it does not parse or does not compile here.

    For "model" the choice of a measured search comes first, since it is at least as fast.
    """
    key = backend.key(problem)
    if key is None:
        return None
    for each in dict.fromkeys(("measure", tune)):
        kind = backend.kind(each, problem)
        found = store.choice(key, kind) if kind else None
        if found is None:
            continue
        try:
            scheme, *rivals = (backend.parsed(problem, text) for text in (found.scheme, *found.rivals))
            backend.compile(scheme)
            return Recalled(scheme, found.timing, tuple(rivals))
        except SchemeError as error:
            ignore([f"the choice for {key.shape}: {error}"])
        except CompileError:
            continue  # the record is sound, but the compiler's options or limits have changed since
    return None


def _stands(outcome: Timing | str) -> bool:
    """Whether an outcome is final. After a disturbance, a time-out or a lack of memory the next search tries again."""
    return not (is_worth_another_try(outcome) if isinstance(outcome, str) else outcome.disturbed)


def _said(outcome: Timing | str) -> str:
    if isinstance(outcome, str):
        return outcome
    return f"{outcome.seconds * 1e3:.4g} ms" + (f" while {outcome.disturbed}" if outcome.disturbed else "")
