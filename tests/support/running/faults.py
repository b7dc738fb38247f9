"""Functions that fail in each way that a candidate can, for a worker to run."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from subprocess import run  # noqa: F401  a worker must refuse what is merely imported
from typing import Any


def echo(value: object) -> object:
    print("not an answer")
    return value


def process() -> int:
    return os.getpid()


def server() -> int:
    return os.getppid()


def inherited() -> dict[str, object]:
    umask = os.umask(0)
    os.umask(umask)
    affinity, files = sorted(os.sched_getaffinity(0)), resource.getrlimit(resource.RLIMIT_NOFILE)
    return {"folder": os.getcwd(), "umask": umask, "affinity": affinity, "files": list(files), "nice": os.nice(0)}


def blocked() -> list[str]:
    return sorted(signal.Signals(each).name for each in signal.pthread_sigmask(signal.SIG_BLOCK, ()))


def environment(name: str) -> str | None:
    return os.environ.get(name)


def search_path() -> list[str]:
    return sys.path


def segfault() -> None:
    ctypes.string_at(0)


def abort(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
    os.abort()


def leave(status: int) -> None:
    os._exit(status)


def hang() -> None:
    while True:
        time.sleep(1)


def hang_with_child(file: str) -> None:
    """Start a process that would outlive us, write its id to ``file``, then hang."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(file + ".part", "w") as out:
        out.write(str(child.pid))
    os.replace(file + ".part", file)
    hang()


def allocate(count: int) -> int:
    return len(bytearray(count))


def fail(message: str) -> None:
    raise LookupError(message)


def stop() -> None:
    sys.exit(3)


def interrupt() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "still here"


def unserialisable() -> object:
    return object()


def check_early_kernel(**job: Any) -> None:
    """`tests.exactness.check` of a kernel that takes its output for starting one float early."""
    import cpu.kernel.callable
    from tests.exactness import check

    def emit(*arguments: Any) -> Any:
        source = right(*arguments)
        early, found = re.subn(rf"(void {source.symbol}\([^)]*\)\n{{\n)", r"\1    Y -= 1;\n", source.call)
        assert found == 1
        return replace(source, call=early)

    right, cpu.kernel.callable.emit = cpu.kernel.callable.emit, emit
    try:
        check(**job)
    finally:
        cpu.kernel.callable.emit = right
