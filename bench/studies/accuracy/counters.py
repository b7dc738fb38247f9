"""Bytes into caches from the CPU's own counters, through `perf stat`.

A virtual machine often has no counters, and a container may not read them; then only the simulation of
`bench.studies.accuracy.traffic` is left. Counters see the loads of the whole process, so a kernel runs CALLS and twice
CALLS times, and the difference counts. They count lines that loads missed, without lines that a prefetcher brought in
time.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from typing import Any

import numpy as np

from cpu.kernel.callable import build
from microkernels.tile.isa import isa_named
from tiling.machine import Machine
from tiling.text.notation import parse
from tiling.text.shapes import problem_of

CALLS = 20
_FIRST, _LAST = "L1-dcache-load-misses", "LLC-load-misses"  # perf's generic names: the first and the last cache
_TIMEOUT_SECONDS = 120


@functools.cache
def available() -> frozenset[str]:
    """The events that this machine counts, among the two."""
    return frozenset(_stat([_FIRST, _LAST], ["true"]))


def counted(job: dict[str, Any], machine: Machine) -> dict[str, int]:
    """Bytes that a warm call loads into the first and the last cache, by name, where they can be counted.

    job: from `search.evaluator.cpu.backend.CpuBackend.job`.
    """
    caches = {_FIRST: machine.caches[0], _LAST: machine.caches[-1]}
    events = [event for event in caches if event in available()]
    if not events:
        return {}
    once, twice = (
        _stat(events, [sys.executable, "-m", "bench.studies.accuracy.counters", json.dumps(job), str(n)])
        for n in (CALLS, 2 * CALLS)
    )
    return {
        caches[event].name: max(0, twice[event] - once[event]) * caches[event].line // CALLS
        for event in events
        if event in once and event in twice
    }


def _stat(events: list[str], command: list[str]) -> dict[str, int]:
    """The counts of events in user space while `command` ran; none without perf."""
    perf = shutil.which("perf")
    if perf is None:
        return {}
    words = [perf, "stat", "-x", ",", "-e", ",".join(f"{event}:u" for event in events), "--", *command]
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found = {}
    # One line an event: count,unit,event,… where the count is a text in <> if there is none.
    for line in ended.stderr.splitlines() if ended.returncode == 0 else ():
        count, _, event, *_ = [*line.split(","), "", ""]
        name = event.removesuffix(":u")
        if count.isdecimal() and name in events:
            found[name] = int(count)
    return found


def _run(job: dict[str, Any], calls: int) -> None:
    """Calls a compiled kernel again and again on one thread; the events of this are counted."""
    scheme = parse(problem_of(job["op"], job["shape"]), job["scheme"])
    kernel = build(scheme, isa_named(job["isa"]), 1, job["stream"])
    x, w = (np.ones(tensor.shape, np.float32) for tensor in kernel.original.tensors[:2])
    packed, y = kernel.pack(w), kernel.empty()
    for _ in range(calls):
        kernel(x, packed, out=y)


if __name__ == "__main__":
    _run(json.loads(sys.argv[1]), int(sys.argv[2]))
