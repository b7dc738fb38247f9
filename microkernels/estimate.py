"""What a register tile's shape allows: the analytic model that stands in where nothing was measured."""

from __future__ import annotations

from math import prod

from microkernels.isa import isa_named
from microkernels.microkernel import Microkernel
from microkernels.space import INDEPENDENT_FMAS

# TTile measured 97 % of peak for the largest tile of two vectors that the compiler kept in registers, and 45 % for
# one with a row more.
SPILLED = 0.45 / 0.97
# FMAs that a load takes the time of where it also moves narrow numbers to their lanes. Intel's cores do that on one of
# two FMA pipes; on Zen 5, partly beside them, depthwise tiles of bf16 with a load for each FMA reach 67 % of peak.
MOVED = 0.5


def estimate(kernel: Microkernel) -> float:
    """The fraction of peak, in (0, 1], that the tile's shape allows on a core of 2 FMAs and 2 loads a cycle.

    Four limits. Latency: fewer than INDEPENDENT_FMAS accumulators leave the pipes waiting for themselves. Loads:
    more of them than FMAs (`loads_per_step`) keep the FMAs waiting. Registers: beyond those there are, the tile spills.
    Exchanges of lanes run on the FMA pipes.
    """
    if isa_named(kernel.isa).matrix:
        return _matrix_estimate(kernel)
    latency = min(1.0, kernel.accumulators / INDEPENDENT_FMAS)
    loads = min(1.0, kernel.fmas / loads_per_step(kernel))
    pipes = kernel.fmas / (kernel.fmas + exchanges_per_step(kernel))
    return min(latency, loads, pipes) * (SPILLED if kernel.registers > isa_named(kernel.isa).registers else 1.0)


# Cycles of matrix instructions on Sapphire Rapids, measured on data in L1: one for each row of x, and from its sums to
# the next instruction's on them so many more; a load of a tile register moves two rows a cycle.
SUMS_AFTER = 36
ROWS_A_CYCLE = 2


def _matrix_estimate(kernel: Microkernel) -> float:
    """As `estimate`, of tile registers: one row of 16 lanes a cycle where the peak is two vectors."""
    matrix, rows = isa_named(kernel.isa).matrix, dict(kernel.rows)
    along = next((rows[dim] for dim in reversed(rows)), 1)
    runs = kernel.row_count // along * -(-along // matrix.rows)
    held = -(-kernel.row_count // runs)
    loads = (runs * held + matrix.rows * kernel.vectors) / ROWS_A_CYCLE
    cycles = max(kernel.row_count * kernel.vectors, SUMS_AFTER + held, loads)
    return kernel.accumulators / (2 * cycles)


def moving(kernel: Microkernel) -> float:
    """The fraction of speed, in (0, 1], that is left where every load of x moves narrow numbers to their lanes too; 1
    where none does.
    """
    if not kernel.lanewise or isa_named(kernel.isa).numbers is None:
        return 1.0
    return kernel.fmas / (kernel.fmas + MOVED * _x_per_step(kernel))


def exchanges_per_step(kernel: Microkernel) -> int:
    """The exchanges of lanes in one step: every x once for each channel of its group but the lane's own."""
    size = kernel.group_size
    read = _distinct_x(kernel) if _exchanges_at_once(kernel) else kernel.row_count * kernel.steps
    return read // size * (size - 1) * kernel.vectors


def _exchanges_at_once(kernel: Microkernel) -> int:
    """For how many channels of its group an x has all weights in registers at once (as `emit` does it)."""
    isa = isa_named(kernel.isa)
    taken = 2 + (kernel.group_size > 1) + (kernel.op == "grouped2d" and isa.numbers is not None)
    room = isa.registers - kernel.accumulators - taken
    return min(kernel.group_size, max(0, room) // (kernel.steps // kernel.group_size * kernel.vectors))


def loads_per_step(kernel: Microkernel) -> int:
    """The loads that one step of the inner loop issues, of weights and of x.

    Each weight vector is read once a reduction point; each x once (once a vector where it is read by vectors), and by
    every FMA anew where the FMA reads it from memory for want of a register; unrolled taps share an x where the whole
    step's weights fit beside the accumulators (as `emit` does it), or those of some of its exchanges at a time.
    """
    return kernel.vectors * kernel.steps + _x_per_step(kernel)


def _x_per_step(kernel: Microkernel) -> int:
    registers = isa_named(kernel.isa).registers
    each = kernel.vectors if kernel.lanewise else 1
    together = _exchanges_at_once(kernel)
    if together:
        return _distinct_x(kernel) // kernel.group_size * -(-kernel.group_size // together) * each
    if kernel.accumulators + kernel.vectors + 1 <= registers:
        return kernel.row_count * kernel.steps * each
    return kernel.fmas


def _distinct_x(kernel: Microkernel) -> int:
    """Different x in one step: along an axis, rows·taps points of which those at equal stride·row + tap are one."""
    points = dict(kernel.rows) | dict(kernel.unrolled)
    rest = prod(extent for dim, extent in points.items() if dim not in ("h", "w", "r", "s"))
    for row_dim, tap_dim in (("h", "r"), ("w", "s")):
        rows, taps = points.get(row_dim, 1), points.get(tap_dim, 1)
        rest *= min(rows * taps, (rows - 1) * kernel.stride + taps)
    return rest
