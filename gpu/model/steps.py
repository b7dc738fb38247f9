"""What a step of a pipeline takes of a multiprocessor, in cycles, and what the end of a tile takes."""

from __future__ import annotations

from math import ceil

from gpu.codegen.pipeline.instructions import CHUNK
from gpu.codegen.pipeline.stages import SMALLEST_COPY, Pipeline
from gpu.limits.multiprocessor import WARP
from gpu.model.devices import Device
from gpu.model.traffic import finishing_bytes
from gpu.passes.facts.registers import MOST_UNROLLED
from gpu.passes.warpgroups.kinds import stores_boxes
from tiling.dtypes.products import DTYPE_BYTES

# wgmma reaches this share of the data sheet's rate, and cuBLAS does too: products of 4096 and 8192 in bf16, and of 4096
# in tf32, take 180 µs, 1,370 µs and 330 µs in tiles of 128 x 256.
_WGMMA_SHARE = 0.85
_SCHEDULERS = 4  # of a multiprocessor; each issues an instruction of one of its warps a cycle
_LONE_WARP = 1.5  # cycles between two instructions of a warp that has a scheduler to itself
# Cycles of a step beside products and copies: a barrier, a wait, the first fragments. Cycles from a copy to its data,
# which came steps before they are used. Warpgroups that copy wait for what they have just issued, as soon as the
# products of a step are done.
_STEP_CYCLES = 200
_COPY_LATENCY = 600
_WGMMA_WAIT = 420
# Instructions of a copy by a thread: where copies of a step are unrolled, all have addresses that the compiler finds
# before the loop; where they stay in a loop (`gpu.passes.steps.unroll_copies`) each computes its own, and in a
# window of several taps divides for it. A gathered chunk has two loads, fifteen selections and shifts, and conditions
# for every run that it may lie in.
_UNROLLED_COPY, _LOOPED_COPY, _TAP_DIVISIONS, _GATHERED_RUN = 1, 43, 116, 158
# Cycles of the copy engine for a pixel of a window (128 bytes), and for a row of a box that lies beyond the edge. Other
# rows cost no more than their bytes. With 64 output channels a tile 64 x 128 of a 3 x 3 convolution takes 110 µs, for
# half of its box of weights lies beyond the edge, and 64 x 64 takes 44.
_PIXEL_CYCLES, _OUTSIDE_CYCLES = 5.2, 12
_SUM_CYCLES = 7.6  # for each sum of a thread, from a tile's last products to its last store by boxes
# Bytes a cycle that threads of one multiprocessor store: pairs of 16-bit numbers, 16 bytes of each of 8 rows together.
# Outputs of 26 and 34 MB take 19 and 24 µs longer than by boxes. Odd rows, stored by single numbers, take longer.
_PAIR_BYTES, _SINGLES = 6.2, 3.6


def matrix_cycles(pipeline: Pipeline, device: Device) -> float:
    """Cycles of the matrix instructions of a step of a tile."""
    rows, columns, depth = pipeline.block_tile
    dtype = pipeline.problem.dtype
    asynchronous = pipeline.asynchronous
    rate = device.wgmma_rate(dtype) * _WGMMA_SHARE if asynchronous else device.matrix_flops[dtype]
    return 2 * rows * columns * depth / rate


def shared_cycles(pipeline: Pipeline, device: Device) -> float:
    """Cycles in which a step's tiles are written to shared memory and read from it."""
    return (sum(pipeline.tile_bytes) + _fragment_bytes(pipeline)) / device.shared_bandwidth


def copy_cycles(pipeline: Pipeline) -> float:
    """Cycles in which a block's threads issue the copies of a step, or the copy engine makes them."""
    if not pipeline.tma:
        return _copy_instructions(pipeline) * pipeline.threads / WARP / _SCHEDULERS
    (rows, columns, _), (high, wide) = pipeline.block_tile, pipeline.rank_map.shape[:2]
    axis = pipeline.axes[1]
    outside = 1 - pipeline.scheme.extents[axis] / pipeline.covered(axis)  # of the rows of b
    pixels = rows / wide if pipeline.problem.windows else 0.0
    return _PIXEL_CYCLES * pixels + _OUTSIDE_CYCLES * outside * columns / high


def step_cycles(pipeline: Pipeline, device: Device) -> float:
    """Cycles of a step of a block whose threads copy, if it has a multiprocessor to itself; 0 where one warp copies."""
    if pipeline.tma:
        return 0.0
    warps = pipeline.threads / WARP / _SCHEDULERS
    products = matrix_cycles(pipeline, device)
    copies = _copy_instructions(pipeline) * max(_LONE_WARP, warps)
    if pipeline.asynchronous:
        return max(products, copies + _WGMMA_WAIT) + _STEP_CYCLES
    return max(products / min(warps, 1) + copies + _STEP_CYCLES, _COPY_LATENCY / (pipeline.depth - 1))


def drain_cycles(pipeline: Pipeline, together: int) -> float:
    """Cycles from the last products of a tile, or of several together, to the last store, where one warp copies."""
    if not pipeline.tma:
        return 0.0
    rows, columns, _ = pipeline.block_tile
    cycles = _SUM_CYCLES * pipeline.accumulators
    if not stores_boxes(pipeline.scheme):
        cycles += together * rows * columns * DTYPE_BYTES[pipeline.problem.output_dtype] / _stored_bytes(pipeline)
    return cycles


def store_seconds(pipeline: Pipeline, device: Device) -> float:
    """Seconds in which threads store the output, where all of them also copy. No other block's products hide it."""
    if pipeline.tma:
        return 0.0
    return finishing_bytes(pipeline.scheme) / (_stored_bytes(pipeline) * device.multiprocessors * device.clock)


def _stored_bytes(pipeline: Pipeline) -> float:
    """Bytes a cycle that threads store."""
    return _PAIR_BYTES / (_SINGLES if pipeline.scheme.extents[pipeline.axes[1]] % 2 else 1)


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


def _copy_instructions(pipeline: Pipeline) -> float:
    """Instructions by which a thread copies in a step."""
    return sum(_copies_each(pipeline, side) * _instructions_each(pipeline, side) for side in (0, 1))


def _copies_each(pipeline: Pipeline, side: int) -> int:
    """Copies of an input that a thread makes in a step."""
    size = CHUNK if _is_gathered(pipeline, side) else pipeline.alignment(side)
    return ceil(pipeline.tile_bytes[side] / size / pipeline.threads)


def _instructions_each(pipeline: Pipeline, side: int) -> int:
    """Instructions of one copy."""
    if _is_gathered(pipeline, side):
        return _GATHERED_RUN * _turns(pipeline, side)
    windows = pipeline.problem.windows if side == 0 else ()
    extents = pipeline.scheme.extents
    beyond = any(extents[pipeline.axes[i]] % pipeline.block_tile[i] for i in (side, 2))
    conditions = bool(windows) or beyond
    if _copies_each(pipeline, side) <= MOST_UNROLLED and (pipeline.preloads or not conditions):
        return _UNROLLED_COPY
    taps = any(pipeline.problem.extents[window.tap] > 1 for window in windows)
    return _LOOPED_COPY + taps * _TAP_DIVISIONS


def _is_gathered(pipeline: Pipeline, side: int) -> bool:
    """Whether an input is not aligned enough for cp.async."""
    return not pipeline.tma and pipeline.alignment(side) < SMALLEST_COPY


def _turns(pipeline: Pipeline, side: int) -> int:
    """The most runs that a chunk lies in (`gpu.passes.facts.runs`)."""
    windows = pipeline.problem.windows if side == 0 else ()
    if not windows:
        return 1
    channels, horizontal = pipeline.read(0).shape[-1], windows[-1]
    run = channels * (pipeline.problem.extents[horizontal.tap] if horizontal.dilation == 1 else 1)
    points = CHUNK // pipeline.element_bytes
    return min(pipeline.scheme.extents[pipeline.axes[2]] // run, 1 + ceil((points - 1) / run))
