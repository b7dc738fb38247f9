"""The model's choices for many problems at once, as a whole model has them; `search.flow.find` chooses for one problem.

problems ──► kept by an earlier call, or listed here, then in worker processes on all cores ──► {problem: Choice}
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any  # what a worker gives is JSON

from cpu.runtime.machine.host import host
from cpu.runtime.processes.pool import Pool, Task
from cpu.runtime.processes.worker import CandidateError
from microkernels.scores.database import ignore
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.tuner import store
from search.tuner.measured import AnyScheme
from search.tuner.tune import SearchState
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError
from tiling.text.shapes import canonical, problem_of

# Candidates that a worker gives, best first: as many as a search tries at most.
MOST = 32
# Time limit in seconds for the list of one problem: many times the time on a busy machine.
_LIST_SECONDS = 120.0
# Starting a worker takes as long as listing some problems. So each worker lists at least so many.
_FEW = 3
# A worker takes 0.3 s to start on a Zen 5. Until this process has listed for so long, it does without: a small model's
# problems take 0.04 s each, a layer of ResNet-18 takes 0.1 to 0.5 s.
_START_SECONDS = 0.3


@dataclass(frozen=True)
class Choice:
    """The model's choice for a problem. seconds: what it predicts.

    others: texts of the next best candidates; none where an earlier call made the choice.
    """

    scheme: AnyScheme
    seconds: float
    others: tuple[str, ...] = ()


def choices(
    backend: CpuBackend, problems: Iterable[Problem], progress: Callable[[SearchState], None] = lambda stage: None
) -> dict[Problem, Choice]:
    """The model's choice for each problem. Raises ProblemError, StoreError, WorkerError."""
    computed = {problem: backend.problem(problem) for problem in problems}
    kept = {problem: scheme for problem, own in computed.items() if (scheme := _kept(backend, own)) is not None}
    seconds = backend.predicted_seconds(list(kept.values()))
    found = {problem: Choice(scheme, each) for (problem, scheme), each in zip(kept.items(), seconds)}
    for problem, (texts, predicted) in candidates(backend, [p for p in computed if p not in kept], progress).items():
        scheme = backend.parsed(computed[problem], texts[0])
        store.choose(backend.key(computed[problem]), backend.kind("model", computed[problem]), texts[0], None)
        found[problem] = Choice(scheme, predicted, texts[1:])
    return found


def candidates(
    backend: CpuBackend, problems: Sequence[Problem], progress: Callable[[SearchState], None] = lambda stage: None
) -> Mapping[Problem, tuple[tuple[str, ...], float]]:
    """For each problem its best candidates, at most `MOST`, and the predicted seconds of the first."""
    target, found = backend.target, {}
    place = {"isa": target.isa, "threads": target.threads, "dtype": target.dtype, "algorithm": target.algorithm}
    place["cache"] = target.cache
    tasks = {
        Task("search.flow.choices:listed", _LIST_SECONDS, {"op": p.op, "shape": canonical(p), **place}): p
        for p in problems
    }
    waiting, until = list(tasks), time.monotonic() + _START_SECONDS
    while waiting and (len(waiting) <= _FEW or time.monotonic() < until):
        problem = tasks[waiting.pop(0)]
        found[problem] = _listed(backend, problem)
        progress(SearchState("listing candidates", len(found), len(tasks)))
    if not waiting:
        return found
    with closing(Pool(min(host().cores, -(-len(waiting) // _FEW)))) as pool:
        for task, outcome in pool.run(waiting):
            problem = tasks[task]
            if isinstance(outcome, CandidateError):
                found[problem] = _listed(backend, problem)  # raises the original error, not its text
            else:
                found[problem] = tuple(outcome["schemes"]), outcome["seconds"]
            progress(SearchState("listing candidates", len(found), len(tasks)))
    return found


def listed(*, op: str, shape: str, **place: Any) -> dict[str, Any]:
    """The result of `candidates` for one problem, computed in a worker. place: what `_backend` takes."""
    schemes, seconds = _listed(_backend(**place), problem_of(op, shape))
    return {"schemes": schemes, "seconds": seconds}


def _listed(backend: CpuBackend, problem: Problem) -> tuple[tuple[str, ...], float]:
    schemes = backend.candidates(backend.problem(problem))[:MOST]
    return tuple(scheme.text for scheme in schemes), backend.predicted_seconds(schemes[:1])[0]


@lru_cache(maxsize=2)
def _backend(isa: str, threads: int, dtype: str, algorithm: str, cache: str) -> CpuBackend:
    """The back end of a worker, which reads the ranking once."""
    found = cpu_backend(isa, threads, dtype, algorithm)
    return CpuBackend(replace(found.target, cache=cache))


def _kept(backend: CpuBackend, problem: Problem) -> AnyScheme | None:
    """The choice of an earlier call."""
    key = backend.key(problem)
    found = store.choice(key, backend.kind("model", problem))
    if found is None:
        return None
    try:
        return backend.parsed(problem, found.scheme)
    except SchemeError as error:
        ignore([f"the choice for {key.shape}: {error}"])
        return None
