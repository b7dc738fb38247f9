"""The analytic model of a register tile's speed, by its shape. It stands in where no tile was measured."""

from __future__ import annotations

from math import prod

from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import TileRegisters
from microkernels.tile.microkernel import Microkernel
from microkernels.tile.space import INDEPENDENT_FMAS

# TTile measured 97 % of peak for the largest tile of two vectors that the compiler kept in registers, and 45 % with one
# row more.
SPILLED = 0.45 / 0.97
# The time of a load that also moves narrow numbers to their lanes, in FMAs. Intel's cores move them on one of two FMA
# pipes. Zen 5 moves them partly on other pipes: depthwise tiles of bf16 with a load for each FMA reach 67 % of peak
# there.
MOVED = 0.5


def estimate(kernel: Microkernel) -> float:
    """The fraction of peak, in (0, 1], that the tile's shape allows on a core of 2 FMAs and 2 loads a cycle.

    There are four limits. Latency: fewer than INDEPENDENT_FMAS accumulators leave the pipes waiting. Loads: more loads
    than FMAs (`loads_per_step`) keep the FMAs waiting. Registers: a tile that needs more than there are spills.
    Exchanges of lanes take time on the FMA pipes.
    """
    matrix = isa_named(kernel.isa).matrix
    if matrix:
        return _matrix_estimate(kernel, matrix)
    latency = min(1.0, kernel.accumulators / INDEPENDENT_FMAS)
    loads = min(1.0, kernel.fmas / loads_per_step(kernel))
    pipes = kernel.fmas / (kernel.fmas + exchanges_per_step(kernel))
    return min(latency, loads, pipes) * (SPILLED if kernel.registers > isa_named(kernel.isa).registers else 1.0)


# Matrix instructions on Sapphire Rapids, measured on data in L1: an instruction takes a cycle for each row of x. The
# next one on the same sums starts SUMS_AFTER cycles later. A load of a tile register moves two rows a cycle.
SUMS_AFTER = 36
ROWS_A_CYCLE = 2


def _matrix_estimate(kernel: Microkernel, matrix: TileRegisters) -> float:
    """The `estimate` of a tile of matrix instructions: one row of 16 lanes a cycle, where the peak is two vectors."""
    rows = dict(kernel.rows)
    along = next((rows[dim] for dim in reversed(rows)), 1)
    runs = kernel.row_count // along * -(-along // matrix.rows)
    held = -(-kernel.row_count // runs)
    loads = (runs * held + matrix.rows * kernel.vectors) / ROWS_A_CYCLE
    cycles = max(kernel.row_count * kernel.vectors, SUMS_AFTER + held, loads)
    return kernel.accumulators / (2 * cycles)


def moving(kernel: Microkernel) -> float:
    """The fraction of speed, in (0, 1], that is left where loads of x move narrow numbers to their lanes; else 1."""
    if not kernel.lanewise or isa_named(kernel.isa).numbers is None:
        return 1.0
    return kernel.fmas / (kernel.fmas + MOVED * _x_per_step(kernel))


def exchanges_per_step(kernel: Microkernel) -> int:
    """The exchanges of lanes in one step: one for every x and each channel of its group except the lane's own."""
    size = kernel.group_size
    read = _distinct_x(kernel) if _exchanges_at_once(kernel) else kernel.row_count * kernel.steps
    return read // size * (size - 1) * kernel.vectors


def _exchanges_at_once(kernel: Microkernel) -> int:
    """For how many channels of a group `emit` keeps all weights in registers at once."""
    isa = isa_named(kernel.isa)
    taken = 2 + (kernel.group_size > 1) + (kernel.exchanges and isa.numbers is not None)
    room = isa.registers - kernel.accumulators - taken
    return min(kernel.group_size, max(0, room) // (kernel.steps // kernel.group_size * kernel.vectors))


def loads_per_step(kernel: Microkernel) -> int:
    """The loads of weights and of x in one step of the inner loop, as `emit` writes them.

    Each weight vector is loaded once a reduction point. Each x is loaded once, or once a vector where it is read by
    vectors. Where no register is left for x, every FMA reads it from memory. Unrolled taps share an x where the weights
    of the whole step, or those of some of its exchanges, fit beside the accumulators.
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
    """The number of different x in one step. Points of rows and taps at equal stride·row + tap are the same x."""
    points = dict(kernel.rows) | dict(kernel.unrolled)
    rest = prod(extent for dim, extent in points.items() if dim not in ("h", "w", "r", "s"))
    for row_dim, tap_dim in (("h", "r"), ("w", "s")):
        rows, taps = points.get(row_dim, 1), points.get(tap_dim, 1)
        rest *= min(rows * taps, (rows - 1) * kernel.stride + taps)
    return rest
