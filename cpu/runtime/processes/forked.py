"""Processes that a server forks. It has imported what they need, so they start sooner: decision 078 has the times.

`fork` starts the server at the first call. It is another one where the process has changed what its children inherit.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
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
_KEPT = 3  # servers that we ask again


class Unstarted(RuntimeError):
    """The server ended before it forked. The text says how."""


class Forked:
    """A process that a server forks, with the part of `subprocess.Popen` that is needed."""

    def __init__(self, told: socket.socket) -> None:
        self._told = told
        self.returncode: int | None = None
        _all.add(self)

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

    def leave_to_the_parent(self) -> None:
        """In a fork of this process: here it has ended, and the server kills it when the parent has."""
        self._told.close()
        self.returncode = -signal.SIGKILL

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
        with contextlib.ExitStack() as undo:
            ours, theirs = map(undo.enter_context, socket.socketpair(type=socket.SOCK_SEQPACKET))
            forked = Forked(ours)
            with theirs, _starting:  # so nobody forgets the server before it is asked
                server, new = _running(environment)
                server.ask(module, [theirs.fileno(), *descriptors])
            try:
                server.answer(ours, seconds)
            except Unstarted:
                if new:
                    raise
                continue  # it has ended since it was last used
            undo.pop_all()
            return forked


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

    def ask(self, module: str, descriptors: Sequence[int]) -> None:
        """Sends a request. Where the server has ended, `answer` says so."""
        with contextlib.suppress(ConnectionError):
            socket.send_fds(self._control, [module.encode()], descriptors, socket.MSG_NOSIGNAL)

    def answer(self, told: socket.socket, seconds: float) -> None:
        """Waits until the server has forked, and raises why it has not."""
        told.settimeout(seconds)
        try:
            said = told.recv(1 << 10)
        except TimeoutError:
            self._process.kill()
            raise
        except ConnectionError:
            said = b""
        told.settimeout(None)
        if not said:
            try:
                status = self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:  # it runs, but had no room for the socket that we sent
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from None
            with _starting:  # another thread may have replaced it just now
                raise Unstarted(how_it_ended(status, None if self._printed.closed else self._printed))
        answer = json.loads(said)
        if "errno" in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]))

    def forget(self) -> None:
        """Leaves the server to those who asked for its children. It ends when these have."""
        self._control.close()
        self._printed.close()

    def wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)


_all: weakref.WeakSet[Forked] = weakref.WeakSet()
_servers: dict[object, _Server] = {}  # the one used last is the last
_forgotten: list[_Server] = []  # those of them that may still run
_starting = threading.Lock()


def _running(environment: Mapping[str, str]) -> tuple[_Server, bool]:
    """The server for what this thread's children inherit just now, and whether it is new.

    It forgets the servers that have ended, and of the others those used longest ago. Its caller holds `_starting`.
    """
    key = _inherited(environment)
    for each in [each for each, server in _servers.items() if not server.runs()]:
        _forget(each)
    new = key not in _servers
    _servers[key] = _Server(environment) if new else _servers.pop(key)
    while len(_servers) > _KEPT:
        _forget(next(iter(_servers)))
    _forgotten[:] = [server for server in _forgotten if server.runs()]
    return _servers[key], new


def _forget(key: object) -> None:
    _servers[key].forget()
    _forgotten.append(_servers.pop(key))


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
    for forked in list(_all):
        forked.kill()
    for key in list(_servers):
        _forget(key)
    deadline = time.monotonic() + _END_SECONDS
    for server in _forgotten:
        server.wait(max(0.0, deadline - time.monotonic()))


def _leave_to_the_parent() -> None:
    """Forgets all in a fork of this process, since it is its parent's. An open socket would hide the parent's end."""
    global _starting
    _starting = threading.Lock()
    for forked in list(_all):
        forked.leave_to_the_parent()
    for key in list(_servers):
        _forget(key)
    _forgotten.clear()


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
