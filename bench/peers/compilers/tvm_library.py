"""Layers that TVM compiled: runs the search in a process of its own, and calls the library that it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.peers.interface.peer import Prepared
from cpu.runtime.compiler.cache import kept, with_facts, without_facts
from cpu.runtime.machine.host import fingerprint, host

# Far more than any search needs on an idle machine: what takes longer hangs.
_SECONDS_TO_START = 300
_SECONDS_A_TRIAL = 30


class SearchFailed(RuntimeError):
    """A search left no library; the message holds its last line."""


class Library(NamedTuple):
    """What a search found. history: as `Prepared` has it."""

    content: bytes
    symbol: str
    history: tuple[tuple[int, float, float], ...]


def environment(threads: int) -> dict[str, str]:
    """The environment of the process that calls libraries of TVM.

    Threads of TVM's pool spin after every parallel call; 10,000 rounds outlast the gap between two calls of a turn.
    Binding them to cores would also set the caller's affinity, for all later peers.
    """
    return {"TVM_NUM_THREADS": str(threads), "TVM_BIND_THREADS": "0", "TVM_THREAD_POOL_SPIN_COUNT": "10000"}


def patience(trials: int) -> float:
    """Seconds after which a search is given up."""
    return _SECONDS_TO_START + _SECONDS_A_TRIAL * trials


def found(module: str, request: Mapping[str, Any], threads: int, trials: int, version: str) -> Library:
    """The library that `search` finds. Each is searched once on this machine, then kept.

    version: the peer's version, with all that decides the result. Raises SearchFailed, CacheError.
    """
    content = json.dumps([module, request, threads, trials, version, fingerprint(host()), "with schedules and times"])

    def make(path: Path) -> bytes:
        best = search(module, {**request, "folder": str(path.parent)}, threads, trials)
        facts = {"symbol": best["symbol"], "history": best["history"]}
        return with_facts(Path(best["library"]).read_bytes(), facts)

    library, facts = without_facts(kept(sha256(content.encode()).hexdigest() + ".so", f"/* {content} */\n", make))
    return Library(library, facts["symbol"], tuple((tried, since, best) for tried, since, best in facts["history"]))


def search(module: str, request: Mapping[str, Any], threads: int, trials: int) -> dict[str, Any]:
    """Runs `python -m module` with the request and gives the JSON object of its last line. Raises SearchFailed."""
    root = str(Path(__file__).parents[3])
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", module, json.dumps({**request, "threads": threads, "trials": trials})]
    limit = patience(trials)
    variables = {**os.environ, **environment(threads), "PYTHONPATH": paths}
    try:
        ended = subprocess.run(
            command, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=request["folder"],
            timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SearchFailed(f"{module} did not end within {limit:g} s") from None
    said = (ended.stdout if ended.returncode == 0 else ended.stderr).strip().splitlines() or ["it said nothing"]
    if ended.returncode:
        raise SearchFailed(f"{module} failed: {said[-1]}")
    best: dict[str, Any] = json.loads(said[-1])
    return best


def load(library: Library, x: np.ndarray, w: np.ndarray, shape: tuple[int, ...], layout: str) -> Prepared:
    """The function of a compiled library, on memory of its own: it takes x, w and an output of `shape`."""
    import tvm

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layer.so"
        path.write_bytes(library.content)
        module = tvm.runtime.load_module(str(path))
    function = module[library.symbol]
    given, weights = tvm.runtime.tensor(x), tvm.runtime.tensor(w)
    y = tvm.runtime.tensor(np.zeros(shape, np.float32))

    def kernel_seconds(count: int) -> list[float]:
        timed = module.time_evaluator(library.symbol, tvm.cpu(), number=1, repeat=count)
        return list(timed(given, weights, y).results)

    return Prepared(lambda: function(given, weights, y), y.numpy, layout, kernel_seconds, history=library.history)
