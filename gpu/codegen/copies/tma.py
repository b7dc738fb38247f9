"""Hopper's TMA pipeline: its tensor maps, and the text by which one thread copies the tiles of a step.

Blocks of a cluster that need the same tile each copy a part of it to all of them. A convolution's input is copied in
the order of the output by im2col boxes, one tap of the window at a time. The map of an input that is copied first
(`gpu.codegen.copies.aligned`) describes that copy.
"""

from __future__ import annotations

from math import prod

from gpu.codegen.copies.aligned import pitch
from gpu.codegen.copies.epilogue_arrays import finished, kind_of
from gpu.codegen.copies.operand import Operand
from gpu.codegen.copies.tensor_map import SWIZZLE, Pixels, TensorMap, TensorMapError
from gpu.codegen.pipeline.residual import BARRIER_BYTES, residual_of, rows_of_chunks
from gpu.codegen.pipeline.stages import STORE_BYTES, Pipeline
from gpu.limits.multiprocessor import WARP
from tiling.dtypes.products import DTYPE_BYTES
from tiling.expression import added, times
from tiling.scheme.specifiers import SchemeError
from tiling.scheme.taskmap import looped, repeat, spatial
from tiling.tensor import Window

_WORD = 4  # bytes
STORED_ROWS = 16  # rows of one TMA store: a warp's part of a matrix instruction
# Pixels from the first tap of a window to the last. For each dim of an image the instruction's offset has 8 bits.
# Source: CUTLASS, can_implement of sm90_implicit_gemm_gmma_ss_warpspecialized (16 bits for all spatial dims together).
_FARTHEST_TAP = 255


def tma_context(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> dict[str, object]:
    """The names of the TMA template that other pipelines do not have."""
    ring = pipeline.depth * sum(pipeline.tile_bytes)
    stores = pipeline.consumers // WARP
    columns = stored_columns(pipeline)
    cluster = pipeline.rank_map.workers
    # Maps a block to its cluster and its rank there. The map has an extra cluster, whose first block is gridDim.x.
    blocks = spatial(pipeline.grid // cluster + 1, cluster)
    problem = pipeline.problem
    residual = residual_of(problem)
    arrays = [(f"e_{a.name}", a) for a in problem.epilogue_arrays if a != residual]
    arrays += [] if stored_by_tma(pipeline) else [(problem.output.name, problem.output)]
    batch = [(name, a.stride("l")) for name, a in arrays if "l" in a.dims]
    first_task, to_next_task = (blocks.index(0, block) for block in ("blockIdx.x", "gridDim.x"))
    context: dict[str, object] = {
        "tiles": pipeline.cluster_map.workers,
        "cluster": cluster,
        "stores_at": ring,
        "barriers_at": ring + stores * STORE_BYTES,
        "task": "tile",
        "tasks": "TILES",
        "first_task": first_task,
        "to_next_task": to_next_task,
        "readers": pipeline.warp_map.workers,
        "cluster_starts": _starts(pipeline),
        "outside": _outside(pipeline),
        "loads": load_lines(inputs),
        "tile_starts": _pixel_lines(inputs[0]) if _windowed(inputs[0]) else [],
        "step_starts": _step_lines(pipeline),
        "stored_columns": columns,
        "stored_tiles": columns // 8,
        "output_bytes": DTYPE_BYTES[problem.output_dtype],
        "output_extents": [pipeline.scheme.extents[axis] for axis in pipeline.axes[:2]],
        "store_rank": 3 if "l" in pipeline.grid_axes else 2,
        "lane_of_warp": pipeline.lane_map.index(1, "threadIdx.x"),
        "warp_of_lane": spatial(4, WARP).index(0, "lane"),
        "buffers_at": times(pipeline.lane_map.index(0, "threadIdx.x"), STORE_BYTES),
        "stored": _stored_words(pipeline),
        "stored_row": _stored_row(pipeline),
        "by_tma": stored_by_tma(pipeline),
        "halves": DTYPE_BYTES[problem.output_dtype] == 2 and problem.output.shape[-1] % 2 == 1,
        "batch_at": ", l_block" if "l" in pipeline.grid_axes else "",
        "batch": batch,
        "batched": [name for name, _ in batch],
        "residual": f"e_{residual.name}" if residual else "",
        "read": _tiles_read(pipeline),
        "loaded_at": times(pipeline.lane_map.index(0, "threadIdx.x"), BARRIER_BYTES),
        "finish": finished(
            pipeline,
            {"columns": "[j - first]", "rows": "[i][half]", **dict.fromkeys(("points", "staged"), "[j - next][half]")},
        ),
    }
    return context | _taking_context(pipeline, first_task, to_next_task)


def _taking_context(pipeline: Pipeline, first_task: str, to_next_task: str) -> dict[str, object]:
    """The names that differ for split-K, and for ping-pong, where a cluster takes one tile for each taker in a turn."""
    takers = pipeline.taker_map.workers
    context: dict[str, object] = {"takers": takers}
    if pipeline.split_k > 1:
        context |= {"task": "task", "tasks": "SPLIT_K * TILES"}
    if takers > 1:
        # A cluster visits the tiles of its turn, one for each taker, then those of its next turn. An extra turn ends
        # the loop.
        visits = spatial(pipeline.cluster_map.workers + 1, takers)
        context |= {
            "turn_of_visit": visits.index(0, "visit"),
            "tile_of_visit": added(first_task, times(visits.index(0, "visit"), to_next_task)),
            "taker_of_visit": visits.index(1, "visit"),
            "taker_of_warpgroup": pipeline.worker_map.index(0, "warpgroup"),
        }
    return context


def tma_maps(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> tuple[TensorMap, ...]:
    """The tensor maps of both inputs, and of the residual and the output where TMA copies them.

    Raises SchemeError for an array that TMA cannot copy.
    """
    problem, residual = pipeline.problem, residual_of(pipeline.problem)
    for operand in inputs:
        _check_order(operand)
    found = [_input_map(operand) for operand in inputs]
    if residual:
        found.append(_output_map(pipeline, f"e_{residual.name}", 2 + problem.epilogue_arrays.index(residual)))
    if stored_by_tma(pipeline):
        found.append(_output_map(pipeline, problem.output.name, 2 + len(problem.epilogue_arrays)))
    return tuple(found)


def stored_by_tma(pipeline: Pipeline) -> bool:
    """Whether TMA stores the output: its rows are multiples of 16 bytes. Threads store other outputs."""
    return rows_of_chunks(pipeline.problem)


def stored_columns(pipeline: Pipeline) -> int:
    """Columns of one TMA store."""
    return SWIZZLE // DTYPE_BYTES[pipeline.problem.output_dtype]


def _check_order(operand: Operand) -> None:
    pipeline, tensor = operand.pipeline, operand.tensor
    if not pipeline.taps:
        return
    order = [dim for index in tensor.indices for dim, _ in index.terms]
    rows, columns, depth = pipeline.axes
    wanted = [*rows, depth] if _windowed(operand) else [columns, *"rs", depth]
    if [dim for dim in order if dim in wanted] != wanted or [tap.dim for tap in pipeline.taps] != ["r", "s"]:
        raise SchemeError(
            f"S({tensor.name}, {pipeline.depth}): TMA copies of a convolution need {tensor.name} to lie as "
            f"{' '.join(wanted)}, and loops over r, then s"
        )


def _windowed(operand: Operand) -> bool:
    return operand.side == 0 and bool(operand.pipeline.problem.windows)


def _shares(operand: Operand) -> tuple[int, str]:
    """How many blocks of a cluster need the same tile of this input, and a block's number among them, as C."""
    pipeline = operand.pipeline
    other = 1 - operand.side
    return pipeline.rank_map.shape[other], pipeline.rank_map.index(other, "rank")


def _rows_at_once(operand: Operand) -> int:
    """Rows of 128 bytes in one box."""
    share, _ = _shares(operand)
    return (operand.pipeline.block_tile[2] if operand.in_blocks else operand.tile[0]) // share


def _input_map(operand: Operand) -> TensorMap:
    # wgmma reads tiles in rows of 128 bytes. An input along the reduction needs one box, with a row for each point of
    # the tile. An input across it needs a box for every 64 points, with a row for each depth.
    pipeline, tensor = operand.pipeline, operand.tensor
    element = pipeline.element_bytes
    dims, columns = tensor.shape[::-1], tensor.shape[-1]
    strides = tuple(s // columns * pitch(operand) * element for s in tensor.strides[-2::-1])
    across = SWIZZLE // element
    rows = _rows_at_once(operand)
    pixels, box = None, (across, *(1 for _ in dims[2:]), rows)
    if _windowed(operand):
        h, w = pipeline.problem.windows
        farthest = max((pipeline.problem.extents[x.tap] - 1) * x.dilation for x in (h, w))
        if farthest > _FARTHEST_TAP:
            raise TensorMapError(
                f"{tensor.name}: taps {farthest} pixels apart cannot be copied by TMA, only up to {_FARTHEST_TAP}"
            )
        lower, upper = zip(*((-x.before, _past(x, pipeline) - x.extent - x.before) for x in (w, h)))
        pixels, box = Pixels(lower, upper, (w.stride, h.stride), rows), (across,)
    elif not pipeline.taps:
        box = (across, rows, *(1 for _ in dims[2:]))
    return TensorMap(tensor.name, operand.side, pipeline.problem.dtype, dims, strides, box, pixels)


def _past(window: Window, pipeline: Pipeline) -> int:
    """One past the pixel at which the last window begins, without padding."""
    return (pipeline.problem.extents[window.dim] - 1) * window.stride + 1


def _output_map(pipeline: Pipeline, name: str, array: int) -> TensorMap:
    """The map of the output, or of an array that has its layout."""
    problem, extents = pipeline.problem, pipeline.scheme.extents
    rows, columns, _ = pipeline.axes
    batch = tuple(extents[axis] for axis in pipeline.grid_axes[2:])
    dims = (extents[columns], extents[rows], *batch)
    element = DTYPE_BYTES[problem.output_dtype]
    strides = tuple(prod(dims[: i + 1]) * element for i in range(len(dims) - 1))
    box = (stored_columns(pipeline), STORED_ROWS, *(1 for _ in batch))
    return TensorMap(name, array, problem.output_dtype, dims, strides, box)


def _starts(pipeline: Pipeline) -> list[tuple[str, str, str]]:
    """Where a taker's tile begins along each axis, in two parts, as C.

    The first part is the start that the blocks of a cluster share, from the cluster's turn and the taker. The second is
    the block's offset, from its rank.
    """
    sizes = dict(zip(pipeline.axes, pipeline.block_tile))
    found = []
    for i, axis in enumerate(pipeline.grid_axes):
        points = sizes.get(axis, 1)
        taker_points = points * pipeline.taker_map.shape[i]
        cluster = times(pipeline.cluster_map.index(i, "tile"), taker_points * pipeline.rank_map.shape[i])
        taker = times(pipeline.taker_map.index(i, "taker"), points)
        found.append((axis, added(cluster, taker), times(pipeline.rank_map.index(i, "rank"), taker_points)))
    return found


def _outside(pipeline: Pipeline) -> str:
    """The condition, as C, that a taker's tiles are past the edge in all blocks of a cluster.

    That happens where loops over clusters come in groups, or there are more takers than tiles.
    """
    extents, found = pipeline.scheme.extents, []
    sizes = dict(zip(pipeline.axes, pipeline.block_tile))
    for i, axis in enumerate(pipeline.grid_axes):
        ranks, takers, points = pipeline.rank_map.shape[i], pipeline.taker_map.shape[i], sizes.get(axis, 1)
        last_start = pipeline.covered(axis) - points * (takers * (ranks - 1) + 1)
        if last_start >= extents[axis]:
            found.append(f"{axis}_cluster >= {extents[axis]}")
    return " || ".join(found)


def _step_lines(pipeline: Pipeline) -> list[str]:
    """The lines that find a step's place in the reduction, or in the cluster's part of it."""
    depth, points = pipeline.axes[2], pipeline.block_tile[2]
    trips = [tap.trips for tap in pipeline.taps]
    trips.append(pipeline.steps // prod(trips))
    digits, parts = spatial(*trips), pipeline.split_k_map
    starts = [times(parts.index(i, "split"), count) for i, count in enumerate(trips)]
    places = [added(start, digits.index(i, "step")) for i, start in enumerate(starts)]
    lines = [f"const int {tap.dim} = {place};" for tap, place in zip(pipeline.taps, places)]
    return [*lines, f"const int {depth}_step = {times(places[-1], points)};"]


def _tiles_read(pipeline: Pipeline) -> int:
    """Tiles of columns for which a lane reads the epilogue's points at once, so that the loads wait together: four for
    one array, fewer for several.
    """
    kinds = [kind_of(pipeline, array) for array in pipeline.problem.epilogue_arrays]
    return max(1, 4 // max(1, sum(kind in ("points", "staged") for kind in kinds)))


def _stored_row(pipeline: Pipeline) -> str:
    """The first row of row tile `i` that a warp's first lane holds, within its warpgroup's tile, as C."""
    tiles = pipeline.unrolled[0]
    warps = repeat(tiles) @ spatial(4) @ repeat(STORED_ROWS)
    return warps.index(0, "warp", looped(("i", tiles), ("0", STORED_ROWS)))


def _stored_words(pipeline: Pipeline) -> dict[str, str]:
    """The word that a lane stores in a row of its warp's buffer: its first element and its byte, as C."""
    elements, word = _WORD // DTYPE_BYTES[pipeline.problem.output_dtype], spatial(WARP) @ repeat(_WORD)
    return {
        "element": (spatial(WARP) @ repeat(elements)).index(0, "lane", looped(("0", elements))),
        "byte": word.index(0, "lane", ("0",)),
    }


def _pixel_lines(operand: Operand) -> list[str]:
    """The lines that find the window at which the block's first pixel begins, or the first pixel of its part.

    Blocks past the last pixel begin at a window of an image that does not exist, since no document defines a start
    outside the windows. Source: CUTLASS, copy_traits_sm90_im2col.hpp, which leaves only n without a bound.
    """
    pipeline, name = operand.pipeline, operand.tensor.name
    rows = pipeline.axes[0]
    windows = [pipeline.problem.extents[dim] for dim in rows[1:]]
    digits = spatial(pipeline.covered(rows) // prod(windows) + 1, *windows)
    lines = [f"const int {name}_first = {added(f'{rows}_block', _part(operand, _rows_at_once(operand)))};"]
    lines.append(f"const int {name}_n = {digits.index(0, f'{name}_first')};")
    for i, window in enumerate(pipeline.problem.windows, 1):
        at = times(digits.index(i, f"{name}_first"), window.stride)
        lines.append(f"const int {name}_{window.dim} = {at}{f' - {window.before}' if window.before else ''};")
    return lines


def _part(operand: Operand, points: int) -> str:
    """Where a block's part of a shared tile begins, as C."""
    return times(_shares(operand)[1], points)


def load_lines(inputs: tuple[Operand, Operand]) -> list[str]:
    """The lines that copy the tiles of one step."""
    return [line for operand in inputs for line in _load_lines(operand)]


def _load_lines(operand: Operand) -> list[str]:
    pipeline, name = operand.pipeline, operand.tensor.name
    share, _ = _shares(operand)
    rows, depth = _rows_at_once(operand), f"{pipeline.axes[2]}_step"
    offset = _part(operand, rows * SWIZZLE)
    tile = added("shared + stage * STAGE_BYTES", f"{name.upper()}_TILE" if operand.side else "0")
    front = f"(%s, &{name}_map, shared + FULL + 8 * stage, %s{f', {(1 << share) - 1}' if share > 1 else ''});"
    batch = ", l_block" if "l" in operand.tensor.dims else ""
    call = f"copy_box_{len(operand.tensor.shape)}d"
    if _windowed(operand):
        call = "copy_pixels"
        places = [("0", f"{depth}, {name}_w, {name}_h, {name}_n, {_tap(pipeline, 'w')}, {_tap(pipeline, 'h')}")]
    elif operand.in_blocks:
        first = added(depth, _part(operand, rows))
        blocks = range(operand.tile[1] // 64)
        places = [
            (str(i * operand.block_bytes), f"{added(f'{operand.axis}_block', str(64 * i))}, {first}{batch}")
            for i in blocks
        ]
    else:
        first = added(f"{operand.axis}_block", _part(operand, rows))
        taps = "".join(f", {tap.dim}" for tap in reversed(pipeline.taps))
        places = [("0", f"{depth}{taps}, {first}{batch}")]
    call += "_multicast" if share > 1 else ""
    return [call + front % (added(tile, place, offset), at) for place, at in places]


def _tap(pipeline: Pipeline, dim: str) -> str:
    window = next(w for w in pipeline.problem.windows if w.dim == dim)
    return times(window.tap, window.dilation)
