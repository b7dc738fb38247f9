"""Runs functions of our own packages in child processes.

A generated kernel may crash, hang or exhaust memory. Here that costs one child, and the caller gets a CandidateError.
Requests and answers are lines of JSON on two private pipes, so nothing that the child prints can pass for an answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Any

from cpu.runtime.processes.forked import KILLED, Unstarted, fork, how_it_ended
from cpu.runtime.processes.worker_child import checked_name

PACKAGES = ("cpu", "microkernels", "search")

# A reason that begins with one of the first two, or contains the third, may be the machine's fault: it was slow for a
# moment, or memory ran out and Linux killed a worker or its compiler.
NO_ANSWER = "no answer within"
COMPILER_KILLED = "the compiler was ended by SIGKILL"
_START_SECONDS = 60.0


class WorkerError(RuntimeError):
    """No candidate is at fault. The child did not start, its worker is closed, or it lacks a compiler, a cache or
    memory.
    """


class OutOfMemory(WorkerError):
    """This machine's memory does not suffice for the problem. Other problems may fit."""


class CandidateError(RuntimeError):
    """The function that ran failed. ``reason`` says how, in one sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def is_worth_another_try(reason: str) -> bool:
    """Whether the machine, not the candidate, may be at fault for a CandidateError with this reason."""
    return reason.startswith((NO_ANSWER, KILLED)) or COMPILER_KILLED in reason


class Worker:
    """One child process that runs one call at a time. The first call starts it.

    After a crash or a time-out the next call starts a fresh child. Several threads may use a worker; their calls queue.
    memory_bytes: the limit of the child's address space (default: 0.8 of this machine's memory). env: variables that
    the child has besides ours. packages: the top-level packages whose functions it may run.
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
        """Runs ``"package.module:function"`` with JSON arguments and returns its JSON result.

        timeout: seconds, without the child's start. That includes the import of the function's module where the call
        starts a child, so an import that crashes or hangs then is a WorkerError.
        Raises CandidateError if the function raises, crashes or does not answer in time. Raises ValueError if the name
        is not that of a public function in ``packages``, and TypeError for arguments that are not JSON. Raises
        WorkerError if no child can be started or this worker is closed.
        """
        module, _ = checked_name(function, self._packages)
        request = json.dumps({"function": function, "arguments": arguments})
        with self._lock:
            if self._closed:
                raise WorkerError("this worker is closed: make another")
            if self._child is not None and self._child.process.poll() is not None:
                self._discard()  # it died while idle
            if self._child is None:
                self._child = _Child(self._memory_bytes, self._env, self._packages, module)
            try:
                if self._closed:  # closed while the child started, so close() found none to kill
                    raise CandidateError("its worker was closed")
                answer = self._child.exchange(request, timeout)
            except BaseException:
                # This is for Ctrl-C too: the answer that is still to come must not reach a later call.
                self._discard()
                raise
        if "memory" in answer:
            raise OutOfMemory(answer["memory"])
        if "environment" in answer:
            raise WorkerError(answer["environment"])
        if "error" in answer:
            raise CandidateError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        """Ends the child. A call in progress in another thread raises CandidateError."""
        self._closed = True
        child = self._child
        if child is not None:
            child.process.kill()
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


class _Child:
    """A started child process, its two pipes, and the file that it prints into."""

    def __init__(self, memory_bytes: int, env: Mapping[str, str], packages: tuple[str, ...], module: str) -> None:
        with contextlib.ExitStack() as undo:
            try:
                environment = {**os.environ, **env, **_python_path()}
                # The child appends to this file. We empty it before each call.
                self._printed = undo.enter_context(tempfile.TemporaryFile("ab+"))
                requests, self._requests = _pipe(undo)
                self._answers, answers = _pipe(undo)
                try:
                    descriptors = (requests, answers, self._printed.fileno())
                    self.process = fork(module, descriptors, environment, _START_SECONDS)
                except TimeoutError as error:
                    raise WorkerError(f"the worker process did not start: {NO_ANSWER} {_START_SECONDS:g} s") from error
                except Unstarted as error:
                    raise WorkerError(f"the worker process did not start: {error}") from None
            except OSError as error:
                raise WorkerError(f"no worker process could be started: {error}") from error
            undo.pop_all()
        os.close(requests)
        os.close(answers)
        configuration = {"environment": environment, "memory_bytes": memory_bytes, "packages": packages}
        try:
            self._send(json.dumps(configuration))
            self._receive(_START_SECONDS)
        except CandidateError as error:
            self.end()
            raise WorkerError(f"the worker process did not start: {error.reason}") from None
        except BaseException:
            self.end()
            raise

    def exchange(self, request: str, seconds: float) -> dict[str, Any]:
        """Sends a request and waits for the answer. Raises CandidateError: then the child is of no more use."""
        os.ftruncate(self._printed.fileno(), 0)
        self._send(request)
        return self._receive(seconds)

    def end(self) -> None:
        """Kills the child, waits for it, and closes every file."""
        self.process.end()
        os.close(self._requests)
        os.close(self._answers)
        self._printed.close()

    def _send(self, text: str) -> None:
        unsent = memoryview(text.encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):  # the child just died: `_receive` finds out how
            while unsent:
                unsent = unsent[os.write(self._requests, unsent) :]

    def _receive(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        poller = select.poll()
        poller.register(self._answers, select.POLLIN)
        received = bytearray()
        while not received.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not poller.poll(max(1, left * 1000)):
                self.process.kill()
                raise CandidateError(f"{NO_ANSWER} {seconds:g} s: killed")
            part = os.read(self._answers, 1 << 16)
            if not part:
                # Its pipe closes after its status is settled, so killing what it started changes nothing.
                self.process.kill()
                raise CandidateError(how_it_ended(self.process.wait(), self._printed))
            received += part
        answer: dict[str, Any] = json.loads(received)
        return answer


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends


def _python_path() -> dict[str, str]:
    """The variables that give a child our own sys.path, with nothing before it."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    return {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def _default_memory_bytes() -> int:
    return int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
