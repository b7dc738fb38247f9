"""How long a GPU takes for a call, by events on its stream. Neither Python nor the launch is counted.

    head start ──► event ──► call ──► event        for every sample

The head start keeps the GPU busy while Python queues both events and the call, so that none of them waits for Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil

from gpu.codegen.program import CudaProgram
from gpu.runtime.machine.loaded import load_program

# Waits 400,000 ticks of the GPU's clock, about 0.2 ms, which is longer than Python takes to queue a call.
HEAD_START = CudaProgram(
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
# The memory written between cold calls, in sizes of the L2, so that nothing that a call used is left there.
_SWEEP = 2
# The size of the copy that measures the memory's bandwidth, in sizes of the L2, so that the L2 cannot hold it.
_BEYOND = 16


def event_seconds(call: Callable[[], object], count: int) -> list[float]:
    """`count` samples of the seconds that the GPU works for one call, on CuPy's current stream."""
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
    """Samples of `call_seconds(count)`, for about `seconds`, after a few calls that do not count."""
    once = min(call_seconds(WARM_CALLS))
    return tuple(call_seconds(max(FEWEST, min(MOST, ceil(seconds / (once + _HEAD_START_SECONDS))))))


def sweeper(l2_bytes: int) -> Callable[[], None]:
    """A function that removes from the L2 what earlier calls used."""
    import cupy

    room = cupy.zeros(_SWEEP * l2_bytes, "uint8")
    return lambda: room.fill(1)


def memory_bandwidth(l2_bytes: int) -> float:
    """Bytes/s that a copy within the GPU's memory reads and writes."""
    import cupy

    size = _BEYOND * l2_bytes
    source, target = cupy.empty(size, "uint8"), cupy.empty(size, "uint8")
    source.data.memset_async(1, size)  # a kernel of CuPy would have to be compiled first
    return 2 * size / min(event_seconds(lambda: cupy.copyto(target, source), FEWEST))


@cache
def _head_start(device: int) -> Callable[[], None]:
    """The launch of the kernel that only waits, on the current device."""
    return load_program(HEAD_START).launch
