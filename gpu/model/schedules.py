"""The schedules, whatever the problem: under 200 for each dtype, as in Hidet.

A schedule is a block's tile, its split into warps, the length of a reduction step and the number of stages.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from gpu.codegen.pipeline.instructions import DTYPES, MatrixInstruction, instruction_for, instructions_for
from gpu.model.devices import DEVICES
from tiling.choices import either
from tiling.dtypes.products import DTYPE_BYTES
from tiling.scheme.specifiers import SchemeError

# Warps along rows and columns, and rows and columns of each warp's tile. Large tiles reuse more of what they copy;
# small tiles give a small problem more blocks. No warp has more than 64 x 64 sums, which take half of its registers.
_TILES = (
    ((4, 2), (64, 64)),
    ((2, 4), (64, 64)),
    ((2, 2), (64, 64)),
    ((2, 4), (64, 32)),
    ((4, 2), (32, 64)),
    ((4, 1), (64, 64)),
    ((1, 4), (64, 64)),
    ((2, 2), (64, 48)),
    ((2, 2), (64, 32)),
    ((2, 2), (32, 64)),
    ((4, 1), (32, 64)),
    ((1, 4), (64, 32)),
    ((2, 2), (32, 48)),
    ((2, 2), (32, 32)),
    ((1, 2), (64, 32)),
    ((2, 1), (32, 64)),
    ((4, 1), (32, 32)),
    ((1, 4), (32, 32)),
    ((4, 1), (32, 16)),
    ((2, 2), (32, 16)),
    ((2, 2), (16, 32)),
    ((2, 2), (16, 16)),
    ((1, 4), (16, 64)),
    ((1, 4), (16, 32)),
    ((1, 4), (16, 16)),
)
# The same for wgmma: warpgroups along rows and columns, and rows and columns of the instruction. A step is 128 bytes.
_WGMMA_TILES = (
    ((2, 1), (64, 256)),
    ((2, 1), (128, 128)),
    ((1, 1), (128, 128)),
    ((1, 1), (64, 128)),
    ((2, 1), (64, 64)),
    ((1, 1), (64, 64)),
)
# For the TMA pipeline: the same, the number of stages, and whether clusters share the tile. There are as many stages as
# shared memory has room for, for as many blocks as there are registers for. A deeper ring costs nothing else, since one
# thread copies. Large tiles are worth sharing. So are small tiles of tf32, which has no pipeline of wgmma and cp.async.
# By 192 rows or columns some sizes have as many tiles as there are multiprocessors, where other tiles leave many idle.
_TMA_TILES = (
    (((2, 1), (64, 256)), 4, True),
    (((2, 1), (128, 128)), 4, True),
    (((3, 1), (64, 192)), 3, True),
    (((3, 1), (64, 128)), 4, True),
    (((2, 1), (64, 192)), 4, True),
    (((2, 1), (64, 128)), 6, True),
    (((1, 1), (128, 128)), 3, True),
    (((1, 1), (64, 256)), 5, True),
    (((1, 1), (64, 192)), 3, True),
    (((1, 1), (64, 128)), 4, True),
    (((2, 1), (64, 64)), 3, False),
    (((1, 1), (64, 64)), 4, False),
)
# Ping-pong: two warpgroups have a tile each, and one multiplies while the other stores. It suits products of few steps.
_PING_PONG_TILES = (((64, 256), 4), ((128, 128), 6), ((64, 192), 6))
CLUSTERS = ((1, 1), (2, 1), (1, 2))
_STEP_BYTES = (64, 128)
_DEPTHS = (3, 4, 6)
_WGMMA_DEPTHS = (3, 4)
_LARGEST_RING = max(device.shared_of_block for device in DEVICES.values())  # the largest tiles have no ring of 6 stages


@dataclass(frozen=True)
class Schedule:
    """One way to tile a product of a dtype. `warps` counts warps or warpgroups; `step` counts points of the reduction.

    `cluster` counts blocks along rows and columns; a schedule that has one is for the TMA pipeline. There several
    `takers`, each of `warps` warpgroups, may have tiles of their own along the rows, which is ping-pong.
    """

    instruction: MatrixInstruction
    warps: tuple[int, int]
    warp_tile: tuple[int, int]
    step: int
    depth: int
    cluster: tuple[int, int] | None = None
    takers: int = 1

    @property
    def together(self) -> tuple[int, int]:
        """Tiles along rows and columns that a cluster takes at once; (1, 1) without clusters."""
        rows, columns = self.cluster or (1, 1)
        return rows * self.takers, columns

    @property
    def ring_bytes(self) -> int:
        """Bytes of shared memory for all stages."""
        rows, columns = (count * points for count, points in zip(self.warps, self.warp_tile))
        return self.depth * (rows + columns) * self.step * DTYPE_BYTES[self.instruction.dtype]


def schedules(dtype: str) -> tuple[Schedule, ...]:
    """All schedules of a dtype that fit the shared memory of some device.

    Raises SchemeError for a dtype that no matrix instruction reads.
    """
    try:
        mma = instruction_for(dtype)
    except KeyError:
        raise SchemeError(f"no matrix instruction reads {dtype}; use {either(DTYPES)}") from None
    size = 32 // mma.depth  # an instruction reads 32 bytes of each row
    found = [Schedule(mma, w, tile, step // size, d) for (w, tile), step, d in product(_TILES, _STEP_BYTES, _DEPTHS)]
    by_columns = {i.columns: i for i in instructions_for(dtype) if i.worker == "warpgroup"}
    step = max(_STEP_BYTES) // size
    if not mma.truncates:  # wgmma reads what threads copied to shared memory, and nothing would round it
        wgmma = product(_WGMMA_TILES, _WGMMA_DEPTHS)
        found += [Schedule(by_columns[tile[1]], w, tile, step, d) for (w, tile), d in wgmma]
    for (warps, tile), depth, shared in _TMA_TILES:
        for cluster in CLUSTERS if shared or mma.truncates else CLUSTERS[:1]:
            found.append(Schedule(by_columns[tile[1]], warps, tile, step, depth, cluster))
    for (tile, depth), cluster in product(_PING_PONG_TILES, CLUSTERS):
        found.append(Schedule(by_columns[tile[1]], (1, 1), tile, step, depth, cluster, takers=2))
    return tuple(schedule for schedule in found if schedule.ring_bytes <= _LARGEST_RING)
