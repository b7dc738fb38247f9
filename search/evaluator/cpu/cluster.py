"""Tries candidates on the workers of a cluster, and compares the best of them on this machine, in turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from cpu.cluster.pool import ClusterPool
from cpu.runtime.processes.pool import Task
from cpu.runtime.processes.worker import CandidateError
from search.evaluator.interface.protocol import CANDIDATE_SECONDS, Evaluator, Verdict
from search.tuner.measured import AnyScheme
from search.tuner.peaks import Peaks
from search.tuner.tune import BATCH, SHORT
from tiling.machine import Timing


class ClusterEvaluator:
    """As `here`, but candidates are compiled and measured shortly on the workers of the cluster at `address`.

    Schemes that are measured again, such as the finalists, are measured on this machine.
    """

    # Workers differ by their clocks and neighbours. A time counts with the peak beside it, which suffices to sort out
    # slow candidates; the last percents are told apart on one machine.

    def __init__(
        self, here: Evaluator, job: Callable[[AnyScheme], dict[str, Any]], address: str, environment: dict[str, str]
    ) -> None:
        self._here, self._job = here, job
        self._pool = ClusterPool(address, env=environment)
        # The peaks of each worker: the peak of one computer does not show what disturbed another.
        self._peaks: defaultdict[str, Peaks] = defaultdict(Peaks)

    @property
    def batch(self) -> int:
        """At least BATCH schemes, and equally many for each worker."""
        workers = max(1, len(self._pool.workers()))
        return workers * -(-BATCH // workers)

    def ready(self) -> None:
        self._here.ready()

    def close(self) -> None:
        self._here.close()
        self._pool.close()

    def prepare(self, schemes: Sequence[AnyScheme], patience: float = CANDIDATE_SECONDS) -> dict[str, Timing | str]:
        patience = min(patience, CANDIDATE_SECONDS)
        jobs = ({**self._job(scheme), "seconds": SHORT} for scheme in schemes)
        found: dict[str, Timing | str] = {}
        with closing(self._pool.placed(Task("cpu.kernel.measure:scheme", patience, job) for job in jobs)) as outcomes:
            for worker, task, outcome in outcomes:
                text = task.arguments["scheme"]
                if isinstance(outcome, CandidateError):
                    found[text] = outcome.reason
                else:
                    found[text] = self._peaks[worker].marked(Timing.of(outcome))
        return found

    def measure(self, scheme: AnyScheme, seconds: float, patience: float = CANDIDATE_SECONDS) -> Timing | str:
        return self._here.measure(scheme, seconds, patience)

    def verify(self, scheme: AnyScheme, seconds: float, seed: int) -> Verdict:
        return self._here.verify(scheme, seconds, seed)
