"""What a register tile's shape allows: the analytic model that stands in where nothing was measured."""

from __future__ import annotations

from math import prod

from microkernels.isa import isa_named
from microkernels.microkernel import Microkernel
from microkernels.space import INDEPENDENT_FMAS

# TTile measured 97 % of peak for the largest tile of two vectors that the compiler kept in registers, and 45 % for
# one with a row more.
SPILLED = 0.45 / 0.97


def estimate(kernel: Microkernel) -> float:
    """The fraction of peak, in (0, 1], that the tile's shape allows on a core of 2 FMAs and 2 loads a cycle.

    Three limits. Latency: fewer than INDEPENDENT_FMAS accumulators leave the pipes waiting for themselves. Loads:
    more of them than FMAs (`loads_per_step`) keep the FMAs waiting. Registers: beyond those there are, the tile spills.
    """
    latency = min(1.0, kernel.accumulators / INDEPENDENT_FMAS)
    loads = min(1.0, kernel.fmas / loads_per_step(kernel))
    return min(latency, loads) * (SPILLED if kernel.registers > isa_named(kernel.isa).registers else 1.0)


def loads_per_step(kernel: Microkernel) -> int:
    """The loads that one step of the inner loop issues, of weights and of x.

    Each weight vector is read once a reduction point; each x once (once a vector where it is read by vectors), and by
    every FMA anew where the FMA reads it from memory for want of a register; unrolled taps share an x where the whole
    step's weights fit beside the accumulators (as `emit` does it).
    """
    registers = isa_named(kernel.isa).registers
    each = kernel.vectors if kernel.lanewise else 1
    if kernel.accumulators + kernel.steps * kernel.vectors + 1 < registers:
        spreads = _distinct_x(kernel) * each
    elif kernel.accumulators + kernel.vectors + 1 <= registers:
        spreads = kernel.row_count * kernel.steps * each
    else:
        spreads = kernel.fmas
    return kernel.vectors * kernel.steps + spreads


def _distinct_x(kernel: Microkernel) -> int:
    """Different x in one step: along an axis, rows·taps points of which those at equal stride·row + tap are one."""
    points = dict(kernel.rows) | dict(kernel.unrolled)
    rest = prod(extent for dim, extent in points.items() if dim not in ("h", "w", "r", "s"))
    for row_dim, tap_dim in (("h", "r"), ("w", "s")):
        rows, taps = points.get(row_dim, 1), points.get(tap_dim, 1)
        rest *= min(rows * taps, (rows - 1) * kernel.stride + taps)
    return rest
