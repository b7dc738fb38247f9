"""The text of the frame around a kernel: comments, includes, the names of arrays."""

from __future__ import annotations

from collections.abc import Sequence

from cpu.codegen.frame.operands import operand_text, operands
from microkernels.tile.forms import Isa
from tiling.loops.c_text import number
from tiling.loops.index import Index, constant
from tiling.problem import Problem
from tiling.rewrite.copies.lower import CopyOfX

_LOOPS = """\
/* The loops over tiles; their variables are positions. Tiles get pointers to their own first x, panel and y. */"""
_MAY_BE_OUTPUT = """\
/* Y is not restrict: an array of its shape may be Y itself, and the compiler must read the others where they are used,
 * for a register that holds one meanwhile is taken from the accumulators. */"""
_STRIP = "/* In it every thread has a panel: a strip of X, which the tiles inside share. */"
_PANEL = """\
/* In it every thread has a panel: the pixels that tiles of several rows share, of each tile its vectors channel by
 * channel. The first tile to read them packs them on the way. */"""
_WORDS = """\
/* Elements (words of X) between neighbours along each axis: X_h along h of X. Tiles read a packed W, in the loops'
 * order. */"""
_ELEMENTS = """\
/* Elements between neighbours along each axis: X_h along the axis h of X. Tiles read a packed W, in the loops'
 * order. */"""
_PACKED = "W holds the panels that the scheme reads, one after the other, reduction points in the order of its loops."


def about_operands(problem: Problem, dots: Problem, copy: CopyOfX | None, strips: bool) -> list[str]:
    """The lines about the arrays. dots: the problem in dot groups. copy: how x is copied before all else."""
    lines = operands(problem)
    if strips:
        lines.append("X is copied strip by strip, to points: a row of an image after the other, with zeros in between.")
    elif copy:
        when = "" if copy.always else ", where it does not begin with a cache line"
        lines.append(f"X is copied first{when}: {operand_text(dots, dots.broadcast)}.")
    return [*lines, _PACKED]


def preamble(isa: Isa, headers: Sequence[str], output_dtype: str) -> list[str]:
    """The first text of a file: tile registers, includes, the stores of narrow numbers."""
    narrow = isa.narrow_to(output_dtype)
    lines = [isa.matrix.definition] if isa.matrix and isa.matrix.definition else []
    lines += [f"#include <{header}>" for header in headers]
    return lines + (["", narrow.definition] if narrow else [])


def about_strides(x_type: str) -> str:
    """The comment on strides. x_type: the C type of an element of x, as tiles read it."""
    return _WORDS if x_type == "word" else _ELEMENTS


def about_run(threads: int, scratch: int, arrays: bool, memory: Sequence[str], loops: str = _LOOPS) -> list[str]:
    """The comments on SYMBOL_run. arrays: the epilogue has arrays. memory: the comments on scratch memory."""
    return [loops, *[_MAY_BE_OUTPUT] * arrays, *about_team(threads), *about_scratch(constant(scratch)), *memory]


def about_team(threads: int) -> list[str]:
    """The comment on the part of one thread of a team."""
    return ["/* This is what thread `thread` of `threads` does of a call; all run it at once. */"] * (threads > 1)


def about_scratch(scratch: Index) -> list[str]:
    """The comment on a call's memory, where it needs some. scratch: bytes."""
    text = f"/* `scratch`: {number(scratch)} bytes of memory for this call, from a cache line on. */"
    return [text] * (scratch != constant(0))


def about_memory(parts: int, strips: bool, panel: bool) -> list[str]:
    """The comments on the contents of scratch memory. parts: the number of parts of each sum that lie there."""
    lines = []
    if parts:
        lines.append(
            f"/* In it lie the sums of {parts} parts. When all are there, they are added up in their order, whoever"
        )
        lines.append(" * did them. */")
    return lines + ([_STRIP] if strips else [_PANEL] * panel)
