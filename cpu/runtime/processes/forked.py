"""Processes that a server forks. It has imported what they need: that takes half a second, and a fork 10 ms.

`fork` starts the server at the first call. It is another one where the process has changed what its children inherit.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

KILLED = "killed with SIGKILL"
# Variables that the libraries of a server read while they load, so that its children hear nothing of a later change.
_READ_ON_LOADING = (
    *("LD_", "GLIBC_", "MALLOC_", "LANG", "LC_", "PYTHON", "NPY_", "NUMPY_"),
    *("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "VECLIB_"),
)
# What a process inherits from the thread that starts it, in Linux's words.
_INHERITED = re.compile(r"^(?:Umask|[UG]id|Groups|Sig(?:Blk|Ign)|Cap\w+|NoNewPrivs|Seccomp\w*|\w+_allowed):.*", re.M)
_END_SECONDS = 1.0


class Unstarted(RuntimeError):
    """The server ended before it forked. The text says how."""


class Forked:
    """A process that a server has forked, with the part of `subprocess.Popen` that is needed."""

    def __init__(self, told: socket.socket, pid: int) -> None:
        self._told, self.pid = told, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or that of the signal below zero. None while it runs."""
        with contextlib.suppress(BlockingIOError):
            self._receive(socket.MSG_DONTWAIT)
        return self.returncode

    def wait(self) -> int:
        """Waits for its end, and gives the exit code."""
        return self._receive(0)

    def kill(self) -> None:
        """Has it killed, with everything that it started."""
        with contextlib.suppress(OSError):  # it has ended, or the server has: then it is killed too
            self._told.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        """Kills it and waits for that."""
        self.kill()
        self.wait()
        self._told.close()

    def _receive(self, flags: int) -> int:
        if self.returncode is None:
            said = self._told.recv(1 << 10, flags)
            # A server that ends takes its children along.
            self.returncode = int(json.loads(said)["status"]) if said else -signal.SIGKILL
        return self.returncode


def fork(module: str, descriptors: Sequence[int], environment: Mapping[str, str], seconds: float) -> Forked:
    """A new worker process of a server that has imported `module`.

    descriptors: for requests, for answers, and for what the process prints. environment: what libraries find while they
    load; the first line of the requests brings the rest. Raises OSError where the system refuses a process or a file,
    `Unstarted` where the server ends, and TimeoutError after so many seconds.
    """
    while True:
        server, new = _running(environment)
        try:
            return server.fork(module, descriptors, seconds)
        except Unstarted:
            if new:
                raise  # else it has ended since it was last used


class _Server:
    """The parent's side of a server: its process, what that prints, and the socket for requests."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        with contextlib.ExitStack() as undo:
            self._printed = undo.enter_context(tempfile.TemporaryFile("ab+"))
            self._control, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            undo.enter_context(self._control)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "cpu.runtime.processes.fork_server", str(theirs.fileno())],
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=self._printed,
                    stderr=self._printed,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            undo.pop_all()

    def runs(self) -> bool:
        return self._process.poll() is None

    def fork(self, module: str, descriptors: Sequence[int], seconds: float) -> Forked:
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with contextlib.ExitStack() as undo:
            undo.enter_context(ours)
            with theirs:
                try:
                    passed = [theirs.fileno(), *descriptors]
                    socket.send_fds(self._control, [module.encode()], passed, socket.MSG_NOSIGNAL)
                except OSError:
                    if self.runs():
                        raise
            ours.settimeout(seconds)
            try:
                said = ours.recv(1 << 10)
            except TimeoutError:
                self._process.kill()
                raise
            except ConnectionError:
                said = b""
            if not said:
                self._process.kill()  # it ends anyway, unless it is out of order
                status = self._process.wait()
                with _starting:  # another thread may have replaced it just now
                    raise Unstarted(how_it_ended(status, None if self._printed.closed else self._printed))
            answer = json.loads(said)
            if "errno" in answer:
                raise OSError(answer["errno"], os.strerror(answer["errno"]))
            ours.settimeout(None)
            undo.pop_all()
        return Forked(ours, answer["pid"])

    def forget(self) -> None:
        """Leaves the server to those who asked for its children."""
        self._control.close()
        self._printed.close()

    def end(self) -> None:
        """The server ends when its children have."""
        self.forget()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)


_servers: dict[object, _Server] = {}
_starting = threading.Lock()


def _running(environment: Mapping[str, str]) -> tuple[_Server, bool]:
    """The server for what this thread's children inherit just now, and whether it is new."""
    key = _inherited(environment)
    with _starting:
        server = _servers.get(key)
        if server is not None and server.runs():
            return server, False
        if server is not None:
            _servers.pop(key).forget()
        _servers[key] = _Server(environment)
        return _servers[key], True


def _inherited(environment: Mapping[str, str]) -> object:
    """What a new process would inherit, but for the variables that a request brings."""
    variables = sorted((name, value) for name, value in environment.items() if name.startswith(_READ_ON_LOADING))
    here = os.stat(".")  # the folder may have lost its name
    status, limits = (_text(f"/proc/{name}") for name in ("thread-self/status", "self/limits"))
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    inherited = tuple(_INHERITED.findall(status)), limits, niceness, here.st_dev, here.st_ino
    return sys.executable, tuple(variables), inherited


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _end_all() -> None:
    while _servers:
        _servers.popitem()[1].end()


def _leave_to_the_parent() -> None:
    """Forgets the servers in a fork of this process, since they are its parent's."""
    global _starting
    _starting = threading.Lock()
    while _servers:
        _servers.popitem()[1].forget()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_leave_to_the_parent)


def how_it_ended(status: int, printed: IO[bytes] | None) -> str:
    """How a process ended, with the last line that it printed into a file."""
    if status == -signal.SIGKILL:
        how = f"{KILLED}, as the system does when memory runs out"
    elif status < 0:
        how = f"crashed with {signal.Signals(-status).name}"
    else:
        how = f"ended with status {status} before it answered"
    if printed is None:
        return how
    printed.seek(0)
    lines = printed.read()[-2000:].decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{how} (it last printed: {last})" if last else how
