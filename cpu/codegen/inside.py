"""What stands inside the frame of a C file: the tile functions and the loops around them, by passes over loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cpu.codegen.arrays import elements_of
from cpu.codegen.cursors import definitions
from cpu.codegen.epilogue import compares_with_zero
from cpu.codegen.indices import strides
from cpu.codegen.print import PrintedFunction, Printer
from cpu.passes.facts import ProductFacts
from cpu.passes.forms import INPUT, forms_with_copy
from cpu.passes.memory.prefetch_in_tiles import NEXT
from cpu.passes.vectors.transpose_stores import transposed_rows
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import Isa
from tiling.arrays.access import access_of
from tiling.arrays.bias import stored
from tiling.dtypes import LANE_BYTES
from tiling.loops.language import NO_SCRATCH, Aligned, Cursors, Decide, Do, Invoke, Kernel, Mask, Scratch, Shape
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import bodies, buffers, walk
from tiling.problem import Problem
from tiling.rewrite.copies_of_x import CopyOfX, copy_of_x
from tiling.rewrite.copy_plan import TRANSPOSED
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.rewrite.im2col import COPY
from tiling.rewrite.parts import shared_sum
from tiling.rewrite.weight_groups import packed_words
from tiling.scheme.scheme import Scheme
from tiling.value import Epilogue


@dataclass(frozen=True)
class Inside:
    """The functions and the body of a kernel, and what they need of the file around them.

    axes: (name, elements) of the strides that its addresses name. masked: it uses the mask TAIL. cursors: what these
    need, if it prefetches by some. transposed: the numbers of rows that it transposes together, and of lanes of a mask
    that it copies x with. panel: whether each thread has a panel. headers: of the C library.
    parts: of how many parts it adds up sums. added: the lanes of a last vector of these, where it has its own mask.
    """

    functions: Sequence[PrintedFunction]
    body: list[str]
    masked: bool
    cursors: str
    axes: list[tuple[str, int]] = field(default_factory=list)
    panel: bool = False
    scratch: Scratch = NO_SCRATCH
    shapes: Mapping[tuple[tuple[int, int], ...], str] = field(default_factory=dict)
    transposed: frozenset[int] = frozenset()
    next_panel: bool = False
    copy: CopyOfX | None = None
    headers: tuple[str, ...] = ()
    parts: int = 0
    added: int = 0


def facts_of(scheme: Scheme, isa: Isa, stream: bool, threads: int = 1) -> ProductFacts:
    """What the passes need to know of a kernel."""
    dots, left = scheme_in_dot_groups(scheme), stored_by(scheme, scheme.problem)
    zero = bool(left and compares_with_zero(left))
    return ProductFacts(dots, scheme.problem, isa, packed_words(scheme), stream, zero, threads)


def stored_by(scheme: Scheme, problem: Problem) -> Epilogue | None:
    """The epilogue that stores apply; all of it where parts of sums are added up, as none begins with a bias.

    problem: as the tiles see it.
    """
    return scheme.problem.epilogue if shared_sum(scheme) else stored(problem)


def loops_of(scheme: Scheme, isa: Isa, threads: int, stream: bool) -> Inside:
    """A kernel written by passes over loops."""
    facts, copy = facts_of(scheme, isa, stream, threads), copy_of_x(scheme, isa.lanes)
    *_, (_, kernel) = forms_with_copy(copy, facts)
    problem = facts.scheme.problem
    used = problem.extents[problem.vector_dim] % isa.lanes
    transposed = transposed_rows(kernel) | (_masked(kernel) - {used} if copy else frozenset())
    types = {buffer.name: "float" for buffer in buffers(kernel)}
    own = {buffer.name: isa.x_type(problem) for buffer in buffers(kernel) if buffer.memory == "own"}
    number = ELEMENTS[elements_of(scheme.problem)[0]].c
    types |= own | {"X": number if facts.strip else isa.x_type(problem)}
    types |= {"W": isa.word, "Y": ELEMENTS[problem.output_dtype].c}
    if copy:
        (_, copied), whole = copy.loops.arrays, copy.kind == TRANSPOSED and access_of(problem).by_matrix
        word = "uint32_t" if whole else isa.word
        types |= {INPUT: number, COPY: ELEMENTS[copied.dtype].c if copied.dtype in ELEMENTS else word}
    added = scheme.problem.output.shape[-1] % isa.lanes if facts.parts else used
    masks = {n: f"FIRST_{n}" for n in (added, *transposed)} | {used: "TAIL"}
    printer = Printer(kernel, types, isa.vector_type, masks)
    cursors = definitions(kernel) if any(isinstance(s, Cursors) for s in walk(kernel.body)) else ""
    inside = Inside(printer.functions(), printer.body(), used > 0, cursors, strides(kernel))
    inside = replace(inside, shapes=shapes_of(kernel), transposed=transposed)
    inside = replace(inside, added=added if added != used else 0, parts=facts.parts)
    following = any(view == NEXT for function in kernel.functions for view, _ in function.views)
    return replace(
        inside, panel=bool(own), scratch=kernel.scratch, next_panel=following, copy=copy, headers=_headers(kernel)
    )


def _masked(kernel: Kernel) -> frozenset[int]:
    """The numbers of lanes of the masks that the functions of a kernel use."""
    values = (value for function in kernel.functions for s in walk(function.body) for value in operands_of(s))
    invokes = (part for value in values for part in parts_of(value) if isinstance(part, Invoke))
    masks = (given for invoke in invokes for _, given in invoke.operands if isinstance(given, Mask))
    return frozenset(mask.lanes.offset for mask in masks)


def _headers(kernel: Kernel) -> tuple[str, ...]:
    """The headers of the C library that the text of a kernel needs."""
    found = [s for body in bodies(kernel) for s in walk(body) if isinstance(s, (Do, Decide))]
    addresses = any(isinstance(c, Aligned) for s in found if isinstance(s, Decide) for c in s.conditions)
    named = sorted({s.invoke.instruction.header for s in found if isinstance(s, Do)} - {""})
    return (*["stdint.h"] * addresses, *named)


def shapes_of(kernel: Kernel) -> dict[tuple[tuple[int, int], ...], str]:
    """The names of the sets of shapes that tile registers get: (rows, bytes of a row) of each."""
    sets = (statement for statement in walk(kernel.body) if isinstance(statement, Shape))
    return {tuple((rows, LANE_BYTES * width) for rows, width in (r.shape for r in s.registers)): s.name for s in sets}
