"""Measures one core of this machine: its FMA peak, and the bandwidth of each cache level and of memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from cpu.runtime.machine.host import Host
from cpu.runtime.machine.neighbours import watched
from cpu.runtime.machine.timer import peak_gflops, read_bandwidth, stream_bandwidth, write_bandwidth

_MEMORY_MIN_BYTES = 64 << 20
_MEMORY_MAX_BYTES = 256 << 20
# How often everything is measured, each time in new memory. The best rate counts, since other programs and badly placed
# pages only lower a rate: six probes of a busy Zen 5 found plain stores to memory at 8 to 41 GB/s.
REPETITIONS = 3
# Together about half a second; filling the buffers and compiling timer.c add less.
_CACHE_SECONDS = 0.015
_MEMORY_SECONDS = 0.04
# Seconds for which rates in doubt stand, so that the searches of one sitting choose by the same rates. On a Zen 3 with
# 2 cores whose other core was busy, probes of one day found 1.0 to 19 GB/s for reads of memory.
STANDING = 600.0


def probe(flags: tuple[str, ...], lanes: int, host: Host) -> dict[str, Any]:
    """Measures one core of this machine, in under two seconds. The result can be written as JSON.

    peak_gflops: f32 GFLOP/s. read, write: bytes/s of loads and of plain stores, by cache name and "memory".
    memory_stream: bytes/s of streaming stores. buffer_bytes: the size of each level's buffer. disturbed: how other
    programs disturbed the probe, which lowers rates; empty where nothing was noticed. at: seconds since 1970.
    ``flags`` and ``lanes`` are those of ``timer.py``; raises what its functions raise. If four times the last cache
    exceeds 256 MiB, that cache serves part of "memory".
    """
    sizes = buffer_sizes(host)
    # Cores share the last cache and memory, so a program on any core disturbs.
    rates, disturbed = watched(
        lambda: [_rates(flags, lanes, sizes) for _ in range(REPETITIONS)], threads=host.cores, tries=1
    )
    best = {key: max(each[key] for each in rates) for key in rates[0]}
    return {
        "peak_gflops": best["peak", ""],
        **{kind: {level: best[kind, level] for level in sizes} for kind in ("read", "write")},
        "memory_stream": best["stream", "memory"],
        "buffer_bytes": sizes,
        "disturbed": disturbed,
        "at": time.time(),
    }


def in_doubt(found: Mapping[str, Any], now: float) -> bool:
    """Whether a probe was disturbed, and has stood long enough to be repeated at `now` (seconds since 1970)."""
    # The clock may have been set back since.
    return bool(found.get("disturbed")) and not 0 <= now - found.get("at", 0.0) <= STANDING


def best_of(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """The better of each rate of two probes, and what else the later one says."""
    single = {key: max(earlier[key], later[key]) for key in ("peak_gflops", "memory_stream")}
    levels = {
        kind: {level: max(rate, earlier[kind].get(level, 0.0)) for level, rate in later[kind].items()}
        for kind in ("read", "write")
    }
    return {**later, **single, **levels}


def _rates(flags: tuple[str, ...], lanes: int, sizes: Mapping[str, int]) -> dict[tuple[str, str], float]:
    """Each rate by its kind and level, measured once. sizes: bytes of each level's buffer."""
    # Each page is written once: pages that were never written all map to one page of zeros.
    buffer = np.full(max(sizes.values()), 1, dtype=np.uint8)
    rates = {("peak", ""): peak_gflops(flags, lanes, _CACHE_SECONDS)}
    for level, size in sizes.items():
        seconds = _MEMORY_SECONDS if level == "memory" else _CACHE_SECONDS
        for kind, measured in (("read", read_bandwidth), ("write", write_bandwidth)):
            rates[kind, level] = measured(buffer[:size], flags, lanes, seconds)
    memory = buffer[: sizes["memory"]]
    return rates | {("stream", "memory"): stream_bandwidth(memory, flags, lanes, _MEMORY_SECONDS)}


def buffer_sizes(host: Host) -> dict[str, int]:
    """Bytes to read for each level. Half of a cache stays in it beside what else runs. Memory gets four times the last
    cache.
    """
    # A buffer is larger than the previous level, or it would measure that level. It is at most 16 times as large: a
    # virtual machine may report a cache that it shares (one reported 480 MiB and had 64).
    sizes = {}
    previous = 0
    for cache in host.caches:
        half = min(cache.bytes // 2, 16 * previous or cache.bytes)
        sizes[cache.name] = half if half > previous else (previous + cache.bytes) // 2
        previous = cache.bytes
    sizes["memory"] = min(_MEMORY_MAX_BYTES, max(_MEMORY_MIN_BYTES, 4 * previous))
    return sizes
