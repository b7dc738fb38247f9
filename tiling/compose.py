"""Composition λ: cover an extent exactly with loops over one or two microkernel sizes.

The idea is TTile's: 34 = 2·11 + 1·12 needs no partial tile, where a single size of 12 leaves 10 points over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Composition:
    """(Σ count·size)·repeat = extent, the branches in rising order of size."""

    branches: tuple[tuple[int, int], ...]
    repeat: int

    @property
    def extent(self) -> int:
        return self.repeat * sum(count * size for count, size in self.branches)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.branches)

    def score(self, scores: Mapping[int, float]) -> float:
        """The mean fraction of peak over the extent.

        Each size's time is its work over its speed, so the mean is harmonic, weighted by the points covered.
        """
        points = sum(count * size for count, size in self.branches)
        return points / sum(count * size / scores[size] for count, size in self.branches)


def compositions(extent: int, sizes: Iterable[int]) -> Iterator[Composition]:
    """Every (a·s1)·m and (a·s1 + b·s2)·m = extent with s1 < s2 from `sizes`, and a, b, m > 0.

    compositions(20, (7, 3)) yields exactly two pairs: (2·3 + 2·7)·1 and (1·3 + 1·7)·2.
    """
    sizes = sorted(set(sizes))
    for size in sizes:
        if extent % size == 0:
            yield Composition(((1, size),), extent // size)
    for repeat in range(1, extent + 1):
        if extent % repeat:
            continue
        part = extent // repeat
        for i, small in enumerate(sizes):
            for large in sizes[i + 1 :]:
                for count in range(1, part // large + 1):
                    left = part - count * large
                    if left > 0 and left % small == 0:
                        yield Composition(((left // small, small), (count, large)), repeat)
