"""The conditions of a run on a GPU, as sentences: driver, clocks and versions."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence

from bench.peers import PEERS
from bench.report.results import Conditions
from bench.run.layers import ROUNDS, TURN_SECONDS
from cpu.codegen.emit import VERSION
from gpu.runtime.machine.device import bus_address
from gpu.runtime.machine.timer import WARM_CALLS
from search.evaluator.gpu.cuda import CudaBackend

CACHES = {
    "warm": "warm L2: inputs, weights and output stay where the call before left them",
    "cold": "cold L2: a buffer larger than the L2 is written before each call",
}
# As nvidia-smi calls them, and as a reader does.
_ASKED = {
    "driver_version": "driver",
    "clocks.sm": "SM clock",
    "clocks.max.sm": "of at most",
    "clocks.mem": "memory clock",
    "power.limit": "power limit",
    "temperature.gpu": "degrees Celsius",
    "pstate": "performance state",
    "mig.mode.current": "MIG",
}
_ANSWER_SECONDS = 20


def conditions(
    command: str,
    backend: CudaBackend,
    versions: Mapping[str, str],
    missing: Sequence[tuple[str, str]],
    cache: str,
    budget: float,
) -> Conditions:
    """As `bench.run.conditions.conditions`, for a GPU."""
    return Conditions(
        command=command,
        machine=backend.machine,
        compiler=backend.compiler,
        tilewright=VERSION,
        python=platform.python_version(),
        peers=tuple((name, PEERS[name].title, version) for name, version in versions.items()),
        missing=tuple(missing),
        cache=CACHES[cache],
        pinned=state(),
        allocator="output memory is re-used; what a library allocates comes from its own pool on the device",
        turns=f"medians over {ROUNDS} turns of {TURN_SECONDS:g} s of every contender, in turns A B A B in one process; "
        f"a turn begins with {WARM_CALLS} calls that do not count; before each call the device idles 0.2 ms, in which "
        "Python queues it",
        budget=budget,
        target="cuda",
    )


def state() -> str:
    """Driver, clocks, power and temperature of this process's GPU at the start of the run, from nvidia-smi."""
    command = ["nvidia-smi", f"--id={bus_address()}", f"--query-gpu={','.join(_ASKED)}", "--format=csv,noheader"]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=True
        ).stdout.split(",")
    except (OSError, subprocess.SubprocessError) as error:
        return f"not known, since nvidia-smi did not tell: {error}"
    told = ", ".join(f"{name} {value.strip()}" for name, value in zip(_ASKED.values(), found))
    return f"{told}, when the run began; clocks are not fixed"
