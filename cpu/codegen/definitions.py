"""The C definitions that the functions of a kernel need: masks, moves of lanes, the epilogue, cursors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cpu.codegen import cursors
from cpu.codegen.epilogue import epilogue_text
from cpu.codegen.masks import mask_definitions
from cpu.passes.facts import ProductFacts
from cpu.passes.prefetch.next_panel import NEXT
from microkernels.tile.instructions import TRANSPOSE
from microkernels.tile.isa_row import Isa
from microkernels.tile.lanes import exchange_definitions, own_definitions
from microkernels.tile.matrix import shapes_definition
from microkernels.tile.transpose import definitions as transpositions
from tiling.arrays.access import access_of
from tiling.arrays.bias import bias_of
from tiling.arrays.flat_pixels import passes_gaps
from tiling.dtypes.products import LANE_BYTES
from tiling.loops.kernel import Kernel
from tiling.loops.machines import Cursors, Fence, Shape
from tiling.loops.rewrite import instructions_in
from tiling.loops.walk import bodies, walk
from tiling.problem import Problem
from tiling.tensor import FlatPixels
from tiling.value import Epilogue

# All registers are taken, so a compiler that sees no fence spills one.
_FENCE = """\
/* All registers are taken. Without this fence the compiler keeps an x for the next step, and spills an accumulator. */
#define KEEP_APART __asm__ volatile("" ::: "memory")"""
_SHAPES = "/* The shapes of the tile registers in each kind of register tile: rows of sums, of x and of the weights. */"
_NEXT_PANEL = """\
/* Tiles also prefetch a line or more of each channel into L2, from `next` on, for the tiles of the next pixels. */"""


def definitions(kernel: Kernel, facts: ProductFacts, left: Epilogue | None, masks: Mapping[int, str]) -> list[str]:
    """The texts in order, with what a reader should know of the tiles.

    left: the epilogue that stores apply. masks: the names of its masks (`cpu.codegen.masks`).
    """
    problem, isa = facts.scheme.problem, facts.isa
    masked = problem.extents[problem.vector_dim] % isa.lanes > 0
    tail, blocks = mask_definitions(isa, masks)
    lanes = _lanes(problem, isa, masked, blocks, transposed_rows(kernel))
    found = [_about_pixels(problem.flat_pixels)] if problem.flat_pixels and passes_gaps(problem) else []
    found += tail
    found += of_statements(kernel)
    found += [_about_bias(bias.name, left)] if (bias := bias_of(problem)) else []
    found += [epilogue_text(left, isa)] if left else []
    found += ["\n".join(lanes)] if lanes else []
    found += of_cursors(kernel)
    panels = any(view == NEXT for function in kernel.functions for view, _ in function.views)
    return found + [_NEXT_PANEL] * panels


def transposed_rows(kernel: Kernel) -> frozenset[int]:
    """The numbers of rows that the functions of a kernel transpose together."""
    found = (invoke.instruction.calls for body in bodies(kernel) for s in walk(body) for invoke in instructions_in(s))
    return frozenset(int(rows) for function, *rest in filter(None, found) if function == TRANSPOSE for rows in rest)


def of_statements(kernel: Kernel) -> list[str]:
    """The definitions that single statements and instructions of a kernel need, each once."""
    statements = [s for body in bodies(kernel) for s in walk(body)]
    shapes = [s for s in statements if isinstance(s, Shape)]
    named = {_rows_and_bytes(shape): shape.name for shape in shapes}
    found = ["\n".join([_SHAPES, *(shapes_definition(name, rows) for rows, name in named.items())])] if named else []
    found += [_FENCE] if any(isinstance(s, Fence) for s in statements) else []
    texts = (operand.instruction.definition for s in statements for operand in instructions_in(s))
    return found + [text for text in dict.fromkeys(texts) if text]


def _rows_and_bytes(shape: Shape) -> tuple[tuple[int, int], ...]:
    """(rows, bytes of a row) of each tile register."""
    return tuple((rows, LANE_BYTES * width) for rows, width in (register.shape for register in shape.registers))


def of_cursors(kernel: Kernel) -> list[str]:
    """The definitions for cursors, where a kernel has some."""
    has = any(isinstance(s, Cursors) for body in bodies(kernel) for s in walk(body))
    return [cursors.definitions(kernel)] if has else []


def _about_pixels(flat: FlatPixels) -> str:
    return (
        f"/* Tiles go over all points of an image, w, as if it were one row. The first {flat.columns} of each\n"
        f" * {flat.pitch} points are pixels of Y, on {flat.rows} lines. */"
    )


def _about_bias(name: str, left: Epilogue | None) -> str:
    rest = " The rest of the epilogue follows below." if left else ""
    return f"/* Each sum begins with E_{name} of its channel.{rest} */"


def _lanes(problem: Problem, isa: Isa, masked: bool, blocks: Sequence[str], transposed: frozenset[int]) -> list[str]:
    """The C text that fills and moves lanes, for tiles and for the transposed copy of x.

    blocks: the definitions of the masks of blocks. transposed: the numbers of rows that are transposed together.
    """
    access = access_of(problem)
    if access.exchange_dim:
        size = problem.extents[access.exchange_dim]
        return exchange_definitions(isa, size) + own_definitions(isa, masked, problem.dot_group, size)
    own = own_definitions(isa, masked, problem.dot_group) if access.lanewise else []
    lines = [line for block in blocks for line in block.splitlines()]
    return [*own, *lines, *(transpositions(isa, sorted(transposed)) if transposed else [])]
