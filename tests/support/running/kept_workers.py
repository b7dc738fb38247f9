"""Children of workers that wait for the next test: to start them took a fifth of the time of all Python code in tests.

Only those that made and timed kernels, all of them right, and did nothing else: they read no measurements and change
none. What workers do by themselves is tested in `tests/cpu/runtime/processes` with other functions, so there they end.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

import pytest

KEPT_FUNCTIONS = "cpu.kernel.measure:"
UNREAD = ("PYTEST_CURRENT_TEST", "TILEWRIGHT_DATA")
MOST = 2  # for each process of tests: each child holds some 100 MB


class Waiting:
    """Children by what they were started with. The one that has waited for longest is the first."""

    def __init__(self, start, close):
        self.start, self.close_worker = start, close
        self.children = []

    def child(self, memory_bytes, env, packages):
        """One that waits, or a new one."""
        made_with = self._key(memory_bytes, env, packages)
        for place, child in enumerate(self.children):
            if child.made_with == made_with and child.process.poll() is None:
                return self.children.pop(place)
        child = self.start(memory_bytes, env, packages)
        child.made_with = made_with
        child.may_wait = "OMP_WAIT_POLICY" not in {**os.environ, **env}  # else threads of OpenMP spin meanwhile
        return child

    def close(self, worker):
        """In place of `Worker.close`: the child waits, unless it is in the middle of a call."""
        if worker._lock.acquire(blocking=False):
            try:
                if worker._child is not None and worker._child.may_wait and worker._child.process.poll() is None:
                    self.children.append(worker._child)
                    worker._child = None
            finally:
                worker._lock.release()
        self.close_worker(worker)
        while len(self.children) > MOST:
            self.children.pop(0).end()

    @staticmethod
    def _key(memory_bytes, env, packages):
        """All that a child takes from this process as it starts, and that what is kept asks for."""
        variables = {name: value for name, value in os.environ.items() if name not in UNREAD}
        return memory_bytes, dict(env), tuple(packages), variables, list(sys.path), sys.executable, os.getcwd()


@pytest.fixture(scope="session", autouse=True)
def kept_workers():
    with pytest.MonkeyPatch.context() as patch:
        waiting = None
        with suppress(ImportError):  # the tests of the language run where the CPU packages cannot be imported
            from cpu.runtime.processes import worker

            waiting = Waiting(worker._Child, worker.Worker.close)
            exchange = worker._Child.exchange

            def noted(child, request, seconds):
                answer = exchange(child, request, seconds)
                kept = "result" in answer and json.loads(request)["function"].startswith(KEPT_FUNCTIONS)
                child.may_wait = child.may_wait and kept
                return answer

            patch.setattr(worker._Child, "exchange", noted)
            patch.setattr(worker, "_Child", waiting.child)
            patch.setattr(worker.Worker, "close", lambda each: waiting.close(each))
        yield
        for child in waiting.children if waiting else ():
            child.end()
