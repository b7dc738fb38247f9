"""Chooses a model's layouts by the times of its steps in whole models, not only by predictions.

    time the model ──► the layouts of the least sum, measured where that is known ──► time that model beside the best
    one, in turns ──► again with what is known now, until the least sum is a model that was timed

What was not timed is believed to take less than predicted, but not much less. So only those steps are tried in the
other layout on which the choice hangs, and what is chosen has been measured. The last word is the whole model's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cpu.runtime.compiler.toolchain import CompileError
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import CandidateError
from graph.layouts.choice import channels_last
from graph.layouts.costs import Costs
from graph.layouts.explain import LEAST_SUM
from graph.library.times import Times
from graph.model.language import Model
from graph.trials import LEAST_TURNS, Trials, turns_for
from graph.variant import Variant
from search.commands.progress import SearchState

# The least share of its predicted time that a step may take. Predicted from the measured time in the other layout, of
# 174 convolutions of six networks (decision 057) 153 took more than this with channels last, 163 with channels first.
HOPE = 0.8
# Other layouts stay if the whole model takes this share less.
LEAST_GAIN = 0.01

Last = frozenset[int]


@dataclass(frozen=True)
class Layouts:
    """The steps that keep channels last, and in sentences how that was chosen."""

    last: Last
    account: str


def faster_layouts(
    graph: Model,
    first: Last,
    costs: Costs,
    variant: Callable[[Last], Variant],
    times: Times,
    trying: Trials,
    budget: float,
    progress: Callable[[SearchState], None],
) -> Layouts:
    """The layouts after about `budget` seconds. They are kept where all that matters was timed.

    first: those to begin with. variant: gives the model in these layouts. Raises what compiling raises, StoreError and
    WorkerError.
    """
    began = time.monotonic()
    best, tried = _Timed(first, variant(first), trying, times), {first}
    try:
        (seconds,) = best.beside([], LEAST_TURNS)
    except CandidateError:
        # Tuning says why.
        return Layouts(first, f"the model could not be timed, so they are {LEAST_SUM}")
    ended = "the budget ended the search, and the next one goes on"
    slower: list[str] = []
    turns, longest = turns_for(float(np.median(seconds.sum(axis=1)))), time.monotonic() - began
    while (spent := time.monotonic() - began) + longest < budget:
        progress(SearchState(f"layouts: {plural(len(tried), 'variants')} timed", round(spent), round(budget)))
        last = channels_last(graph, replace(costs, hope=HOPE))
        if last in tried:
            times.keep_layouts(graph, best.last)
            ended = "the search came to its end"
            break
        tried.add(last)
        try:
            other = _Timed(last, variant(last), trying, times)
            after, before = other.beside([best], turns)
        except (CandidateError, CompileError) as error:
            ended = f"a variant that does not work ended the search: {error}"
            break  # the best one so far works
        ratio = float(np.median(after.sum(axis=1) / before.sum(axis=1)))
        if ratio < 1 - LEAST_GAIN:
            best, other, ratio = other, best, 1 / ratio
        slower.append(f"{ratio:.2f} times as long with {_steps(other.last)} as with {_steps(best.last)}")
        trying.dropped(other.folder)
        longest = max(longest, time.monotonic() - began - spent)
    trying.dropped(best.folder)
    compared = f". In turns, the whole model took {', then '.join(slower)}" if slower else ""
    timed = f"{plural(1 + len(slower), 'variants')} of the model timed"
    return Layouts(best.last, f"{timed}; {ended}{compared}")


def _steps(last: Last) -> str:
    return f"channels last in {plural(len(last), 'steps')}"


class _Timed:
    """A model in some layouts on trial."""

    def __init__(self, last: Last, variant: Variant, trying: Trials, times: Times) -> None:
        self.last, self.steps, self.trying, self.times = last, variant.timed, trying, times
        self.folder: Path = trying.placed(variant.files(variant.compiled({})))

    def beside(self, others: list[_Timed], turns: int) -> list[np.ndarray]:
        """seconds[turn, step] of this model and of others. Keeps what each work took. Raises CandidateError."""
        models = [self, *others]
        found = self.trying.timed([model.folder for model in models], turns)
        for model, seconds in zip(models, found):
            for work, numbers in model.steps.items():
                self.times.keep(work, seconds[:, numbers].sum(axis=1) / len(numbers))
        return found
