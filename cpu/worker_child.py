"""The child's side of `cpu.worker`: `python -m cpu.worker_child CONFIGURATION` answers requests until its
pipe closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import re
import resource
import select
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from cpu.cache import CacheError
from cpu.toolchain import CompileError, ToolchainError

_NAME = re.compile(r"([a-z][a-z0-9_]*)(?:\.[a-z][a-z0-9_]*)*:[a-z][a-zA-Z0-9_]*")
_PR_SET_PDEATHSIG = 1


def checked_name(name: str, packages: Iterable[str]) -> tuple[str, str]:
    """Module and function of `package.module:function`; ValueError unless the package is one of `packages`."""
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in packages:
        raise ValueError(
            f"{name!r} cannot run in a worker: give package.module:function, of one of the packages "
            f"{', '.join(packages)}"
        )
    module, _, function = name.partition(":")
    return module, function


def _serve(configuration: Mapping[str, Any]) -> None:
    """Answer requests until the parent closes its end."""
    requests, answers = configuration["requests"], configuration["answers"]
    for descriptor in (requests, answers):
        os.set_inheritable(descriptor, False)  # not for the compilers that we start
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory(configuration["memory_bytes"])
    _be_the_first_to_go()
    _die_with_parent(requests, configuration["parent"])
    with open(requests, "rb") as incoming, open(answers, "wb") as outgoing:
        answer = json.dumps({"result": "ready"})
        while True:
            outgoing.write(answer.encode() + b"\n")
            outgoing.flush()
            request = incoming.readline()
            if not request:
                return
            answer = _answer(request, configuration["packages"])


def _answer(request: bytes, packages: Iterable[str]) -> str:
    try:
        call = json.loads(request)
        module, name = checked_name(call["function"], packages)
        function = getattr(importlib.import_module(module), name)
        # What a module merely imported is not its own to offer.
        if not callable(function) or getattr(function, "__module__", None) != module:
            raise ValueError(f"{name} is not a function of {module}")
        return json.dumps({"result": function(**call["arguments"])})
    except (CacheError, ToolchainError) as error:
        if isinstance(error, CompileError):
            return json.dumps({"error": f"CompileError: {error}"})
        return json.dumps({"environment": str(error)})  # the next candidate would fail alike
    except BaseException as error:  # SystemExit too: the child goes on
        kind = "MemoryError" if isinstance(error, MemoryError) else type(error).__name__
        return json.dumps({"error": f"{kind}: {error}" if str(error) else kind})


def _limit_memory(wanted: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _be_the_first_to_go() -> None:
    """Should the system run out of memory all the same, it is to end us and not the program that measures."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def _die_with_parent(requests: int, parent: int | None) -> None:
    """Two ways, each best effort: the kernel's signal, which works whatever we are doing
    but only if the parent's main thread started us; and a thread that waits for the
    pipe's other end to go, which needs the GIL (kernels run without it)."""
    if parent is not None:
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            sys.exit("the parent ended before the worker started")
    watcher = select.poll()
    watcher.register(requests, 0)  # reports nothing but the hang-up

    def watch() -> None:
        watcher.poll()
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
