"""Isolated runs: functions of our own packages, called in a child process.

A generated kernel may crash, hang or exhaust memory; here that costs one child and
is reported as a CandidateError. Requests and answers are JSON, one line each, over
two private pipes, so that nothing the child prints can be taken for an answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from cpu.worker_child import checked_name

PACKAGES = ("cpu", "microkernels", "search")

# How a reason begins, or what it says, where the machine may be at fault: a slow moment, or memory that ran out, for
# which Linux ends a worker or its compiler first.
NO_ANSWER = "no answer within"
KILLED = "killed with SIGKILL"
COMPILER_KILLED = "the compiler was ended by SIGKILL"
_START_SECONDS = 60.0


class WorkerError(RuntimeError):
    """No candidate's fault: the child could not be started, its worker is closed, or it has no compiler or cache."""


class CandidateError(RuntimeError):
    """What was run failed: ``reason`` says how, in one sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def is_worth_another_try(reason: str) -> bool:
    """Whether the machine may be at fault for a CandidateError's reason, not the candidate."""
    return reason.startswith((NO_ANSWER, KILLED)) or COMPILER_KILLED in reason


@dataclass(frozen=True, eq=False)
class Task:
    """One call for ``run_all``, as for ``Worker.call``. Compared by identity, so it can key a dict."""

    function: str
    timeout: float
    arguments: Mapping[str, Any]


class Worker:
    """One child process that runs one call at a time; started at the first call.

    After a crash or a time-out the next call starts a fresh child. ``memory_bytes``
    limits the child's address space (default: 0.8 of this machine's memory), ``env``
    is added to the environment it inherits, ``packages`` are the top-level packages
    whose functions it may run. May be used from several threads; calls then queue.
    """

    def __init__(
        self,
        *,
        memory_bytes: int | None = None,
        env: Mapping[str, str] | None = None,
        packages: tuple[str, ...] = PACKAGES,
    ) -> None:
        self._memory_bytes = memory_bytes or _default_memory_bytes()
        self._env = dict(env or {})
        self._packages = tuple(packages)
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._closed = False

    def call(self, function: str, /, *, timeout: float, **arguments: Any) -> Any:
        """Run ``"package.module:function"`` with JSON arguments; its JSON result.

        ``timeout`` is in seconds and includes the function's imports but not the
        child's start. Raises CandidateError if the function raises, crashes or does not
        answer in time; ValueError for a name that is not a public function's in
        ``packages``; TypeError for arguments that are not JSON; WorkerError if no
        child can be started or this worker is closed.
        """
        checked_name(function, self._packages)
        request = json.dumps({"function": function, "arguments": arguments})
        with self._lock:
            if self._closed:
                raise WorkerError("this worker is closed: make another")
            if self._child is not None and self._child.process.poll() is not None:
                self._discard()  # it died while idle
            if self._child is None:
                self._child = _Child(self._memory_bytes, self._env, self._packages)
            try:
                if self._closed:  # while the child started, so close() saw none to kill
                    raise CandidateError("its worker was closed")
                answer = self._child.exchange(request, timeout)
            except BaseException:
                # Even after Ctrl-C here: the answer to come belongs to no later call.
                self._discard()
                raise
        if "environment" in answer:
            raise WorkerError(answer["environment"])
        if "error" in answer:
            raise CandidateError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        """End the child; a call in progress in another thread raises CandidateError."""
        self._closed = True
        child = self._child
        if child is not None:
            child.kill()
        with self._lock:
            self._discard()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _discard(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


def run_all(tasks: Iterable[Task], jobs: int, **options: Any) -> Iterator[tuple[Task, Any | CandidateError]]:
    """Run tasks on ``jobs`` workers at once; yield (task, result or CandidateError) as they finish.

    Tasks are drawn as workers become free, so the iterable may be endless or decide
    as it goes. ``options`` are Worker's. Closing the iterator early ends the children.
    Raises what ``Worker.call`` raises, other than CandidateError.
    """
    if jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    remaining = iter(tasks)
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def run(task: Task) -> Any | CandidateError:
        worker = idle.get()
        try:
            return worker.call(task.function, timeout=task.timeout, **task.arguments)
        except CandidateError as error:
            return error
        finally:
            idle.put(worker)

    # The pool is entered first, so that leaving ends the children before it waits
    # for the threads that wait for them.
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for _ in range(jobs):
            idle.put(stack.enter_context(Worker(**options)))
        running: dict[Future[Any], Task] = {}
        while True:
            for task in remaining:
                running[pool.submit(run, task)] = task
                if len(running) == jobs:
                    break
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()


class _Child:
    """A started child process with its two pipes and what it prints."""

    def __init__(self, memory_bytes: int, env: Mapping[str, str], packages: tuple[str, ...]) -> None:
        with contextlib.ExitStack() as undo:
            try:
                # Appended to by the child, emptied by us before each call.
                self._printed = undo.enter_context(tempfile.TemporaryFile("ab+"))
                requests, self._requests = _pipe(undo)
                self._answers, answers = _pipe(undo)
            except OSError as error:
                raise WorkerError(f"no worker process could be started: {error}") from error
            undo.pop_all()
        # The kernel's signal on a parent's death is sent when the *thread* that
        # started the child ends: only the main thread ends with the process.
        die_with_starter = threading.current_thread() is threading.main_thread()
        configuration = {
            "requests": requests,
            "answers": answers,
            "memory_bytes": memory_bytes,
            "packages": packages,
            "parent": os.getpid() if die_with_starter else None,
        }
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cpu.worker_child", json.dumps(configuration)],
                env={**os.environ, **env, **_python_path()},
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=(requests, answers),
                start_new_session=True,
            )
        except OSError as error:
            self._close_files()
            raise WorkerError(f"no worker process could be started: {error}") from error
        finally:
            os.close(requests)
            os.close(answers)
        try:
            self._receive(_START_SECONDS)
        except CandidateError as error:
            self.end()
            raise WorkerError(f"the worker process did not start: {error.reason}") from None
        except BaseException:
            self.end()
            raise

    def exchange(self, request: str, seconds: float) -> dict[str, Any]:
        """Send a request, wait for its answer. Raises CandidateError; the child is then no use."""
        os.ftruncate(self._printed.fileno(), 0)
        unsent = memoryview(request.encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):  # it just died: reading tells how
            while unsent:
                unsent = unsent[os.write(self._requests, unsent) :]
        return self._receive(seconds)

    def kill(self) -> None:
        """Kill the child and all that it started. Does nothing once it was waited for."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill, wait, and close every file."""
        self.kill()
        self.process.wait()
        self._close_files()

    def _receive(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        poller = select.poll()
        poller.register(self._answers, select.POLLIN)
        received = bytearray()
        while not received.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not poller.poll(max(1, left * 1000)):
                self.kill()
                raise CandidateError(f"{NO_ANSWER} {seconds:g} s: killed")
            part = os.read(self._answers, 1 << 16)
            if not part:
                raise CandidateError(self._death())
            received += part
        return json.loads(received)

    def _death(self) -> str:
        """How the child ended. Its pipe closes once its status is settled, so killing
        the rest of its group does not change that."""
        self.kill()
        status = self.process.wait()
        if status == -signal.SIGKILL:
            how = f"{KILLED}, as the system does when memory runs out"
        elif status < 0:
            how = f"crashed with {signal.Signals(-status).name}"
        else:
            how = f"ended with status {status} before it answered"
        self._printed.seek(0)
        printed = self._printed.read()[-2000:].decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(printed) if line.strip()), "")
        return f"{how} (it last printed: {last})" if last else how

    def _close_files(self) -> None:
        os.close(self._requests)
        os.close(self._answers)
        self._printed.close()


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends


def _python_path() -> dict[str, str]:
    """The environment that gives a child our own sys.path, with nothing put before it."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    return {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def _default_memory_bytes() -> int:
    return int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
