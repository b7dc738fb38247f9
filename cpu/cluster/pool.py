"""A pool of the workers of a `dask.distributed` cluster that are like this machine.

Each worker has one task at a time. Workers may join or die during a run. The task of a dead worker goes to another one,
and a finished task is never run again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any

from cpu.cluster import member
from cpu.cluster.address import ClusterError, checked
from cpu.runtime.processes.forked import KILLED
from cpu.runtime.processes.pool import Outcomes, Task
from cpu.runtime.processes.worker import CandidateError, OutOfMemory, WorkerError

INSTALL = "pip install 'tilewright[cluster]'"
CONNECT_SECONDS = 20.0
# Seconds between two looks at which workers are there. A dead worker is noticed within that time.
LOOK_SECONDS = 1.0
# Seconds that a run waits for a worker when all have gone: a supervisor may start another.
EMPTY_SECONDS = 30.0
# How many workers a task may kill before the task counts as failed.
MOST_DEATHS = 3
_GATHER_SECONDS = 10.0


@dataclass(frozen=True)
class _Given:
    """A task that a worker has, and the cluster's handle of it."""

    task: Task
    future: Any


class ClusterPool:
    """The workers of the cluster at `address` whose CPU, compiler and program are this machine's.

    options: those of `cpu.runtime.processes.worker.Worker` for the processes that run tasks. Raises ClusterError where
    there is no such worker, and ToolchainError without a compiler here.
    """

    def __init__(self, address: str, **options: Any) -> None:
        self._address, self._options = checked(address), options
        self._here = member.identity()
        self._identities: dict[str, dict[str, str] | str] = {}
        try:
            import distributed
        except ModuleNotFoundError:
            raise ClusterError(f"--cluster needs dask.distributed: {INSTALL}") from None
        self._dask: Any = distributed  # its types are of no use here
        try:
            self._client = self._dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            said = (str(error) or type(error).__name__).splitlines()[0]
            raise ClusterError(f"no scheduler of dask.distributed answers at {address!r}: {said}") from None
        try:
            if not self.workers():
                raise ClusterError(self._why_none())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leaves the cluster. Tasks that are still running are dropped."""
        self._client.close()

    def workers(self) -> list[str]:
        """The addresses of the workers that are there and like this machine."""
        there = self._there()
        unknown = [address for address in there if address not in self._identities]
        if unknown:
            said = self._client.run(member.identity, workers=unknown, on_error="return")
            self._identities |= {
                address: found if isinstance(found, dict) else f"{type(found).__name__}: {found}".splitlines()[0]
                for address, found in said.items()
            }
        return [address for address in there if self._identities.get(address) == self._here]

    def _there(self) -> list[str]:
        try:
            return sorted(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise ClusterError(f"the scheduler at {self._address} answers no more: {error}") from None

    def _why_none(self) -> str:
        """Why no worker can measure for this machine."""
        there = [self._identities.get(address) for address in self._there()]
        if not there:
            return f"the cluster at {self._address} has no worker: start one with dask worker {self._address}"
        reasons: Counter[str] = Counter()
        for found in there:
            if not isinstance(found, dict):
                reasons[f"cannot run Tilewright ({found})"] += 1
                continue
            other = next((what for what, here in self._here.items() if found.get(what) != here), "")
            reasons[f"with the {other} {found.get(other)}, here {self._here.get(other)}"] += 1
        said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(3))
        return f"no worker of the cluster at {self._address} is like this machine: {said}"

    def run(self, tasks: Iterable[Task]) -> Outcomes:
        """Runs tasks. Yields (task, result or CandidateError) as they finish, each once.

        A task is taken when a worker is free. Closing the iterator early drops those that run. Raises what
        `cpu.runtime.processes.worker.Worker.call` raises, except CandidateError; and ClusterError where no worker is
        left.
        """
        with closing(self.placed(tasks)) as outcomes:
            yield from ((task, outcome) for _, task, outcome in outcomes)

    def placed(self, tasks: Iterable[Task]) -> Generator[tuple[str, Task, Any | CandidateError], None, None]:
        """As `run`, with the address of the worker that each outcome comes from."""
        remaining, again = iter(tasks), list[Task]()
        given: dict[str, _Given] = {}
        deaths: Counter[Task] = Counter()
        seen = time.monotonic()
        try:
            while True:
                workers = self.workers()
                seen = time.monotonic() if workers else seen
                for address in [address for address in given if address not in workers]:
                    lost = given.pop(address)
                    lost.future.cancel()
                    deaths[lost.task] += 1
                    if deaths[lost.task] < MOST_DEATHS:
                        again.append(lost.task)
                    else:
                        reason = f"{KILLED}, as were {MOST_DEATHS} workers that measured it"
                        yield address, lost.task, CandidateError(reason)
                waiting = chain(_taken(again), remaining)
                for address, task in zip([a for a in workers if a not in given], waiting):
                    given[address] = self._submitted(task, address)
                if not given and not again and workers:
                    return
                if not workers and time.monotonic() > seen + EMPTY_SECONDS:
                    raise ClusterError(f"all workers are gone: {self._why_none()}; what is measured is kept")
                yield from self._finished(given)
        finally:
            for left in given.values():
                left.future.cancel()

    def _submitted(self, task: Task, address: str) -> _Given:
        future = self._client.submit(
            member.answer,
            task.function,
            task.timeout,
            dict(task.arguments),
            self._options,
            workers=[address],
            allow_other_workers=False,
            pure=False,
        )
        return _Given(task, future)

    def _finished(self, given: dict[str, _Given]) -> Generator[tuple[str, Task, Any | CandidateError], None, None]:
        """Waits for the next outcomes, and takes their tasks out of `given`."""
        # Here, since it loads sockets and TLS, which nothing needs without a cluster.
        from asyncio import TimeoutError as NothingYet

        if not given:
            time.sleep(LOOK_SECONDS)
            return
        try:
            with self._client.as_current():
                done = self._dask.wait([each.future for each in given.values()], LOOK_SECONDS, "FIRST_COMPLETED").done
        except NothingYet:
            return
        for address in [address for address, each in given.items() if each.future in done]:
            try:
                said = given[address].future.result(timeout=_GATHER_SECONDS)
            except NothingYet:
                continue  # the worker died with the result
            except Exception as error:  # whatever the cluster raises, no candidate is at fault
                raise ClusterError(f"the worker {address} failed: {type(error).__name__}: {error}") from error
            yield address, given.pop(address).task, _outcome(said)


def _taken(tasks: list[Task]) -> Iterator[Task]:
    """The tasks of a list, each removed from it when it is taken."""
    while tasks:
        yield tasks.pop(0)


def _outcome(said: dict[str, Any]) -> Any | CandidateError:
    if "memory" in said:
        raise OutOfMemory(said["memory"])
    if "environment" in said:
        raise WorkerError(said["environment"])
    return CandidateError(said["candidate"]) if "candidate" in said else said["result"]
