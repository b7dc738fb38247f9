"""A scheme as the text of a CUDA kernel: the same text for NVRTC, behind ptx.cuh, and for the CPU twin, behind twin.h.

    emit(scheme) -> Source

Arithmetic happens in the modules that it calls, of pipelines, operands, copies and stores; the templates only lay out
names.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path

import jinja2

from gpu.aligned import SHARED_BYTES, THREADS, TILE, aligned_rows, blocks, copying_lines, turning_context
from gpu.bulk import bulk_context, bulk_maps
from gpu.epilogue import epilogue_lines
from gpu.fragments import fragment_lines
from gpu.gather import gather_lines
from gpu.operand import Operand, check_operand, copy_lines
from gpu.pipeline import PRODUCER_REGISTERS, Pipeline
from gpu.program import Program, Source
from gpu.reading import pipeline_of
from gpu.sharing import sharing_context
from gpu.tensor_map import TensorMap
from tiling.expression import times
from tiling.problem import Problem, Tensor
from tiling.scheme import Scheme, SchemeError
from tiling.show import show
from tiling.symbol import symbol_of
from tiling.taskmap import looped, repeat

try:
    VERSION = version("tilewright")
except PackageNotFoundError:
    VERSION = "unreleased"

ELEMENTS = {"f16": "unsigned short", "bf16": "unsigned short", "tf32": "float", "f32": "float"}

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


def emit(scheme: Scheme) -> Source:
    """The CUDA text of a scheme. Raises SchemeError for a valid scheme that is no pipeline."""
    pipeline = pipeline_of(scheme)
    inputs = (Operand(pipeline, 0), Operand(pipeline, 1))
    maps = check_inputs(pipeline, inputs)
    problem = scheme.problem
    symbol = symbol_of(problem)
    arrays = 3 + len(problem.epilogue_arrays)
    sizes = (pipeline.grid, pipeline.threads, pipeline.shared_bytes, arrays)
    context = _context(pipeline, inputs, symbol)
    shared = {"tickets": pipeline.tickets, "partial_sums": pipeline.partial_sums}
    if not pipeline.bulk:
        text = TEMPLATES.get_template("pipeline.cu.j2").render(context | _copying_context(pipeline, inputs))
        return Source(symbol, text, *sizes, scheme, **shared)
    copied = aligned_rows(inputs)
    context |= bulk_context(pipeline, inputs) | {"producer_registers": PRODUCER_REGISTERS, "copied": copied}
    text = TEMPLATES.get_template("bulk.cu.j2").render(context)
    cluster, persistent = pipeline.rank_map.workers, pipeline.blocks_at_once
    shared |= {"copied": copied, "cluster": cluster, "persistent": persistent}
    return Source(symbol, text, *sizes, scheme, maps=maps, **shared)


def copier(program: Program) -> Program:
    """What copies the arrays that `program` wants copied: their numbers' arrays in, the memory of all copies out."""
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
        **turning_context(),
    )
    shared_bytes = SHARED_BYTES if any(copy.turned for copy in copies) else 0
    return Program(symbol, text, blocks(copies), THREADS, shared_bytes, len(copies) + 1)


def with_copier(program: Program) -> tuple[Program, ...]:
    """All that one launch of a program runs: itself, and what copies its inputs first, if anything does."""
    return (program, copier(program)) if program.copied else (program,)


def check_inputs(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> tuple[TensorMap, ...]:
    """The tensor maps of a pipeline that copies by them. Raises SchemeError for an array that no kernel can copy so."""
    if pipeline.bulk:
        return bulk_maps(pipeline, inputs)
    for operand in inputs:
        check_operand(operand)
    return ()


def _context(pipeline: Pipeline, inputs: tuple[Operand, Operand], symbol: str) -> dict:
    """What the templates of all pipelines name."""
    problem, scheme = pipeline.problem, pipeline.scheme
    rows, columns, depth = pipeline.block_tile
    return dict(
        symbol=symbol,
        version=VERSION,
        problem=problem,
        dtype=problem.dtype,
        output_dtype=problem.output_dtype,
        element=ELEMENTS[problem.dtype],
        output_element=ELEMENTS[problem.output_dtype],
        scheme=scheme.text,
        loops=show(scheme).splitlines(),
        operands=[
            f"{name}[{', '.join(map(str, t.indices))}] of {' x '.join(map(str, t.shape))}"
            for name, t in _pointers(problem)
        ],
        p=pipeline,
        worker=pipeline.instruction.worker,
        worker_of_thread=pipeline.thread_map.index(0, "threadIdx.x"),
        lane_of_worker=pipeline.thread_map.index(1, "threadIdx.x"),
        first_step=f"{times(pipeline.split_map.index(0, 'split'), pipeline.steps)} + " if pipeline.splits > 1 else "",
        facts={"matrix": prod(pipeline.unrolled)},
        rows=rows,
        columns=columns,
        depth=depth,
        a={"name": inputs[0].tensor.name},
        b={"name": inputs[1].tensor.name},
        wgmma=_wgmma_lines(pipeline, inputs) if pipeline.asynchronous else [],
        output=problem.output.name,
        warp_starts=[
            times(pipeline.warp_map.index(i, pipeline.instruction.worker), pipeline.warp_tile[i]) for i in (0, 1)
        ],
        epilogue=epilogue_lines(pipeline) if problem.epilogue else [],
        epilogue_arrays=[f"e_{array.name}" for array in problem.epilogue_arrays],
        store=_store(pipeline),
        finish=_finish(problem),
        batch=[(name, t.stride("l")) for name, t in _pointers(problem) if "l" in t.dims],
        **sharing_context(pipeline),
    )


def _copying_context(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> dict:
    """What only the template names whose threads copy."""
    return {
        "inputs": [_operand(operand) for operand in inputs],
        "copies_wait": any(not operand.gathered for operand in inputs),  # what is gathered is there at once
        "facts": _facts(pipeline, inputs),
        "block_starts": _block_starts(pipeline),
        "outside": _outside(pipeline),
    }


def _pointers(problem: Problem) -> list[tuple[str, Tensor]]:
    """What the kernel's text calls each array."""
    return [(t.name, t) for t in problem.tensors] + [(f"e_{t.name}", t) for t in problem.epilogue_arrays]


def _operand(operand: Operand) -> dict:
    return {
        "name": operand.tensor.name,
        "axis": operand.axis,
        "rows": operand.tile[0],
        "columns": operand.tile[1],
        "row_axis": operand.axes[0],
        "column_axis": operand.axes[1],
        "place": operand.place,
        "copy_lines": gather_lines(operand) if operand.gathered else copy_lines(operand),
        "fragment_lines": [] if operand.pipeline.asynchronous else fragment_lines(operand),
    }


def _wgmma_lines(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> list[str]:
    """The call that multiplies row tile `i` at depth `part` of the slot. Its last arguments say which input lies
    across.
    """
    a, b = inputs
    rows, columns, _ = pipeline.axes
    slot = "shared + slot * SLOT_BYTES"
    across = any(o.in_blocks for o in inputs)
    orientation = f", {int(a.in_blocks)}, {int(b.in_blocks)}" if across else ""
    return [
        f"{pipeline.instruction.call}{'_across' if across else ''}(sum[i][0],",
        f"    {a.descriptor(slot, f'({rows}_warpgroup + 64 * i)')},",
        f"    {b.descriptor(f'{slot} + {b.tensor.name.upper()}_TILE', f'{columns}_warpgroup')}{orientation});",
    ]


def _facts(pipeline: Pipeline, inputs: tuple[Operand, Operand]) -> dict[str, int]:
    parts = pipeline.unrolled[2]
    words = [o.fragments * o.registers for o in inputs]
    return {
        "matrix": prod(pipeline.unrolled),
        "loads": 0
        if pipeline.asynchronous
        else parts * sum(count if o.by_word else count // 4 for o, count in zip(inputs, words)),
        "copies": sum(o.units_each for o in inputs),
    }


def _block_starts(pipeline: Pipeline) -> list[tuple[str, str]]:
    sizes = dict(zip(pipeline.axes, pipeline.block_tile))
    found = []
    for i, axis in enumerate(pipeline.grid_axes):
        found.append((axis, times(pipeline.block_map.index(i, "block"), sizes.get(axis, 1))))
    return found


def _outside(pipeline: Pipeline) -> str:
    """The condition under which a whole block is past the edge: where loops over blocks come in groups."""
    sizes = dict(zip(pipeline.axes, pipeline.block_tile))
    extents = pipeline.scheme.extents
    axes = [a for a in pipeline.grid_axes if pipeline.covered(a) - sizes.get(a, 1) >= extents[a]]
    return " || ".join(f"{axis}_block >= {extents[axis]}" for axis in axes)


def _store(pipeline: Pipeline) -> dict:
    """Where a lane's elements go: a warp's tile is rows of instructions, each with the lanes' own task map."""
    rows, columns, _ = pipeline.axes
    extents = pipeline.scheme.extents
    _check_output(pipeline.problem.output, pipeline.axes)
    elements = repeat(*pipeline.unrolled[:2]) @ pipeline.instruction.c
    # The innermost loop of the map is the pair, which is stored at once.
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
        # (first element, condition) of each store: one of a pair, or two of an element each.
        "parts": [(e, inside(e)) for e in ((0,) if pairs else (0, 1))],
    }


def _finish(problem: Problem):
    """The text of one of a lane's two elements, given its number, once the epilogue is done with it."""
    arrays = "".join(f", e_{array.name}" for array in problem.epilogue_arrays)

    def finish(element: int) -> str:
        value = f"sum[i][j][2 * half{' + 1' if element else ''}]"
        return f"epilogue({value}, row, column{' + 1' if element else ''}{arrays})" if problem.epilogue else value

    return finish


def _check_output(output: Tensor, axes: tuple[str, str, str]) -> None:
    order = "".join(dim for index in output.indices for dim, _ in index.terms).removeprefix("l")
    if order != axes[0] + axes[1]:
        raise SchemeError(
            f"{output.name} lies as {' '.join(order)}: the matrix instruction must name {order[:-1]} and {order[-1]}"
        )
