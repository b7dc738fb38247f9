"""The facts of this CPU for the model: what the system tells, and what was probed once and kept."""

from __future__ import annotations

from cpu.runtime.machine.host import host, supports
from cpu.runtime.machine.probe import probe
from microkernels.tile.isa import best_isa, isa_named
from microkernels.tile.isa_row import Isa
from search.tuner import store
from tiling.machine import CacheLevel, Machine


def machine_of(isa: Isa, fingerprint: str) -> Machine:
    """The description of this machine; probed once (about two seconds), then kept in the store.

    An instruction set that it does not run has the speeds of the widest one that it runs.
    """
    measured_on = isa_named(isa.ranked)
    if not supports(measured_on.cpu_flags):
        measured_on = best_isa(host().flags)
    found = store.facts(fingerprint, measured_on.name)
    if found is None or not {c.name for c in host().caches} <= set(found["read"]):
        found = probe(measured_on.compiler_flags, measured_on.lanes, host())
        store.keep_facts(fingerprint, measured_on.name, found)
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
