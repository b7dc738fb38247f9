"""The child's side of `cpu.runtime.processes.worker`: it answers requests until its pipe closes."""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import sys
from collections.abc import Iterable
from types import ModuleType

from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.toolchain import CompileError, ToolchainError
from cpu.runtime.machine.host import MachineError
from tilewright_entry import importing

_NAME = re.compile(r"([a-z][a-z0-9_]*)(?:\.[a-z][a-z0-9_]*)*:[a-z][a-zA-Z0-9_]*")


def checked_name(name: str, packages: Iterable[str]) -> tuple[str, str]:
    """Module and function of `package.module:function`. Raises ValueError if the package is not in `packages`."""
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in packages:
        raise ValueError(
            f"{name!r} cannot run in a worker: give package.module:function, of one of the packages "
            f"{', '.join(packages)}"
        )
    module, _, function = name.partition(":")
    return module, function


def serve(requests: int, answers: int) -> None:
    """Answers requests until the parent closes its end of the pipe. The first line says what this worker is."""
    for descriptor in (requests, answers):
        os.set_inheritable(descriptor, False)  # the compilers that we start must not hold the pipes open
    # The parent asks how we ended when the pipe for answers closes: only our end may close it, whatever is raised here.
    with open(requests, "rb") as incoming, open(answers, "wb", closefd=False) as outgoing:
        configuration = json.loads(incoming.readline())
        os.environ.clear()
        os.environ.update(configuration["environment"])
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _limit_memory(configuration["memory_bytes"])
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
        function = getattr(_imported(module), name)
        # A function that the module merely imported does not count.
        if not callable(function) or getattr(function, "__module__", None) != module:
            raise ValueError(f"{name} is not a function of {module}")
        return json.dumps({"result": function(**call["arguments"])})
    except MachineError as error:
        return json.dumps({"memory": str(error)})
    except (CacheError, ToolchainError) as error:
        if isinstance(error, CompileError):
            return json.dumps({"error": f"{type(error).__name__}: {error}"})
        return json.dumps({"environment": str(error)})  # the next candidate would fail in the same way
    except BaseException as error:  # also SystemExit: the child goes on
        if type(error).__name__ == "CandidateError":  # the function's own sentence
            return json.dumps({"error": str(error)})
        kind = "MemoryError" if isinstance(error, MemoryError) else type(error).__name__
        return json.dumps({"error": f"{kind}: {error}" if str(error) else kind})


def _imported(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    with importing():
        return importlib.import_module(name)


def _limit_memory(wanted: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
