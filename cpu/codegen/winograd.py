"""Prints Winograd's algorithm as C: the loops around the products, which share one kernel, and the packing of U.

pack     U = G w G^T, in the panels that the product's scheme reads
block    V = B^T x B of its tiles ──► α² products ──► y = A^T M A, the epilogue in its stores
"""

from __future__ import annotations

from collections.abc import Iterator

from cpu.codegen.cursors import definitions
from cpu.codegen.epilogue import compares_with_zero, epilogue_text, pointers
from cpu.codegen.indices import strides
from cpu.codegen.inside import facts_of
from cpu.codegen.pack import pack_loops
from cpu.codegen.print import Printer
from cpu.passes.control.share_threads import share_threads
from cpu.passes.facts import ProductFacts
from cpu.passes.forms import winograd_forms
from microkernels.tile.isa import Isa
from microkernels.tile.lanes import lanes_definition, tail_definition
from tiling.dtypes import LANE_BYTES
from tiling.loops.language import Cursors, Kernel
from tiling.loops.lowering.show import show
from tiling.loops.walk import bodies, buffers, named_buffers, walk
from tiling.rewrite.weight_groups import packed_elements, packed_lanes
from tiling.rewrite.winograd import Matrix, Winograd, transforms
from tiling.rewrite.winograd_weights import lower_weights
from tiling.scheme.specifiers import SchemeError, Tile

# What the buffers in a call's scratch memory hold.
_BUFFERS = {
    "V": "V of a block, point after point, the tiles of a point in rows; one of every worker",
    "M": "The products of a block, likewise",
    "P": "A tile of x that reaches beyond the image, with zeros there; one of every worker",
}


def facts(winograd: Winograd, isa: Isa, threads: int) -> dict:
    """What `winograd.c.j2` needs beyond a kernel's facts. Raises SchemeError for a product that has core loops."""
    product, problem, alpha = winograd.product, winograd.problem, winograd.alpha
    _check(winograd)
    *_, (_, kernel) = winograd_forms_of(winograd, isa, threads)
    matrices = transforms(winograd.m)
    c, k = (problem.extents[dim] % isa.lanes for dim in "ck")
    printer = Printer(
        kernel, {b.name: "float" for b in named_buffers(kernel)}, isa.vector_type, {c: "C_TAIL", k: "TAIL"}
    )
    weights = share_threads(lower_weights(winograd, pack_loops(product)), False, lambda buffer: LANE_BYTES)
    types = {buffer.name: "double" if buffer.dtype == "f64" else "float" for buffer in buffers(weights)}
    packer = Printer(weights, types, "double", {}, isa.any_cpu)
    axes = strides(kernel) + strides(weights)
    cursors = any(isinstance(s, Cursors) for body in bodies(kernel) for s in walk(body))
    return {
        "loops": _loops(winograd),
        "functions": printer.functions(),
        "body": printer.body(),
        "scratch": kernel.scratch,
        "pack_scratch": weights.scratch.shared.offset,
        "buffers": [(b.name, _BUFFERS[b.name]) for b in buffers(kernel) if b.memory == "own"],
        "axes": axes,
        "strides": axes,
        "prefetches": definitions(kernel) if cursors else "",
        "tail": _tails(isa, c, k),
        "epilogue": epilogue_text(problem.epilogue, isa) if problem.epilogue else None,
        "arrays": pointers(problem, "E"),
        "winograd": winograd,
        "alpha": alpha,
        "matrices": [("B^T", _text(matrices.input)), ("A^T", _text(matrices.output))],
        "weights": [", ".join(_double(value) for value in row) for row in matrices.weights],
        "packers": packer.functions(),
        "pack": packer.body(),
    }


def winograd_forms_of(winograd: Winograd, isa: Isa, threads: int) -> Iterator[tuple[str, Kernel]]:
    """The loops of the algorithm after each pass: (name, loops), … Raises SchemeError as `facts` does."""
    _check(winograd)
    return winograd_forms(winograd, around_facts(winograd, isa, threads), facts_of(winograd.product, isa, False))


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
    return ProductFacts(winograd.product, winograd.problem, isa, lanes, False, zero, threads, transforms=True)


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


def _tails(isa: Isa, c: int, k: int) -> str:
    """The definitions of TAIL for the output channels and of C_TAIL for the input channels, where these differ."""
    found = [tail_definition(isa, k)] if k else []
    found += [lanes_definition(isa, "C_TAIL", c, "the last vector of x's channels")] if c not in (0, k) else []
    return "\n".join(found)


def _text(matrix: Matrix) -> list[str]:
    """The rows of a matrix."""
    width = max(len(str(value)) for row in matrix for value in row)
    return [" ".join(str(value).rjust(width) for value in row) for row in matrix]


def _double(value) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}.0 / {value.denominator}"
