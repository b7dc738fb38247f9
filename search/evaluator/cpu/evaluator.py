"""Tries schemes on this CPU, in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any  # what workers are given and give is JSON

from cpu.runtime.compiler.toolchain import find_compiler, require_answer
from cpu.runtime.machine.host import host
from cpu.runtime.processes.pool import Pool, Task
from cpu.runtime.processes.worker import NO_ANSWER, CandidateError
from search.evaluator.interface.protocol import CANDIDATE_SECONDS, Verdict
from search.tuner.measured import AnyScheme
from search.tuner.peaks import Peaks
from search.tuner.tune import BATCH
from tiling.machine import Timing


class CpuEvaluator:
    """Tries schemes in worker processes; a scheme that fails costs one process.

    job(scheme): the arguments of the functions in `cpu.kernel.measure`. environment: the environment of the processes.
    """

    def __init__(self, job: Callable[[AnyScheme], dict[str, Any]], environment: dict[str, str]) -> None:
        self._job = job
        # They compile, and the last of them measures: a kernel that spoils its memory unnoticed may cost a later
        # candidate its measurement. The first one checks: what was only measured has not run in it, so no such kernel
        # has written into its memory.
        self._workers = Pool(max(2, host().cores), env=environment)
        self._peaks = Peaks()

    @property
    def batch(self) -> int:
        return BATCH

    def ready(self) -> None:
        """There is nothing to do: a worker starts in a fraction of a second, and computes the reference later."""

    def close(self) -> None:
        self._workers.close()

    def prepare(self, schemes: Sequence[AnyScheme], patience: float = CANDIDATE_SECONDS) -> dict[str, Timing | str]:
        patience = min(patience, CANDIDATE_SECONDS)
        tasks = [Task("cpu.kernel.measure:compiled", patience, self._job(scheme)) for scheme in schemes]
        with closing(self._workers.run(tasks)) as outcomes:
            failed = [(t.arguments["scheme"], o.reason) for t, o in outcomes if isinstance(o, CandidateError)]
        if any(reason.startswith(NO_ANSWER) for _, reason in failed):
            require_answer(find_compiler().command)  # else each candidate would wait for it, and the machine be blamed
        return {scheme: reason for scheme, reason in failed}

    def measure(self, scheme: AnyScheme, seconds: float, patience: float = CANDIDATE_SECONDS) -> Timing | str:
        patience = min(patience, CANDIDATE_SECONDS)
        try:
            found = self._workers.worker(-1).call(
                "cpu.kernel.measure:scheme", timeout=patience, seconds=seconds, **self._job(scheme)
            )
        except CandidateError as error:
            return error.reason
        return self._peaks.marked(Timing.of(found))

    def verify(self, scheme: AnyScheme, seconds: float, seed: int) -> Verdict:
        job = {**self._job(scheme), "seconds": seconds, "seed": seed}
        try:
            found = self._workers.worker(0).call("cpu.kernel.measure:verdict", timeout=CANDIDATE_SECONDS, **job)
        except CandidateError:
            self._workers.close()  # what failed may have written where the next one's check reads
            raise
        return Verdict(Timing.of(found), found["max_error"])
