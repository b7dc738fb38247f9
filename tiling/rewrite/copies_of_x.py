"""Which copy of x a kernel makes before it computes, if any: one decision, which passes write and the model prices.

x is copied if tiles need its channels side by side (`transposed`), if its numbers do not form dot groups or its rows
need zeros on both sides (`im2col`), or as flattened pixels (`laid_out`). For matrix instructions it is also copied if
it does not begin with a cache line and is read often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tiling.arrays.access import access_of
from tiling.dtypes import OPERAND_DTYPES
from tiling.loops.language import Kernel
from tiling.loops.lowering.prefetch import LINE
from tiling.rewrite.dot_groups import copies, is_blocked, scheme_in_dot_groups
from tiling.rewrite.im2col import lower_copy
from tiling.rewrite.laid_out import lower_points
from tiling.rewrite.transposed import lower_transposed
from tiling.scheme.scheme import Scheme

TRANSPOSED, POINTS, ALIGNED = "transposed", "points", "aligned"  # kinds of copies, beside those of im2col
# How often x is read before a copy to an aligned address pays. Measured in bf16: for 2 reads (64 channels to 64, 1 x 1)
# the copy costs more than it saves; for 4 to 8 (512 to 128, 256 to 256) it makes no difference; for 18 (3 x 3) it saves
# a tenth.
_OFTEN = 8


@dataclass(frozen=True)
class CopyOfX:
    """A copy of x as loops from `X` to `x_copy`, and what readers of it are told."""

    kind: str
    about: str
    loops: Kernel

    @property
    def always(self) -> bool:
        """Whether every call makes it. Else only one whose x does not begin with a cache line."""
        return self.kind != ALIGNED


def copy_of_x(scheme: Scheme, lanes: int) -> CopyOfX | None:
    """The copy of x that a kernel makes first; None where tiles read x as it is, or copy it on the way.

    lanes: 32-bit lanes of a vector.
    """
    problem, words = scheme.problem, scheme_in_dot_groups(scheme).problem
    transposed = lower_transposed(problem, words, lanes)
    if transposed:
        return CopyOfX(TRANSPOSED, "X with the channels of each pixel side by side", transposed)
    points = lower_points(problem, words)
    flat = words.flat_pixels
    if points and flat:
        return CopyOfX(
            POINTS,
            f"X as points: the rows of an image one after the other, {flat.pitch} points each, with zeros in between "
            "and around. So the tap (r, s) of a point is as far from it wherever it is",
            points,
        )
    copy = lower_copy(scheme, words, aligns(scheme))
    if copy is None:
        return None
    dtype, _ = OPERAND_DTYPES[problem.dtype]
    loops = replace(copy.loops, arrays=tuple(replace(buffer, dtype=dtype) for buffer in copy.loops.arrays))
    return CopyOfX(copy.kind, _about(copy.kind, copy.numbers, copy.whole), loops)


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
    return LINE % access_of(problem).bytes_of(problem.broadcast) == 0 and taps * parts >= _OFTEN
