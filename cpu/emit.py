"""A whole scheme as a C file: what it stands for, its strides by name, its tile functions, and the loops around them.

    emit(scheme, isa, threads) -> Source

Arithmetic happens here and in `cpu.nest`; the template only lays out names.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path

import jinja2

from cpu.check import check, is_blocked, single_pass
from cpu.copied import copied_of
from cpu.epilogue import epilogue_text, pointers
from cpu.nest import Nest
from cpu.numbers import ELEMENTS, elements_of
from cpu.operands import operands, sizes_of, strides
from cpu.pack import pack_lines, packed_elements, packed_lanes
from cpu.planes import copy_of, passes_gaps
from cpu.turn import turn_of
from cpu.winograd import facts, packed_floats
from microkernels.estimate import loads_per_step
from microkernels.isa import Isa, isa_named
from microkernels.lanes import block_definition, exchange_definitions, own_definitions, tail_definition
from microkernels.matrix import shapes_definition
from microkernels.microkernel import Microkernel, microkernel_of
from microkernels.transpose import definitions, whole_stores
from tiling.ahead import LINE
from tiling.bias import bias_of, stored
from tiling.nest import lower
from tiling.problem import Problem
from tiling.scheme import Scheme, Tile
from tiling.shapes import canonical
from tiling.show import show
from tiling.symbol import symbol_of as problem_symbol
from tiling.winograd import Winograd
from tiling.words import scheme_in_words

try:
    VERSION = version("tilewright")
except PackageNotFoundError:
    VERSION = "unreleased"

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    block_start_string="/*%",
    block_end_string="%*/",
    variable_start_string="{{",
    variable_end_string="}}",
    comment_start_string="/*#",
    comment_end_string="#*/",
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)


@dataclass(frozen=True)
class Source:
    """An emitted kernel: C text that defines two functions.

        void SYMBOL(const float *X, const float *W, float *Y, …)   W packed, all contiguous; … what an epilogue reads
        void SYMBOL_pack(const float *W, float *packed)            from the problem's own layout, once per weights

    Of other dtypes X, W and Y have their C types (`cpu.numbers`). packed: the numbers of the packed weights.
    """

    symbol: str
    text: str
    isa: str
    threads: int
    microkernels: tuple[Microkernel, ...]
    packed: int

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        return isa_named(self.isa).compiler_flags

    @property
    def openmp(self) -> bool:
        return self.threads > 1


def emit(scheme: Scheme | Winograd, isa: Isa, threads: int = 1, stream: bool = False) -> Source:
    """The C source of a scheme on `isa`, for `threads` OpenMP threads, at most as many as it has core tasks.

    stream: write outputs past the caches where y is aligned; for outputs far larger than the last-level cache.
    Raises SchemeError for a valid scheme that this emitter does not handle, naming the specifier.
    """
    if isinstance(scheme, Winograd):
        return _winograd(scheme, isa, threads)
    isa = row_of(scheme, isa)
    check(scheme, isa)
    problem = scheme.problem
    threads = min(threads, prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and s.worker == "core"))
    symbol = symbol_of(problem, isa, threads)
    kernels = microkernels_of(scheme, isa)
    words = scheme_in_words(scheme)
    definitions = isa.matrix.definition.format(bytes=words.problem.bytes_per_element) if words.problem.blocked else ""
    nest = Nest(words, isa, threads, stream and _streamable(scheme))
    body = nest.whole(lower(words))
    turned = turn_of(words.problem, problem, isa)
    left = stored(words.problem)
    text = TEMPLATES.get_template("kernel.c.j2").render(
        symbol=symbol,
        version=VERSION,
        problem=f"{problem.op} {canonical(problem)}",
        scheme=scheme.text,
        loops=show(words).splitlines(),
        microkernels=[describe(kernel, isa, nest.panel > 0 and words.problem.in_place) for kernel in kernels],
        isa=isa,
        threads=threads,
        dtype=", ".join(dict.fromkeys(elements_of(problem))),
        operands=operands(problem),
        types=[ELEMENTS[name].c for name in elements_of(problem)],
        copied=copied_of(scheme, words.problem),
        copy=copy_of(problem, words.problem),
        turned=turned,
        x_type=isa.x_type(words.problem),
        in_place=words.problem.in_place,
        strides=strides(words.problem, packed_lanes(scheme)),
        narrow=isa.narrow_to(problem.output_dtype),
        panels=[] if words.problem.in_place and not nest.panel else sorted({site.vectors for site in nest.sites}),
        own_panel=nest.panel,
        strips=bool(words.problem.plane and words.problem.plane.strip),
        tail=tail_definition(isa, problem.extents[problem.vector_dim] % isa.lanes) if nest.masked else "",
        lanes=_lanes(nest, turned.blocks if turned else ()),
        definitions=definitions,
        shapes=[shapes_definition(name, shapes) for shapes, name in nest.shapes.items()],
        functions=nest.functions,
        body=body,
        pack=pack_lines(scheme),
        stream=nest.stream,
        plane=words.problem.plane,
        gaps=passes_gaps(words.problem),
        epilogue=epilogue_text(left, isa) if left else None,
        bias=bias_of(words.problem),
        arrays=pointers(problem, "E"),
        ahead=sizes_of(problem, words.problem, packed_lanes(scheme)) if nest.looks_ahead else [],
        line=LINE,
        steps_ahead=nest.steps_ahead,
        next_panel=any(site.next_panel for site in nest.sites),
    )
    return Source(symbol, text, isa.name, threads, kernels, packed_elements(scheme))


def row_of(scheme: Scheme | Winograd, isa: Isa) -> Isa:
    """The instruction set that a kernel of the scheme is written in: one with matrix instructions stands for that of
    its vectors too.
    """
    vectors_alone = isa.matrix and not (isinstance(scheme, Scheme) and is_blocked(scheme))
    return isa_named(isa.vectors) if vectors_alone else isa


def _lanes(nest: Nest, turned: tuple[int, ...]) -> list[str]:
    """The C text of what tiles and the copy of a turned x call to fill and move lanes."""
    problem, isa = nest.scheme.problem, nest.isa
    if problem.exchange_dim:
        size = problem.extents[problem.exchange_dim]
        return exchange_definitions(isa, size) + own_definitions(isa, nest.masked, problem.numbers_per_word, size)
    own = own_definitions(isa, nest.masked, problem.numbers_per_word) if problem.lanewise else []
    return own + (_transposition(nest, turned) if problem.crosswise or turned else [])


def _transposition(nest: Nest, turned: tuple[int, ...]) -> list[str]:
    """The C text that transposed stores and a turned x need: a function for each number of rows there is, and its
    lanes' name.
    """
    isa = nest.isa
    rows = {block.count for site in nest.sites for block in site.blocks if nest.scheme.problem.crosswise} | set(turned)
    # A tile that goes on from stored sums turns vectors of rows, one for each point of the vectorised dim.
    whole = set() if all(site.single_pass for site in nest.sites) else {isa.lanes}
    masks = [line for n in sorted(rows - {isa.lanes}) for line in block_definition(isa, n).splitlines()]
    return [*masks, *definitions(isa, sorted(rows | whole))]


def _winograd(winograd: Winograd, isa: Isa, threads: int) -> Source:
    """The source of a convolution by Winograd's algorithm: tasks are blocks; it never streams."""
    product, problem = winograd.product, winograd.problem
    check(product, isa)
    threads = min(threads, winograd.blocks * winograd.parts)
    symbol = symbol_of(problem, isa, threads, winograd.algorithm)
    kernels = microkernels_of(winograd, isa)
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
        copied=None,
        copy=None,
        turned=None,
        x_type=isa.word,
        in_place=False,
        next_panel=False,
        bias=None,
        plane=None,
        gaps=False,
        strips=False,
        own_panel=0,
        strides=strides(product.problem, packed_lanes(product)),
        narrow=None,
        lanes=[],
        definitions="",
        shapes=[],
        stream=False,
        line=LINE,
        **facts(winograd, isa, threads),
    )
    return Source(symbol, text, isa.name, threads, kernels, packed_floats(winograd))


def microkernels_of(scheme: Scheme | Winograd, isa: Isa) -> tuple[Microkernel, ...]:
    """The register tiles that a scheme is composed of."""
    nest = scheme.product if isinstance(scheme, Winograd) else scheme_in_words(scheme)
    return tuple(dict.fromkeys(microkernel_of(nest.problem, tile, isa.name) for tile in nest.tiles))


def packed_elements_of(scheme: Scheme | Winograd) -> int:
    """Numbers of the packed weights."""
    return packed_floats(scheme) if isinstance(scheme, Winograd) else packed_elements(scheme)


def symbol_of(problem: Problem, isa: Isa, threads: int, algorithm: str = "direct") -> str:
    """The C name of a kernel, `conv2d_f32_c64_h56_w56_k64_r3_s3_pad1__avx512f`."""
    return f"{problem_symbol(problem, algorithm)}__{isa.name}" + (f"_t{threads}" if threads > 1 else "")


def describe(kernel: Microkernel, isa: Isa, packs: bool = False) -> str:
    """One line of what a microkernel does per step of its inner loop; packs: the first tiles pack a panel of x."""
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
