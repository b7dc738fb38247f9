"""Seconds of a call, as one of several that take turns in a process."""

from __future__ import annotations

import time
from collections.abc import Callable

# The pause between two turns, so that no contender is timed against another library's spinning threads. It is longer
# than libraries by default, and `bench.run.layers.WAITING`, let threads spin: after a call on two threads ONNX Runtime
# burns up to 10 ms of CPU while nobody calls it, gcc's OpenMP some 4 ms, OpenVINO less than 0.3 ms.
PAUSE_SECONDS = 0.03
WARM_CALLS = 3  # that wake the threads and fill the caches


def timed(call: Callable[[], object], turn: float) -> Callable[[], float]:
    """A function that gives the seconds of a call, the mean of as many as fill `turn` seconds, or of one.

    Each time it first lets others' threads fall asleep, then makes `WARM_CALLS` calls, or as many as it times.
    """
    call()
    begin = time.perf_counter()
    call()
    count = max(1, round(turn / max(time.perf_counter() - begin, 1e-7)))

    def seconds() -> float:
        time.sleep(PAUSE_SECONDS)
        for _ in range(min(WARM_CALLS, count)):
            call()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    return seconds
