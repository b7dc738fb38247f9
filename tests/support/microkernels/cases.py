"""Microkernels, their spaces and made-up timings."""

from microkernels.tile.benchmark import benchmark_scheme
from microkernels.tile.isa import ISAS
from microkernels.tile.microkernel import Microkernel
from tiling.machine import Timing

SPACES = [(isa, op) for isa in ISAS.values() for op in ("conv2d", "depthwise2d", "grouped2d")]
TILE = Microkernel("conv2d", "avx2", (("w", 6),), 2)
L1 = 32 << 10


def timing_at(kernel, fraction, l1_bytes=L1, peak_gflops=100.0):
    seconds = benchmark_scheme(kernel, l1_bytes).problem.flops / (fraction * peak_gflops * 1e9)
    return Timing((seconds, seconds, seconds), peak_gflops)
