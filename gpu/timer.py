"""How long a GPU takes for a call, by events on its stream; nothing here counts what Python or a launch cost.

    head start ──► event ──► call ──► event        for every sample

Source of the head start: the GPU is kept busy while Python queues the two events and the call, so that they stand right
behind one another when it gets there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil

from gpu.kernel import load_program
from gpu.program import Program

# Idles for so many ticks of the GPU's clock, some 0.2 ms: longer than Python takes to queue a call.
HEAD_START = Program(
    "head_start",
    """KERNEL(32, 1) head_start(void)
{
    const long long start = clock64();
    while (clock64() - start < 400000);
}
""",
    *(1, 32, 0, 0),
)
_HEAD_START_SECONDS = 0.00025
FEWEST, MOST = 5, 400  # samples of one visit
WARM_CALLS = 3
# What is written between cold calls is so many times as large as the L2: nothing that a call used is left in it.
_SWEEP = 2
# A copy of so many times the L2, to and fro, is the memory's and not the L2's.
_BEYOND = 16


def event_seconds(call: Callable[[], object], count: int) -> list[float]:
    """Seconds of all that one call has the GPU do, `count` times, on CuPy's current stream."""
    import cupy

    head_start = _head_start(cupy.cuda.Device().id)
    samples = []
    for _ in range(count):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        head_start()
        start.record()
        call()
        end.record()
        end.synchronize()
        samples.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return samples


def timed(call_seconds: Callable[[int], list[float]], seconds: float) -> tuple[float, ...]:
    """Samples of `call_seconds(count)` for about `seconds`, after a few calls that do not count."""
    once = min(call_seconds(WARM_CALLS))
    return tuple(call_seconds(max(FEWEST, min(MOST, ceil(seconds / (once + _HEAD_START_SECONDS))))))


def sweeper(l2_bytes: int) -> Callable[[], None]:
    """A function that leaves nothing in the L2 of what was used before."""
    import cupy

    room = cupy.zeros(_SWEEP * l2_bytes, "uint8")
    return lambda: room.fill(1)


def memory_bandwidth(l2_bytes: int) -> float:
    """Bytes/s that a copy within the GPU's memory moves, read and written."""
    import cupy

    size = _BEYOND * l2_bytes
    source = cupy.ones(size, "uint8")
    target = cupy.empty_like(source)
    return 2 * size / min(event_seconds(lambda: cupy.copyto(target, source), FEWEST))


@lru_cache(maxsize=None)
def _head_start(device: int) -> Callable[[], None]:
    """The kernel that only waits, loaded on the current device."""
    return load_program(HEAD_START).launch
