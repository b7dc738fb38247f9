"""What a worker of a cluster runs: it says what it is, and runs tasks in a child process of its own.

A kernel that crashes or hangs costs the child, and not the worker. One task runs at a time, whatever number of threads
the worker has, since two would disturb each other.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.processes.worker import CandidateError, OutOfMemory, Worker, WorkerError

_alone = threading.Lock()
# The child processes by their options. Only the child of the last task's options is kept.
_children: dict[str, Worker] = {}
# The packages whose text decides how a kernel is written and measured.
_PACKAGES = ("tiling", "microkernels", "cpu")
_SOURCES = (".py", ".c", ".h", ".j2")


def identity() -> dict[str, str]:
    """What a measurement depends on: the kind of CPU, the compiler, and the text of this program.

    Raises ToolchainError without a compiler.
    """
    compiler = find_compiler()
    return {"CPU": fingerprint(host()), "compiler": f"{compiler.kind} {compiler.version}", "Tilewright": _own_text()}


def answer(function: str, timeout: float, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a task as `cpu.runtime.processes.worker.Worker(**options)` does.

    Gives {"result"}, or the message of what it raised: {"candidate"}, {"memory"} or {"environment"}.
    """
    with _alone:
        try:
            return {"result": _child(options).call(function, timeout=timeout, **arguments)}
        except CandidateError as error:
            return {"candidate": error.reason}
        except OutOfMemory as error:
            return {"memory": str(error)}
        except WorkerError as error:
            return {"environment": str(error)}


def _child(options: Mapping[str, Any]) -> Worker:
    wanted = repr(sorted(options.items()))
    if wanted not in _children:
        for child in _children.values():
            child.close()  # its threads may still spin
        _children.clear()
        _children[wanted] = Worker(**options)
    return _children[wanted]


def _own_text() -> str:
    """A digest of the program."""
    digest = sha256()
    for package in _PACKAGES:
        root = Path(str(files(package)))
        for path in sorted(path for path in root.rglob("*") if path.suffix in _SOURCES):
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]
