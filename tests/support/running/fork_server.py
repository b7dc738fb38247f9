"""Python with our packages loaded, which forks for each program that `forked.py` asks for.

`python -m tests.support.running.fork_server SOCKET`. It has no threads and has computed nothing.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import runpy
import signal
import socket
import sys
import tempfile
import time
import types

import tilewright_entry
from tests.support.running import forked
from tests.support.running.forked import LENGTH_BYTES, Request, Server

# What the commands and the workers load, with all that these load in turn.
LOADED = (
    "scipy.optimize",
    "sqlite3",
    "pycparser",
    "onnx",
    "rich.progress",
    "cpu.kernel.program",
    "microkernels.ranking.command",
    "search.commands.products",
    "search.commands.program",
    "search.flow.generate",
    "search.evaluator.gpu.cuda",
    "graph.plan",
    "bench.run.layers",
)

_SECONDS = 60.0


def serve(channel: socket.socket) -> Request:
    """Says what is loaded, then forks for each request, and returns in the child."""
    loaded = pickle.dumps(frozenset(name.partition(".")[0] for name in sys.modules))
    channel.sendall(len(loaded).to_bytes(LENGTH_BYTES, "little") + loaded)
    while True:
        begin, files, _, _ = socket.recv_fds(channel, LENGTH_BYTES, 64)
        if not begin:
            os._exit(0)  # whoever asks has ended
        begin += _received(channel, LENGTH_BYTES - len(begin))
        request = pickle.loads(_received(channel, int.from_bytes(begin, "little")))
        between = os.fork()
        if not between:
            # Linux gives the child of a process that ends to whoever asks, as if it were a child of their own.
            if os.fork():
                os._exit(0)
            _become(request, files, channel)
            return request
        os.waitpid(between, 0)
        for file in files:
            os.close(file)


def _received(channel: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        parts += channel.recv(count - len(parts))
    return parts


def _become(request: Request, files: list[int], channel: socket.socket) -> None:
    """Gives this process what the program is to find, as `subprocess` and the start of Python do."""
    until = time.monotonic() + _SECONDS
    while os.getppid() != request.parent:
        if time.monotonic() > until:  # whoever asks has ended
            os._exit(1)
        time.sleep(0.0002)
    if request.new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(request.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with channel:
        channel.sendall(os.getpid().to_bytes(LENGTH_BYTES, "little"))
    for file, number in zip(files, request.descriptors, strict=True):
        os.dup2(file, number)
    for file in files:
        if file not in request.descriptors:
            os.close(file)
    os.chdir(request.folder)
    tempfile.tempdir = None  # it was looked for in the server's environment
    sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin)
    sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout)
    sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr)


def _stream(number: int, mode: str, like) -> object:
    """The stream that Python opens as it starts."""
    stream = open(  # noqa: SIM115  it stays open
        number, mode, encoding=like.encoding, errors=like.errors, newline="\n", closefd=False
    )
    stream.reconfigure(line_buffering=number == 2, write_through=like.write_through)
    stream.buffer.raw.name = like.name
    stream.mode = mode
    return stream


def run(request: Request, path: list[str]) -> None:
    """Runs the program as Python does. path: where it looks for modules behind PYTHONPATH."""
    kind, program, *arguments = request.words
    first = [] if "PYTHONSAFEPATH" in request.environment else [request.folder if kind == "-m" else ""]
    sys.path[:] = [*first, *forked.given(request.environment), *path]
    sys.argv[:] = [kind, *arguments]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if kind == "-c":
        exec(compile(program, "<string>", "exec"), vars(main))
        return
    sys.modules.pop(program, None)
    tilewright_entry._begin()
    runpy._run_module_as_main(program)


def _load() -> None:
    for name in LOADED:
        importlib.import_module(name)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        if "libgomp" in maps.read():
            raise RuntimeError("a module that is loaded ahead has loaded libgomp, which reads its variables only once")
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a module that is loaded ahead has started a thread, which no fork has")
    gc.collect()
    gc.freeze()


def _with_workers(request: Request) -> Request:
    """Forks another server, for the workers of this program; it returns in these too."""
    asks, answers = socket.socketpair()
    if os.fork():
        answers.close()
        forked.use(Server(asks))
        setattr(*forked.forked_workers())
        return request
    asks.close()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    for number in request.descriptors[3:]:
        os.close(number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return serve(answers)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.modules["tests.support.running.fork_server"] = sys.modules["__main__"]
    behind = sys.path[1 + len(forked.given(os.environ)) :]
    _load()
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked.has_workers:
        asked = _with_workers(asked)
    run(asked, behind)
