"""GPUs as data: the limits and rates that the schedule space and the model need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpu.limits.multiprocessor import blocks_for_memory, blocks_for_registers
from tiling.choices import meant
from tiling.dtypes.products import DTYPE_BYTES, GPU_DTYPES


@dataclass(frozen=True)
class Device:
    """One GPU model. Bandwidths are in bytes/s, the clock is in Hz, sizes are in bytes.

    `matrix_flops` are the FLOP a cycle of mma.sync on one multiprocessor.
    """

    name: str
    architecture: str
    multiprocessors: int
    clock: float
    matrix_flops: dict[str, int] = field(hash=False)
    shared_of_block: int
    shared_of_multiprocessor: int
    l2_bytes: int
    l2_bandwidth: float
    memory_bandwidth: float
    blocks_of_multiprocessor: int = 32
    threads_of_multiprocessor: int = 2048
    shared_bandwidth: int = 128  # bytes a cycle
    lanes: int = 128  # multiply-adds of f32 a cycle on one multiprocessor, without matrix units
    wgmma_flops: int = 0  # as `matrix_flops`, for 16-bit types; 0 where there is no wgmma

    def peak_flops(self, dtype: str) -> float:
        """FLOP/s at the boost clock: for f32 those of all lanes, else the dense tensor-core rate of the data sheet."""
        if dtype == "f32":
            return self.multiprocessors * self.clock * 2 * self.lanes
        return self.multiprocessors * self.clock * (self.wgmma_rate(dtype) or self.matrix_flops[dtype])

    def wgmma_rate(self, dtype: str) -> int:
        """FLOP a cycle of wgmma on one multiprocessor; 0 where there is no wgmma."""
        return self.wgmma_flops * 2 // DTYPE_BYTES[dtype]

    def blocks_at_once(self, threads: int, registers: int, shared_bytes: int) -> int:
        """Blocks that one multiprocessor runs at once."""
        return min(blocks_for_registers(threads, registers), self.blocks_beside_registers(threads, shared_bytes))

    def blocks_beside_registers(self, threads: int, shared_bytes: int) -> int:
        """The same, if there were registers for any number."""
        return min(
            blocks_for_memory(shared_bytes, self.shared_of_multiprocessor),
            self.threads_of_multiprocessor // threads,
            self.blocks_of_multiprocessor,
        )


def _rates(sixteen: int) -> dict[str, int]:
    """The rates of all dtypes, from that of 16 bits: numbers of twice the bytes take twice as long."""
    return {dtype: sixteen * 2 // DTYPE_BYTES[dtype] for dtype in GPU_DTYPES}


# Multiprocessors, boost clock and memory: NVIDIA's data sheet of each board. Shared memory, threads and blocks of a
# multiprocessor: the table of compute capabilities in the CUDA C++ programming guide. On Hopper mma.sync reaches half
# of `wgmma_flops`: an H200 multiplies 4096³ in bf16 in 307 µs by mma.sync, 180 by wgmma.
#
# No vendor states the bandwidth of an L2. Those of A100 and L40S are from published micro-benchmarks, to two digits.
# In products and convolutions each multiprocessor of an H200 got 64 bytes a cycle, which stands for Hopper.
_A100 = Device(
    "A100",
    "sm_80",
    multiprocessors=108,
    clock=1.41e9,
    matrix_flops=_rates(2048),
    shared_of_block=163 << 10,
    shared_of_multiprocessor=164 << 10,
    l2_bytes=40 << 20,
    l2_bandwidth=4.5e12,
    memory_bandwidth=1.94e12,
    lanes=64,
)
_L40S = Device(
    "L40S",
    "sm_89",
    multiprocessors=142,
    clock=2.52e9,
    matrix_flops=_rates(1024),
    shared_of_block=99 << 10,
    shared_of_multiprocessor=100 << 10,
    l2_bytes=96 << 20,
    l2_bandwidth=5.0e12,
    memory_bandwidth=0.86e12,
    blocks_of_multiprocessor=24,
    threads_of_multiprocessor=1536,
)
_H100 = Device(
    "H100",
    "sm_90a",
    multiprocessors=132,
    clock=1.83e9,
    matrix_flops=_rates(2048),
    shared_of_block=227 << 10,
    shared_of_multiprocessor=228 << 10,
    l2_bytes=50 << 20,
    l2_bandwidth=15.5e12,
    memory_bandwidth=3.35e12,
    wgmma_flops=4096,
)
_H200 = replace(_H100, name="H200", memory_bandwidth=4.8e12)
DEVICES = {device.name: device for device in (_A100, _L40S, _H100, _H200)}


def device_named(name: str) -> Device:
    """The device called `name`, in any case. Raises KeyError with a sentence that lists the known names."""
    for device in DEVICES.values():
        if device.name.casefold() == name.casefold():
            return device
    raise KeyError(f"no GPU called {name!r} is known{meant(name, DEVICES)}; there are {', '.join(DEVICES)}")
