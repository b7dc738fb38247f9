"""Tunes a model's products inside the model: a few candidates at once, each in its own steps.

    each product's share of the time ──► next candidates for the products with the largest shares ──► the model with
    these, in turns with the model before ──► a kernel stays if its steps are faster, its results right, and the whole
    model faster

So weights are cold, and inputs lie where the step before left them. Each outcome is kept at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any  # schemes

import numpy as np

from cpu.runtime.machine.host import host
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import CandidateError
from graph.library.kernels import Kernels, object_of
from graph.model.errors import ModelError
from graph.trials import LEAST_TURNS, Trials, trials, turns_for
from search.commands.progress import SearchState
from search.evaluator.interface.errors import CompileError, SchemeError
from search.evaluator.interface.protocol import CANDIDATE_SECONDS, Evaluator
from search.flow import in_models
from search.flow.choices import candidates
from tiling.machine import Timing
from tiling.problem import Problem

# Products that get a new kernel in a round. Linking and timing the model takes as long for many as for one.
ROUND = 16
# With less than ENOUGH seconds left only FEW do, so that the round ends in time.
FEW, ENOUGH = 4, 30.0
# A kernel is worth a look at the whole model if it takes this share less in its own steps.
LEAST_GAIN = 0.01
_CHECK_SECONDS = 0.01  # of samples, which nobody reads: the check comes before them


def tuned(
    kernels: Kernels,
    steps: Mapping[Problem, Sequence[int]],
    schemes: Mapping[Problem, Any],
    others: Mapping[Problem, Sequence[str]],
    files: Callable[[Mapping[Problem, Any]], Mapping[str, bytes]],
    budget: float,
    progress: Callable[[SearchState], None],
) -> Mapping[Problem, Any]:
    """The schemes that are fastest in the model, after about `budget` seconds.

    steps: the numbers of each product's steps. schemes: the first ones. others: candidates by text, best first; a
    product without any gets them listed when its turn comes. files: gives the files of the model with these schemes. A
    Ctrl-C passes through: the store has the results so far. Raises what compiling raises, StoreError and WorkerError.
    """
    if not steps:
        return schemes
    with (
        trials(kernels.backend.environment) as trying,
        closing(kernels.backend.evaluator(next(iter(steps)))) as checker,
    ):
        return _Tuning(kernels, steps, schemes, others, files, trying, checker).run(budget, progress)


class _Tuning:
    """The state: the schemes that stay so far, and what was tried."""

    def __init__(
        self,
        kernels: Kernels,
        steps: Mapping[Problem, Sequence[int]],
        schemes: Mapping[Problem, Any],
        others: Mapping[Problem, Sequence[str]],
        files: Callable[[Mapping[Problem, Any]], Mapping[str, bytes]],
        trying: Trials,
        checker: Evaluator,
    ) -> None:
        self.kernels, self.backend, self.files = kernels, kernels.backend, files
        self.trying, self.checker = trying, checker
        self.steps = {problem: list(numbers) for problem, numbers in steps.items()}
        self.schemes = dict(schemes)
        self.lists = {problem: list(texts) for problem, texts in others.items() if texts}
        self.tried = {problem: set(in_models.known(self.backend, problem)) for problem in steps}
        self.turns = LEAST_TURNS

    def run(self, budget: float, progress: Callable[[SearchState], None]) -> Mapping[Problem, Any]:
        """Rounds, until there is no time for another."""
        self.base = self.placed(self.schemes)
        began = time.monotonic()
        self.deadline = began + budget
        try:
            (seconds,) = self.timed([self.base])
        except CandidateError as error:
            raise ModelError(f"the model is compiled, and fails where it is timed: {error.reason}") from error
        first = whole = float(np.median(seconds.sum(axis=1)))
        self.turns = turns_for(whole)
        # Steps in a branch that these inputs do not take have no time.
        shares = {problem: self.of(problem, seconds) / whole for problem in self.steps}
        shares = {problem: share for problem, share in shares.items() if share}
        longest = 0.0
        while (spent := time.monotonic() - began) + longest < budget:
            count, faster = sum(map(len, self.tried.values())), 100 * (first / whole - 1)
            told = f"tuning: {plural(count, 'kernels')} tried, {faster:.1f} % faster"
            progress(SearchState(told, round(spent), round(budget)))
            picked = self.picked(shares, ROUND if budget - spent > ENOUGH else FEW)
            if not picked:
                break
            whole *= self.round(picked)
            longest = max(longest, time.monotonic() - began - spent)
        return self.schemes

    def picked(self, shares: Mapping[Problem, float], most: int) -> dict[Problem, Any]:
        """The next candidates of the products with the largest shares. Products that were tried often come later."""
        order = sorted(shares, key=lambda problem: -shares[problem] / (1 + len(self.tried[problem])))
        found: dict[Problem, Any] = {}
        while order and len(found) < most:
            wanted, order = order[: most - len(found)], order[most - len(found) :]
            unlisted = [problem for problem in wanted if problem not in self.lists]
            for problem, (listed, _) in candidates(self.backend, unlisted).items():
                self.lists[problem] = list(listed)
            for problem in wanted:
                texts = self.lists[problem]
                while texts and (texts[0] in self.tried[problem] or texts[0] == self.schemes[problem].text):
                    texts.pop(0)
                if texts:
                    found[problem] = self.backend.parsed(self.backend.problem(problem), texts.pop(0))
        return found

    def round(self, picked: dict[Problem, Any]) -> float:
        """Tries new kernels. Gives the time of the model as a share of that before."""
        for problem, reason in self.uncompiled(picked).items():
            in_models.record(self.backend, problem, picked.pop(problem).text, reason)
        for problem, scheme in picked.items():
            self.tried[problem].add(scheme.text)
        if not picked:
            return 1.0
        variant = self.placed({**self.schemes, **picked})
        try:
            before, after = self.timed([self.base, variant])
        except CandidateError:  # the one at fault is found by trying each
            for problem, scheme in picked.items():
                self.is_right(problem, scheme)
            return 1.0
        finally:
            self.trying.dropped(variant)
        gains = {}
        for problem, scheme in picked.items():
            count = len(self.steps[problem])
            timings = [self.timing(seconds[:, self.steps[problem]].sum(axis=1) / count) for seconds in (before, after)]
            for each, timing in zip((self.schemes[problem], scheme), timings):
                in_models.record(self.backend, problem, each.text, timing)
            old, new = self.of(problem, before), self.of(problem, after)
            if new < old * (1 - LEAST_GAIN):
                gains[problem] = old - new
        better = sorted(gains, key=lambda problem: -gains[problem])
        return self.taken({p: picked[p] for p in better if self.is_right(p, picked[p])})

    def taken(self, better: Mapping[Problem, Any]) -> float:
        """Keeps the kernels that make the whole model faster: all of them, or those of either half."""
        if not better:
            return 1.0
        variant = self.placed({**self.schemes, **better})
        try:
            before, after = self.timed([self.base, variant])
            share = float(np.median(after.sum(axis=1) / before.sum(axis=1)))
        except CandidateError:  # each of them ran with others in its place: all of them together do not
            share = 1.0
        if share < 1:
            self.trying.dropped(self.base)
            self.base = variant
            self.schemes |= better
            for problem, scheme in better.items():
                seconds = after[:, self.steps[problem]].sum(axis=1) / len(self.steps[problem])
                in_models.choose(self.backend, problem, scheme.text, self.timing(seconds))
            return share
        self.trying.dropped(variant)
        if len(better) == 1 or time.monotonic() > self.deadline:
            return 1.0
        items = list(better.items())
        half = len(items) // 2
        return self.taken(dict(items[:half])) * self.taken(dict(items[half:]))

    def uncompiled(self, picked: Mapping[Problem, Any]) -> dict[Problem, str]:
        """Compiles kernels on all cores. Gives the reasons of those that do not compile."""

        def reason(problem: Problem) -> str:
            try:
                object_of(self.kernels.text(problem, picked[problem]))
                return ""
            except (CompileError, SchemeError) as error:
                return f"{type(error).__name__}: {error}"

        with ThreadPoolExecutor(host().cores) as pool:
            reasons = dict(zip(picked, pool.map(reason, picked)))
        return {problem: text for problem, text in reasons.items() if text}

    def is_right(self, problem: Problem, scheme: Any) -> bool:
        """Whether a kernel computes small whole numbers exactly, in a process of its own."""
        outcome = self.checker.measure(scheme, _CHECK_SECONDS, CANDIDATE_SECONDS)
        if isinstance(outcome, str):
            in_models.record(self.backend, problem, scheme.text, outcome)
            in_models.reject(self.backend, problem, scheme.text, outcome)
        return not isinstance(outcome, str)

    def placed(self, schemes: Mapping[Problem, Any]) -> Path:
        """The folder of the model with these kernels."""
        return self.trying.placed(self.files(schemes))

    def timed(self, folders: Sequence[Path]) -> list[np.ndarray]:
        """seconds[turn, step] of each model. Raises CandidateError."""
        return self.trying.timed(folders, self.turns)

    def of(self, problem: Problem, seconds: np.ndarray) -> float:
        """The median, over the turns, of the total time of a product's steps."""
        return float(np.median(seconds[:, self.steps[problem]].sum(axis=1)))

    def timing(self, samples: np.ndarray) -> Timing:
        return Timing(tuple(map(float, samples)), self.backend.machine.peak / 1e9)
