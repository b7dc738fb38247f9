"""The copy of x that a kernel of dot groups makes first: when it pays for alignment alone, and its loops as C.

x is copied if its numbers do not form dot groups (`tiling.rewrite.im2col`), or if its rows need zeros on both sides.
For matrix instructions it is also copied if it does not begin with a cache line and is read often.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from cpu.codegen.check import is_blocked
from cpu.codegen.operands import operand_text
from cpu.codegen.print import Printer, local_strides
from cpu.passes.copy_runs import copy_runs
from tiling.access import access_of
from tiling.problem import Problem
from tiling.rewrite.dot_groups import copies, scheme_in_dot_groups
from tiling.rewrite.im2col import lower_copy
from tiling.scheme import Scheme

_LINE = 64
# How often x is read before a copy to an aligned address pays. Measured in bf16: for 2 reads (64 channels to 64, 1 x 1)
# the copy costs more than it saves; for 4 to 8 (512 to 128, 256 to 256) it makes no difference; for 18 (3 x 3) it saves
# a tenth.
_OFTEN = 8


@dataclass(frozen=True)
class CopyText:
    """What the template of the copy needs.

    kind: as in `tiling.rewrite.im2col`. numbers, whole: the length of a run in x and in the copy. total: numbers of the
    copy. operand: what its words hold. lines: the loops.
    """

    kind: str
    numbers: int
    whole: int
    total: int
    operand: str
    lines: tuple[str, ...]


def im2col_of(scheme: Scheme, dots: Problem, threads: int) -> CopyText | None:
    """The copy of x. None if x has dot groups already, or is copied as flattened pixels."""
    copy = lower_copy(scheme, dots, aligns(scheme))
    if copy is None:
        return None
    loops = copy_runs(copy.loops)
    lines = (*local_strides(loops), *Printer(loops, {}, "", {}, threads).body())
    return CopyText(copy.kind, copy.numbers, copy.whole, copy.total, operand_text(dots, dots.broadcast), lines)


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
