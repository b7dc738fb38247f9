"""The text inside the frame of a C file: the tile functions and the loops around them, by passes over loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cpu.codegen.arrays import types_of
from cpu.codegen.definitions import definitions
from cpu.codegen.epilogue import compares_with_zero
from cpu.codegen.indices import strides
from cpu.codegen.masks import mask_names
from cpu.codegen.print import PrintedFunction, Printer, lines_of
from cpu.passes.facts import ProductFacts
from cpu.passes.forms import product_forms
from microkernels.tile.isa_row import Isa
from tiling.arrays.access import access_of
from tiling.arrays.bias import stored
from tiling.loops.kernel import Kernel, Scratch
from tiling.loops.language import Aligned, Decide, Do
from tiling.loops.lowering.prefetch.plan import plan_prefetches
from tiling.loops.walk import bodies, buffers, walk
from tiling.problem import Problem
from tiling.rewrite.copies.im2col import COPY
from tiling.rewrite.copies.lower import CopyOfX, copy_of_x
from tiling.rewrite.copies.plan import TRANSPOSED
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.rewrite.parts import shared_sum
from tiling.rewrite.weight_groups import packed_words
from tiling.scheme.scheme import Scheme
from tiling.value import Epilogue


@dataclass(frozen=True)
class PrintedKernel:
    """The functions and the body of a kernel, and what they need of the file around them.

    axes: (name, elements) of the strides that its addresses name. definitions: what it calls beside its functions.
    panel: whether each thread has a panel. copy: the copy of x that is made first. headers: those of the C library that
    it includes. parts: the number of parts of each sum that it adds up.
    """

    functions: Sequence[PrintedFunction]
    body: list[str]
    axes: list[tuple[str, int]]
    definitions: list[str]
    panel: bool
    scratch: Scratch
    copy: CopyOfX | None
    headers: tuple[str, ...]
    parts: int


def facts_of_scheme(scheme: Scheme, isa: Isa, stream: bool, threads: int = 1) -> ProductFacts:
    """What the passes of a product need to know beside its loops.

    scheme: as users write it. stream: whether its stores bypass the caches. threads: the most that share a call.
    """
    in_dot_groups = scheme_in_dot_groups(scheme)
    epilogue = stored_by(scheme, scheme.problem)
    return ProductFacts(
        scheme=in_dot_groups,
        problem=scheme.problem,
        isa=isa,
        packed=packed_words(scheme),
        stream=stream,
        zero=epilogue is not None and compares_with_zero(epilogue),
        threads=threads,
        prefetches=plan_prefetches(in_dot_groups, stream),
    )


def stored_by(scheme: Scheme, problem: Problem) -> Epilogue | None:
    """The epilogue that stores apply; None where there is none. A bias that sums begin with is no part of it.

    Where parts of sums are added up it is all of the epilogue, since no part begins with a bias. problem: as the tiles
    see it.
    """
    return scheme.problem.epilogue if shared_sum(scheme) else stored(problem)


def loops_of(scheme: Scheme, isa: Isa, threads: int, stream: bool) -> PrintedKernel:
    """A kernel written by passes over loops."""
    facts, copy = facts_of_scheme(scheme, isa, stream, threads), copy_of_x(scheme, isa.lanes)
    *_, (_, kernel) = product_forms(facts, copy)
    problem = facts.scheme.problem
    masks = mask_names(kernel, problem.extents[problem.vector_dim] % isa.lanes, isa.numbers is not None)
    types = types_of(kernel, isa.word, _overlapping(problem, copy, facts))
    printer = Printer(kernel, types, isa.vector_type, masks)
    functions, body = printer.functions(), printer.body()
    return PrintedKernel(
        functions=functions,
        body=body,
        axes=strides(kernel, lines_of(functions, body)),
        definitions=definitions(kernel, facts, stored_by(scheme, problem), masks),
        panel=any(buffer.memory == "own" for buffer in buffers(kernel)),
        scratch=kernel.scratch,
        copy=copy,
        headers=_headers(kernel),
        parts=facts.parts,
    )


def _overlapping(problem: Problem, copy: CopyOfX | None, facts: ProductFacts) -> list[str]:
    """The arrays of x whose words share numbers."""
    x = ["X"] if problem.broadcast.reach and not facts.strips else []
    return x + [COPY] * bool(copy and copy.kind == TRANSPOSED and access_of(problem).by_matrix)


def _headers(kernel: Kernel) -> tuple[str, ...]:
    """The headers of the C library that the text of a kernel needs."""
    found = [s for body in bodies(kernel) for s in walk(body) if isinstance(s, (Do, Decide))]
    addresses = any(isinstance(c, Aligned) for s in found if isinstance(s, Decide) for c in s.conditions)
    named = sorted({s.invoke.instruction.header for s in found if isinstance(s, Do)} - {""})
    return (*["stdint.h"] * addresses, *named)
