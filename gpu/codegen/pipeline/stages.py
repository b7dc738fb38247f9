"""A GPU pipeline: its tiles, its stages in shared memory, and which worker does what.

There are three kinds. Two have no clusters: one multiplies by mma.sync (sm_80 and up), the other by wgmma (sm_90a).
The third is Hopper's TMA pipeline, of clusters. Passes make the kernels; `gpu.codegen.pipeline.reading` reads a scheme
as one of them, by which the model prices it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod

from gpu.codegen.pipeline.instructions import CHUNK, MatrixInstruction
from gpu.limits.hopper import LOAD_REGISTERS, OTHER_REGISTERS, ROW_BYTES, registers_at_launch
from gpu.limits.multiprocessor import LARGEST_THREAD_REGISTERS, REGISTERS, WARP, blocks_at_once
from gpu.passes.facts.registers import GATHERING, MOST_UNROLLED, OTHERS, PLACE
from gpu.passes.facts.workers import WARPS_OF_GROUP
from gpu.passes.rows.place_rows import ALIGNED
from gpu.passes.warpgroups.kinds import loads_points, moves_registers, residual_of, stores_boxes
from gpu.passes.warpgroups.store_boxes import BOX_ROWS
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.rewrite.aligned import with_aligned_rows
from tiling.rewrite.copied import Copied
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile
from tiling.scheme.taskmap import TaskMap, spatial
from tiling.tensor import Affine, Tensor

SMALLEST_COPY = 4  # bytes that a cp.async copies
_SPLIT_K_REGISTERS = 80  # for partial sums that are loaded from other blocks, several at a time
_BOX_BYTES = BOX_ROWS * ROW_BYTES  # a box by which a warp stores its sums, in a TMA pipeline


@dataclass(frozen=True)
class Pipeline:
    """A pipeline. Extents count points along the axes (rows, columns, depth) of the product.

    scheme: that of the problem which reads blocks of pixels, where there are such. copies: what is made of
    inputs before.
    """

    scheme: Scheme
    instruction: MatrixInstruction
    axes: tuple[str, str, str]
    blocks: tuple[Tile, ...]
    steps: int
    depth: int
    warps: tuple[Tile, ...]
    unrolled: tuple[int, int, int]
    parts: tuple[Tile, ...] = ()
    taps: tuple[Tile, ...] = ()
    takers: tuple[Tile, ...] = ()
    copies: tuple[Copied, ...] = ()

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    @property
    def element_bytes(self) -> int:
        return DTYPE_BYTES[self.problem.dtype]

    @property
    def warp_tile(self) -> tuple[int, int, int]:
        """Points that one warp computes between two barriers."""
        i, (down, across, deep) = self.instruction, self.unrolled
        return down * i.rows, across * i.columns, deep * i.depth

    @cached_property
    def block_tile(self) -> tuple[int, int, int]:
        """Points that one block computes between two barriers."""
        rows, columns, depth = self.warp_tile
        down, across, deep = (prod(t.trips for t in self.warps if t.dim == axis) for axis in self.axes)
        return rows * down, columns * across, depth * deep

    @property
    def grid_axes(self) -> tuple[str, ...]:
        """The axes along which blocks have different tiles: rows, columns, and the batch if there is one."""
        return (*self.axes[:2], *(dim for dim in self.problem.extents if dim == "l"))

    @property
    def split_k(self) -> int:
        """Split-K parts: parts of the reduction, each summed by a different block."""
        return prod(part.trips for part in self.parts)

    @cached_property
    def block_map(self) -> TaskMap:
        """Maps a block, within its split-K part, to its tile along each of `grid_axes`."""
        return _spread(self.blocks, self.grid_axes)

    @cached_property
    def warp_map(self) -> TaskMap:
        """Maps a warp to its part of the block's tile, along rows and columns."""
        return _spread(self.warps, self.axes[:2])

    @cached_property
    def taker_map(self) -> TaskMap:
        """Maps a taker to its tile among the block's tiles, along each of `grid_axes`.

        A taker is the warpgroups that share one tile. More than one taker is ping-pong: one stores its tile while the
        other multiplies.
        """
        return _spread(self.takers, self.grid_axes)

    @property
    def tiles(self) -> int:
        """Tiles of the output, including those past its edge."""
        return self.block_map.workers * self.taker_map.workers

    @property
    def grid(self) -> int:
        """Blocks of a launch in which each block, or each of its takers, has one tile."""
        return self.block_map.workers * self.split_k

    @property
    def partial_sums(self) -> int:
        """Floats that all blocks leave in memory, for the last block of each tile to add up."""
        return self.grid * self.consumers * self.accumulators if self.split_k > 1 else 0

    @cached_property
    def tma(self) -> bool:
        """Whether TMA copies the inputs, and clusters take the tiles in turns."""
        return any(loop.worker == "cluster" for loop in self.blocks)

    @cached_property
    def rank_map(self) -> TaskMap:
        """Maps a block's rank in its cluster to its part of the cluster's tile."""
        return _spread(tuple(loop for loop in self.blocks if self.tma and loop.worker == "block"), self.grid_axes)

    @cached_property
    def consumers(self) -> int:
        """Threads that multiply."""
        return self.taker_map.workers * self.warp_map.workers * self.instruction.threads

    @property
    def threads(self) -> int:
        return self.consumers + WARP * (WARPS_OF_GROUP if self._moves_registers else self.tma)

    @property
    def _moves_registers(self) -> bool:
        """Whether those who multiply take registers of a warpgroup of which one warp copies."""
        return self.tma and moves_registers(self.scheme)

    @cached_property
    def asynchronous(self) -> bool:
        """Whether the matrix instruction is wgmma, which reads shared memory itself and runs beside the threads."""
        return self.instruction.a is None

    @cached_property
    def gathers(self) -> bool:
        """Whether threads gather an input in registers, because its alignment is too small for cp.async."""
        return not self.tma and min(map(self.alignment, (0, 1))) < SMALLEST_COPY

    @cached_property
    def preloads(self) -> bool:
        """Whether fragments of the next part are loaded while this part is multiplied, also across the barrier.

        That needs registers for the fragments of two parts. Where these are too few, or where threads gather and so
        wait for memory anyway, each part loads its own fragments first.
        """
        if self.asynchronous or self.unrolled[2] == 1 or self.gathers:
            return False
        needed = self._registers_with(2)
        return needed <= LARGEST_THREAD_REGISTERS and needed * self.threads <= REGISTERS

    @property
    def tile_bytes(self) -> tuple[int, int]:
        """Bytes of shared memory for one step's tiles of a and of b."""
        rows, columns, depth = self.block_tile
        return rows * depth * self.element_bytes, columns * depth * self.element_bytes

    @cached_property
    def shared_bytes(self) -> int:
        ring = self.depth * sum(self.tile_bytes)
        if not self.tma:
            return ring
        warps, takers = self.consumers // WARP, self.taker_map.workers
        buffers = warps * self._buffers
        # The mbarriers of full stages, of empty stages, of takers, of buffers that an array comes to. Then what each
        # warp knows of a shared sum.
        counts = [self.depth, self.depth, takers if takers > 1 else 0, buffers if residual_of(self.scheme) else 0]
        counts.append(warps if self.split_k > 1 else 0)
        return ring + buffers * _BOX_BYTES + sum(-(-8 * count // ALIGNED) * ALIGNED for count in counts)

    @property
    def _buffers(self) -> int:
        """Buffers of a warp for boxes of its sums."""
        boxes = WARP * self.accumulators * DTYPE_BYTES[self.problem.output_dtype] // _BOX_BYTES
        return (1 if boxes == 1 and self.split_k > 1 else 2) if stores_boxes(self.scheme) else 0

    @property
    def accumulators(self) -> int:
        """Registers that hold one thread's sums."""
        return (
            self.unrolled[0]
            * self.unrolled[1]
            * self.instruction.rows
            * self.instruction.columns
            // self.instruction.threads
        )

    @cached_property
    def registers(self) -> int:
        """About how many registers a thread begins with, for sums, fragments and the rest: a multiple of eight."""
        if self._moves_registers:
            return registers_at_launch(self.threads)
        if self.tma:
            return self.accumulators + OTHER_REGISTERS + LOAD_REGISTERS * loads_points(self.scheme)
        return self._registers_with(1 + self.preloads)

    def _registers_with(self, parts: int) -> int:
        """Registers that a thread needs if it holds the fragments of `parts` parts."""
        rows, columns, _ = self.unrolled
        held = 0 if self.asynchronous else parts * (4 * rows + 2 * columns)
        held += GATHERING if self.gathers else self._pixel_registers
        added = _SPLIT_K_REGISTERS if self.split_k > 1 else 0
        return -(-(self.accumulators + max(held, added) + OTHERS) // 8) * 8

    @property
    def _pixel_registers(self) -> int:
        """Registers for the places of the pixels that a thread copies."""
        if not self.problem.windows or self.asynchronous:
            return 0
        units = self.tile_bytes[0] // (self.alignment(0) * self.threads)
        return PLACE * min(units, MOST_UNROLLED)

    @property
    def blocks_at_once(self) -> int:
        """Blocks that a multiprocessor has registers and shared memory for."""
        return blocks_at_once(self.threads, self.registers, self.shared_bytes)

    def read(self, side: int) -> Tensor:
        """An input as the pipeline reads it: as given, or a copy that the copy engine finds."""
        problem = with_aligned_rows(self.problem) if self.tma else self.problem
        return (problem.broadcast, problem.vector)[side]

    def lies_along(self, side: int) -> str:
        """The axis of a (side 0) or b (side 1) that lies contiguously in the memory that the pipeline reads."""
        return self.axes[2] if _innermost(self.read(side)) in self.axes[2] else self.axes[side]

    def boxes(self, side: int) -> int:
        """Copies by which TMA brings a tile of an input. One that lies across the depth comes in blocks of columns."""
        if self.lies_along(side) == self.axes[2]:
            return 1
        return self.block_tile[side] * self.element_bytes // ROW_BYTES

    def alignment(self, side: int, most: int = CHUNK) -> int:
        """The alignment of an input's contiguous runs: bytes, `most` or fewer, that divide all distances."""
        tensor, run = self.read(side), self.element_bytes
        for dim, index, extent in zip(
            reversed(self.lies_along(side)), reversed(tensor.indices), reversed(tensor.shape)
        ):
            if index != Affine(((dim, 1),)):
                break
            run *= extent
        return gcd(most, run)

    def covered(self, axis: str) -> int:
        """Points of `axis` that the scheme covers: its extent, or more where the last tile passes the edge."""
        if axis == self.axes[2]:
            depth_steps = self.steps // prod(tap.trips for tap in self.taps)
            return prod(part.trips for part in self.parts if part.dim == axis) * depth_steps * self.block_tile[2]
        tile = dict(zip(self.axes, self.block_tile)).get(axis, 1)
        return tile * prod(t.trips for t in (*self.blocks, *self.takers) if t.dim == axis)


def _innermost(tensor: Tensor) -> str:
    return tensor.indices[-1].terms[-1][0]


def _spread(loops: tuple[Tile, ...], axes: tuple[str, ...]) -> TaskMap:
    whole = spatial(*(1 for _ in axes))
    for loop in loops:
        whole = whole @ spatial(*(loop.trips if axis == loop.dim else 1 for axis in axes))
    return whole
