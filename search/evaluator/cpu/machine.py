"""The facts of this CPU for the model: what the system tells, and what was probed once and kept."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.toolchain import ToolchainError
from cpu.runtime.machine.host import host, supports
from cpu.runtime.machine.neighbours import busy
from cpu.runtime.machine.probe import best_of, in_doubt, probe
from microkernels.scores.database import StoreError
from microkernels.tile.isa import best_isa, isa_named
from microkernels.tile.isa_row import Isa
from search.tuner import store
from tiling.machine import CacheLevel, Machine


def machine_of(isa: Isa, fingerprint: str) -> Machine:
    """The description of this machine: probed (about two seconds), then kept in the store.

    An instruction set that it does not run has the speeds of the widest one that it runs.
    """
    measured_on = isa_named(isa.ranked)
    if not supports(measured_on.cpu_flags):
        measured_on = best_isa(host().flags)
    found = _facts(measured_on, fingerprint)
    caches = tuple(
        CacheLevel(c.name, c.bytes, c.line, c.ways, found["read"][c.name], c.shared_by, found["write"][c.name])
        for c in host().caches
    )
    return Machine(
        fingerprint=fingerprint,
        isa=isa.name,
        lanes=isa.lanes,
        registers=isa.registers,
        peak=found["peak_gflops"] * 1e9,
        cores=host().cores,
        caches=caches,
        memory_bandwidth=found["read"]["memory"],
        memory_write_bandwidth=found["write"]["memory"],
        stream_bandwidth=found["memory_stream"],
    )


def _facts(isa: Isa, fingerprint: str) -> dict[str, Any]:
    """What a probe found. One that was disturbed is repeated in a quiet moment, and the better rates count."""
    kept = store.facts(fingerprint, isa.name)
    if kept is None or not {c.name for c in host().caches} <= set(kept["read"]):
        found = probe(isa.compiler_flags, isa.lanes, host())
        store.keep_facts(fingerprint, isa.name, found)
        return found
    if not in_doubt(kept, time.time()) or busy(host().cores):
        return kept
    # Rates in doubt still serve where no compiler is left, or the folder can only be read.
    with suppress(ToolchainError, CacheError, StoreError, OSError):
        found = best_of(kept, probe(isa.compiler_flags, isa.lanes, host()))
        store.keep_facts(fingerprint, isa.name, found)
        return found
    return kept
