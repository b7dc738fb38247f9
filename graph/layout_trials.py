"""Chooses a model's layouts by the times of its steps in whole models, not only by predictions.

    time the model ──► the layouts of the least sum, measured where that is known ──► time that model beside the best
    one, in turns ──► again with what is known now, until the least sum is a model that was timed

What was not timed is believed to take less than predicted, but not much less. So only those steps are tried in the
other layout on which the choice hangs, and what is chosen has been measured. The last word is the whole model's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from cpu.runtime.compiler.toolchain import CompileError
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import CandidateError
from graph.layouts.choice import channels_last
from graph.layouts.costs import Costs
from graph.library.times import Times
from graph.model.language import Model
from graph.trials import LEAST_TURNS, Trials, turns_for
from graph.variant import Variant
from search.commands.progress import Stage

# The least share of its predicted time that a step may take. Predicted from the measured time in the other layout, of
# 174 convolutions of six networks (decision 057) 153 took more than this with channels last, 163 with channels first.
HOPE = 0.8
# Other layouts stay if the whole model takes this share less.
LEAST_GAIN = 0.01

Last = frozenset[int]


def faster_layouts(
    graph: Model,
    first: Last,
    costs: Costs,
    variant: Callable[[Last], Variant],
    times: Times,
    trying: Trials,
    budget: float,
    progress: Callable[[Stage], None],
) -> Last:
    """The steps that keep channels last, after about `budget` seconds. They are kept where all that matters was timed.

    first: those to begin with. variant: gives the model in these layouts. Raises what compiling raises, StoreError and
    WorkerError.
    """
    began = time.monotonic()
    best, tried = _Timed(first, variant(first), trying, times), {first}
    try:
        (seconds,) = best.beside([], LEAST_TURNS)
    except CandidateError:
        return first  # tuning says so
    turns, longest = turns_for(float(np.median(seconds.sum(axis=1)))), time.monotonic() - began
    while (spent := time.monotonic() - began) + longest < budget:
        progress(Stage(f"layouts: {plural(len(tried), 'variants')} timed", round(spent), round(budget)))
        last = channels_last(graph, replace(costs, hope=HOPE))
        if last in tried:
            times.keep_layouts(graph, best.last)
            break
        tried.add(last)
        try:
            other = _Timed(last, variant(last), trying, times)
            after, before = other.beside([best], turns)
        except (CandidateError, CompileError):
            break  # the best one so far works
        if np.median(after.sum(axis=1) / before.sum(axis=1)) < 1 - LEAST_GAIN:
            best, other = other, best
        trying.dropped(other.folder)
        longest = max(longest, time.monotonic() - began - spent)
    trying.dropped(best.folder)
    return best.last


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
