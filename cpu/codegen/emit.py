"""Prints a whole scheme as a C file: a comment, the strides by name, the tile functions, and the loops around them.

    emit(scheme, isa, threads) -> Source

Arithmetic happens here and in passes. The template only lays out names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from cpu.codegen.arrays import elements_of
from cpu.codegen.check import check
from cpu.codegen.epilogue import pointers
from cpu.codegen.frame.call import CallSignature, Packing, call_text
from cpu.codegen.frame.frames import TEMPLATES
from cpu.codegen.frame.operands import operands
from cpu.codegen.frame.remarks import about_memory, about_operands, about_run, about_strides, preamble
from cpu.codegen.inside import facts_of_scheme, loops_of
from cpu.codegen.pack import pack_lines
from cpu.codegen.winograd import frame_fields, packed_floats, winograd_forms_of, winograd_packing_forms_of
from cpu.passes.forms import packing_forms, product_forms
from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.version import VERSION
from microkernels.tile.estimate import loads_per_step
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import Isa
from microkernels.tile.microkernel import Microkernel, microkernel_of
from tiling.arrays.access import access_of
from tiling.loops.kernel import Kernel
from tiling.loops.lowering.show import show
from tiling.loops.lowering.stream_plan import may_stream
from tiling.problem import Problem
from tiling.rewrite.copies.lower import copy_of_x
from tiling.rewrite.copies.strips import strip_of
from tiling.rewrite.dot_groups import scheme_in_dot_groups, uses_matrix_instructions
from tiling.rewrite.weight_groups import packed_elements, weight_groups_of
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile
from tiling.text.shapes import canonical
from tiling.text.symbol import symbol_of as problem_symbol


@dataclass(frozen=True)
class Source:
    """An emitted kernel: C text that defines

        void SYMBOL(const float *X, const float *W, float *Y, …)   W packed, all contiguous; … the epilogue's arrays
        void SYMBOL_pack(const float *W, float *packed)            from the problem's own layout, once per weights
        void SYMBOL_run(…), SYMBOL_pack_run(…)                     what a thread of a caller's own does of each

    For other dtypes X, W and Y have other C types (`cpu.runtime.numbers`). inside: the text without the first function.
    packed: how many numbers the packed weights have. scratch: bytes that SYMBOL_run needs; None for a saved kernel.
    own: additional bytes for each thread after the first. pack_threads: how many threads share SYMBOL_pack_run.
    """

    symbol: str
    inside: str
    call: str
    isa: str
    threads: int
    microkernels: tuple[Microkernel, ...]
    packed: int
    scratch: int | None = None
    own: int = 0
    pack_threads: int = 1

    @property
    def text(self) -> str:
        """The whole file."""
        return self.inside + self.call

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        return isa_named(self.isa).compiler_flags

    @property
    def openmp(self) -> bool:
        return self.threads > 1


def emit(scheme: Scheme | Winograd, isa: Isa, threads: int = 1, stream: bool = False) -> Source:
    """The C source of a scheme on `isa`.

    threads: OpenMP threads, at most as many as the scheme has core tasks. stream: stores bypass the caches where they
    may (`tiling.loops.lowering.stream_plan`) and y is aligned; this is for outputs larger than the last cache. Raises
    SchemeError, which names the specifier, for a valid scheme that this emitter does not handle.
    """
    if isinstance(scheme, Winograd):
        return _winograd(scheme, isa, threads)
    isa = row_of(scheme, isa)
    check(scheme, isa)
    problem = scheme.problem
    threads = _threads(scheme, threads)
    symbol = symbol_of(problem, isa, threads)
    kernels = microkernels_of(scheme, isa)
    dots = scheme_in_dot_groups(scheme)
    streams = stream and may_stream(scheme)
    inside = loops_of(scheme, isa, threads, streams)
    types = [ELEMENTS[name].c for name in elements_of(problem)]
    strips, x_type = strip_of(scheme) > 0, isa.x_type(dots.problem)
    as_it_lies = strips or (x_type == types[0] and not inside.copy)
    scratch = inside.scratch.bytes(threads)
    call = CallSignature(symbol, _parameters(problem, isa, as_it_lies), scratch, threads)
    packing = Packing(ELEMENTS[elements_of(problem)[1]].c, threads)
    casts = [] if as_it_lies or inside.copy else [f"const {x_type} *const X = (const {x_type} *)input;"]
    casts += [] if isa.word == "float" else ["const word *const W = (const word *)packed;"]
    packs = inside.panel and access_of(dots.problem).weights_broadcast
    memory = about_memory(inside.parts, strips, inside.panel)
    text = TEMPLATES.get_template("kernel.c.j2").render(
        _shared(scheme, problem, isa, call, packing),
        loops=show(dots).splitlines(),
        microkernels=[describe(kernel, isa, packs) for kernel in kernels],
        operands=about_operands(problem, dots.problem, inside.copy, strips),
        preamble=preamble(isa, inside.headers, problem.output_dtype),
        about_strides=about_strides(x_type),
        strides=inside.axes,
        definitions=inside.definitions,
        functions=inside.functions,
        about_run=about_run(threads, scratch.offset, bool(problem.epilogue_arrays), memory),
        body=casts + inside.body,
        packers=[],
        pack=pack_lines(scheme, facts_of_scheme(scheme, isa, streams, threads)),
    )
    plain = call_text(call, isa, packing=packing)
    own, packed = inside.scratch.own.offset, packed_elements(scheme)
    return Source(symbol, text, plain, isa.name, threads, kernels, packed, scratch.offset, own, packing.threads)


def _shared(
    scheme: Scheme | Winograd, problem: Problem, isa: Isa, call: CallSignature, packing: Packing
) -> dict[str, Any]:
    """The fields of the frame that every kernel has."""
    return {
        "symbol": call.symbol,
        "version": VERSION,
        "problem": f"{problem.op} {canonical(problem)}",
        "scheme": scheme.text,
        "isa": isa,
        "dtype": ", ".join(dict.fromkeys(elements_of(problem))),
        "pack_parameters": packing.run_parameters,
        "pack_share": ": the part of thread `thread` of `threads`" * (packing.threads > 1),
        "weights": operands(problem)[1].removeprefix("W: "),
        "run_parameters": call.run_parameters,
    }


def _parameters(problem: Problem, isa: Isa, as_it_lies: bool = True) -> list[str]:
    """The parameters of a call as C text. as_it_lies: tiles read x as the caller hands it over."""
    x, w, y = (ELEMENTS[name].c for name in elements_of(problem))
    names = "X" if as_it_lies else "input", "W" if isa.word == "float" else "packed"
    arrays = pointers(problem, "E")
    given = [f"const {type_} *restrict {name}" for type_, name in zip((x, w), names)]
    return [*given, f"{y} *{'' if arrays else 'restrict '}Y", *arrays]


def forms_of(
    scheme: Scheme | Winograd, isa: Isa, stream: bool = False, threads: int = 1
) -> Iterator[tuple[str, Kernel]]:
    """The kernel that `emit` prints, as plain loops and after each pass: (name, loops), …

    Raises SchemeError for a valid scheme that this emitter does not handle.
    """
    isa, threads = row_of(scheme, isa), _threads(scheme, threads)
    if isinstance(scheme, Winograd):
        check(scheme.product, isa)
        return winograd_forms_of(scheme, isa, threads)
    check(scheme, isa)
    facts = facts_of_scheme(scheme, isa, stream and may_stream(scheme), threads)
    return product_forms(facts, copy_of_x(scheme, isa.lanes))


def packing_forms_of(
    scheme: Scheme | Winograd, isa: Isa, stream: bool = False, threads: int = 1
) -> Iterator[tuple[str, Kernel]]:
    """The loops that pack the weights for the kernel: as "pack weights" leaves them, then after each pass."""
    isa, threads = row_of(scheme, isa), _threads(scheme, threads)
    if isinstance(scheme, Winograd):
        check(scheme.product, isa)
        return winograd_packing_forms_of(scheme, isa, threads)
    check(scheme, isa)
    facts = facts_of_scheme(scheme, isa, stream and may_stream(scheme), threads)
    return packing_forms(facts, weight_groups_of(scheme))


def _threads(scheme: Scheme | Winograd, threads: int) -> int:
    """How many of the threads have a task."""
    if isinstance(scheme, Winograd):
        return min(threads, scheme.blocks * scheme.parts)
    return min(threads, prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and s.worker == "core"))


def row_of(scheme: Scheme | Winograd, isa: Isa) -> Isa:
    """The instruction set for a kernel of the scheme. If the scheme does not use the matrix instructions of `isa`, it
    is the instruction set of the same CPU's vectors.
    """
    vectors_alone = isa.matrix and not (isinstance(scheme, Scheme) and uses_matrix_instructions(scheme))
    return isa_named(isa.vectors) if vectors_alone else isa


def _winograd(winograd: Winograd, isa: Isa, threads: int) -> Source:
    """The source of a convolution by Winograd's algorithm. Its tasks are blocks, and it never streams."""
    product, problem = winograd.product, winograd.problem
    check(product, isa)
    threads = _threads(winograd, threads)
    symbol = symbol_of(problem, isa, threads, winograd.algorithm)
    kernels = microkernels_of(winograd, isa)
    fields, memory = frame_fields(winograd, isa, threads, symbol)
    scratch = memory.bytes(threads)
    call = CallSignature(symbol, _parameters(problem, isa), scratch, threads)
    packing = Packing(ELEMENTS[elements_of(problem)[1]].c, 1)
    text = TEMPLATES.get_template("kernel.c.j2").render(
        _shared(winograd, problem, isa, call, packing),
        microkernels=[describe(kernel, isa) for kernel in kernels],
        **fields,
    )
    plain = call_text(call, isa, packing=packing)
    own, packed = memory.own.offset, packed_floats(winograd)
    return Source(symbol, text, plain, isa.name, threads, kernels, packed, scratch.offset, own, packing.threads)


def microkernels_of(scheme: Scheme | Winograd, isa: Isa) -> tuple[Microkernel, ...]:
    """The register tiles that a scheme is composed of."""
    nest = scheme.product if isinstance(scheme, Winograd) else scheme_in_dot_groups(scheme)
    return tuple(dict.fromkeys(microkernel_of(nest.problem, tile, isa.name) for tile in nest.tiles))


def packed_elements_of(scheme: Scheme | Winograd) -> int:
    """How many numbers the packed weights have."""
    return packed_floats(scheme) if isinstance(scheme, Winograd) else packed_elements(scheme)


def symbol_of(problem: Problem, isa: Isa, threads: int, algorithm: str = "direct") -> str:
    """The C name of a kernel, such as `conv2d_f32_c64_h56_w56_k64_r3_s3_pad1__avx512f`."""
    return f"{problem_symbol(problem, algorithm)}__{isa.name}" + (f"_t{threads}" if threads > 1 else "")


def describe(kernel: Microkernel, isa: Isa, packs: bool = False) -> str:
    """A line on what a microkernel does in a step of its inner loop. packs: the first tiles pack a panel of x."""
    if isa.matrix:
        return f"{kernel.name}: {kernel.row_count} rows x {kernel.vectors} vectors of sums in tile registers"
    packing = f" but {kernel.vectors} where it packs x" if packs else ""
    need = f"{kernel.registers} of {isa.registers} registers"
    if kernel.registers > isa.registers:
        need += ", so some are spilled"
    return (
        f"{kernel.name}: {kernel.fmas} FMAs, {loads_per_step(kernel)} loads and no stores per step{packing}, {need} "
        f"({kernel.accumulators} accumulators)"
    )
