"""Bytes of a pipeline to and from the L2 and memory, and the time of the kernel that copies its inputs."""

from __future__ import annotations

from math import ceil, prod

from gpu.codegen.pipeline.stages import Pipeline
from gpu.limits.hopper import ROW_BYTES
from gpu.model.devices import Device
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile

_SECTOR = 32  # bytes that the L2 sends at once


def aligning_seconds(pipeline: Pipeline, device: Device, launch: float) -> float:
    """Seconds of the kernel that copies inputs which TMA cannot read where they lie: a launch, and the bytes moved."""
    copies = pipeline.copies
    return launch + sum(copy.moved for copy in copies) / device.memory_bandwidth if copies else 0.0


def tiles_within(pipeline: Pipeline) -> int:
    """Tiles of the output that a launch computes, those of clusters and takers beyond the edge included.

    The last group of rows has as many rows as exist, and blocks beyond the edge end at once.
    """
    count = 1
    for axis in pipeline.grid_axes:
        extent, tile = pipeline.scheme.extents[axis], dict(zip(pipeline.axes, pipeline.block_tile)).get(axis, 1)
        together = prod(loop.trips for loop in (*_blocks(pipeline), *pipeline.takers) if loop.dim == axis)
        count *= ceil(extent / (tile * together)) * together
    return count


def _blocks(pipeline: Pipeline) -> tuple[Tile, ...]:
    """The loops over the blocks of a cluster."""
    return tuple(loop for loop in pipeline.blocks if pipeline.tma and loop.worker == "block")


def l2_bytes(pipeline: Pipeline) -> float:
    """Bytes to and from the L2.

    Each block of a cluster reads only its part of a shared tile. Partial sums of 4 bytes are written and read.
    """
    shares = reversed(pipeline.rank_map.shape[:2])
    sizes = [size * _sectors(pipeline, side) for side, size in enumerate(pipeline.tile_bytes)]
    step = sum(size / share for size, share in zip(sizes, shares))
    tiles = tiles_within(pipeline) * pipeline.split_k
    return tiles * pipeline.steps * step + 8 * pipeline.partial_sums + finishing_bytes(pipeline.scheme)


def finishing_bytes(scheme: Scheme) -> int:
    """Bytes of the epilogue: the output is written once, and each array of the epilogue is read once."""
    problem = scheme.problem
    elements = sum(tensor.elements for tensor in (problem.output, *problem.epilogue_arrays))
    return elements * DTYPE_BYTES[problem.output_dtype]


def memory_bytes(pipeline: Pipeline, at_once: int, device: Device) -> float:
    """Bytes to and from memory: each input once if the L2 holds both, else what every wave reads again."""
    problem = pipeline.problem
    overlapping = (copy.size for copy in pipeline.copies if copy.overlapping)
    a = next(overlapping, problem.broadcast.elements * _share_read(problem))
    inputs = (a + problem.vector.elements) * pipeline.element_bytes
    finishing = finishing_bytes(pipeline.scheme)
    if inputs <= device.l2_bytes // 2:
        return inputs + finishing
    extents, (rows, columns, _) = pipeline.scheme.extents, pipeline.block_tile
    # A wave is a rectangle of tiles, as high as the innermost group of block loops.
    row_axis, column_axis, _ = pipeline.axes
    group = _group(pipeline)
    wide = min(ceil(at_once / group), ceil(extents[column_axis] / columns))
    high = min(group * ceil(at_once / (group * wide)), ceil(extents[row_axis] / rows))
    waves = ceil(tiles_within(pipeline) * pipeline.split_k / at_once)
    share_a = a / extents[row_axis]
    share_b = problem.vector.elements / extents[column_axis]
    anew = waves * (high * rows * share_a + wide * columns * share_b) * pipeline.element_bytes / pipeline.split_k
    return max(inputs, anew) + finishing


def _share_read(problem: Problem) -> float:
    """The part of the image that windows touch: with a stride of 2 one tap reads every second row and column."""
    taps = ((problem.extents[window.tap], window.stride) for window in problem.windows)
    return prod(min(1.0, count / stride) for count, stride in taps)


def _sectors(pipeline: Pipeline, side: int) -> float:
    """How much more than its bytes the L2 sends of an input: a row of 128 bytes that begins within a sector lies in one
    sector more.
    """
    if any(copy.array == side for copy in pipeline.copies):
        return 1.0  # the copy's rows begin at sectors
    within = 1 - pipeline.alignment(side, _SECTOR) / _SECTOR
    return 1 + within * _SECTOR / ROW_BYTES


def _group(pipeline: Pipeline) -> int:
    """Tiles of rows that blocks take before the next tile of columns."""
    found = 1
    for loop in reversed(pipeline.blocks):
        if loop.dim == pipeline.axes[0]:
            found *= loop.trips
        elif loop.worker == pipeline.blocks[0].worker:
            break
    return found
