"""The analytic model: how long a scheme takes on a device, and which of the device's pipes is the slowest.

Each part of a prediction is the time that one pipe is busy if no other pipe makes it wait. The slowest part counts,
plus the time that nothing hides. Blocks run in waves of as many as the device holds at once, so the model counts an
almost empty last wave too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from gpu.codegen.copies.tensor_map import SWIZZLE
from gpu.codegen.pipeline.instructions import CHUNK
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.codegen.pipeline.stages import SMALLEST_COPY, Pipeline
from gpu.limits.multiprocessor import WARP
from gpu.model.devices import Device
from gpu.model.space import candidates, resident_blocks
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.rewrite.aligned import copies_of
from tiling.scheme.scheme import Scheme

# Cycles, from published micro-benchmarks of Ampere and Hopper, to one digit: from a copy to the first use of its data
# from memory; a load from the L2; from an ldmatrix to the end of the matrix instruction that needs it, of which each
# takes about half; a barrier.
_MEMORY_LATENCY = 800
_L2_LATENCY = 260
_PART_LATENCY = 60
_BARRIER_LATENCY = 30
_READ_BANDWIDTH = 64  # bytes a cycle that one multiprocessor reads from the L2
# Cycles between two TMA copies that one thread issues, to one digit.
_TMA_COPY = 20
# Cycles until a tile's last products are done, and instructions that convert, address and store a pair of sums, counted
# in the text. By both, a tile of 128 x 256 takes 1,500 cycles to drain. A reading of the machine code expects 1,500 to
# 2,000; a device decides. Rows that TMA cannot store take about as many: for a warpgroup's tile of 64 x 128 of
# f16 NVRTC 13.0 makes 494 instructions of PTX where threads store pairs, 526 where they store numbers, 543 with boxes.
_LAST_PRODUCTS = 500
_PAIR_STORE = 8
_MOST_GATHERED = 4  # loads that a thread has under way at once where it gathers
_SECTOR = 32  # bytes that the L2 sends at once
_LAUNCH_SECONDS = 2e-6


@dataclass(frozen=True)
class Prediction:
    """The predicted seconds of a scheme: `parts` by pipe, and `unhidden`, which no pipe's work hides.

    `resident` blocks run on a multiprocessor at once, in `waves` waves. The part `turns` is no pipe: workers that each
    multiply and drain their tiles cannot end before it.
    """

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
    """The time of a scheme on a device. Raises ValueError where it does not fit the device."""
    pipeline = pipeline_of(scheme)
    resident = resident_blocks(pipeline, device)
    if resident < 1:
        raise ValueError(f"{scheme.text} does not fit {device.name}")
    rows, columns, depth = pipeline.block_tile
    grid, at_once = pipeline.grid, resident * device.multiprocessors
    whole, rest = divmod(grid, at_once)
    # Tiles of the busiest multiprocessor. For its pipes they come one after the other.
    takers = pipeline.taker_map.workers
    serial = (whole * resident + ceil(rest / device.multiprocessors)) * takers
    flops = 2 * rows * columns * depth
    dtype = scheme.problem.dtype
    rate = device.wgmma_rate(dtype) if pipeline.asynchronous else device.matrix_flops[dtype]
    copied = sum(pipeline.tile_bytes)
    cycle = 1 / device.clock
    # In a TMA pipeline the products of a step are under way while threads wait for the next step. Where fragments are
    # prefetched, the wait for them coincides with the wait for the part before.
    part_latency = _PART_LATENCY / 2 if pipeline.preloads else _PART_LATENCY
    step_latency = (1 if pipeline.tma else pipeline.unrolled[2]) * part_latency + _BARRIER_LATENCY
    step_latency += _gather_latency(pipeline)
    matrix = serial * pipeline.steps * flops / rate * cycle
    # Blocks or takers of a multiprocessor. Each drains a tile while the others multiply.
    workers = min(resident * takers, serial)
    drain = serial * _drain(pipeline) * cycle
    parts = (
        ("matrix", matrix),
        ("turns", (matrix + drain) / workers if workers > 1 else 0.0),
        ("shared", serial * pipeline.steps * (copied + _fragment_bytes(pipeline)) / device.shared_bandwidth * cycle),
        ("latency", ceil(grid / at_once) * takers * pipeline.steps * step_latency * cycle),
        ("copies", serial * pipeline.steps * _copies(pipeline) * cycle),
        ("l2", _l2_bytes(pipeline) / device.l2_bandwidth),
        ("memory", _memory_bytes(pipeline, at_once * takers, device) / device.memory_bandwidth),
    )
    stores = rows * columns * DTYPE_BYTES[scheme.problem.output_dtype] * at_once / device.l2_bandwidth
    stores += drain / serial if workers > 1 else drain
    unhidden = _LAUNCH_SECONDS + 2 * _MEMORY_LATENCY * cycle + stores + _adding_up(pipeline, device)
    unhidden += _aligning(pipeline, device)
    return Prediction(scheme, parts, unhidden, resident, grid / at_once)


def order(p: Prediction) -> tuple[float, list[float], str]:
    """The key to sort by, the fastest first; among equals one whose other pipes are less busy."""
    return p.seconds, sorted((time for _, time in p.parts), reverse=True), p.scheme.text


def rank(problem: Problem, device: Device) -> tuple[Prediction, ...]:
    """All candidates of the space on a device, the fastest by prediction first."""
    return tuple(sorted((predict(s, device) for s in candidates(problem, device)), key=order))


def _adding_up(pipeline: Pipeline, device: Device) -> float:
    """Seconds in which the last block of a split-K tile takes its split-K semaphore and adds up the partial sums of all
    blocks.
    """
    if pipeline.split_k == 1:
        return 0.0
    last = 4 * pipeline.partial_sums / min(pipeline.tiles, device.multiprocessors) / _READ_BANDWIDTH
    return (2 * _MEMORY_LATENCY + last) / device.clock


def _aligning(pipeline: Pipeline, device: Device) -> float:
    """Seconds of the kernel that copies inputs which TMA cannot read where they lie: a launch, and the bytes moved."""
    copies = copies_of(pipeline.problem) if pipeline.tma else ()
    return _LAUNCH_SECONDS + sum(copy.moved for copy in copies) / device.memory_bandwidth if copies else 0.0


def _fragment_bytes(pipeline: Pipeline) -> int:
    """Bytes of shared memory that all warps or warpgroups of a tile read in a step.

    A warp loads each fragment once and keeps it for several instructions. Each instruction of a warpgroup reads its
    rows of a and its columns of b again.
    """
    rows, columns, depth = pipeline.warp_tile
    read = rows + columns
    if pipeline.asynchronous:
        instruction, (down, across, _) = pipeline.instruction, pipeline.unrolled
        read = down * across * (instruction.rows + instruction.columns)
    return pipeline.warp_map.workers * read * depth * pipeline.element_bytes


def _drain(pipeline: Pipeline) -> float:
    """Cycles from a tile's last products to its last store. Four schedulers issue an instruction a cycle each."""
    rows, columns, _ = pipeline.block_tile
    return _LAST_PRODUCTS + rows * columns / 2 / WARP * _PAIR_STORE / 4


def _l2_bytes(pipeline: Pipeline) -> float:
    """Bytes to and from the L2.

    Each block of a cluster reads only its part of a shared tile. Partial sums of 4 bytes are written and read.
    """
    shares = reversed(pipeline.rank_map.shape[:2])
    sizes = [size * _sectors(pipeline, side) for side, size in enumerate(pipeline.tile_bytes)]
    step = sum(size / share for size, share in zip(sizes, shares))
    tiles = pipeline.tiles * pipeline.split_k
    return tiles * pipeline.steps * step + 8 * pipeline.partial_sums + _finishing_bytes(pipeline.scheme)


def _sectors(pipeline: Pipeline, side: int) -> float:
    """How much more than its bytes the L2 sends of an input: a row of 128 bytes that begins within a sector lies in one
    sector more.
    """
    if pipeline.tma and any(copy.array == side for copy in copies_of(pipeline.problem)):
        return 1.0  # the copy's rows begin at sectors
    within = 1 - pipeline.alignment(side, _SECTOR) / _SECTOR
    return 1 + within * _SECTOR / SWIZZLE


def _copies(pipeline: Pipeline) -> float:
    """Cycles in which a block issues the copies of one step. Four warps issue one instruction a cycle each."""
    if pipeline.tma:
        return _TMA_COPY * sum(map(pipeline.boxes, (0, 1)))
    instructions = sum(_copy_instructions(pipeline, side) * _copies_each(pipeline, side) for side in (0, 1))
    return instructions * pipeline.threads / 32 / 4


def _copies_each(pipeline: Pipeline, side: int) -> int:
    """Copies of an input that a thread makes in a step."""
    size = CHUNK if _is_gathered(pipeline, side) else pipeline.alignment(side)
    return ceil(pipeline.tile_bytes[side] / size / pipeline.threads)


def _is_gathered(pipeline: Pipeline, side: int) -> bool:
    """Whether an input is not aligned enough for cp.async."""
    return not pipeline.tma and pipeline.alignment(side) < SMALLEST_COPY


def _copy_instructions(pipeline: Pipeline, side: int) -> int:
    """Instructions of one copy."""
    # A cp.async takes itself and about four instructions for addresses. A gathered chunk takes its address and, for
    # every run that it may lie in, two loads, fifteen selections and shifts, and their conditions.
    return 10 + 40 * _turns(pipeline, side) if _is_gathered(pipeline, side) else 5


def _turns(pipeline: Pipeline, side: int) -> int:
    """The most runs that a chunk lies in (`gpu.passes.facts.runs`)."""
    windows = pipeline.problem.windows if side == 0 else ()
    if not windows:
        return 1
    channels, horizontal = pipeline.read(0).shape[-1], windows[-1]
    run = channels * (pipeline.problem.extents[horizontal.tap] if horizontal.dilation == 1 else 1)
    points = CHUNK // pipeline.element_bytes
    return min(pipeline.scheme.extents[pipeline.axes[2]] // run, 1 + ceil((points - 1) / run))


def _gather_latency(pipeline: Pipeline) -> float:
    """Cycles of a step in which a thread waits for gathered data. Several chunks arrive together."""
    waits = 0
    for side in (0, 1):
        if _is_gathered(pipeline, side):
            count, most = _copies_each(pipeline, side), max(1, _MOST_GATHERED // _turns(pipeline, side))
            evenly = pipeline.tile_bytes[side] % (CHUNK * pipeline.threads) == 0  # else one after the other
            waits += count // max(n for n in range(1, most + 1) if (count % n == 0 and evenly) or n == 1)
    return _L2_LATENCY * waits


def _finishing_bytes(scheme: Scheme) -> int:
    """Bytes of the epilogue: the output is written once, and each array of the epilogue is read once."""
    problem = scheme.problem
    elements = sum(tensor.elements for tensor in (problem.output, *problem.epilogue_arrays))
    return elements * DTYPE_BYTES[problem.output_dtype]


def _group(pipeline: Pipeline) -> int:
    """Tiles of rows that blocks take before the next tile of columns."""
    found = 1
    for loop in reversed(pipeline.blocks):
        if loop.dim == pipeline.axes[0]:
            found *= loop.trips
        elif loop.worker == pipeline.blocks[0].worker:
            break
    return found


def _memory_bytes(pipeline: Pipeline, at_once: int, device: Device) -> float:
    """Bytes to and from memory: each input once if the L2 holds both, else what every wave reads again."""
    problem = pipeline.problem
    inputs = (problem.broadcast.elements + problem.vector.elements) * pipeline.element_bytes
    finishing = _finishing_bytes(pipeline.scheme)
    if inputs <= device.l2_bytes // 2:
        return inputs + finishing
    extents, (rows, columns, _) = pipeline.scheme.extents, pipeline.block_tile
    # A wave is a rectangle of tiles, as high as the innermost group of block loops.
    row_axis, column_axis, _ = pipeline.axes
    group = _group(pipeline)
    wide = min(ceil(at_once / group), ceil(extents[column_axis] / columns))
    high = min(group * ceil(at_once / (group * wide)), ceil(extents[row_axis] / rows))
    waves = ceil(pipeline.tiles * pipeline.split_k / at_once)
    share_a = problem.broadcast.elements / extents[row_axis]
    share_b = problem.vector.elements / extents[column_axis]
    anew = waves * (high * rows * share_a + wide * columns * share_b) * pipeline.element_bytes / pipeline.split_k
    return max(inputs, anew) + finishing
