"""Measured facts of this machine: one core's FMA peak, and the bandwidth of each level."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpu.host import Host
from cpu.timer import peak_gflops, read_bandwidth, stream_bandwidth, write_bandwidth

_MEMORY_MIN_BYTES = 64 << 20
_MEMORY_MAX_BYTES = 256 << 20
# Together about half a second; filling the buffer and compiling timer.c add less.
_CACHE_SECONDS = 0.04
_MEMORY_SECONDS = 0.1


def probe(flags: tuple[str, ...], lanes: int, host: Host) -> dict[str, Any]:
    """Measure one core of this machine, in under two seconds. JSON-serialisable.

    ``peak_gflops``: f32 GFLOP/s. ``read``, ``write``: bytes/s of loads and of plain
    stores per level, by cache name and "memory". ``memory_stream``: bytes/s of
    streaming stores. ``buffer_bytes``: the buffer of each level. ``flags`` and
    ``lanes`` as in ``timer.py``, whose errors these are. Where four times the last
    cache exceeds 256 MiB, "memory" is partly that cache.
    """
    sizes = buffer_sizes(host)
    # Written once: pages that were never written all read as one page of zeros.
    buffer = np.full(max(sizes.values()), 1, dtype=np.uint8)
    rates: dict[str, dict[str, float]] = {"read": {}, "write": {}}
    for level, size in sizes.items():
        seconds = _MEMORY_SECONDS if level == "memory" else _CACHE_SECONDS
        for kind, measured in zip(rates, (read_bandwidth, write_bandwidth)):
            rates[kind][level] = measured(buffer[:size], flags, lanes, seconds)
    memory = buffer[: sizes["memory"]]
    return {
        "peak_gflops": peak_gflops(flags, lanes, _CACHE_SECONDS),
        **rates,
        "memory_stream": stream_bandwidth(memory, flags, lanes, _MEMORY_SECONDS),
        "buffer_bytes": sizes,
    }


def buffer_sizes(host: Host) -> dict[str, int]:
    """Bytes to read per level: half of a cache, so that it stays there beside what
    else runs, but more than the level before holds, and at most 16 times as much: of
    480 MiB that a virtual machine was told it had, 64 were its own. For memory four
    times the last."""
    sizes = {}
    previous = 0
    for cache in host.caches:
        half = min(cache.bytes // 2, 16 * previous or cache.bytes)
        sizes[cache.name] = half if half > previous else (previous + cache.bytes) // 2
        previous = cache.bytes
    sizes["memory"] = min(_MEMORY_MAX_BYTES, max(_MEMORY_MIN_BYTES, 4 * previous))
    return sizes
