"""The server that forks workers: `python -m cpu.runtime.processes.fork_server SOCKET`, started by `forked`.

A request is the name of a module and four descriptors. The server imports the module and forks. It loads no OpenMP and
no CUDA, and runs none of the module's functions. OpenBLAS, which comes with NumPy, ends its threads before each fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterable
from typing import NoReturn

from cpu.runtime.processes import worker_child
from tilewright_entry import importing

_IDLE_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1


class _Server:
    """Its children by process id, each with the socket on which their parent hears of them.

    A child is killed when the parent closes that socket for sending, or has ended.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, socket.socket] = {}
        self._dying: dict[int, socket.socket] = {}
        self._ended, self._ends = socket.socketpair()  # readable after a child ended
        self._ends.setblocking(False)
        signal.set_wakeup_fd(self._ends.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # The thread that started us may block this signal; then we would hear of no end.
        self._blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})

    def serve(self) -> None:
        """Forks as asked, until the parent closes its socket and all children have ended, or is idle for long."""
        wanted = True
        while wanted or self._children or self._dying:
            poller = select.poll()
            for each in (self._ended, *self._children.values(), *([self._control] if wanted else [])):
                poller.register(each, select.POLLIN)
            idle = not self._children and not self._dying
            ready = {descriptor for descriptor, _ in poller.poll(_IDLE_SECONDS * 1000 if idle else None)}
            if not ready and idle:
                return
            for pid, told in list(self._children.items()):
                if told.fileno() in ready:
                    self._dying[pid] = self._children.pop(pid)
                    _kill(pid)
            if self._ended.fileno() in ready:
                self._ended.recv(1 << 10)
                self._bury()
            if self._control.fileno() in ready:
                wanted = self._answer()

    def _answer(self) -> bool:
        """Answers a request; whether there was one."""
        module, descriptors, _, _ = socket.recv_fds(self._control, 1 << 12, 4)
        if not module:
            return False
        if not descriptors:
            return True  # no room for any: the parent's socket is closed, which tells it
        told, others = socket.socket(fileno=descriptors[0]), descriptors[1:]
        try:
            if len(others) < 3:
                raise OSError(errno.EMFILE, "")
            with importing(), contextlib.suppress(BaseException):  # the child imports it again, and tells
                importlib.import_module(module.decode())
            pid = self._forked(told, *others)
        except OSError as error:
            _tell(told, {"errno": error.errno})
            told.close()
        else:
            self._children[pid] = told
            _tell(told, {"pid": pid})
        for descriptor in others:
            os.close(descriptor)
        return True

    def _forked(self, told: socket.socket, requests: int, answers: int, printed: int) -> int:
        server = os.getpid()
        with contextlib.suppress(Exception):  # else the child would print it too
            sys.stdout.flush()
            sys.stderr.flush()
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            for mine in (self._control, self._ended, self._ends, told, *self._children.values(), *self._dying.values()):
                mine.close()
            _begin(server, printed, self._blocked)
            worker_child.serve(requests, answers)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            _end(status)

    def _bury(self) -> None:
        """Tells the parents of children that have ended, after what these started is killed too."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            except ChildProcessError:
                return
            if ended is None:
                return
            told = self._children.pop(ended.si_pid, None) or self._dying.pop(ended.si_pid, None)
            if told:  # else a module started it while it was imported
                _kill(ended.si_pid)  # nobody else has its number until it is waited for
                exited = ended.si_code == os.CLD_EXITED
                _tell(told, {"status": ended.si_status if exited else -ended.si_status})
                told.close()
            os.waitpid(ended.si_pid, 0)


def _begin(server: int, printed: int, blocked: Iterable[int]) -> None:
    """Makes a fork a process of its own, which ends with the server and blocks the parent's signals."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.setsid()
    # The signal comes when the thread that forked ends. It is the server's main one, which ends last.
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        raise RuntimeError("the server ended before the worker started")
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)


def _kill(pid: int) -> None:
    """Kills a child and all that it started. It leads their group, unless it has only just been forked."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)


def _tell(told: socket.socket, what: dict[str, int | None]) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        told.send(json.dumps(what).encode(), socket.MSG_NOSIGNAL)


def _be_the_first_to_go() -> None:
    """If the system runs out of memory, it should kill a child or this server and not the program that measures."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def _end(status: int) -> NoReturn:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    _be_the_first_to_go()
    _Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    _end(0)
