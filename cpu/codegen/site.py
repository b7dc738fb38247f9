"""A site: a place where the nest computes a register tile, with its cases of padding and masking.

Loops over tiles stand outside a site, the reduction loops of a register tile inside. Taps on padding are left out:

    bounded    one row along the window, its taps in a loop: the loop's bounds leave taps out at run time
    clipped    several rows, or unrolled taps: each tap has a range of rows (its *clip*), and each clip a function
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product

from microkernels.tile.transpose import Block, blocks
from tiling.footprint import inside_rows, unclipped
from tiling.loops.nest import Around, Loop, Register, starts
from tiling.loops.prefetch import (
    Apart,
    Piece,
    Places,
    apart,
    outputs,
    pieces,
    streams_past_l1,
)
from tiling.problem import Problem
from tiling.tensor import Window

# Along a window (h with r, w with s) some taps of some tiles fall on padding. Positions are static, so every case is
# known when the kernel is emitted. Tiles with the same clip share a function, and the call site picks it by position.

Clip = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Case:
    """Tiles at positions first … last along the window, whose outer tap is `tap`, have this clip."""

    tap: int
    first: int
    last: int
    clip: Clip


@dataclass(frozen=True)
class Clipping:
    """All cases of a clipped window at a site. whole: the clip of a tile that touches no padding."""

    window: Window
    cases: tuple[Case, ...]
    whole: Clip

    @property
    def clips(self) -> tuple[Clip, ...]:
        """Each distinct clip once. The whole one comes first if it occurs."""
        found = dict.fromkeys(case.clip for case in self.cases)
        return tuple(sorted(found, key=lambda clip: clip != self.whole))

    @property
    def taps(self) -> tuple[int, ...]:
        """Positions of the tap loops outside the site. (0,) if all taps are inside."""
        return tuple(dict.fromkeys(case.tap for case in self.cases))


@dataclass(frozen=True)
class Site:
    """One register tile of a nest, with the loops around it and the reduction loops inside, both outermost first."""

    problem: Problem
    around: Around

    @property
    def outer(self) -> tuple[Loop, ...]:
        """The loops around the tile, the outermost first."""
        return self.around.outer

    @property
    def inner(self) -> tuple[Loop, ...]:
        """The reduction loops inside the site."""
        return self.around.inner

    @property
    def register(self) -> Register:
        """The register tile."""
        return self.around.register

    @cached_property
    def prefetches(self) -> tuple[Piece, ...]:
        """The pieces of x and w that its tiles prefetch into L2 for later tiles."""
        return pieces(self.problem, self.around)

    @cached_property
    def streams_past_l1(self) -> bool:
        """Whether the tile prefetches the packed vectors of its own later steps into L1."""
        return streams_past_l1(self.problem, self.around)

    @cached_property
    def apart(self) -> Apart | None:
        """The lines of x that the tile prefetches into L1 for its own later steps."""
        return apart(self.problem, self.around)

    @cached_property
    def prefetched_outputs(self) -> Places:
        """The lines of y that the tile prefetches before it sums, for each point of the vectorised dim."""
        return outputs(self.problem, self.around)

    @cached_property
    def extents(self) -> dict[str, int]:
        """Points of the register tile, per dim."""
        return self.register.extents

    @property
    def vectors(self) -> int:
        return self.extents[self.problem.vector_dim] // self.register.lanes

    @cached_property
    def rows(self) -> tuple[dict[str, int], ...]:
        """The offset of each row of the tile from the first one, in row-major order of the row dims."""
        dims = self.problem.row_dims
        return tuple(dict(zip(dims, at)) for at in product(*(range(self.extents[d]) for d in dims)))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The runs of rows that are transposed together, if the output is transposed."""
        return blocks(self.problem, self.extents, self.register.lanes)

    @cached_property
    def points(self) -> tuple[dict[str, int], ...]:
        """The unrolled reduction points of one step, in the order x lies in memory."""
        dims = reduction_order(self.problem)
        return tuple(dict(zip(dims, at)) for at in product(*(range(self.extents[d]) for d in dims)))

    @property
    def single_pass(self) -> bool:
        """Whether one visit of the tile sums everything, so that no visit reads what an earlier one stored."""
        return not any(loop.dim in self.problem.reductions and loop.trips > 1 for loop in self.outer)

    @cached_property
    def bounded(self) -> tuple[Window, ...]:
        """Windows whose taps on padding are left out by loop bounds."""
        return tuple(w for w in self.problem.windows if self._touches_padding(w) and self._is_bounded(w))

    @cached_property
    def clipped(self) -> tuple[Clipping, ...]:
        """Windows whose taps on padding are left out by the choice of a function, with their cases."""
        return tuple(
            self._cases(w) for w in self.problem.windows if self._touches_padding(w) and not self._is_bounded(w)
        )

    def _touches_padding(self, window: Window) -> bool:
        whole = unclipped(self.extents[window.dim], self.problem.extents[window.tap])
        return any(
            inside_rows(window, at, self.extents[window.dim], self.problem.extents[window.tap]) != whole
            for at in starts(self.outer, window.dim)
        )

    def _is_bounded(self, window: Window) -> bool:
        tap_loops = [loop for loop in (*self.outer, *self.inner) if loop.dim == window.tap and loop.trips > 1]
        return (
            self.extents[window.dim] == 1
            and self.extents[window.tap] == 1
            and len(tap_loops) == 1
            and tap_loops[0] in self.inner
        )

    def _cases(self, window: Window) -> Clipping:
        rows = self.extents[window.dim]
        inside = self.extents[window.tap]
        for loop in self.inner:
            if loop.dim == window.tap:
                inside *= loop.trips
        cases = []
        for tap in starts(self.outer, window.tap):
            clips = [
                (at, tuple(window.rows_inside(at, rows, tap + i) for i in range(inside)))
                for at in starts(self.outer, window.dim)
            ]
            # A clip only shrinks from one side as the tile moves, so equal clips are neighbours.
            for clip, group in groupby(clips, key=lambda pair: pair[1]):
                positions = [at for at, _ in group]
                cases.append(Case(tap, positions[0], positions[-1], clip))
        return Clipping(window, tuple(cases), unclipped(rows, inside))


def reduction_order(problem: Problem) -> tuple[str, ...]:
    """The reduction dims, widest stride in x first (r s c), so that unrolled points walk x in order."""
    x = problem.broadcast
    return tuple(sorted(problem.reductions, key=lambda dim: -x.stride(dim)))
