"""One layer of a suite: the scheme that tuning finds and the one the model alone would take, timed in turns."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

from cpu.worker import Worker
from search.generate import DEFAULT_TRIALS, Workshop
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.shapes import canonical

ROUNDS = 5
TURN_SECONDS = 0.1
# Five turns of two kernels, their compilation, and a reference of the largest layer.
_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class LayerResult:
    """What one layer reached. max_error: on random reals, within the bound, and integers exact, or there is no result."""

    suite: str
    layer: str
    shape: str
    flops: int
    threads: int
    tuned_scheme: str
    tuned: Timing
    model_scheme: str
    model: Timing
    max_error: float
    trials: int
    search_seconds: float

    @property
    def percent(self) -> float:
        """Percent of the FMA peak of the threads used, as tuned."""
        return 100 * self.tuned.fraction_of_peak(self.flops, self.threads)

    @property
    def model_percent(self) -> float:
        """The same for the model's own choice."""
        return 100 * self.model.fraction_of_peak(self.flops, self.threads)


def run_layer(shop: Workshop, suite: str, layer: str, problem: Problem, budget: float) -> LayerResult:
    """Searches for `budget` seconds, checks the winner, then times it beside the model's choice. Raises CandidateError."""
    started = time.monotonic()
    candidates = shop.candidates(problem)
    outcome = shop.tune(candidates, budget=budget - (time.monotonic() - started), trials=DEFAULT_TRIALS)
    search_seconds = time.monotonic() - started
    best, first = outcome.best.scheme, candidates[0]
    _, max_error = shop.verdict(best, TURN_SECONDS, seed=0)
    with closing(Worker(env=shop.environment)) as worker:
        job = {**shop.job(best), "schemes": [best.text, first.text]}
        del job["scheme"]
        timings = worker.call(
            "cpu.measure:side_by_side", timeout=_TIMEOUT_SECONDS, rounds=ROUNDS, seconds=TURN_SECONDS, **job
        )
    tuned, model = (Timing(tuple(t["samples"]), t["peak_gflops"]) for t in timings)
    return LayerResult(
        suite, layer, canonical(problem), problem.flops, shop.threads,
        best.text, tuned, first.text, model, max_error, outcome.trials, search_seconds,
    )  # fmt: skip
