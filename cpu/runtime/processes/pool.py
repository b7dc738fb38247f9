"""Runs many tasks in worker processes, several at once."""

from __future__ import annotations

import queue
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from cpu.runtime.processes.worker import CandidateError, Worker


@dataclass(frozen=True, eq=False)
class Task:
    """One call for ``Pool.run``, with the arguments of ``Worker.call``. Tasks compare by identity, so they can be keys
    of a dict.
    """

    function: str
    timeout: float
    arguments: Mapping[str, Any]


Outcomes = Generator[tuple[Task, Any | CandidateError], None, None]


class Pool:
    """``jobs`` workers that run tasks at once. Their children live until `close`, and keep what they have loaded.

    ``options`` are Worker's.
    """

    def __init__(self, jobs: int, **options: Any) -> None:
        if jobs < 1:
            raise ValueError(f"jobs={jobs} must be at least 1")
        self._jobs, self._options = jobs, options
        self._workers: list[Worker] = []

    def run(self, tasks: Iterable[Task]) -> Outcomes:
        """Runs tasks. Yields (task, result or CandidateError) as they finish.

        A task is taken when a worker is free, so the iterable may be endless, or depend on earlier results. Closing the
        iterator early ends the children. Raises what ``Worker.call`` raises, except CandidateError.
        """
        remaining = iter(tasks)
        idle: queue.LifoQueue[Worker] = queue.LifoQueue()  # who has a child already is taken first
        for worker in self._started():
            idle.put(worker)

        def call(task: Task) -> Any | CandidateError:
            worker = idle.get()
            try:
                return worker.call(task.function, timeout=task.timeout, **task.arguments)
            except CandidateError as error:
                return error
            finally:
                idle.put(worker)

        with ThreadPoolExecutor(self._jobs) as threads:
            running: dict[Future[Any], Task] = {}
            try:
                while True:
                    for task in remaining:
                        running[threads.submit(call, task)] = task
                        if len(running) == self._jobs:
                            break
                    if not running:
                        return
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield running.pop(future), future.result()
            finally:
                if running:  # before the threads are waited for, and they wait for a child
                    self.close()

    def worker(self, place: int) -> Worker:
        """One of the workers, for calls between runs. The last, of place -1, is the first that a run takes."""
        return self._started()[place]

    def _started(self) -> list[Worker]:
        self._workers = self._workers or [Worker(**self._options) for _ in range(self._jobs)]
        return self._workers

    def close(self) -> None:
        """Ends the children. The next run starts others."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()
