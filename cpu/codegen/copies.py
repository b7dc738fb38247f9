"""The copy of x that a kernel makes before it computes: which one, and its loops as C.

x is copied if tiles need its channels side by side (`tiling.rewrite.transposed`), if its numbers do not form dot groups
or its rows need zeros on both sides (`tiling.rewrite.im2col`), or as flattened pixels (`tiling.rewrite.laid_out`).
For matrix instructions it is also copied if it does not begin with a cache line and is read often.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from cpu.codegen.arrays import elements_of
from cpu.codegen.check import is_blocked
from cpu.codegen.indices import local_strides, strides
from cpu.codegen.inside import facts_of
from cpu.codegen.operands import operand_text
from cpu.codegen.print import PrintedFunction, Printer
from cpu.passes.order import stages_of_copy
from cpu.passes.vectors.transpose_stores import transposed_rows
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import Isa
from tiling.arrays.access import access_of
from tiling.dtypes import LANE_BYTES
from tiling.loops.language import Invoke, Kernel, Mask
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk
from tiling.rewrite.dot_groups import copies, scheme_in_dot_groups
from tiling.rewrite.im2col import COPY, lower_copy
from tiling.rewrite.laid_out import lower_points
from tiling.rewrite.transposed import lower_transposed
from tiling.scheme.scheme import Scheme

TRANSPOSED, POINTS, ALIGNED = "transposed", "points", "aligned"  # kinds of copies, beside those of im2col
_LINE = 64
# How often x is read before a copy to an aligned address pays. Measured in bf16: for 2 reads (64 channels to 64, 1 x 1)
# the copy costs more than it saves; for 4 to 8 (512 to 128, 256 to 256) it makes no difference; for 18 (3 x 3) it saves
# a tenth.
_OFTEN = 8


@dataclass(frozen=True)
class Copied:
    """A copy of x as loops, and what readers of it are told."""

    kind: str
    about: str
    loops: Kernel


@dataclass(frozen=True)
class CopyText:
    """What the template of a copy needs.

    about: what the copy is. operand: what its elements hold. word: the C type of an element. bytes: of all, up to a
    whole cache line. strides: (name, elements) of the file. functions, lines: the loops. transposed: the numbers of
    rows that are transposed together. moves: it uses functions of <string.h>.
    """

    kind: str
    about: str
    operand: str
    word: str
    bytes: int
    strides: tuple[tuple[str, int], ...]
    functions: tuple[PrintedFunction, ...]
    lines: tuple[str, ...]
    transposed: frozenset[int]
    moves: bool


def copied_x(scheme: Scheme, isa: Isa) -> Copied | None:
    """The copy of x that a kernel makes first; None where tiles read x as it is, or copy it on the way."""
    problem, dots = scheme.problem, scheme_in_dot_groups(scheme).problem
    transposed = lower_transposed(problem, dots, isa.lanes)
    if transposed:
        return Copied(TRANSPOSED, "X with the channels of each pixel side by side", transposed)
    points = lower_points(problem, dots)
    if points:
        flat = dots.flat_pixels
        return Copied(
            POINTS,
            f"X as points: the rows of an image one after the other, {flat.pitch} points each, with zeros in between "
            "and around. So the tap (r, s) of a point is as far from it wherever it is",
            points,
        )
    copy = lower_copy(scheme, dots, aligns(scheme))
    return Copied(copy.kind, _about(copy.kind, copy.numbers, copy.whole), copy.loops) if copy else None


def _about(kind: str, numbers: int, whole: int) -> str:
    return {
        "window": "X with its windows' rows one after the other: for each column of Y the numbers of its taps, "
        f"{numbers} each, zeros where these are beyond the row and up to {whole}, so that words hold nothing else",
        ALIGNED: "X from a cache line on: each row of a tile register would be read as two lines",
        "overlap": f"X with zeros on both sides of every row, and after the {numbers} numbers of every pixel up to "
        f"{whole}: a window's row is a block then, and that of the next column begins a pixel further",
        "sides": "X with zeros on both sides of every row, and of each row one block of all columns after the other",
        "filled": f"X with zeros after every {numbers} neighbours, so that a word holds nothing of the next pixel or "
        "group",
    }[kind]


def copy_text(scheme: Scheme, isa: Isa, threads: int) -> CopyText | None:
    """The copy of x as C; None where there is none."""
    copy = copied_x(scheme, isa)
    if copy is None:
        return None
    dots = scheme_in_dot_groups(scheme).problem
    *_, (_, kernel) = stages_of_copy(copy.loops, facts_of(scheme, isa, False, threads))
    element = ELEMENTS[elements_of(scheme.problem)[0]]
    number, size = element.c, element.numpy.itemsize if copy.kind not in (TRANSPOSED, POINTS) else LANE_BYTES
    word = {TRANSPOSED: "uint32_t" if access_of(dots).by_matrix else isa.word, POINTS: isa.word}.get(copy.kind, number)
    masks = {count: f"FIRST_{count}" for count in range(1, isa.lanes)}
    printer = Printer(kernel, {"X": number, COPY: word}, isa.vector_type, masks)
    lines = printer.body()
    return CopyText(
        kind=copy.kind,
        about=copy.about,
        operand=operand_text(dots, dots.broadcast),
        word=word,
        bytes=-(-prod(kernel.arrays[1].shape) * size // _LINE) * _LINE,
        strides=tuple(strides(kernel)) if kernel.functions else (),
        functions=tuple(printer.functions()),
        lines=tuple(lines if kernel.functions else (*local_strides(kernel), *lines)),
        transposed=transposed_rows(kernel) | _masked(kernel),
        moves=any(line.lstrip().startswith("mem") for line in lines),
    )


def _masked(kernel: Kernel) -> frozenset[int]:
    """The numbers of lanes of the masks that the functions of a kernel use."""
    values = (value for function in kernel.functions for s in walk(function.body) for value in operands_of(s))
    invokes = (part for value in values for part in parts_of(value) if isinstance(part, Invoke))
    masks = (given for invoke in invokes for _, given in invoke.operands if isinstance(given, Mask))
    return frozenset(mask.lanes.offset for mask in masks)


def aligns(scheme: Scheme) -> bool:
    """Whether an x that does not begin with a cache line is copied to an address that does.

    Otherwise many rows of a tile register lie on two lines (`python -m bench.tiles`: 1180 ns instead of 865). The copy
    pays if rows are read often: by each tap, and by the tiles of each part of the vectorised dim.
    """
    if not is_blocked(scheme) or copies(scheme):
        return False
    dots = scheme_in_dot_groups(scheme)
    problem = dots.problem
    # Flattened pixels have no windows, but their convolution has.
    taps = prod(scheme.problem.extents[window.tap] for window in scheme.problem.windows)
    parts = dots.units[problem.vector_dim] / max(tile[problem.vector_dim] for tile in dots.tiles)
    return _LINE % access_of(problem).bytes_of(problem.broadcast) == 0 and taps * parts >= _OFTEN
