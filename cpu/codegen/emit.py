"""Prints a whole scheme as a C file: a comment, the strides by name, the tile functions, and the loops around them.

    emit(scheme, isa, threads) -> Source

Arithmetic happens here and in passes. The template only lays out names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import prod

from cpu.codegen.arrays import elements_of
from cpu.codegen.call import Call, call_text
from cpu.codegen.check import check, single_pass
from cpu.codegen.epilogue import epilogue_text, pointers
from cpu.codegen.frames import TEMPLATES
from cpu.codegen.inside import Inside, facts_of, loops_of, stored_by
from cpu.codegen.operands import operand_text, operands
from cpu.codegen.pack import pack_lines
from cpu.codegen.winograd import facts, packed_floats, winograd_forms_of
from cpu.passes.forms import forms_with_copy
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.estimate import loads_per_step
from microkernels.tile.isa import Isa, isa_named
from microkernels.tile.lanes import block_definition, exchange_definitions, own_definitions, tail_definition
from microkernels.tile.matrix import shapes_definition
from microkernels.tile.microkernel import Microkernel, microkernel_of
from microkernels.tile.transpose import definitions, whole_stores
from tiling.arrays.access import access_of
from tiling.arrays.bias import bias_of
from tiling.arrays.flat_pixels import passes_gaps
from tiling.loops.language import Kernel
from tiling.loops.lowering.prefetch import LINE
from tiling.loops.lowering.show import show
from tiling.problem import Problem
from tiling.rewrite.copies_of_x import copy_of_x
from tiling.rewrite.dot_groups import is_blocked, scheme_in_dot_groups
from tiling.rewrite.weight_groups import packed_elements
from tiling.rewrite.winograd import Winograd
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile
from tiling.text.shapes import canonical
from tiling.text.symbol import symbol_of as problem_symbol

try:
    VERSION = version("tilewright")
except PackageNotFoundError:
    VERSION = "unreleased"


@dataclass(frozen=True)
class Source:
    """An emitted kernel: C text that defines

        void SYMBOL(const float *X, const float *W, float *Y, …)   W packed, all contiguous; … the epilogue's arrays
        void SYMBOL_pack(const float *W, float *packed)            from the problem's own layout, once per weights
        void SYMBOL_run(…)                                         what a thread of a caller's own does of a call

    For other dtypes X, W and Y have other C types (`cpu.runtime.numbers`). inside: the text without the first function.
    packed: how many numbers the packed weights have. scratch: bytes that SYMBOL_run asks for; not known of a saved one.
    own: as many more for each thread more.
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

    threads: OpenMP threads; at most as many as the scheme has core tasks. stream: stores bypass the caches if y is
    aligned; this is for outputs far larger than the last cache.
    Raises SchemeError, which names the specifier, for a valid scheme that this emitter does not handle.
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
    definitions = isa.matrix.definition if isa.matrix else ""
    stream = stream and _streamable(scheme)
    inside = loops_of(scheme, isa, threads, stream)
    copy = inside.copy
    left = stored_by(scheme, dots.problem)
    strips = access_of(dots.problem).strip > 0
    types = [ELEMENTS[name].c for name in elements_of(problem)]
    as_it_lies = strips or (isa.x_type(dots.problem) == types[0] and not copy)
    scratch = inside.scratch.bytes(threads)
    call = Call(symbol, _parameters(problem, isa, as_it_lies), scratch, threads)
    text = TEMPLATES.get_template("kernel.c.j2").render(
        symbol=symbol,
        version=VERSION,
        problem=f"{problem.op} {canonical(problem)}",
        scheme=scheme.text,
        loops=show(dots).splitlines(),
        microkernels=[
            describe(kernel, isa, inside.panel and access_of(dots.problem).weights_broadcast) for kernel in kernels
        ],
        isa=isa,
        threads=threads,
        dtype=", ".join(dict.fromkeys(elements_of(problem))),
        operands=operands(problem),
        types=types,
        copy=copy,
        copied=operand_text(dots.problem, dots.problem.broadcast),
        headers=inside.headers,
        as_it_lies=as_it_lies,
        run_parameters=call.run_parameters,
        scratch=scratch.offset,
        x_type=isa.x_type(dots.problem),
        axes=inside.axes,
        strides=inside.axes,
        narrow=isa.narrow_to(problem.output_dtype),
        panel=inside.panel,
        strips=strips,
        tail=tail_definition(isa, problem.extents[problem.vector_dim] % isa.lanes) if inside.masked else "",
        lanes=_lanes(dots.problem, isa, inside),
        definitions=definitions,
        shapes=[shapes_definition(name, shapes) for shapes, name in inside.shapes.items()],
        functions=inside.functions,
        body=inside.body,
        pack=pack_lines(scheme),
        flat_pixels=dots.problem.flat_pixels,
        gaps=passes_gaps(dots.problem),
        epilogue=epilogue_text(left, isa) if left else None,
        bias=bias_of(dots.problem),
        arrays=pointers(problem, "E"),
        prefetches=inside.cursors,
        line=LINE,
        next_panel=inside.next_panel,
        parts=inside.parts,
    )
    plain = call_text(call, isa, "call.c.j2", {})
    own, packed = inside.scratch.own.offset, packed_elements(scheme)
    return Source(symbol, text, plain, isa.name, threads, kernels, packed, scratch.offset, own)


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

    Raises SchemeError for a valid scheme that no passes write, or none at all.
    """
    isa, threads = row_of(scheme, isa), _threads(scheme, threads)
    if isinstance(scheme, Winograd):
        check(scheme.product, isa)
        return winograd_forms_of(scheme, isa, threads)
    check(scheme, isa)
    facts = facts_of(scheme, isa, stream and _streamable(scheme), threads)
    return forms_with_copy(copy_of_x(scheme, isa.lanes), facts)


def _threads(scheme: Scheme | Winograd, threads: int) -> int:
    """How many of so many threads have a task."""
    if isinstance(scheme, Winograd):
        return min(threads, scheme.blocks * scheme.parts)
    return min(threads, prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and s.worker == "core"))


def row_of(scheme: Scheme | Winograd, isa: Isa) -> Isa:
    """The instruction set for a kernel of the scheme. If `isa` has matrix instructions that the scheme does not use,
    it is the one of the same CPU's vectors.
    """
    vectors_alone = isa.matrix and not (isinstance(scheme, Scheme) and is_blocked(scheme))
    return isa_named(isa.vectors) if vectors_alone else isa


def _lanes(problem: Problem, isa: Isa, inside: Inside) -> list[str]:
    """The C functions that fill and move lanes, for tiles and for the transposed copy of x."""
    access = access_of(problem)
    if access.exchange_dim:
        size = problem.extents[access.exchange_dim]
        return exchange_definitions(isa, size) + own_definitions(isa, inside.masked, problem.dot_group, size)
    own = own_definitions(isa, inside.masked, problem.dot_group) if access.lanewise else []
    own += [] if inside.added in {0, *inside.transposed} else block_definition(isa, inside.added).splitlines()
    return own + (_transposition(isa, inside.transposed) if inside.transposed else [])


def _transposition(isa: Isa, rows: frozenset[int]) -> list[str]:
    """The C functions that transpose, for stores and for the copy of x: one for each number of rows, and the masks of
    its lanes.
    """
    masks = [line for n in sorted(rows - {isa.lanes}) for line in block_definition(isa, n).splitlines()]
    return [*masks, *definitions(isa, sorted(rows))]


def _winograd(winograd: Winograd, isa: Isa, threads: int) -> Source:
    """The source of a convolution by Winograd's algorithm. Its tasks are blocks, and it never streams."""
    product, problem = winograd.product, winograd.problem
    check(product, isa)
    threads = _threads(winograd, threads)
    symbol = symbol_of(problem, isa, threads, winograd.algorithm)
    kernels = microkernels_of(winograd, isa)
    found = facts(winograd, isa, threads)
    scratch = found["scratch"].bytes(threads)
    call = Call(symbol, _parameters(problem, isa), scratch, threads)
    text = TEMPLATES.get_template("winograd.c.j2").render(
        symbol=symbol,
        version=VERSION,
        problem=f"{problem.op} {canonical(problem)}",
        scheme=winograd.text,
        microkernels=[describe(kernel, isa) for kernel in kernels],
        isa=isa,
        threads=threads,
        dtype=problem.dtype,
        operands=operands(problem),
        types=[ELEMENTS[name].c for name in elements_of(problem)],
        copy=None,
        x_type=isa.word,
        next_panel=False,
        parts=0,
        bias=None,
        flat_pixels=None,
        gaps=False,
        strips=False,
        panel=False,
        as_it_lies=True,
        run_parameters=call.run_parameters,
        narrow=None,
        lanes=[],
        definitions="",
        shapes=[],
        headers=(),
        line=LINE,
        **found | {"scratch": scratch.offset},
    )
    plain = call_text(call, isa, "call.c.j2", {})
    own, packed = found["scratch"].own.offset, packed_floats(winograd)
    return Source(symbol, text, plain, isa.name, threads, kernels, packed, scratch.offset, own)


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


def _streamable(scheme: Scheme) -> bool:
    """Streaming stores need whole, aligned vectors and a tile that is written exactly once."""
    return whole_stores(scheme) and single_pass(scheme)
