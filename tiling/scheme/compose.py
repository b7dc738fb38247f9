"""Composition λ: loops over one or two microkernel sizes cover an extent exactly.

The idea is TTile's: 34 = 2·11 + 1·12 needs no partial tile, whereas a single size of 12 leaves 10 points over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import gcd, isqrt


@dataclass(frozen=True)
class Composition:
    """(Σ count·size)·repeat = extent. The branches (count, size) stand in rising order of size."""

    branches: tuple[tuple[int, int], ...]
    repeat: int

    @property
    def extent(self) -> int:
        return self.repeat * sum(count * size for count, size in self.branches)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.branches)


def divisors(number: int) -> tuple[int, ...]:
    """Every divisor of a positive number, in rising order."""
    low = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return tuple(low + [number // d for d in reversed(low) if d * d != number])


def compositions(extent: int, sizes: Iterable[int], per_pair: int | None = None) -> Iterator[Composition]:
    """Every (a·s1)·m and (a·s1 + b·s2)·m = extent with s1 < s2 from `sizes`, and a, b, m > 0.

    compositions(20, (7, 3)) yields exactly two: (2·3 + 2·7)·1 and (1·3 + 1·7)·2. Long extents have thousands, so
    `per_pair` limits how many there are for each (s1, s2, m); the first ones use s2 most.
    """
    sizes = sorted(set(sizes))
    for size in sizes:
        if extent % size == 0:
            yield Composition(((1, size),), extent // size)
    for repeat in divisors(extent):
        part = extent // repeat
        for small, large in combinations(sizes, 2):
            yield from islice(_pairs(part, small, large, repeat), per_pair)


def _pairs(part: int, small: int, large: int, repeat: int) -> Iterator[Composition]:
    if part % gcd(small, large):
        return
    for count in range((part - 1) // large, 0, -1):
        left = part - count * large
        if left % small == 0:
            yield Composition(((left // small, small), (count, large)), repeat)
