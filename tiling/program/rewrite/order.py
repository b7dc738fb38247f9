"""The rewrites of a program before it becomes loops, in their order."""

from __future__ import annotations

from tiling.program.infer import Sized
from tiling.program.rewrite.factor_sums import factored_sums
from tiling.program.rewrite.inline import inlined
from tiling.program.rewrite.invert_sums import inverted_sums
from tiling.program.rewrite.split_sums import split_sums
from tiling.program.rewrite.transpose_operands import transposed_operands


def shortened(program: Sized) -> Sized:
    """The program that computes less."""
    return inverted_sums(factored_sums(inlined(program)))


def rewritten(program: Sized, transposes: bool) -> Sized:
    """The program as loops compute it. transposes: whether operands are transposed for the lanes of vectors."""
    short = shortened(program)
    return split_sums(transposed_operands(short) if transposes else short)
