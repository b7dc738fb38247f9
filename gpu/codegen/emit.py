"""A pipeline as the text of a CUDA kernel: emit(scheme) -> Source.

NVRTC compiles the text behind ptx.cuh, and the CPU twin runs the same text behind twin.h. The modules that this one
calls do the arithmetic; the templates only lay out names.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path

import jinja2

from gpu.codegen.copies.aligned import (
    SHARED_BYTES,
    THREADS,
    TILE,
    aligned_rows,
    blocks,
    copying_lines,
    transposing_context,
)
from gpu.codegen.copies.epilogue_arrays import arrays_by_kind, finished, loading_lines
from gpu.codegen.copies.gather import gather_lines
from gpu.codegen.copies.operand import Operand, check_operand, copy_lines
from gpu.codegen.copies.tensor_map import TensorMap
from gpu.codegen.copies.tma import tma_context, tma_maps
from gpu.codegen.epilogue import epilogue_lines
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.codegen.pipeline.split_k import sharing_context
from gpu.codegen.pipeline.stages import PRODUCER_REGISTERS, Pipeline
from gpu.codegen.program import Program, Source
from tiling.dtypes.formats import FORMATS
from tiling.expression import times
from tiling.loops.lowering.show import show
from tiling.problem import Problem
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
    """The CUDA text of a scheme as a pipeline.

    Raises SchemeError for a scheme that no pipeline reads, or of warps: passes make those.
    """
    pipeline = pipeline_of(scheme)
    inputs = (Operand(pipeline, 0), Operand(pipeline, 1))
    maps = check_inputs(pipeline, inputs)
    if not pipeline.asynchronous:
        raise SchemeError(f"{scheme.text}: passes make this kernel, a pipeline only those of warpgroups")
    problem = scheme.problem
    symbol = symbol_of(problem)
    arrays = 3 + len(problem.epilogue_arrays)
    sizes = (pipeline.grid, pipeline.threads, pipeline.shared_bytes, arrays)
    context = _context(pipeline, inputs, symbol)
    semaphores, sums = pipeline.semaphores, pipeline.partial_sums
    if not pipeline.tma:
        text = TEMPLATES.get_template("pipeline.cu.j2").render(context | _copying_context(pipeline, inputs))
        return Source(symbol, text, *sizes, scheme, semaphores=semaphores, partial_sums=sums)
    copied = aligned_rows(inputs)
    context |= tma_context(pipeline, inputs) | {"producer_registers": PRODUCER_REGISTERS, "copied": copied}
    text = TEMPLATES.get_template("tma.cu.j2").render(context)
    return Source(
        symbol,
        text,
        *sizes,
        scheme,
        maps=maps,
        cluster=pipeline.rank_map.workers,
        persistent=pipeline.blocks_at_once,
        semaphores=semaphores,
        partial_sums=sums,
        copied=copied,
    )


def copier(program: Program) -> Program:
    """The program that makes the copies that `program` needs: input arrays in, the memory of all copies out."""
    copies = program.copied
    symbol = f"{program.symbol}_rows"
    text = TEMPLATES.get_template("aligned.cu.j2").render(
        symbol=symbol,
        version=VERSION,
        product=program.symbol,
        names=" and ".join(copy.name for copy in copies),
        copies=copies,
        element={2: "unsigned short", 4: "float"}[copies[0].element_bytes],
        chunk=copies[0].chunk,
        threads=THREADS,
        tile=TILE,
        lines=copying_lines(copies),
        **transposing_context(),
    )
    shared_bytes = SHARED_BYTES if any(copy.transposed for copy in copies) else 0
    return Program(symbol, text, blocks(copies), THREADS, shared_bytes, len(copies) + 1)


def with_copier(program: Program) -> tuple[Program, ...]:
    """All programs that one launch runs: the program itself, and the one that copies its inputs, if there is one."""
    return (program, copier(program)) if program.copied else (program,)


def check_inputs(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> tuple[TensorMap, ...]:
    """The tensor maps of a TMA pipeline; none for others. Raises SchemeError for an array that it cannot copy."""
    if pipeline.tma:
        return tma_maps(pipeline, inputs)
    for operand in inputs:
        check_operand(operand)
    return ()


def _context(pipeline: Pipeline, inputs: tuple[Operand, Operand], symbol: str) -> dict[str, object]:
    """The names that the templates of all pipelines use."""
    problem, scheme = pipeline.problem, pipeline.scheme
    rows, columns, depth = pipeline.block_tile
    worker = pipeline.instruction.worker
    return dict(
        symbol=symbol,
        version=VERSION,
        problem=problem,
        dtype=problem.dtype,
        output_dtype=problem.output_dtype,
        element=FORMATS[problem.dtype].cuda,
        output_element=FORMATS[problem.output_dtype].cuda,
        scheme=scheme.text,
        loops=show(scheme).splitlines(),
        operands=[
            f"{name}[{', '.join(map(str, t.indices))}] of {' x '.join(map(str, t.shape))}"
            for name, t in _pointers(problem)
        ],
        p=pipeline,
        worker=worker,
        worker_of_thread=pipeline.thread_map.index(0, "threadIdx.x"),
        lane_of_worker=pipeline.thread_map.index(1, "threadIdx.x"),
        first_step=f"{times(pipeline.split_k_map.index(0, 'split'), pipeline.steps)} + "
        if pipeline.split_k > 1
        else "",
        facts={"matrix": prod(pipeline.unrolled)},
        rows=rows,
        columns=columns,
        depth=depth,
        a={"name": inputs[0].tensor.name},
        b={"name": inputs[1].tensor.name},
        wgmma=_wgmma_lines(pipeline, inputs),
        output=problem.output.name,
        warp_starts=[
            times(pipeline.warp_map.index(i, pipeline.worker_map.index(1, worker)), pipeline.warp_tile[i])
            for i in (0, 1)
        ],
        epilogue=[*epilogue_lines(problem), *loading_lines(pipeline)],
        epilogue_arrays=[f"e_{array.name}" for array in problem.epilogue_arrays],
        store=_store(pipeline),
        reads=arrays_by_kind(pipeline),
        batch=[(name, t.stride("l")) for name, t in _pointers(problem) if "l" in t.dims],
        **sharing_context(pipeline),
    )


def _copying_context(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> dict[str, object]:
    """The names that only the template of pipelines whose threads copy uses."""
    return {
        "inputs": [_operand(operand) for operand in inputs],
        "finish": finished(pipeline, {"columns": "", "rows": "[i][half]", "points": "[i][half]"}),
        "copies_wait": any(not operand.gathered for operand in inputs),  # gathered data is there at once
        "facts": _facts(pipeline, inputs),
        "block_starts": _block_starts(pipeline),
        "outside": _outside(pipeline),
    }


def _pointers(problem: Problem) -> list[tuple[str, Tensor]]:
    """Each array with its name in the kernel's text."""
    return [(t.name, t) for t in problem.tensors] + [(f"e_{t.name}", t) for t in problem.epilogue_arrays]


def _operand(operand: Operand) -> dict[str, object]:
    return {
        "name": operand.tensor.name,
        "axis": operand.axis,
        "rows": operand.tile[0],
        "columns": operand.tile[1],
        "row_axis": operand.axes[0],
        "column_axis": operand.axes[1],
        "place": operand.place,
        "copy_lines": gather_lines(operand) if operand.gathered else copy_lines(operand),
    }


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


def _facts(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> dict[str, int]:
    return {"matrix": prod(pipeline.unrolled), "copies": sum(o.units_each for o in inputs)}


def _block_starts(pipeline: Pipeline) -> list[tuple[str, str]]:
    sizes = dict(zip(pipeline.axes, pipeline.block_tile))
    found = []
    for i, axis in enumerate(pipeline.grid_axes):
        found.append((axis, times(pipeline.block_map.index(i, "block"), sizes.get(axis, 1))))
    return found


def _outside(pipeline: Pipeline) -> str:
    """The condition, as C, that a whole block is past the edge, as happens where loops over blocks come in groups."""
    sizes = dict(zip(pipeline.axes, pipeline.block_tile))
    extents = pipeline.scheme.extents
    axes = [a for a in pipeline.grid_axes if pipeline.covered(a) - sizes.get(a, 1) >= extents[a]]
    return " || ".join(f"{axis}_block >= {extents[axis]}" for axis in axes)


def _store(pipeline: Pipeline) -> dict[str, object]:
    """Where a lane's elements go. A warp's tile is a grid of instructions, each with the instruction's task map."""
    rows, columns, _ = pipeline.axes
    extents = pipeline.scheme.extents
    _check_output(pipeline.problem.output, pipeline.axes)
    elements = repeat(*pipeline.unrolled[:2]) @ pipeline.instruction.c
    # The innermost loop of the map is the pair of elements that one store writes.
    along = (pipeline.unrolled[0], pipeline.column_tiles)
    counters = looped(*zip("ij", along), ("half", 2), ("0", 2))
    row, column = (elements.index(axis, "lane", counters) for axis in (0, 1))
    pairs = extents[columns] % 2 == 0
    row_inside = [f"row < {extents[rows]}"] if pipeline.over_the_edge(rows) else []
    over = pipeline.over_the_edge(columns)

    def inside(element: int) -> str:
        last = [f"column{' + 1' if element else ''} < {extents[columns]}"] if over else []
        return " && ".join(row_inside + last) or "1"

    wide = "(long)" if pipeline.problem.output.elements >= 1 << 31 else ""
    return {
        "row": row,
        "column": column,
        "offset": f"{wide}row * {extents[columns]} + column",
        "suffix": "_pair" if pairs else "",
        "elements": (0, 1) if pairs else (0,),
        # (first element, condition) of each store: one store of a pair, or two of one element.
        "parts": [(e, inside(e)) for e in ((0,) if pairs else (0, 1))],
    }


def _check_output(output: Tensor, axes: tuple[str, str, str]) -> None:
    order = "".join(dim for index in output.indices for dim, _ in index.terms).removeprefix("l")
    if order != axes[0] + axes[1]:
        raise SchemeError(
            f"{output.name} lies as {' '.join(order)}: the matrix instruction must name {order[:-1]} and {order[-1]}"
        )
