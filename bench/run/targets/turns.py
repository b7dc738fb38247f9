"""Seconds of a call, as one of several that take turns in a process."""

from __future__ import annotations

import time
from collections.abc import Callable

# The pause between two turns, so that no contender is timed against another library's spinning threads. It is longer
# than libraries by default, and `bench.run.layers.WAITING`, let threads spin: after a call on two threads ONNX Runtime
# burns up to 10 ms of CPU while nobody calls it, gcc's OpenMP some 4 ms, OpenVINO less than 0.3 ms.
PAUSE_SECONDS = 0.03
WARM_CALLS = 3  # that wake the threads and fill the caches
# Short calls go on for so long. After others have used the last cache, a sum of 16 MiB takes 0.7 ms, after ten calls
# 0.2. So who comes first in a round would wait for memory, and who comes next would find the same arrays in the cache.
WARM_SECONDS = 0.01


def timed(call: Callable[[], object], turn: float) -> Callable[[], float]:
    """A function that gives the seconds of a call, the mean of as many as fill `turn` seconds, or of one.

    Each time it first lets others' threads fall asleep, then makes `WARM_CALLS` calls, or those of `WARM_SECONDS`,
    but no more than it times.
    """
    call()
    begin = time.perf_counter()
    call()
    once = max(time.perf_counter() - begin, 1e-7)
    count = max(1, round(turn / once))
    warm = min(count, max(WARM_CALLS, round(WARM_SECONDS / once)))

    def seconds() -> float:
        time.sleep(PAUSE_SECONDS)
        for _ in range(warm):
            call()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    return seconds
