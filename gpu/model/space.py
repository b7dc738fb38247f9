"""The schemes worth trying of a problem: schedules applied to it. `limits` says which schemes fit a device."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from gpu.codegen.copies.tensor_map import check_windows
from gpu.codegen.pipeline.reading import NO_PRODUCT, is_product, pipeline_of
from gpu.codegen.pipeline.stages import Pipeline
from gpu.limits.multiprocessor import LARGEST_THREAD_REGISTERS, REGISTERS, blocks_for_registers
from gpu.model.devices import Device
from gpu.model.pixel_blocks import pixel_blocks
from gpu.model.schedules import CLUSTERS, Schedule, schedules
from tiling.problem import Problem
from tiling.rewrite.blocked import blocked
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, PixelBlock, SchemeError, Specifier, Stage, Tile, Unroll

# Tiles of rows, at most, that blocks take before the next tile of columns. Blocks that run at once then share both
# inputs in the L2.
_GROUP = 8
# Split-K: where tiles are fewer than multiprocessors, several blocks share a tile, as many as there are multiprocessors
# for it. Each has at least _LEAST_STEPS steps, about as many as fill a ring. More than _MOST_SPLITS parts would take
# longer to add up than to compute. A schedule is tried either split or whole, so that there are no more candidates than
# schedules. For each tile the schedule of _WHOLE_DEPTH stages stays whole, or in the TMA pipeline, where each tile has
# one number of stages, that of _WHOLE_CLUSTER.
_LEAST_STEPS = 4
_MOST_SPLIT_K = 32
_WHOLE_DEPTH, _WHOLE_CLUSTER = 4, (1, 2)

Reading = tuple[PixelBlock, ...]  # the blocks of pixels that an image is read in, or none


def scheme_of(problem: Problem, schedule: Schedule, split_k: int = 1, read: Reading = ()) -> Scheme:
    """The schedule applied to a problem, with the reduction split among at most `split_k` blocks.

    Raises SchemeError for an operator that is not a matrix product.
    """
    given, problem = problem, blocked(problem, read[0].high, read[0].wide) if read else problem
    rows, columns, reduction = _axes(problem)
    worker, taps = "block", ""
    blocks: list[Specifier] = []
    if schedule.cluster:
        # Only the last dim of the reduction is the instruction's, since TMA copies one tap of a window at a time.
        worker, taps, reduction = "cluster", reduction[:-1], reduction[-1]
        blocks = [Tile(axis, count, "block") for axis, count in zip((rows, columns), schedule.cluster)]
        blocks += [Tile(rows, schedule.takers, "warpgroup")] if schedule.takers > 1 else []
    steps = {tap: problem.extents[tap] for tap in taps} | {reduction: -(-problem.extent(reduction) // schedule.step)}
    each = _steps_each(steps, split_k)
    shared = [Tile(dim, -(-count // each[dim]), worker) for dim, count in steps.items() if each[dim] < count]
    loops = [Tile(dim, count) for dim, count in each.items()]
    outer: list[Specifier] = [*shared, *_tiles(problem, schedule, worker), *blocks, Stage(problem.output.name), *loops]
    return Scheme(given, (*read, *outer, *_step(problem, schedule, reduction)))


def _steps_each(steps: dict[str, int], split_k: int) -> dict[str, int]:
    """Steps of each split-K part along every dim of the reduction, for as many parts as `split_k` allows.

    Either every tap of a dim is a part of its own or none is. The last dim is cut into equal parts. Among equals, the
    one that cuts fewer taps is taken.
    """
    *taps, last = steps
    found = []
    for dealt in range(len(taps) + 1):
        whole = {tap: 1 if i < dealt else steps[tap] for i, tap in enumerate(taps)}
        runs = split_k // prod(steps[tap] for tap in taps[:dealt])
        if runs:
            found.append(whole | {last: -(-steps[last] // min(runs, steps[last]))})
    return min(found, key=lambda each: prod(each.values()))


def _tiles(problem: Problem, schedule: Schedule, worker: str) -> list[Tile]:
    """The loops over the output's tiles, which blocks or clusters share."""
    rows, columns, _ = _axes(problem)
    together = schedule.together
    sizes = (count * warps * tile for count, warps, tile in zip(together, schedule.warps, schedule.warp_tile))
    row_tiles, column_tiles = (-(-problem.extent(axis) // size) for axis, size in zip((rows, columns), sizes))
    group = min(_GROUP // together[0], row_tiles)
    batch = [Tile("l", problem.extents["l"], worker)] if "l" in problem.extents else []
    return [
        *batch,
        Tile(rows, -(-row_tiles // group), worker),
        Tile(columns, column_tiles, worker),
        Tile(rows, group, worker),
    ]


def _step(problem: Problem, schedule: Schedule, reduction: str) -> list[Specifier]:
    """The specifiers of one step of a block."""
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
    """Whether the product has fewer tiles than a cluster of this schedule takes at once, so that a block or taker would
    never have one.
    """
    sizes = zip(_axes(problem), schedule.together, schedule.warps, schedule.warp_tile)
    return any(problem.extent(axis) <= (tiles - 1) * warps * tile for axis, tiles, warps, tile in sizes)


@lru_cache(16)  # 0.1 s; who lists them to rank or to try them asks again for a report
def candidates(problem: Problem, device: Device) -> tuple[Scheme, ...]:
    """The schedules that fit the problem and the device, each as one scheme.

    Where a scheme would leave multiprocessors idle, its reduction is split, unless the schedule is one that stays
    whole.
    """
    found = {}
    for schedule in schedules(problem.dtype):
        if schedule.instruction.worker == "warpgroup" and not device.wgmma_flops:
            continue
        if _idle_blocks(problem, schedule):
            continue
        for read in _readings(problem, schedule):
            whole = scheme_of(problem, schedule, read=read)
            if limits(whole, device):
                continue
            scheme = _split(whole, schedule, device, read)
            found[scheme.text] = scheme
    return tuple(found.values())


def _readings(problem: Problem, schedule: Schedule) -> tuple[Reading, ...]:
    """How the image is read, each time a scheme. With blocks of pixels, clusters of one block are enough."""
    blocks = pixel_blocks(problem) if schedule.cluster else ()
    if blocks and schedule.cluster != CLUSTERS[0]:
        return ()
    return tuple((block,) for block in blocks) or ((),)


def _split(whole: Scheme, schedule: Schedule, device: Device, read: Reading) -> Scheme:
    """The schedule with as many blocks a tile as there are multiprocessors and steps for; `whole` if that is one."""
    pipeline = pipeline_of(whole)
    split_k = min(device.multiprocessors // pipeline.tiles, pipeline.steps // _LEAST_STEPS, _MOST_SPLIT_K)
    if schedule.takers > 1:
        return whole
    stays = schedule.cluster == _WHOLE_CLUSTER if schedule.cluster else schedule.depth == _WHOLE_DEPTH
    if split_k < 2 or stays:
        return whole
    scheme = scheme_of(whole.problem, schedule, split_k, read)
    return whole if limits(scheme, device) else scheme


def limits(scheme: Scheme, device: Device) -> str:
    """Why a scheme cannot run on a device, as a sentence; empty if nothing speaks against it before it is compiled."""
    try:
        pipeline = pipeline_of(scheme)
        if pipeline.tma:
            check_windows(pipeline.problem)
    except SchemeError as error:
        return str(error)
    if pipeline.asynchronous and not device.wgmma_flops:
        return f"{scheme.specifiers[-1]}: {device.name} has no wgmma"
    if pipeline.shared_bytes > device.shared_of_block:
        return (
            f"needs {pipeline.shared_bytes} bytes of shared memory, a block on {device.name} has at most "
            f"{device.shared_of_block}"
        )
    registers = pipeline.registers
    if registers > LARGEST_THREAD_REGISTERS:
        return f"needs about {registers} registers a thread, there are {LARGEST_THREAD_REGISTERS}"
    if not blocks_for_registers(pipeline.threads, registers):
        return (
            f"needs about {registers} registers for each of {pipeline.threads} threads, a multiprocessor of "
            f"{device.name} has {REGISTERS}"
        )
    return ""


def resident_blocks(pipeline: Pipeline, device: Device) -> int:
    """Blocks that one multiprocessor runs at once."""
    return min(pipeline.blocks_at_once, device.blocks_beside_registers(pipeline.threads, pipeline.shared_bytes))


def _axes(problem: Problem) -> tuple[str, str, str]:
    """Rows, columns and reduction of the product. The dims of the reduction have the order of the inputs' layout."""
    rows = "".join(dim for index in problem.output.indices for dim, _ in index.terms if dim in problem.row_dims)
    order = [dim for index in problem.broadcast.indices for dim, _ in index.terms if dim in problem.reductions]
    if not rows or set(order) != set(problem.reductions) or not is_product(problem):
        raise SchemeError(f"{problem.op}: {NO_PRODUCT}")
    return rows, problem.vector_dim, "".join(order)
