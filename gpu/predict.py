"""How long a scheme takes on a device, by an analytic model, with its parts: which pipe is the slowest, and why.

Each part is the time that one pipe is busy if the others never make it wait; the slowest one decides, plus what nothing
hides: filling the ring once and storing the last tile. Blocks run in waves of as many as the device holds at once, so a
last wave that is nearly empty shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from gpu.aligned import aligned_rows, is_copied
from gpu.bulk import load_lines, stored_columns, stored_in_bulk
from gpu.devices import Device
from gpu.gather import staged, turns
from gpu.operand import Operand
from gpu.pipeline import Pipeline
from gpu.reading import pipeline_of
from gpu.space import candidates, resident_blocks
from gpu.tensor_map import SWIZZLE
from tiling.problem import DTYPE_BYTES, Problem
from tiling.scheme import Scheme

# Cycles, from published micro-benchmarks of Ampere and Hopper, to one digit: first use of a copy's data from memory; a
# load from the L2; what a warp waits for between an ldmatrix and the end of the matrix instruction that needs it; a
# barrier.
_MEMORY_LATENCY = 800
_L2_LATENCY = 260
_PART_LATENCY = 60
_BARRIER_LATENCY = 30
_READ_BANDWIDTH = 64  # bytes a cycle that one multiprocessor reads from the L2
# Cycles between two bulk copies that one thread issues, to one digit.
_BULK_COPY = 20
# Instructions by which a warp stores a row of its buffer that cannot be stored in bulk, counted in the machine code.
_ROW_STORE = 18
_SECTOR = 32  # bytes, which the L2 sends at once
_LAUNCH_SECONDS = 2e-6


@dataclass(frozen=True)
class Prediction:
    """Seconds, by pipe. `resident` blocks run on a multiprocessor at once, `waves` times."""

    scheme: Scheme
    parts: tuple[tuple[str, float], ...]
    unhidden: float
    resident: int
    waves: float

    @property
    def seconds(self) -> float:
        return max(time for _, time in self.parts) + self.unhidden

    @property
    def bottleneck(self) -> str:
        return max(self.parts, key=lambda part: part[1])[0]


def predict(scheme: Scheme, device: Device) -> Prediction:
    """The time of a scheme that fits the device; raises ValueError for one that does not."""
    pipeline = pipeline_of(scheme)
    resident = resident_blocks(pipeline, device)
    if resident < 1:
        raise ValueError(f"{scheme.text} does not fit {device.name}")
    rows, columns, depth = pipeline.block_tile
    grid, at_once = pipeline.grid, resident * device.multiprocessors
    whole, rest = divmod(grid, at_once)
    # Blocks that the busiest multiprocessor runs, one after the other as far as its pipes are concerned.
    serial = whole * resident + ceil(rest / device.multiprocessors)
    flops = 2 * rows * columns * depth
    dtype = scheme.problem.dtype
    rate = device.wgmma_rate(dtype) if pipeline.asynchronous else device.matrix_flops[dtype]
    copied = sum(pipeline.tile_bytes)
    cycle = 1 / device.clock
    # The products of a bulk pipeline's step are under way while its threads wait for the next.
    step_latency = (1 if pipeline.bulk else pipeline.unrolled[2]) * _PART_LATENCY + _BARRIER_LATENCY
    step_latency += _gather_latency(pipeline)
    parts = (
        ("matrix", serial * pipeline.steps * flops / rate * cycle),
        ("shared", serial * pipeline.steps * (copied + _fragment_bytes(pipeline)) / device.shared_bandwidth * cycle),
        ("latency", ceil(grid / at_once) * pipeline.steps * step_latency * cycle),
        ("copies", serial * pipeline.steps * _copies(pipeline) * cycle),
        ("l2", _l2_bytes(pipeline) / device.l2_bandwidth),
        ("memory", _memory_bytes(pipeline, at_once, device) / device.memory_bandwidth),
    )
    stores = rows * columns * DTYPE_BYTES[scheme.problem.output_dtype] * at_once / device.l2_bandwidth
    stores += serial / resident * _row_stores(pipeline) * cycle
    unhidden = _LAUNCH_SECONDS + 2 * _MEMORY_LATENCY * cycle + stores + _adding_up(pipeline, device)
    unhidden += _aligning(pipeline, device)
    return Prediction(scheme, parts, unhidden, resident, grid / at_once)


def rank(problem: Problem, device: Device) -> tuple[Prediction, ...]:
    """Every candidate of the space on a device, the fastest by prediction first; of equals the one whose other pipes
    idle more.
    """

    def order(p: Prediction):
        return p.seconds, sorted((time for _, time in p.parts), reverse=True), p.scheme.text

    return tuple(sorted((predict(s, device) for s in candidates(problem, device)), key=order))


def _adding_up(pipeline: Pipeline, device: Device) -> float:
    """Seconds in which the last block of every tile, once the others are done, takes its ticket and reads all sums."""
    if pipeline.splits == 1:
        return 0.0
    last = 4 * pipeline.partial_sums / min(pipeline.tiles, device.multiprocessors) / _READ_BANDWIDTH
    return (2 * _MEMORY_LATENCY + last) / device.clock


def _aligning(pipeline: Pipeline, device: Device) -> float:
    """Seconds of the kernel that copies a bulk pipeline's inputs first, where it cannot take them as they lie: a
    launch, and its bytes.
    """
    copies = aligned_rows(_operands(pipeline)) if pipeline.bulk else ()
    return _LAUNCH_SECONDS + sum(copy.moved for copy in copies) / device.memory_bandwidth if copies else 0.0


def _row_stores(pipeline: Pipeline) -> float:
    """Cycles in which the warps of a bulk pipeline store a tile's rows that no bulk store can: four issue at once."""
    if not pipeline.bulk or stored_in_bulk(pipeline):
        return 0.0
    rows, columns, _ = pipeline.block_tile
    return rows * columns / stored_columns(pipeline) * _ROW_STORE / 4


def _fragment_bytes(pipeline: Pipeline) -> int:
    """Shared memory that all warps of a block read in a step."""
    rows, columns, depth = pipeline.warp_tile
    return pipeline.warp_map.workers * (rows + columns) * depth * pipeline.element_bytes


def _l2_bytes(pipeline: Pipeline) -> float:
    """All that goes to and from it. Of a tile that the blocks of a cluster share each of them reads its part; partial
    sums of 4 bytes are written and read."""
    shares = reversed(pipeline.rank_map.shape[:2])
    sizes = [size * _sectors(pipeline, side) for side, size in enumerate(pipeline.tile_bytes)]
    step = sum(size / share for size, share in zip(sizes, shares))
    return pipeline.grid * pipeline.steps * step + 8 * pipeline.partial_sums + _output_bytes(pipeline.scheme)


def _sectors(pipeline: Pipeline, side: int) -> float:
    """How many times the bytes of an input's rows of 128 the L2 sends: those that begin within a sector lie in one
    more.
    """
    operand = _operands(pipeline)[side]
    if pipeline.bulk and is_copied(operand):
        return 1.0  # the copy's rows begin at sectors
    within = 1 - pipeline.alignment(side, _SECTOR) / _SECTOR
    return 1 + within * _SECTOR / SWIZZLE


def _copies(pipeline: Pipeline) -> float:
    """Cycles in which a block's copies of one step are issued: four warps issue an instruction each a cycle.

    A cp.async, of 16 bytes or fewer, costs itself and about four instructions of addresses. A gathered chunk costs
    its address, and for every run that it may lie in two loads, fifteen selections and shifts, and what decides on
    them.
    """
    if pipeline.bulk:
        return _BULK_COPY * len(load_lines(_operands(pipeline)))
    instructions = sum(_copy_instructions(o) * o.units_each for o in _operands(pipeline))
    return instructions * pipeline.warp_map.workers * pipeline.instruction.threads / 32 / 4


def _copy_instructions(operand: Operand) -> int:
    return 10 + 40 * turns(operand) if operand.gathered else 5


def _gather_latency(pipeline: Pipeline) -> float:
    """Cycles of a step in which a thread waits for what it gathers: several chunks arrive together."""
    gathered = [] if pipeline.bulk else [operand for operand in _operands(pipeline) if operand.gathered]
    return sum(_L2_LATENCY * operand.units_each // staged(operand) for operand in gathered)


def _operands(pipeline: Pipeline) -> tuple[Operand, Operand]:
    return Operand(pipeline, 0), Operand(pipeline, 1)


def _output_bytes(scheme: Scheme) -> int:
    return scheme.problem.output.elements * DTYPE_BYTES[scheme.problem.output_dtype]


def _group(pipeline: Pipeline) -> int:
    """Tiles of rows that blocks walk down before they take the next one of columns."""
    found = 1
    for loop in reversed(pipeline.blocks):
        if loop.dim == pipeline.axes[0]:
            found *= loop.trips
        elif loop.worker == pipeline.blocks[0].worker:
            break
    return found


def _memory_bytes(pipeline: Pipeline, at_once: int, device: Device) -> float:
    """Bytes from and to memory: each input once if the L2 holds both, else what every wave reads anew."""
    problem = pipeline.problem
    inputs = (problem.broadcast.elements + problem.vector.elements) * pipeline.element_bytes
    output = _output_bytes(pipeline.scheme)
    if inputs <= device.l2_bytes // 2:
        return inputs + output
    extents, (rows, columns, _) = pipeline.scheme.extents, pipeline.block_tile
    # A wave is a rectangle of tiles as high as the group of block loops that stands innermost.
    row_axis, column_axis, reduction = pipeline.axes
    group = _group(pipeline)
    wide = min(ceil(at_once / group), ceil(extents[column_axis] / columns))
    high = min(group * ceil(at_once / (group * wide)), ceil(extents[row_axis] / rows))
    waves = ceil(pipeline.grid / at_once)
    share_a = problem.broadcast.elements / extents[row_axis]
    share_b = problem.vector.elements / extents[column_axis]
    anew = waves * (high * rows * share_a + wide * columns * share_b) * pipeline.element_bytes / pipeline.splits
    return max(inputs, anew) + output
