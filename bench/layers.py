"""One layer of a suite: the scheme that tuning finds and the one the model alone would take, timed in turns."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

from cpu.worker import Worker
from search.workshop import DEFAULT_TRIALS, Workshop
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.shapes import canonical

ROUNDS = 5
TURN_SECONDS = 0.1
# Five turns of two kernels, their compilation, and a reference of the largest layer.
_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class LayerResult:
    """What one layer reached. Both kernels were exact on integers and within the bound on reals, or there is no result.

    `search_seconds` is from the question to the scheme, `total_seconds` until its kernel has passed the check.
    """

    suite: str
    layer: str
    shape: str
    flops: int
    threads: int
    tuned_scheme: str
    tuned: Timing
    max_error: float
    model_scheme: str
    model: Timing
    model_max_error: float
    trials: int
    search_seconds: float
    total_seconds: float

    @property
    def percent(self) -> float:
        """Percent of the FMA peak of the threads used, as tuned."""
        return 100 * self.tuned.fraction_of_peak(self.flops, self.threads)

    @property
    def model_percent(self) -> float:
        """The same for the model's own choice."""
        return 100 * self.model.fraction_of_peak(self.flops, self.threads)


def run_layer(shop: Workshop, suite: str, layer: str, problem: Problem, budget: float) -> LayerResult:
    """Searches for `budget` seconds, checks winner and model's choice, then times both in turns.

    Raises CandidateError where one of the two fails, TuningError where no candidate runs, and KeyboardInterrupt also
    where a Ctrl-C ended the search with a best so far: that is not what the budget would have found.
    """
    started = time.monotonic()
    candidates = shop.candidates(problem)
    left = budget - (time.monotonic() - started)
    # What earlier runs measured is forgotten, so that every run searches as long and finds as much as the first one.
    outcome = shop.tune(candidates, budget=left, trials=DEFAULT_TRIALS, forget=True)
    if outcome.interrupted:
        raise KeyboardInterrupt
    search_seconds = time.monotonic() - started
    best, first = outcome.best.scheme, candidates[0]
    _, max_error = shop.verdict(best, TURN_SECONDS, seed=0)
    total_seconds = time.monotonic() - started
    _, model_max_error = shop.verdict(first, TURN_SECONDS, seed=0)
    with closing(Worker(env=shop.environment)) as worker:
        job = {**shop.job(best), "schemes": [best.text, first.text]}
        del job["scheme"]
        timings = worker.call(
            "cpu.measure:side_by_side", timeout=_TIMEOUT_SECONDS, rounds=ROUNDS, seconds=TURN_SECONDS, **job
        )
    tuned, model = (Timing(tuple(t["samples"]), t["peak_gflops"]) for t in timings)
    return LayerResult(
        suite, layer, canonical(problem), problem.flops, shop.threads,
        best.text, tuned, max_error, first.text, model, model_max_error,
        outcome.trials, search_seconds, total_seconds,
    )  # fmt: skip
