"""Prints Winograd's algorithm as C: the loops around the products, which share one kernel, and the packing of U.

pack     U = G w G^T, in the panels that the product's scheme reads
block    V = B^T x B of its tiles ──► α² products ──► y = A^T M A, the epilogue in its stores
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from cpu.codegen.arrays import types_of
from cpu.codegen.definitions import of_cursors, of_statements
from cpu.codegen.epilogue import compares_with_zero, epilogue_text
from cpu.codegen.frame.operands import operands
from cpu.codegen.frame.remarks import about_run
from cpu.codegen.indices import strides
from cpu.codegen.inside import facts_of_scheme
from cpu.codegen.masks import masks_in
from cpu.codegen.print import Printer, lines_of
from cpu.passes.facts import ProductFacts
from cpu.passes.forms import winograd_forms, winograd_packing_forms
from microkernels.tile.isa_row import Isa
from microkernels.tile.lanes import TAIL, lanes_definition, tail_definition
from tiling.loops.kernel import Kernel, Scratch
from tiling.loops.language import LINE
from tiling.loops.lowering.show import show
from tiling.loops.walk import buffers
from tiling.rewrite.weight_groups import packed_elements, packed_lanes, weight_groups_of
from tiling.rewrite.winograd.algorithm import Matrix, Winograd, transforms
from tiling.scheme.specifiers import SchemeError, Tile

_PACKED = "W holds U: for each part of the output channels and each of {products} products the panels that it reads."
_STRIDES = """\
/* Floats between neighbours along each axis of the arrays: those of the convolution; V, M and a padded tile P; one
 * point of V, U and M, as one product of a block reads and writes them; and those of the packing, W, G and U. */"""
_ALGORITHM = """\
/* Winograd's algorithm: a tile of {m} x {m} outputs from {alpha} x {alpha} inputs x and 3 x 3 weights w,
 * by {products} products:
 *
 *     y = A^T [ (G w G^T) . (B^T x B) ] A  =  A^T [ U . V ] A
 *
 * summed over the channels before A^T and A are applied. So each point is a matrix product of (tiles x C) and (C x K).
 * A task is a block of {block} tiles by {channels} output channels: V and M of one block stay in a core's cache.
 * Transforms stay functions: inlined into loops, some would have too few registers.
 *
{matrices}
 */"""
_TASKS = """\
/* Every worker takes a run of tasks: the parts of a block one after the other, so that V of a block is computed once.
 *     {buffers}. */"""
# What the buffers in a call's scratch memory hold.
_BUFFERS = {
    "V": "V of a block, point after point, the tiles of a point in rows; each worker has one",
    "M": "the products of a block, which lie likewise",
    "P": "a tile of x that reaches beyond the image, with zeros there; each worker has one",
}


def frame_fields(winograd: Winograd, isa: Isa, threads: int, symbol: str) -> tuple[dict[str, Any], Scratch]:
    """The fields of the frame for this kernel, and the memory that a call needs.

    Raises SchemeError for a product that has core loops.
    """
    problem, alpha = winograd.problem, winograd.alpha
    _check(winograd)
    *_, (_, kernel) = winograd_forms_of(winograd, isa, threads)
    c, k = (problem.extents[dim] % isa.lanes for dim in "ck")
    printer = Printer(kernel, types_of(kernel), isa.vector_type, masks={c: "C_TAIL", k: TAIL})
    *_, (_, weights) = winograd_packing_forms_of(winograd, isa, threads)
    packer = Printer(weights, types_of(weights), "double", attribute=isa.any_cpu)
    epilogue = [epilogue_text(problem.epilogue, isa)] if problem.epilogue else []
    buffers_of = [f"{b.name}: {_BUFFERS[b.name]}" for b in buffers(kernel) if b.memory == "own"]
    functions, body, packers, packing = printer.functions(), printer.body(), packer.functions(), packer.body()
    scratch, arrays = kernel.scratch.bytes(threads).offset, bool(problem.epilogue_arrays)
    fields = {
        "loops": _loops(winograd),
        "operands": [*operands(problem), _PACKED.format(products=alpha * alpha)],
        "preamble": ["#include <stdio.h>", "#include <stdlib.h>"],
        "about_strides": _STRIDES,
        "strides": strides(kernel, lines_of(functions, body)) + strides(weights, lines_of(packers, packing)),
        "definitions": [
            *_tails(isa, *(lanes if lanes in masks_in(kernel) else 0 for lanes in (c, k))),
            *of_statements(kernel),
            *epilogue,
            *of_cursors(kernel),
            _about(winograd),
        ],
        "functions": functions,
        "about_run": about_run(threads, scratch, arrays, [], _TASKS.format(buffers="\n *     ".join(buffers_of))),
        "body": body,
        "packers": packers,
        "pack": _packing(winograd, symbol, weights.scratch.shared.offset, packing),
    }
    return fields, kernel.scratch


def _about(winograd: Winograd) -> str:
    """The comment on the algorithm."""
    matrices, alpha = transforms(winograd.m), winograd.alpha
    named = {"B^T": matrices.input, "A^T": matrices.output}
    rows = {name: f"\n *     {' ' * len(name)}   ".join(_text(matrix)) for name, matrix in named.items()}
    return _ALGORITHM.format(
        m=winograd.m,
        alpha=alpha,
        products=alpha * alpha,
        block=winograd.block,
        channels=winograd.channels,
        matrices="\n *\n".join(f" *     {name} = {text}" for name, text in rows.items()),
    )


def _packing(winograd: Winograd, symbol: str, scratch: int, loops: list[str]) -> list[str]:
    """The body of SYMBOL_pack_run: the loops, and the table and the memory that they need."""
    rows = (", ".join(_double(value) for value in row) for row in transforms(winograd.m).weights)
    return [
        "/* U = G w G^T of each point, computed in double and rounded once. */",
        "static const double G[] = {",
        *(f"    {row}," for row in rows),
        "};",
        f"char *const scratch = aligned_alloc({LINE}, {scratch}); /* U of one point and part of the output channels */",
        "if (!scratch) {",
        f'    fputs("{symbol}: no memory for transformed weights\\n", stderr);',
        "    abort();",
        "}",
        *loops,
        "free(scratch);",
    ]


def winograd_forms_of(winograd: Winograd, isa: Isa, threads: int) -> Iterator[tuple[str, Kernel]]:
    """The loops of the algorithm after each pass: (name, loops), … Raises SchemeError as `frame_fields` does."""
    _check(winograd)
    return winograd_forms(winograd, around_facts(winograd, isa, threads), product_facts(winograd, isa))


def winograd_packing_forms_of(winograd: Winograd, isa: Isa, threads: int) -> Iterator[tuple[str, Kernel]]:
    """The loops that pack its weights after each pass: (name, loops), … Raises SchemeError as `frame_fields` does."""
    _check(winograd)
    around, product = around_facts(winograd, isa, threads), product_facts(winograd, isa)
    return winograd_packing_forms(winograd, around, product, weight_groups_of(winograd.product))


def _check(winograd: Winograd) -> None:
    if any(isinstance(s, Tile) and s.worker for s in winograd.product.specifiers):
        raise SchemeError(
            f"{winograd.head}: blocks go to the cores, so the product that follows may have no @core loop"
        )


def around_facts(winograd: Winograd, isa: Isa, threads: int) -> ProductFacts:
    """What passes need to know of the loops around the products."""
    epilogue = winograd.problem.epilogue
    zero = epilogue is not None and compares_with_zero(epilogue)
    lanes = packed_lanes(winograd.product)
    return ProductFacts(winograd.product, winograd.problem, isa, lanes, False, zero, threads)


def product_facts(winograd: Winograd, isa: Isa) -> ProductFacts:
    """What passes need to know of one product."""
    return replace(facts_of_scheme(winograd.product, isa, False), prefetches=winograd.prefetches)


def packed_floats(winograd: Winograd) -> int:
    """Floats of the packed weights: U of every part and point."""
    return winograd.parts * winograd.alpha**2 * packed_elements(winograd.product)


def _loops(winograd: Winograd) -> list[str]:
    side = f"{winograd.alpha} x {winograd.alpha}"
    return [
        f"for {winograd.blocks} blocks of {winograd.block} tiles:  on cores",
        f"  input transform of {side} points",
        f"  for {winograd.parts} parts of {winograd.channels} output channels:  on cores",
        f"    for {side} points:",
        *(f"      {line}" for line in show(winograd.product).splitlines()),
        "    output transform, epilogue",
    ]


def _tails(isa: Isa, c: int, k: int) -> list[str]:
    """The definitions of TAIL for the output channels and of C_TAIL for the input channels, where these differ.

    c, k: the lanes of their last vectors, 0 where no instruction takes that mask.
    """
    found = [tail_definition(isa, k)] if k else []
    found += [lanes_definition(isa, "C_TAIL", c, "the last vector of x's channels")] if c not in (0, k) else []
    return found


def _text(matrix: Matrix) -> list[str]:
    """The rows of a matrix."""
    width = max(len(str(value)) for row in matrix for value in row)
    return [" ".join(str(value).rjust(width) for value in row) for row in matrix]


def _double(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}.0 / {value.denominator}"
