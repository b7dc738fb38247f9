"""A GPU pipeline: its tiles, its stages in shared memory, and which worker does what.

There are three kinds. Two copy by cp.async: one multiplies by mma.sync (sm_80 and up), the other by wgmma (sm_90a);
passes make these. The third is Hopper's TMA pipeline, of clusters. `gpu.codegen.pipeline.reading` reads a scheme as one
of them, by which the model prices it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod

from gpu.codegen.pipeline.instructions import CHUNK, Instruction
from gpu.codegen.pipeline.residual import BARRIER_BYTES, residual_of, stored_and_loaded_by_threads
from gpu.limits.multiprocessor import LARGEST_THREAD_REGISTERS, REGISTERS, WARP, blocks_at_once, blocks_for_memory
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile
from tiling.scheme.taskmap import TaskMap, spatial
from tiling.tensor import Affine, Tensor

# What a thread needs besides sums and fragments: addresses, predicates, loop counters. ptxas has the last word.
_OTHER_REGISTERS = 48
SMALLEST_COPY = 4  # bytes that a cp.async copies
# Registers for chunks that a thread gathers where it would need smaller copies (`gpu.passes.matrices.gather_rows`).
_GATHER_REGISTERS = 40
MOST_UNROLLED = 8  # copies of one input by a thread in a step
_PIXEL_REGISTERS = 2  # for the place of the pixel of each of these copies in a convolution; from ptxas's counts
# For partial sums that are loaded from other blocks, several at a time. The largest tile of a TMA pipeline leaves room
# for fewer.
_SPLIT_K_REGISTERS, _TMA_SPLIT_K_REGISTERS = 80, 48
# For what an epilogue loads for these threads, where TMA does not copy it.
_LOAD_REGISTERS = 16
# Registers of a thread at the launch of a TMA pipeline, and after setmaxnreg, which takes multiples of 8.
_LARGEST_LAUNCH, _LARGEST_TAKEN = 248, 240
PRODUCERS = 128  # threads of the warpgroup that copies by TMA
PRODUCER_REGISTERS = 56
STORE_BYTES = 2 * 16 * 128  # a warp's two buffers of 16 rows of the output, in a TMA pipeline
_BARRIER_BYTES = 8  # of an mbarrier


@dataclass(frozen=True)
class Pipeline:
    """A pipeline. Extents count points along the axes (rows, columns, depth) of the product."""

    scheme: Scheme
    instruction: Instruction
    axes: tuple[str, str, str]
    blocks: tuple[Tile, ...]
    steps: int
    depth: int
    warps: tuple[Tile, ...]
    unrolled: tuple[int, int, int]
    parts: tuple[Tile, ...] = ()
    taps: tuple[Tile, ...] = ()
    takers: tuple[Tile, ...] = ()

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

    @property
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

    @property
    def split_k_map(self) -> TaskMap:
        """Maps a split-K part to its place along each looped tap of the window, and along the depth."""
        return _spread(self.parts, (*(tap.dim for tap in self.taps), self.axes[2]))

    @property
    def block_map(self) -> TaskMap:
        """Maps a block, within its split-K part, to its tile along each of `grid_axes`."""
        return _spread(self.blocks, self.grid_axes)

    @property
    def warp_map(self) -> TaskMap:
        """Maps a warp to its part of the block's tile, along rows and columns."""
        return _spread(self.warps, self.axes[:2])

    @property
    def taker_map(self) -> TaskMap:
        """Maps a taker to its tile among the block's tiles, along each of `grid_axes`.

        A taker is the warpgroups that share one tile. More than one taker is ping-pong: one stores its tile while the
        other multiplies.
        """
        return _spread(self.takers, self.grid_axes)

    @property
    def worker_map(self) -> TaskMap:
        """Maps a worker, a warp or warpgroup, to its taker and its place there."""
        return spatial(self.taker_map.workers, self.warp_map.workers)

    @property
    def thread_map(self) -> TaskMap:
        """Maps a thread to its worker, a warp or warpgroup, and its lane there."""
        return spatial(self.threads // self.instruction.threads, self.instruction.threads)

    @property
    def lane_map(self) -> TaskMap:
        """Maps a thread to its warp and its lane there, whatever the instruction's worker."""
        return spatial(self.threads // WARP, WARP)

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

    @property
    def semaphores_each(self) -> int:
        """Split-K semaphores of a tile: one, or in a TMA pipeline one for each warp's part of the tile."""
        return self.consumers // WARP if self.tma else 1

    @property
    def semaphores(self) -> int:
        return self.tiles * self.semaphores_each if self.split_k > 1 else 0

    @property
    def tma(self) -> bool:
        """Whether TMA copies the inputs, and clusters take the tiles in turns."""
        return any(loop.worker == "cluster" for loop in self.blocks)

    @property
    def cluster_map(self) -> TaskMap:
        """Maps a cluster's turn to the tile of all its blocks, along each of `grid_axes`."""
        return _spread(tuple(loop for loop in self.blocks if loop.worker == "cluster"), self.grid_axes)

    @property
    def rank_map(self) -> TaskMap:
        """Maps a block's rank in its cluster to its part of the cluster's tile."""
        return _spread(tuple(loop for loop in self.blocks if self.tma and loop.worker == "block"), self.grid_axes)

    @property
    def consumers(self) -> int:
        """Threads that multiply."""
        return self.worker_map.workers * self.instruction.threads

    @property
    def threads(self) -> int:
        return self.consumers + PRODUCERS * self.tma

    @property
    def asynchronous(self) -> bool:
        """Whether the matrix instruction is wgmma, which reads shared memory itself and runs beside the threads."""
        return self.instruction.a is None

    @property
    def gathers(self) -> bool:
        """Whether threads gather an input in registers, because its alignment is too small for cp.async."""
        return not self.tma and min(map(self.alignment, (0, 1))) < SMALLEST_COPY

    @property
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
    def column_tiles(self) -> int:
        """Tiles of 8 columns in a worker's sums. Each takes four registers for a warp's 16 rows."""
        return self.unrolled[1] * self.instruction.columns // 8

    @property
    def tile_bytes(self) -> tuple[int, int]:
        """Bytes of shared memory for one step's tiles of a and of b."""
        rows, columns, depth = self.block_tile
        return rows * depth * self.element_bytes, columns * depth * self.element_bytes

    @property
    def shared_bytes(self) -> int:
        ring = self.depth * sum(self.tile_bytes)
        if not self.tma:
            return ring
        takers = self.taker_map.workers
        warp = STORE_BYTES + (BARRIER_BYTES if residual_of(self.problem) else 0)
        barriers = 2 * self.depth + (takers if takers > 1 else 0)
        return ring + self.consumers // WARP * warp + barriers * _BARRIER_BYTES

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

    @property
    def registers(self) -> int:
        """Registers of a thread, about, in multiples of eight: for its sums, its fragments and the rest."""
        if self.tma:
            return min(REGISTERS // (self.threads * self.blocks_at_once) // 8 * 8, _LARGEST_LAUNCH)
        return self.registers_needed

    @property
    def registers_needed(self) -> int:
        """Registers that a multiplying thread needs."""
        return self._registers_with(1 + self.preloads)

    def _registers_with(self, parts: int) -> int:
        """Registers that a multiplying thread needs if it holds the fragments of `parts` parts."""
        rows, columns, _ = self.unrolled
        held = 0 if self.asynchronous else parts * (4 * rows + 2 * columns)
        held += _GATHER_REGISTERS if self.gathers else self._pixel_registers
        added = (_TMA_SPLIT_K_REGISTERS if self.tma else _SPLIT_K_REGISTERS) if self.split_k > 1 else 0
        added += _LOAD_REGISTERS if added and self.tma and stored_and_loaded_by_threads(self.problem) else 0
        return -(-(self.accumulators + max(held, added) + _OTHER_REGISTERS) // 8) * 8

    @property
    def _pixel_registers(self) -> int:
        """Registers for the places of the pixels that a thread copies."""
        if not self.problem.windows or self.asynchronous:
            return 0
        units = self.tile_bytes[0] // (self.alignment(0) * self.threads)
        return _PIXEL_REGISTERS * min(units, MOST_UNROLLED)

    @property
    def blocks_at_once(self) -> int:
        """Blocks that a multiprocessor has registers and shared memory for. The text tells ptxas this number."""
        if not self.tma:
            return blocks_at_once(self.threads, self.registers, self.shared_bytes)
        by_registers = REGISTERS // (self.registers_needed * self.consumers + PRODUCER_REGISTERS * PRODUCERS)
        return max(1, min(by_registers, blocks_for_memory(self.shared_bytes)))

    @property
    def consumer_registers(self) -> int:
        """Registers of a thread that multiplies, after the copying threads gave theirs away; 0 where none are moved."""
        if not self.tma or self.registers == _LARGEST_LAUNCH:
            return 0
        left = self.registers * self.threads - PRODUCER_REGISTERS * PRODUCERS
        return min(left // self.consumers // 8 * 8, _LARGEST_TAKEN)

    def transposed(self, side: int) -> bool:
        """Whether the pipeline reads a transposed copy of a (side 0) or b (side 1).

        It does where the input lies across the depth and the instruction cannot read it so.
        """
        return not self.instruction.reads_across and _innermost(self._given(side)) not in self.axes[2]

    def read(self, side: int) -> Tensor:
        """An input as the pipeline reads it: as given, or transposed."""
        tensor = self._given(side)
        if not self.transposed(side):
            return tensor
        indices, shape = ((*of[:-2], of[-1], of[-2]) for of in (tensor.indices, tensor.shape))
        return replace(tensor, indices=indices, shape=shape)

    def lies_along(self, side: int) -> str:
        """The axis of a (side 0) or b (side 1) that lies contiguously in the memory that the pipeline reads."""
        return self.axes[2] if _innermost(self.read(side)) in self.axes[2] else self.axes[side]

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

    def _given(self, side: int) -> Tensor:
        return (self.problem.broadcast, self.problem.vector)[side]

    def covered(self, axis: str) -> int:
        """Points of `axis` that the scheme covers: its extent, or more where the last tile passes the edge."""
        if axis == self.axes[2]:
            depth_steps = self.steps // prod(tap.trips for tap in self.taps)
            return prod(part.trips for part in self.parts if part.dim == axis) * depth_steps * self.block_tile[2]
        tile = dict(zip(self.axes, self.block_tile)).get(axis, 1)
        return tile * prod(t.trips for t in (*self.blocks, *self.takers) if t.dim == axis)

    def over_the_edge(self, axis: str) -> bool:
        return self.covered(axis) != self.scheme.extents[axis]


def _innermost(tensor: Tensor) -> str:
    return tensor.indices[-1].terms[-1][0]


def _spread(loops: tuple[Tile, ...], axes: tuple[str, ...]) -> TaskMap:
    whole = spatial(*(1 for _ in axes))
    for loop in loops:
        whole = whole @ spatial(*(loop.trips if axis == loop.dim else 1 for axis in axes))
    return whole
