"""What passes need to know of a kernel beside its loops: its scheme for a product, and little for a program."""

from __future__ import annotations

from dataclasses import dataclass

from microkernels.tile.isa_row import Isa
from tiling.arrays.access import TileAccess, access_of
from tiling.arrays.bias import bias_of
from tiling.loops.lowering.arrays import name_of
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.problem import Problem
from tiling.rewrite.copies.strips import strip_of
from tiling.rewrite.parts import PARTS
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class ProductFacts:
    """What the passes of a product need to know of its kernel beside the loops.

    scheme: in dot groups. problem: as its caller sees it, before any copy of x. packed: how many lanes the packed
    weights fill. stream: whether stores may bypass the caches. zero: whether the epilogue compares with zero. threads:
    how many share a call. prefetches: what its tiles prefetch, one plan of each.
    """

    scheme: Scheme
    problem: Problem
    isa: Isa
    packed: int
    stream: bool
    zero: bool
    threads: int = 1
    prefetches: tuple[PrefetchPlan, ...] = ()

    @property
    def access(self) -> TileAccess:
        """How tiles reach x and the output."""
        return access_of(self.scheme.problem)

    @property
    def parts(self) -> int:
        """The number of parts into which cores split every sum; 0 where they share no sum."""
        return self.scheme.problem.extents.get(PARTS, 0)

    @property
    def bias(self) -> str:
        """The array that sums begin with; "" where they begin with 0."""
        found = bias_of(self.scheme.problem)
        return name_of(found) if found else ""

    @property
    def strips(self) -> bool:
        """Whether x is copied strip by strip."""
        return strip_of(self.scheme) > 0


@dataclass(frozen=True)
class ProgramFacts:
    """What the passes of a program need to know of its kernel beside the loops. threads: at most so many share it."""

    isa: Isa
    threads: int
