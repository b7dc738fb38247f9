"""What a scheme says about each level of a GPU: tiles, the ring of slots in shared memory, who does what.

There are three kinds: a ring of cp.async copies, then ldmatrix and mma.sync (sm_80 and up), or wgmma (sm_90a); and
Hopper's bulk pipeline, of clusters. `gpu.reading` makes one of a scheme.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod

from gpu.instructions import CHUNK, Instruction
from tiling.problem import DTYPE_BYTES, Affine, Problem, Tensor
from tiling.scheme import Scheme, Tile
from tiling.taskmap import TaskMap, spatial

WARP = 32  # threads
REGISTERS = 65536  # of a multiprocessor, from sm_80 on
LARGEST_SHARED = 228 << 10  # bytes of a multiprocessor that has most of it, from sm_80 on
# What a thread needs besides sums and fragments: addresses, predicates, loop counters. ptxas has the last word.
_OTHER_REGISTERS = 48
SMALLEST_COPY = 4  # bytes of a cp.async
# Where smaller ones would be needed chunks are gathered in registers, several at a time (`gpu.gather`).
_GATHER_REGISTERS = 40
# Other blocks' sums on their way, several at a time; beside the largest tile of a bulk pipeline fewer of them.
_SPLIT_REGISTERS, _BULK_SPLIT_REGISTERS = 80, 48
_LARGEST_LAUNCH, _LARGEST_TAKEN = 248, 240
PRODUCERS = 128  # threads of the warpgroup that copies in bulk
PRODUCER_REGISTERS = 56
STORE_BYTES = 2 * 16 * 128  # a warp's two buffers of 16 rows of the output, in a bulk pipeline
_BARRIER_BYTES = 16  # a slot's two mbarriers


@dataclass(frozen=True)
class Pipeline:
    """What a scheme says about each level. Extents are points of the axes (rows, columns, depth) of the product."""

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

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    @property
    def element_bytes(self) -> int:
        return DTYPE_BYTES[self.problem.dtype]

    @property
    def warp_tile(self) -> tuple[int, int, int]:
        """Points that one warp computes between two barriers."""
        i = self.instruction
        return tuple(u * size for u, size in zip(self.unrolled, (i.rows, i.columns, i.depth)))

    @property
    def block_tile(self) -> tuple[int, int, int]:
        """Points that one block computes between two barriers."""
        shared = [prod(t.trips for t in self.warps if t.dim == axis) for axis in self.axes]
        return tuple(points * warps for points, warps in zip(self.warp_tile, shared))

    @property
    def grid_axes(self) -> tuple[str, ...]:
        """The dims of the tiles that blocks share: rows and columns of the product, and the batch if there is one."""
        return (*self.axes[:2], *(dim for dim in self.problem.extents if dim == "l"))

    @property
    def splits(self) -> int:
        """Parts of the reduction, each of which other blocks sum up."""
        return prod(part.trips for part in self.parts)

    @property
    def split_map(self) -> TaskMap:
        """From the part of the reduction to its place along each looped tap of the window, and along the depth."""
        return _spread(self.parts, (*(tap.dim for tap in self.taps), self.axes[2]))

    @property
    def block_map(self) -> TaskMap:
        """From the block of a part of the reduction to its tile along each of `grid_axes`."""
        return _spread(self.blocks, self.grid_axes)

    @property
    def warp_map(self) -> TaskMap:
        """From the warp to its tile of the block's, along rows and columns."""
        return _spread(self.warps, self.axes[:2])

    @property
    def thread_map(self) -> TaskMap:
        """From the thread to its worker, a warp or warpgroup, and its lane there."""
        return spatial(self.threads // self.instruction.threads, self.instruction.threads)

    @property
    def lane_map(self) -> TaskMap:
        """From the thread to its warp and its lane there, whatever the instruction's worker."""
        return spatial(self.threads // WARP, WARP)

    @property
    def tiles(self) -> int:
        """Of the output, those past its edge among them."""
        return self.block_map.workers

    @property
    def grid(self) -> int:
        return self.tiles * self.splits

    @property
    def partial_sums(self) -> int:
        """What all blocks leave in memory for the last one of each tile to add up."""
        return self.grid * self.consumers * self.accumulators if self.splits > 1 else 0

    @property
    def tickets_each(self) -> int:
        """For a tile whose sums several blocks add up: one, or in a bulk pipeline one for each warp's part of it."""
        return self.consumers // WARP if self.bulk else 1

    @property
    def tickets(self) -> int:
        return self.tiles * self.tickets_each if self.splits > 1 else 0

    @property
    def bulk(self) -> bool:
        """Whether clusters take tiles in turns, and inputs are copied in bulk."""
        return any(loop.worker == "cluster" for loop in self.blocks)

    @property
    def cluster_map(self) -> TaskMap:
        """From a cluster's turn to the tile of all its blocks, along each of `grid_axes`."""
        return _spread(tuple(loop for loop in self.blocks if loop.worker == "cluster"), self.grid_axes)

    @property
    def rank_map(self) -> TaskMap:
        """From a block's rank in its cluster to its part of the cluster's tile."""
        return _spread(tuple(loop for loop in self.blocks if self.bulk and loop.worker == "block"), self.grid_axes)

    @property
    def consumers(self) -> int:
        """Threads that multiply."""
        return self.warp_map.workers * self.instruction.threads

    @property
    def threads(self) -> int:
        return self.consumers + PRODUCERS * self.bulk

    @property
    def asynchronous(self) -> bool:
        """Whether the matrix instruction reads shared memory by itself and goes on beside the threads: wgmma."""
        return self.instruction.a is None

    @property
    def ahead(self) -> int:
        """Steps whose copies are under way or done before their turn. wgmma still reads the slot of the step before."""
        return self.depth - (2 if self.asynchronous else 1)

    @property
    def column_tiles(self) -> int:
        """Tiles of 8 columns of a worker's sums: four registers each for 16 rows of a warp."""
        return self.unrolled[1] * self.instruction.columns // 8

    @property
    def tile_bytes(self) -> tuple[int, int]:
        """Shared memory of one step's tile of a, and of b."""
        rows, columns, depth = self.block_tile
        return rows * depth * self.element_bytes, columns * depth * self.element_bytes

    @property
    def shared_bytes(self) -> int:
        ring = self.depth * sum(self.tile_bytes)
        return ring + (self.consumers // WARP * STORE_BYTES + self.depth * _BARRIER_BYTES if self.bulk else 0)

    @property
    def accumulators(self) -> int:
        """Registers of one thread that hold its part of the output."""
        return (
            self.unrolled[0]
            * self.unrolled[1]
            * self.instruction.rows
            * self.instruction.columns
            // self.instruction.threads
        )

    @property
    def registers(self) -> int:
        """About how many a thread needs: its sums, one part's fragments, and the rest; in eights, as they are given."""
        if self.bulk:
            return min(REGISTERS // (self.threads * self.blocks_at_once) // 8 * 8, _LARGEST_LAUNCH)
        return self.registers_needed

    @property
    def registers_needed(self) -> int:
        """By a thread that multiplies."""
        rows, columns, _ = self.unrolled
        fragments = 0 if self.asynchronous else 4 * rows + 2 * columns
        gathered = _GATHER_REGISTERS if not self.bulk and min(map(self.alignment, (0, 1))) < SMALLEST_COPY else 0
        added = (_BULK_SPLIT_REGISTERS if self.bulk else _SPLIT_REGISTERS) if self.splits > 1 else 0
        return -(-(self.accumulators + max(fragments + gathered, added) + _OTHER_REGISTERS) // 8) * 8

    @property
    def blocks_at_once(self) -> int:
        """Blocks that a multiprocessor has registers and shared memory for, 1 KiB of each block being the system's.

        ptxas is told, or it would aim at more blocks than shared memory allows and spill registers for them.
        """
        if self.bulk:
            by_registers = REGISTERS // (self.registers_needed * self.consumers + PRODUCER_REGISTERS * PRODUCERS)
        else:
            by_registers = REGISTERS // (self.registers * self.threads)
        return max(1, min(by_registers, LARGEST_SHARED // (self.shared_bytes + 1024)))

    @property
    def consumer_registers(self) -> int:
        """Of a thread that multiplies, once those that copy have given theirs away; 0 where that is not worth it."""
        if not self.bulk or self.registers == _LARGEST_LAUNCH:
            return 0
        left = self.registers * self.threads - PRODUCER_REGISTERS * PRODUCERS
        return min(left // self.consumers // 8 * 8, _LARGEST_TAKEN)

    def turned(self, side: int) -> bool:
        """Whether a (side 0) or b (side 1) lies across the depth, as the instruction cannot read it.

        A copy is read then, of which rows and columns have changed places.
        """
        return not self.instruction.reads_across and _innermost(self._given(side)) not in self.axes[2]

    def read(self, side: int) -> Tensor:
        """An input as the pipeline reads it: as it is given, or turned."""
        tensor = self._given(side)
        if not self.turned(side):
            return tensor
        indices, shape = ((*of[:-2], of[-1], of[-2]) for of in (tensor.indices, tensor.shape))
        return replace(tensor, indices=indices, shape=shape)

    def lies_along(self, side: int) -> str:
        """The axis that lies contiguously in the global memory that is read: of a (side 0) or b (side 1)."""
        return self.axes[2] if _innermost(self.read(side)) in self.axes[2] else self.axes[side]

    def alignment(self, side: int, most: int = CHUNK) -> int:
        """Bytes, `most` or fewer, that divide every distance between the contiguous runs of an input."""
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
        """Points of `axis` that the scheme covers: its extent, or more where the last tile goes over the edge."""
        if axis == self.axes[2]:
            depth_steps = self.steps // prod(tap.trips for tap in self.taps)
            return prod(part.trips for part in self.parts if part.dim == axis) * depth_steps * self.block_tile[2]
        tile = dict(zip(self.axes, self.block_tile)).get(axis, 1)
        return tile * prod(t.trips for t in self.blocks if t.dim == axis)

    def over_the_edge(self, axis: str) -> bool:
        return self.covered(axis) != self.scheme.extents[axis]


def _innermost(tensor: Tensor) -> str:
    return tensor.indices[-1].terms[-1][0]


def _spread(loops: tuple[Tile, ...], axes: tuple[str, ...]) -> TaskMap:
    whole = spatial(*(1 for _ in axes))
    for loop in loops:
        whole = whole @ spatial(*(loop.trips if axis == loop.dim else 1 for axis in axes))
    return whole
