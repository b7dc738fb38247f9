"""Starts Python programs as `subprocess` does, without loading what each loads anew: a server that has it forks.

A start takes 0.3 to 0.7 s of a core, and a fork 0.02 s. What no fork can have is started in earnest: options of
Python, variables that Python and its libraries read when they load, other folders with modules. What tests the start
itself uses `subprocess`.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from ctypes import CDLL
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[3]
LENGTH_BYTES = 8  # of a request, before it, and of the answer, a process number
# The server has no threads of NumPy's: a fork would not have them.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1")
# What variables begin with that are read as Python starts or a library is loaded.
_READ_ONCE = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "NPY_", "KMP_", "TZ")
_AS_ASKED = ("PYTHONPATH", "PYTHONSAFEPATH")
_BEGAN_WITH = dict(os.environ)
# A request may have any of these; subprocess.Popen's defaults.
_USUAL = {"executable": None, "preexec_fn": None, "close_fds": True, "shell": False, "process_group": -1}
_USUAL |= {"gid": None, "gids": None, "uid": None, "umask": -1}
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_SECONDS = 60.0
_PR_SET_CHILD_SUBREAPER = 36
_PYTHON = sys.executable


@dataclass(frozen=True)
class Request:
    """A program, and what it is given.

    words: `-m`, a module and its arguments, or `-c`, a text and its arguments. descriptors: the numbers that the files
    sent along have in the program. parent: the process that asks.
    """

    words: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    new_session: bool
    descriptors: tuple[int, ...]
    parent: int

    @property
    def has_workers(self) -> bool:
        """Whether it may start workers, which are then forked too."""
        return self.words[:2] != ("-m", "cpu.runtime.processes.worker_child")


class Server:
    """Where a process asks for its programs. Several threads may ask; they wait for each other."""

    def __init__(self, channel: socket.socket) -> None:
        self._lock = threading.Lock()
        self._channel = channel
        channel.settimeout(_SECONDS)
        size = int.from_bytes(channel.recv(LENGTH_BYTES, socket.MSG_WAITALL), "little")
        # What it has loaded: names of packages, and of modules outside of packages.
        self.loaded: frozenset[str] = pickle.loads(channel.recv(size, socket.MSG_WAITALL))

    def start(self, request: Request, files: list[int]) -> int:
        """The number of the program's process, a child of this one."""
        message = pickle.dumps(request)
        with self._lock:
            _be_parent_of_orphans(True)
            try:
                socket.send_fds(self._channel, [len(message).to_bytes(LENGTH_BYTES, "little")], files)
                self._channel.sendall(message)
                answer = self._channel.recv(LENGTH_BYTES, socket.MSG_WAITALL)
            finally:
                _be_parent_of_orphans(False)
        if len(answer) < LENGTH_BYTES:
            raise RuntimeError("the server of forks has ended")
        return int.from_bytes(answer, "little")

    def close(self) -> None:
        """The server ends."""
        self._channel.close()


_servers: list[Server] = []
_started: list[subprocess.Popen] = []
_starting = threading.Lock()


def use(server: Server) -> None:
    """Has this process ask another server."""
    _servers[:] = [server]


def _server() -> Server:
    with _starting:
        if not _servers:
            channel, other = socket.socketpair()
            words = [_PYTHON, "-m", "tests.support.running.fork_server", str(other.fileno())]
            files = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "pass_fds": [other.fileno()]}
            with other:
                _started.append(subprocess.Popen(words, cwd=ROOT, env={**_BEGAN_WITH, **_ONE_THREAD}, **files))
            use(Server(channel))
    return _servers[0]


def end() -> None:
    """Ends the server that this process has started."""
    for process in _started:
        _servers.pop().close()
        process.wait(_SECONDS)
    _started.clear()


class Popen(subprocess.Popen):
    """`subprocess.Popen`, whose `sys.executable -m MODULE …` or `-c TEXT …` is forked where that is the same."""

    def _execute_child(self, *arguments: Any) -> None:
        asked = signature(super()._execute_child).bind(*arguments).arguments
        ends = [
            place if asked[end] == -1 else asked[end] for place, end in enumerate(("p2cread", "c2pwrite", "errwrite"))
        ]
        request = _request(asked, ends)
        if request is None:
            super()._execute_child(*arguments)
            return
        try:
            self.pid = _server().start(request, [*ends, *request.descriptors[3:]])
            self._child_created = True
        finally:
            self._close_pipe_fds(*(asked[pipe] for pipe in _PIPES))


def run(words: list[str], *, capture_output: bool = False, check: bool = False, **options: Any):
    """`subprocess.run` without input and time limit."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(words, **options) as process:
        try:
            printed = process.communicate()
        except BaseException:
            process.kill()
            raise
    ended = subprocess.CompletedProcess(words, process.returncode, *printed)
    if check:
        ended.check_returncode()
    return ended


def forked_workers() -> tuple[ModuleType, str, SimpleNamespace]:
    """What `setattr` takes so that the workers of this process are forked."""
    from cpu.runtime.processes import worker  # here, since some processes have no packages for the CPU

    return worker, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": Popen})


def _request(asked: dict[str, Any], ends: list[int]) -> Request | None:
    """What the server is asked for; None where no fork is the same as a start."""
    words = asked["args"]
    if not isinstance(words, list) or len(words) < 3 or words[0] != _PYTHON or words[1] not in ("-m", "-c"):
        return None
    if any(asked.get(name, usual) != usual for name, usual in _USUAL.items()) or not all(map(_is_plain, ends)):
        return None
    environment = dict(os.environ if asked["env"] is None else asked["env"])
    folder = os.path.realpath(asked["cwd"] or os.getcwd())
    if not _same_variables(environment) or not _same_modules(environment, folder, _server().loaded):
        return None
    numbers = (0, 1, 2, *sorted(asked["pass_fds"]))
    return Request(tuple(words[1:]), environment, folder, asked["start_new_session"], numbers, os.getpid())


def _is_plain(descriptor: int) -> bool:
    """Whether a file is open, and no terminal."""
    with suppress(OSError):
        return bool(os.fstat(descriptor)) and not os.isatty(descriptor)
    return False


def _same_variables(environment: dict[str, str]) -> bool:
    """Whether Python and its libraries would read the same variables as in the server."""

    def read(variables: dict[str, str]) -> dict[str, str]:
        return {name: text for name, text in variables.items() if name.startswith(_READ_ONCE) and name not in _AS_ASKED}

    one = all(environment.get(name, text) == text for name, text in _ONE_THREAD.items())
    return one and read(environment) == read(_BEGAN_WITH)


def _same_modules(environment: dict[str, str], folder: str, loaded: frozenset[str]) -> bool:
    """Whether the program would find the modules that the server has loaded, and no others before them."""
    looked_into = given(environment) + ([] if "PYTHONSAFEPATH" in environment else [folder])
    folders = set(map(os.path.realpath, looked_into))
    ours = {os.path.realpath(entry) for entry in (*_PATH, ROOT)}
    there = {name.partition(".")[0] for other in folders - ours if os.path.isdir(other) for name in os.listdir(other)}
    return os.path.realpath(ROOT) in folders and not there & (loaded | {"sitecustomize", "usercustomize"})


def given(environment: dict[str, str]) -> list[str]:
    """The folders of PYTHONPATH."""
    return [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]


_PATH = tuple(entry for entry in sys.path if entry)


def _be_parent_of_orphans(wanted: bool) -> None:
    """Whether Linux gives this process the children of its own children that end."""
    if CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0):
        raise OSError("this Linux gives orphans to no process but the first")
