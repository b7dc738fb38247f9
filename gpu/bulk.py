"""What is Hopper's own about the bulk pipeline: tensor maps, and the text by which one thread copies a step's tiles.

A tile lies in shared memory as wgmma reads it, in rows of 128 bytes: of an input along the reduction one box of as many
rows as the tile has points; of one across it a box for every 64 points, with a row for each depth. Where blocks of a
cluster need the same tile each of them copies its part to all. The pixels of a convolution's input come in the order of
the output, by im2col boxes, a tap of the window at a time.

Of inputs that are copied first (`gpu.aligned`) the maps describe the copy.
"""

from __future__ import annotations

from math import prod

from gpu.aligned import pitch
from gpu.instructions import CHUNK
from gpu.operand import Operand
from gpu.pipeline import STORE_BYTES, WARP, Pipeline
from gpu.tensor_map import SWIZZLE, Pixels, TensorMap, TensorMapError
from tiling.expression import added, times
from tiling.problem import DTYPE_BYTES
from tiling.scheme import SchemeError
from tiling.taskmap import looped, repeat, spatial

_WORD = 4  # bytes
STORED_ROWS = 16  # of one bulk store: a warp's part of a matrix instruction
# Pixels from the first tap of a window to the last: of an image the instruction's offsets have 8 bits. Source: CUTLASS,
# what can_implement of sm90_implicit_gemm_gmma_ss_warpspecialized demands (16 bits for all spatial dims together).
_FARTHEST_TAP = 255


def bulk_context(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> dict:
    """What the template needs besides what every pipeline has."""
    ring = pipeline.depth * sum(pipeline.tile_bytes)
    stores = pipeline.consumers // WARP
    columns = stored_columns(pipeline)
    cluster = pipeline.rank_map.workers
    # From a block to its cluster and its rank there, with one cluster more than ever run: gridDim.x is its first block.
    blocks = spatial(pipeline.grid // cluster + 1, cluster)
    problem = pipeline.problem
    arrays = [(f"e_{a.name}", a) for a in problem.epilogue_arrays]
    arrays += [] if stored_in_bulk(pipeline) else [(problem.output.name, problem.output)]
    batch = [(name, a.stride("l")) for name, a in arrays if "l" in a.dims]
    return {
        "tiles": pipeline.cluster_map.workers,
        "cluster": cluster,
        "stores_at": ring,
        "barriers_at": ring + stores * STORE_BYTES,
        "first_task": blocks.index(0, "blockIdx.x"),
        "clusters": blocks.index(0, "gridDim.x"),
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
        "in_bulk": stored_in_bulk(pipeline),
        "halves": DTYPE_BYTES[problem.output_dtype] == 2 and problem.output.shape[-1] % 2 == 1,
        "batch_at": ", l_block" if "l" in pipeline.grid_axes else "",
        "batch": batch,
        "batched": [name for name, _ in batch],
    }


def bulk_maps(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> tuple[TensorMap, ...]:
    """Of both inputs and the output. Raises SchemeError for an array that cannot be copied in bulk."""
    problem = pipeline.problem
    for operand in inputs:
        _check_order(operand)
    last = 2 + len(problem.epilogue_arrays)
    output = (_output_map(pipeline, last),) if stored_in_bulk(pipeline) else ()
    return (*map(_input_map, inputs), *output)


def stored_in_bulk(pipeline: Pipeline) -> bool:
    """Whether the output's rows are multiples of 16 bytes, as bulk stores need. Others are stored by the threads."""
    problem = pipeline.problem
    return problem.output.shape[-1] * DTYPE_BYTES[problem.output_dtype] % CHUNK == 0


def stored_columns(pipeline: Pipeline) -> int:
    """Of one bulk store."""
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
            f"S({tensor.name}, {pipeline.depth}): bulk copies of a convolution need {tensor.name} to lie as "
            f"{' '.join(wanted)}, and loops over r, then s"
        )


def _windowed(operand: Operand) -> bool:
    return operand.side == 0 and bool(operand.pipeline.problem.windows)


def _shares(operand: Operand) -> tuple[int, str]:
    """Blocks of a cluster that need the same tile of this input, and the C expression of which of them a block is."""
    pipeline = operand.pipeline
    other = 1 - operand.side
    return pipeline.rank_map.shape[other], pipeline.rank_map.index(other, "rank")


def _rows_at_once(operand: Operand) -> int:
    """Rows of 128 bytes of one box."""
    share, _ = _shares(operand)
    return (operand.pipeline.block_tile[2] if operand.in_blocks else operand.tile[0]) // share


def _input_map(operand: Operand) -> TensorMap:
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
                f"{tensor.name}: taps {farthest} pixels apart cannot be copied in bulk, only up to {_FARTHEST_TAP}"
            )
        lower, upper = zip(*((-x.before, _past(x, pipeline) - x.extent - x.before) for x in (w, h)))
        pixels, box = Pixels(lower, upper, (w.stride, h.stride), rows), (across,)
    elif not pipeline.taps:
        box = (across, rows, *(1 for _ in dims[2:]))
    return TensorMap(tensor.name, operand.side, pipeline.problem.dtype, dims, strides, box, pixels)


def _past(window, pipeline: Pipeline) -> int:
    """One more than the pixel at which the last window begins, without padding."""
    return (pipeline.problem.extents[window.dim] - 1) * window.stride + 1


def _output_map(pipeline: Pipeline, array: int) -> TensorMap:
    problem, extents = pipeline.problem, pipeline.scheme.extents
    rows, columns, _ = pipeline.axes
    batch = tuple(extents[axis] for axis in pipeline.grid_axes[2:])
    dims = (extents[columns], extents[rows], *batch)
    element = DTYPE_BYTES[problem.output_dtype]
    strides = tuple(prod(dims[: i + 1]) * element for i in range(len(dims) - 1))
    box = (stored_columns(pipeline), STORED_ROWS, *(1 for _ in batch))
    return TensorMap(problem.output.name, array, problem.output_dtype, dims, strides, box)


def _starts(pipeline: Pipeline) -> list[tuple[str, str, str, int]]:
    """Of each axis: the cluster's tile as C of its turn, the block's place in it as C of its rank, and a block's
    points.
    """
    sizes = dict(zip(pipeline.axes, pipeline.block_tile))
    found = []
    for i, axis in enumerate(pipeline.grid_axes):
        points = sizes.get(axis, 1)
        cluster, rank = pipeline.cluster_map.index(i, "tile"), pipeline.rank_map.index(i, "rank")
        found.append((axis, times(cluster, points * pipeline.rank_map.shape[i]), times(rank, points), points))
    return found


def _outside(pipeline: Pipeline) -> str:
    """The condition under which all blocks of a cluster are past the edge: where loops over clusters come in groups."""
    extents, found = pipeline.scheme.extents, []
    for i, (axis, _, _, points) in enumerate(_starts(pipeline)):
        if pipeline.covered(axis) - points * pipeline.rank_map.shape[i] >= extents[axis]:
            found.append(f"{axis}_cluster >= {extents[axis]}")
    return " || ".join(found)


def _step_lines(pipeline: Pipeline) -> list[str]:
    """Where a step stands in the reduction, of which a cluster may have a part."""
    depth, points = pipeline.axes[2], pipeline.block_tile[2]
    trips = [tap.trips for tap in pipeline.taps]
    trips.append(pipeline.steps // prod(trips))
    digits, parts = spatial(*trips), pipeline.split_map
    starts = [times(parts.index(i, "split"), count) for i, count in enumerate(trips)]
    places = [added(start, digits.index(i, "step")) for i, start in enumerate(starts)]
    lines = [f"const int {tap.dim} = {place};" for tap, place in zip(pipeline.taps, places)]
    return [*lines, f"const int {depth}_step = {times(places[-1], points)};"]


def _stored_row(pipeline: Pipeline) -> str:
    """Of a warpgroup's tile the first row that a warp's first lane holds of row tile `i`."""
    tiles = pipeline.unrolled[0]
    warps = repeat(tiles) @ spatial(4) @ repeat(STORED_ROWS)
    return warps.index(0, "warp", looped(("i", tiles), ("0", STORED_ROWS)))


def _stored_words(pipeline: Pipeline) -> dict[str, str]:
    """Of a row of a warp's buffer the word that a lane stores: its first element and its byte."""
    elements, word = _WORD // DTYPE_BYTES[pipeline.problem.output_dtype], spatial(WARP) @ repeat(_WORD)
    return {
        "element": (spatial(WARP) @ repeat(elements)).index(0, "lane", looped(("0", elements))),
        "byte": word.index(0, "lane", ("0",)),
    }


def _pixel_lines(operand: Operand) -> list[str]:
    """The window of the input at which the block's first pixel, or that of its part, begins."""
    pipeline, name = operand.pipeline, operand.tensor.name
    rows = pipeline.axes[0]
    digits = spatial(*(pipeline.problem.extents[dim] for dim in rows))
    lines = [f"const int {name}_first = {added(f'{rows}_block', _part(operand, _rows_at_once(operand)))};"]
    lines.append(f"const int {name}_n = {digits.index(0, f'{name}_first')};")
    for i, window in enumerate(pipeline.problem.windows, 1):
        at = times(digits.index(i, f"{name}_first"), window.stride)
        lines.append(f"const int {name}_{window.dim} = {at}{f' - {window.before}' if window.before else ''};")
    return lines


def _part(operand: Operand, points: int) -> str:
    """Where a block's part of a tile that it shares begins."""
    return times(_shares(operand)[1], points)


def load_lines(inputs: tuple[Operand, Operand]) -> list[str]:
    """The copies of one step."""
    return [line for operand in inputs for line in _load_lines(operand)]


def _load_lines(operand: Operand) -> list[str]:
    pipeline, name = operand.pipeline, operand.tensor.name
    share, _ = _shares(operand)
    rows, depth = _rows_at_once(operand), f"{pipeline.axes[2]}_step"
    offset = _part(operand, rows * SWIZZLE)
    tile = added("shared + slot * SLOT_BYTES", f"{name.upper()}_TILE" if operand.side else "0")
    front = f"(%s, &{name}_map, shared + FULL + 8 * slot, %s{f', {(1 << share) - 1}' if share > 1 else ''});"
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
