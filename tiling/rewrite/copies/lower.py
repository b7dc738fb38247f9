"""The copy of x that a kernel makes before it computes, as plain loops. `plan.py` says which one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tiling.dtypes.products import OPERAND_DTYPES
from tiling.loops.kernel import Kernel
from tiling.rewrite.copies.im2col import lower_copy
from tiling.rewrite.copies.laid_out import lower_points
from tiling.rewrite.copies.plan import ALIGNED, FILLED, OVERLAP, POINTS, SIDES, STRIPS, TRANSPOSED, WINDOW, plan_copy
from tiling.rewrite.copies.transposed import lower_transposed
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class CopyOfX:
    """A copy of x as loops from `X` to `x_copy`, and what readers of it are told.

    always: every call makes it. Else only one whose x does not begin with a cache line.
    """

    kind: str
    about: str
    loops: Kernel
    always: bool = True


def copy_of_x(scheme: Scheme, lanes: int) -> CopyOfX | None:
    """The copy of x that a kernel makes first; None where tiles read x as it is, or copy it on the way.

    lanes: 32-bit lanes of a vector.
    """
    plan, problem = plan_copy(scheme), scheme.problem
    if plan is None or plan.kind == STRIPS:
        return None
    words = scheme_in_dot_groups(scheme).problem
    if plan.kind == TRANSPOSED:
        loops = lower_transposed(problem, words, lanes)
        return CopyOfX(plan.kind, "X with the channels of each pixel side by side", loops)
    if plan.kind == POINTS:
        flat = words.flat_pixels
        assert flat
        return CopyOfX(
            plan.kind,
            f"X as points: the rows of an image one after the other, {flat.pitch} points each, with zeros in between "
            "and around. So the tap (r, s) of a point is as far from it wherever it is",
            lower_points(problem, words),
        )
    copy = lower_copy(scheme, words, plan.kind)
    dtype, _ = OPERAND_DTYPES[problem.dtype]
    loops = replace(copy.loops, arrays=tuple(replace(buffer, dtype=dtype) for buffer in copy.loops.arrays))
    return CopyOfX(plan.kind, _about(plan.kind, copy.numbers, copy.whole), loops, plan.always)


def _about(kind: str, numbers: int, whole: int) -> str:
    return {
        WINDOW: "X with its windows' rows one after the other: for each column of Y the numbers of its taps, "
        f"{numbers} each, zeros where these are beyond the row and up to {whole}, so that words hold nothing else",
        ALIGNED: "X from a cache line on: each row of a tile register would be read as two lines",
        OVERLAP: f"X with zeros on both sides of every row, and after the {numbers} numbers of every pixel up to "
        f"{whole}: a window's row is a block then, and that of the next column begins a pixel further",
        SIDES: "X with zeros on both sides of every row, and of each row one block of all columns after the other",
        FILLED: f"X with zeros after every {numbers} neighbours, so that a word holds nothing of the next pixel or "
        "group",
    }[kind]
