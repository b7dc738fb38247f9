"""The analytic model of a scheme that passes take, with or without a matrix instruction: how long it takes on a device.

It counts multiply-adds, the reads of shared memory by threads or warps, and the staging of tiles: bytes from the L2 and
from memory, and the time in which all threads of a block wait. It was compared with 18 times of an H200 in f32 alone.
"""

from __future__ import annotations

from math import ceil, prod

from gpu.codegen.program import CudaSource
from gpu.model.devices import Device
from gpu.model.predict import LAUNCH_SECONDS, MEMORY, GpuPrediction
from tiling.dtypes.products import DTYPE_BYTES, OUTPUT_BYTES
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, Rest, Stage, Tile

_WARP, _WARPGROUP, _WORD = 32, 128, 4
# Registers of a thread beside its sums: addresses, and the factors of a step. NVRTC 13.5 took 167 for 64 sums, 115 to
# 124 for 32, 95 to 103 for 16 and 79 to 94 for 4. Texts have changed since: the first 24 schedules of 1024³ and of
# 1023 x 1021 x 1019 for sm_80 take 92 to 118 for 32 and 62 to 114 for 16. Held to 128 for 64 sums, it spills where
# sizes are odd.
_OTHER_REGISTERS = 85
# Cycles of a step without products: a load from the L2, and two barriers; where copies are under
# way before, a load of fragments, and a barrier.
_STAGING_CYCLES, _STEP_CYCLES = 320, 90


def predict_loops(source: CudaSource, device: Device) -> GpuPrediction:
    """The time of the kernel that passes made of a scheme. Raises ValueError where it does not fit the device."""
    scheme, shared_bytes = source.scheme, source.shared_bytes
    problem = scheme.problem
    blocks, threads = _workers(scheme, "block"), source.threads
    matrix = isinstance(scheme.specifiers[-1], Matrix)
    groups = _has(scheme, "warpgroup")
    sharing = _WARPGROUP if groups else _WARP if matrix else 1  # threads that share a register tile
    if groups and not device.wgmma_flops:
        raise ValueError(f"{scheme.specifiers[-1]}: {device.name} has no wgmma")
    # A warp or warpgroup shares the tile of a matrix instruction. In its tiles of shared memory numbers are as short
    # as in arrays, in others they are words.
    sums = max(_sums(scheme, tile) for tile in scheme.tiles) // sharing
    rate = device.matrix_flops[problem.dtype] / 2 if matrix else device.lanes
    rate = device.wgmma_rate(problem.dtype) / 2 if groups else rate
    staged = DTYPE_BYTES[problem.dtype] if matrix else _WORD
    resident = device.blocks_at_once(threads, sums + _OTHER_REGISTERS, shared_bytes)
    if resident < 1 or shared_bytes > device.shared_of_block:
        raise ValueError(f"{scheme.text} does not fit {device.name}")
    serial = ceil(blocks / device.multiprocessors)  # blocks of the busiest multiprocessor
    products = prod(scheme.visited(dim) for dim in scheme.extents) / blocks  # with those beyond the edges
    # A thread, or a warp, reads a number of each row and each column of its tile for all products of a point.
    rows, columns = _sides(scheme)
    read = products * (rows + columns) / (rows * columns) * staged
    arrays = sum(t.elements for t in (problem.broadcast, problem.vector)) * DTYPE_BYTES[problem.dtype]
    stored = sum(t.elements for t in (problem.output, *problem.epilogue_arrays)) * OUTPUT_BYTES[problem.output_dtype]
    steps, ahead = _steps(scheme), any(s.depth > 1 for s in scheme.specifiers if isinstance(s, Stage))
    waiting = steps * (_STEP_CYCLES if ahead else _STAGING_CYCLES)
    tiles = source.step_bytes * DTYPE_BYTES[problem.dtype] / staged  # bytes of a step, as they lie in the arrays
    multiplying = serial * products / rate / device.clock
    reading = serial * read / device.shared_bandwidth / device.clock
    waits = ceil(blocks / (resident * device.multiprocessors)) * waiting / device.clock
    # Threads read, multiply and wait in turns. 18 schedules of 1024³ and 4096³ in f32 take the sum of the three times a
    # factor of 0.8 to 1.8, and 1.9 to 4 times the longest of them.
    parts = (
        ("multiply-adds", multiplying),
        ("shared", reading),
        ("turns", multiplying + reading + waits),
        ("l2", blocks * steps * tiles / device.l2_bandwidth),
        (MEMORY, (arrays + stored) / device.memory_bandwidth),
    )
    return GpuPrediction(scheme, parts, LAUNCH_SECONDS, resident, blocks / (resident * device.multiprocessors))


def _has(scheme: Scheme, worker: str) -> bool:
    return any(isinstance(s, Tile) and s.worker == worker for s in scheme.specifiers)


def _workers(scheme: Scheme, worker: str) -> int:
    return prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and s.worker == worker)


def _steps(scheme: Scheme) -> int:
    """How often a block stages tiles of its inputs."""
    output, found, inside = scheme.problem.output.name, 1, 1
    for s in scheme.specifiers:
        if isinstance(s, Stage) and s.tensor != output:
            found = inside
        elif isinstance(s, (Tile, Rest)) and (isinstance(s, Rest) or s.worker is None):
            inside *= scheme.iterations(s)
    return found


def _points(scheme: Scheme, tile: dict[str, int], dim: str) -> int:
    """The points of a tile along a dim, those of the matrix instruction included."""
    matrix = scheme.specifiers[-1]
    return tile[dim] * (matrix.factors.get(dim, 1) if isinstance(matrix, Matrix) else 1)


def _sums(scheme: Scheme, tile: dict[str, int]) -> int:
    return prod(_points(scheme, tile, dim) for dim in tile if dim[0] not in scheme.problem.reductions)


def _sides(scheme: Scheme) -> tuple[int, int]:
    """The rows and columns of the largest register tile."""
    tile = max(scheme.tiles, key=lambda tile: _sums(scheme, tile))
    columns = _points(scheme, tile, scheme.problem.vector_dim)
    return _sums(scheme, tile) // columns, columns
