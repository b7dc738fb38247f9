"""How fast this machine reads and writes so many bytes: the bound for programs that wait for memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cpu.runtime.machine.host import host
from cpu.runtime.machine.timer import read_bandwidth, write_bandwidth
from microkernels.tile.isa import best_isa


def least_seconds(read: int, written: int, threads: int, seconds: float) -> float:
    """Seconds that so many cores take to read and to write so many bytes, in the nearest memory that holds all of them.

    Each core goes over its part of a buffer of all these bytes again and again, for `seconds` to read it and as long to
    write it. 0.0 for too few bytes to time.
    """
    isa = best_isa(host().flags)
    parts = np.array_split(np.full(read + written, 1, np.uint8), threads)

    def rate(measured: Callable[[np.ndarray, tuple[str, ...], int, float], float]) -> float:
        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(lambda part: measured(part, isa.compiler_flags, isa.lanes, seconds), parts))

    reads, writes = rate(read_bandwidth), rate(write_bandwidth)
    return read / reads + written / writes if reads and writes else 0.0
