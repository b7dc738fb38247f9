"""Every schedule worth trying, whatever the problem's size: under 200 for each dtype (the idea is Hidet's).

A schedule is a block's tile, its split into warps, the bytes of a reduction step and the slots of the ring. Put onto a
problem it is a scheme; a device's limits leave some of them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from gpu.devices import DEVICES, Device
from gpu.emit import check_inputs
from gpu.instructions import Instruction, instruction_for, instructions_for
from gpu.operand import Operand
from gpu.pipeline import REGISTERS, Pipeline
from gpu.reading import NO_PRODUCT, is_product, pipeline_of
from tiling.problem import DTYPE_BYTES, Problem
from tiling.scheme import Matrix, Scheme, SchemeError, Stage, Tile, Unroll

# Warps along rows and columns, and points of rows and columns of each one's tile. Large tiles re-use most of what they
# copy; small ones give a small problem more blocks. No warp has more than 64 x 64 sums, half of its registers.
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
# The same for wgmma: warpgroups, rows in tiles of 64, columns of the instruction. Its step is 128 bytes.
_WGMMA_TILES = (
    ((2, 1), (64, 256)),
    ((2, 1), (128, 128)),
    ((2, 1), (64, 128)),
    ((1, 1), (128, 128)),
    ((1, 1), (64, 256)),
    ((1, 1), (64, 128)),
    ((2, 1), (64, 64)),
    ((1, 1), (64, 64)),
)
# For the bulk pipeline: the same and the slots of the ring, as many as leave shared memory for as many blocks as there
# are registers for; since one thread copies, a deeper ring costs nothing else. Large tiles are worth sharing among a
# cluster. So are small ones of tf32: other dtypes have a whole one of each in rings of threads' copies (below).
_BULK_TILES = (
    (((2, 1), (64, 256)), 4, True),
    (((2, 1), (128, 128)), 4, True),
    (((2, 1), (64, 128)), 6, True),
    (((1, 1), (128, 128)), 3, True),
    (((1, 1), (64, 256)), 5, True),
    (((1, 1), (64, 128)), 4, True),
    (((2, 1), (64, 64)), 3, False),
    (((1, 1), (64, 64)), 4, False),
)
_CLUSTERS = ((1, 1), (2, 1), (1, 2))
_STEP_BYTES = (64, 128)
_DEPTHS = (3, 4, 6)
_WGMMA_DEPTHS = (3, 4, 6)
_LARGEST_RING = max(device.shared_of_block for device in DEVICES.values())  # the largest tiles have no ring of 6 slots
# Rows of tiles that blocks walk down before they take the next tile of columns: what runs at once then shares both
# inputs in the L2. Fewer where there are not as many.
_GROUP = 8
_LARGEST_THREAD_REGISTERS = 255
# Where tiles are fewer than multiprocessors blocks share one, as many as there are multiprocessors for it: none with
# fewer steps than about fill a ring, and not so many that adding up takes longer than the steps. A schedule is split or
# whole, never both, so that there are no more candidates than schedules: of each tile the ring of middle depth is
# whole, and in the bulk pipeline, whose rings have one depth, the cluster along columns.
_LEAST_STEPS = 4
_MOST_SPLITS = 32
_WHOLE_DEPTH, _WHOLE_CLUSTER = 4, (1, 2)


@dataclass(frozen=True)
class Schedule:
    """One way to tile a product of a dtype; `step` is points of the reduction, `warps` counts warps or warpgroups.

    With a `cluster`, blocks along rows and columns, it is one of the bulk pipeline.
    """

    instruction: Instruction
    warps: tuple[int, int]
    warp_tile: tuple[int, int]
    step: int
    depth: int
    cluster: tuple[int, int] | None = None

    @property
    def ring_bytes(self) -> int:
        """Shared memory of its slots."""
        rows, columns = (count * points for count, points in zip(self.warps, self.warp_tile))
        return self.depth * (rows + columns) * self.step * DTYPE_BYTES[self.instruction.dtype]


def schedules(dtype: str) -> tuple[Schedule, ...]:
    """All schedules of a dtype that some device has shared memory for. Raises SchemeError for a dtype that no matrix
    instruction reads.
    """
    try:
        mma = instruction_for(dtype)
    except KeyError:
        raise SchemeError(f"no matrix instruction reads {dtype}; a GPU kernel takes f16, bf16 or tf32") from None
    size = 32 // mma.depth  # an instruction reads 32 bytes of each row
    found = [Schedule(mma, w, tile, step // size, d) for (w, tile), step, d in product(_TILES, _STEP_BYTES, _DEPTHS)]
    by_columns = {i.columns: i for i in instructions_for(dtype) if i.worker == "warpgroup"}
    step = max(_STEP_BYTES) // size
    if not mma.truncates:  # what threads copy for wgmma nobody would round
        wgmma = product(_WGMMA_TILES, _WGMMA_DEPTHS)
        found += [Schedule(by_columns[tile[1]], w, tile, step, d) for (w, tile), d in wgmma]
    for (warps, tile), depth, shared in _BULK_TILES:
        for cluster in _CLUSTERS if shared or mma.truncates else _CLUSTERS[:1]:
            found.append(Schedule(by_columns[tile[1]], warps, tile, step, depth, cluster))
    return tuple(schedule for schedule in found if schedule.ring_bytes <= _LARGEST_RING)


def scheme_of(problem: Problem, schedule: Schedule, splits: int = 1) -> Scheme:
    """The schedule put onto a problem, the reduction split among at most `splits` blocks. Raises SchemeError for an
    operator that is no product."""
    rows, columns, reduction = _axes(problem)
    worker, taps, blocks = "block", (), []
    if schedule.cluster:
        # Only the last dim of the reduction is the instruction's: bulk copies take one tap of a window at a time.
        worker, (*taps, reduction) = "cluster", reduction
        blocks = [Tile(axis, count, "block") for axis, count in zip((rows, columns), schedule.cluster)]
    steps = {tap: problem.extents[tap] for tap in taps} | {reduction: -(-problem.extent(reduction) // schedule.step)}
    each = _steps_each(steps, splits)
    shared = [Tile(dim, -(-count // each[dim]), worker) for dim, count in steps.items() if each[dim] < count]
    loops = [Tile(dim, count) for dim, count in each.items()]
    outer = [*shared, *_tiles(problem, schedule, worker), *blocks, Stage(problem.output.name), *loops]
    return Scheme(problem, (*outer, *_step(problem, schedule, reduction)))


def _steps_each(steps: dict[str, int], splits: int) -> dict[str, int]:
    """Steps along every dim of the reduction of each part, of which there are as many as can be, but at most `splits`:
    every tap of a dim is a part of its own or none is, the last dim is cut into equal runs. Of equals that with fewer
    taps cut.
    """
    *taps, last = steps
    found = []
    for dealt in range(len(taps) + 1):
        whole = {tap: 1 if i < dealt else steps[tap] for i, tap in enumerate(taps)}
        runs = splits // prod(steps[tap] for tap in taps[:dealt])
        if runs:
            found.append(whole | {last: -(-steps[last] // min(runs, steps[last]))})
    return min(found, key=lambda each: prod(each.values()))


def _tiles(problem: Problem, schedule: Schedule, worker: str) -> list[Tile]:
    """The loops over the output's tiles that blocks, or clusters of them, share."""
    rows, columns, _ = _axes(problem)
    clusters = schedule.cluster or (1, 1)
    sizes = (count * warps * tile for count, warps, tile in zip(clusters, schedule.warps, schedule.warp_tile))
    row_tiles, column_tiles = (-(-problem.extent(axis) // size) for axis, size in zip((rows, columns), sizes))
    group = min(_GROUP // clusters[0], row_tiles)
    batch = [Tile("l", problem.extents["l"], worker)] if "l" in problem.extents else []
    return [
        *batch,
        Tile(rows, -(-row_tiles // group), worker),
        Tile(columns, column_tiles, worker),
        Tile(rows, group, worker),
    ]


def _step(problem: Problem, schedule: Schedule, reduction: str) -> list:
    """What a block does in a step."""
    rows, columns, _ = _axes(problem)
    instruction, (tile_rows, tile_columns) = schedule.instruction, schedule.warp_tile
    return [
        Stage(problem.broadcast.name, schedule.depth),
        Stage(problem.vector.name, schedule.depth),
        *(Tile(axis, count, instruction.worker) for axis, count in zip((rows, columns), schedule.warps)),
        Unroll(reduction, schedule.step // instruction.depth),
        Unroll(rows, tile_rows // instruction.rows),
        Unroll(columns, tile_columns // instruction.columns),
        Matrix(f"{rows}{instruction.rows}{columns}{instruction.columns}{reduction}{instruction.depth}"),
    ]


def _idle_blocks(problem: Problem, schedule: Schedule) -> bool:
    """Whether the product has no two tiles that a cluster of this schedule could share."""
    sizes = zip(_axes(problem), schedule.cluster or (1, 1), schedule.warps, schedule.warp_tile)
    return any(blocks > 1 and problem.extent(axis) <= warps * tile for axis, blocks, warps, tile in sizes)


def candidates(problem: Problem, device: Device) -> tuple[Scheme, ...]:
    """The schedules that fit the problem and the device, each as one scheme: where it would leave multiprocessors idle
    with the reduction split, but for those of one ring depth."""
    found = {}
    for schedule in schedules(problem.dtype):
        if schedule.instruction.worker == "warpgroup" and not device.wgmma_flops:
            continue
        if _idle_blocks(problem, schedule):
            continue
        whole = scheme_of(problem, schedule)
        if limits(whole, device):
            continue
        scheme = _split(whole, schedule, device)
        found[scheme.text] = scheme
    return tuple(found.values())


def _split(whole: Scheme, schedule: Schedule, device: Device) -> Scheme:
    """The schedule with as many blocks sharing a tile as there are multiprocessors and steps for; `whole` if that is
    one.
    """
    pipeline = pipeline_of(whole)
    splits = min(device.multiprocessors // pipeline.tiles, pipeline.steps // _LEAST_STEPS, _MOST_SPLITS)
    stays = schedule.cluster == _WHOLE_CLUSTER if schedule.cluster else schedule.depth == _WHOLE_DEPTH
    if splits < 2 or stays:
        return whole
    scheme = scheme_of(whole.problem, schedule, splits)
    return whole if limits(scheme, device) else scheme


def limits(scheme: Scheme, device: Device) -> str:
    """Why a scheme cannot run on a device, as a sentence; empty if it can, as far as is known before it is compiled."""
    try:
        pipeline = pipeline_of(scheme)
        check_inputs(pipeline, (Operand(pipeline, 0), Operand(pipeline, 1)))
    except SchemeError as error:
        return str(error)
    if pipeline.asynchronous and not device.wgmma_flops:
        return f"{scheme.specifiers[-1]}: {device.name} has no wgmma"
    if pipeline.shared_bytes > device.shared_of_block:
        return (
            f"needs {pipeline.shared_bytes} bytes of shared memory, a block on {device.name} has at most "
            f"{device.shared_of_block}"
        )
    registers, given = pipeline.registers, pipeline.consumer_registers or pipeline.registers
    if pipeline.bulk and pipeline.registers_needed > given:
        return f"needs about {pipeline.registers_needed} registers a thread that multiplies, there are {given}"
    if registers > _LARGEST_THREAD_REGISTERS:
        return f"needs about {registers} registers a thread, there are {_LARGEST_THREAD_REGISTERS}"
    if registers * pipeline.threads > REGISTERS:
        return (
            f"needs about {registers} registers for each of {pipeline.threads} threads, a multiprocessor of "
            f"{device.name} has {REGISTERS}"
        )
    return ""


def resident_blocks(pipeline: Pipeline, device: Device) -> int:
    """Blocks that one multiprocessor runs at once: 1 KiB of shared memory of each is the system's."""
    return min(
        device.shared_of_multiprocessor // (pipeline.shared_bytes + 1024),
        pipeline.blocks_at_once,
        device.threads_of_multiprocessor // pipeline.threads,
        device.blocks_of_multiprocessor,
    )


def _axes(problem: Problem) -> tuple[str, str, str]:
    """Rows, columns and reduction of the product: the reduction in the order in which the inputs lie."""
    rows = "".join(dim for index in problem.output.indices for dim, _ in index.terms if dim in problem.row_dims)
    order = [dim for index in problem.broadcast.indices for dim, _ in index.terms if dim in problem.reductions]
    if not rows or set(order) != set(problem.reductions) or not is_product(problem):
        raise SchemeError(f"{problem.op}: {NO_PRODUCT}")
    return rows, problem.vector_dim, "".join(order)
