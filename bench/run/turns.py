"""Seconds of a call, as one of several that take turns in a process."""

from __future__ import annotations

import time
from collections.abc import Callable


def timed(call: Callable[[], object], turn: float) -> Callable[[], float]:
    """A function that gives the seconds of a call, the mean of as many as fill `turn` seconds, or of one."""
    call()
    begin = time.perf_counter()
    call()
    count = max(1, round(turn / max(time.perf_counter() - begin, 1e-7)))

    def seconds() -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    return seconds
