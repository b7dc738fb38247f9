"""The panel of x that register tiles share, `S(x)`, where vectors are read from x in place (`tiling.pointwise`).

    S(x) L(k, …) S(y) T(c,512) U(k,λ) U(w,3) V(w,16)        3 vectors of pixels of 512 channels, for all rows k

The first tile that reads pixels stores them to the panel as they pass through its registers; those of further rows read
them there, a channel's beside the next's and each vector a cache line. In x a channel's pixels lie a plane away from
the next's, and where planes are no multiple of a line nearly every vector is two of them.

What flows in: where S(x) stands in a nest. Out: the panel's size, its place for a tile, and which tiles fill it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tiling.expression import added, subtracted, times
from tiling.nest import Around, Loop, starts
from tiling.pointwise import panel_extents, same_pixels
from tiling.problem import Problem


class Pixels(Enum):
    """Where a tile reads x: where it lies; there, and on the way it packs the panel; in the panel."""

    IN_PLACE = ""
    PACKS = "_packs"
    PACKED = "_packed"


@dataclass(frozen=True)
class Panel:
    """S(x) inside `loops`, where the C text of the position along each dim is `at`."""

    problem: Problem
    lanes: int
    loops: tuple[Loop, ...]
    at: Mapping[str, str]

    @property
    def kept(self) -> bool:
        """Whether all tasks of a core have the same panel, so that the first one packs it for the others."""
        return bool(self.loops) and same_pixels(self.problem, self.loops)

    @property
    def extents(self) -> dict[str, int]:
        """Points of each dim that the panel holds."""
        return panel_extents(self.problem, self.lanes, self.loops)

    def begin(self) -> list[str]:
        """Nothing comes first: tiles pack it on the way."""
        return []

    def place(self, tile: Around, at: Mapping[str, str]) -> str:
        """Where, from the panel, the pixels begin that a tile at position `at` reads, as C text: tile by tile, those of
        a tile channel by channel.
        """
        extents, reductions = self.extents, self.problem.reductions
        stride = tile.register.extents[self.problem.vector_dim]
        terms = []
        for dim in (*reductions, *reversed([dim for dim in extents if dim not in reductions])):
            terms.insert(0, times(subtracted(at[dim], self.at[dim]), stride))
            # From the channels of a tile on, to the next tile it is all channels of so many pixels.
            stride = extents[dim] if dim in reductions else stride * extents[dim]
        return added(*terms)

    def readers(self, tile: Around, at: Mapping[str, str]) -> tuple[tuple[str, Pixels], ...]:
        """(test, how) of the tiles at position `at`, the last without a test: the first rows inside S(x) pack it; where
        the panel is `kept`, those of a core's first task.
        """
        dim = self.problem.panel_dim
        first = starts(tile.outer[len(self.loops) :], dim)
        if first[0] > 0:
            return (("", Pixels.PACKED),)
        tests = ["!packed"] * self.kept + [f"{at[dim]} == {self.at[dim]}"] * (len(first) > 1)
        if not tests:
            return (("", Pixels.PACKS),)
        return ((" && ".join(tests), Pixels.PACKS), ("", Pixels.PACKED))
