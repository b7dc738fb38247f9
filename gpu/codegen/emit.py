"""A pipeline of clusters as the text of a CUDA kernel: emit(scheme) -> Source.

NVRTC compiles the text behind ptx.cuh, and the CPU twin runs the same text behind twin.h. The modules that this one
calls do the arithmetic; the templates only lay out names.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path

import jinja2

from gpu.codegen.copies.aligned import aligned_rows
from gpu.codegen.copies.epilogue_arrays import arrays_by_kind, loading_lines
from gpu.codegen.copies.operand import Operand
from gpu.codegen.copies.tma import tma_context, tma_maps
from gpu.codegen.epilogue import epilogue_lines
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.codegen.pipeline.split_k import sharing_context
from gpu.codegen.pipeline.stages import PRODUCER_REGISTERS, Pipeline
from gpu.codegen.program import Source
from tiling.dtypes.formats import FORMATS
from tiling.expression import times
from tiling.loops.lowering.show import show
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import SchemeError
from tiling.scheme.taskmap import looped, repeat
from tiling.tensor import Tensor
from tiling.text.symbol import symbol_of

try:
    VERSION = version("tilewright")
except PackageNotFoundError:
    VERSION = "unreleased"


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    block_start_string="/*%",
    block_end_string="%*/",
    comment_start_string="/*#",
    comment_end_string="#*/",
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)


def is_pipeline(scheme: Scheme) -> bool:
    """Whether a scheme reads as a pipeline, by which the model knows it."""
    try:
        pipeline_of(scheme)
    except SchemeError:
        return False
    return True


def emit(scheme: Scheme) -> Source:
    """The CUDA text of a scheme as a pipeline of clusters. Raises SchemeError for others: passes make those."""
    pipeline = pipeline_of(scheme)
    inputs = (Operand(pipeline, 0), Operand(pipeline, 1))
    if not pipeline.tma:
        raise SchemeError(f"{scheme.text}: passes make this kernel, a pipeline only those of clusters")
    maps = tma_maps(pipeline, inputs)
    problem = scheme.problem
    symbol = symbol_of(problem)
    copied = aligned_rows(inputs)
    context = _context(pipeline, inputs, symbol) | tma_context(pipeline, inputs)
    context |= {"producer_registers": PRODUCER_REGISTERS, "copied": copied}
    return Source(
        symbol,
        TEMPLATES.get_template("tma.cu.j2").render(context),
        pipeline.grid,
        pipeline.threads,
        pipeline.shared_bytes,
        3 + len(problem.epilogue_arrays),
        scheme,
        maps=maps,
        cluster=pipeline.rank_map.workers,
        persistent=pipeline.blocks_at_once,
        semaphores=pipeline.semaphores,
        partial_sums=pipeline.partial_sums,
        copied=copied,
    )


def _context(pipeline: Pipeline, inputs: tuple[Operand, Operand], symbol: str) -> dict[str, object]:
    """The names of the template that say what a kernel computes, and where."""
    problem, scheme = pipeline.problem, pipeline.scheme
    rows, columns, depth = pipeline.block_tile
    arrays = [(t.name, t) for t in problem.tensors] + [(f"e_{t.name}", t) for t in problem.epilogue_arrays]
    return dict(
        symbol=symbol,
        version=VERSION,
        problem=problem,
        dtype=problem.dtype,
        output_dtype=problem.output_dtype,
        output_element=FORMATS[problem.output_dtype].cuda,
        scheme=scheme.text,
        loops=show(scheme).splitlines(),
        operands=[f"{name}[{', '.join(map(str, t.indices))}] of {' x '.join(map(str, t.shape))}" for name, t in arrays],
        p=pipeline,
        worker_of_thread=pipeline.thread_map.index(0, "threadIdx.x"),
        lane_of_worker=pipeline.thread_map.index(1, "threadIdx.x"),
        facts={"matrix": prod(pipeline.unrolled)},
        rows=rows,
        columns=columns,
        depth=depth,
        a={"name": inputs[0].tensor.name},
        b={"name": inputs[1].tensor.name},
        wgmma=_wgmma_lines(pipeline, inputs),
        output=problem.output.name,
        warp_starts=[
            times(pipeline.warp_map.index(i, pipeline.worker_map.index(1, "warpgroup")), pipeline.warp_tile[i])
            for i in (0, 1)
        ],
        epilogue=[*epilogue_lines(problem), *loading_lines(pipeline)],
        epilogue_arrays=[f"e_{array.name}" for array in problem.epilogue_arrays],
        store=_store(pipeline),
        reads=arrays_by_kind(pipeline),
        **sharing_context(pipeline),
    )


def _wgmma_lines(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> list[str]:
    """The call that multiplies row tile `i` at depth `part` of the stage. Its last arguments say which input lies
    across the depth.
    """
    a, b = inputs
    rows, columns, _ = pipeline.axes
    stage = "shared + stage * STAGE_BYTES"
    across = any(o.in_blocks for o in inputs)
    orientation = f", {int(a.in_blocks)}, {int(b.in_blocks)}" if across else ""
    return [
        f"{pipeline.instruction.call}{'_across' if across else ''}(sum[i][0],",
        f"    {a.descriptor(stage, f'({rows}_warpgroup + 64 * i)')},",
        f"    {b.descriptor(f'{stage} + {b.tensor.name.upper()}_TILE', f'{columns}_warpgroup')}{orientation});",
    ]


def _store(pipeline: Pipeline) -> dict[str, str]:
    """Where a lane's elements go. A warp's tile is a grid of instructions, each with the instruction's task map."""
    _check_output(pipeline.problem.output, pipeline.axes)
    elements = repeat(*pipeline.unrolled[:2]) @ pipeline.instruction.c
    # The innermost loop of the map is the pair of elements that one store writes.
    counters = looped(*zip("ij", (pipeline.unrolled[0], pipeline.column_tiles)), ("half", 2), ("0", 2))
    return {name: elements.index(axis, "lane", counters) for axis, name in enumerate(("row", "column"))}


def _check_output(output: Tensor, axes: tuple[str, str, str]) -> None:
    order = "".join(dim for index in output.indices for dim, _ in index.terms).removeprefix("l")
    if order != axes[0] + axes[1]:
        raise SchemeError(
            f"{output.name} lies as {' '.join(order)}: the matrix instruction must name {order[:-1]} and {order[-1]}"
        )
