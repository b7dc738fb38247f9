"""The text of the frame around a kernel: comments, includes, the names of arrays."""

from __future__ import annotations

from collections.abc import Sequence

from cpu.codegen.frame.operands import operand_text, operands
from microkernels.tile.isa_row import Isa
from tiling.loops.c_text import number
from tiling.loops.index import Index, constant
from tiling.problem import Problem
from tiling.rewrite.copies.lower import CopyOfX

_LOOPS = """\
/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */"""
_MAY_BE_OUTPUT = """\
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */"""
_STRIP = "/* Every thread has a panel there: a strip of X, which the tiles inside share. */"
_PANEL = """\
/* Every thread has a panel there: the pixels that tiles of several rows share, tile by tile, and in each the vectors of
 * one channel after the other. The first tile that reads them also packs them. */"""
_WORDS = """\
/* Elements (words of X) between neighbours along each axis: X_h is along h of X. W has none: tiles read it packed, in
 * the order of the loops. */"""
_ELEMENTS = """\
/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */"""
_PACKED = "W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops."


def about_operands(problem: Problem, dots: Problem, copy: CopyOfX | None, strips: bool) -> list[str]:
    """The lines about the arrays. dots: the problem in dot groups. copy: how x is copied before all else."""
    lines = operands(problem)
    if strips:
        lines.append("X is copied strip by strip: rows of an image, one after the other, with zeros between them.")
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
    return ["/* The part of a call that thread `thread` of `threads` does. All run it at once. */"] * (threads > 1)


def about_scratch(scratch: Index) -> list[str]:
    """The comment on a call's memory, where it needs some. scratch: bytes."""
    text = f"/* `scratch`: {number(scratch)} bytes for this call alone, which begin with a cache line. */"
    return [text] * (scratch != constant(0))


def about_memory(parts: int, strips: bool, panel: bool) -> list[str]:
    """The comments on the contents of scratch memory. parts: the number of parts of each sum that lie there."""
    lines = []
    if parts:
        lines.append(
            f"/* It holds the sums of {parts} parts. Once all are there, they are added in this order, whichever thread"
        )
        lines.append(" * computed them. */")
    return lines + ([_STRIP] if strips else [_PANEL] * panel)
