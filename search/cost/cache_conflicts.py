"""Cache conflicts of a tile: its lines per set, on average over all sets and in the sets that it can reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from tiling.arrays.access import access_of
from tiling.arrays.footprint import axis_points, footprint
from tiling.machine import CacheLevel, Machine
from tiling.problem import Problem
from tiling.tensor import Tensor

# A cache of S sets and A ways keeps a tile while no set needs more than A lines. Lines that spread evenly take lines/S
# of each set, and Σ lines/S ≤ A is the usual Σ bytes ≤ capacity. Strided rows do not spread: addresses that differ by a
# multiple of S·line share a set. With 1024 channels of f32, pixels lie 4096 bytes apart. In a cache of 64 sets of
# 64-byte lines they share one set. So 14 pixels of one channel need 14 lines of a set that has 12 ways: each line is
# evicted before it is read again. SARCASM (2024) found that a model without cache conflicts ranks kernels poorly.

# Lines moved for each line read, where x is read by vectors. One vector is a line or less, and the prefetchers of x86
# cores bring the neighbouring line with it. A tile one vector wide loses that line before a loop over channels reaches
# it.
PAIR = 2

# The share of the ways that data can use in L2, where physical addresses choose the set. Pages do not lie evenly
# over the sets, and code, stack, page tables and prefetched lines take room too. For 24 layers in f32 on Sapphire
# Rapids the scheme predicted to be the fastest reached 0.966 of the best speed with a share of 1, and 0.976 with 0.8 or
# 0.7.
USABLE = 0.8

# The same share from the third level on, which other cores fill too, in a cloud those of other machines. A virtual
# Zen 5 with 2 of 8 cores reports 32 MB. Random lines stay in 8 to 12 MB of it, and lines of 16 to 20 MB that are read
# in order come twice as fast as from memory (docs/decisions/058).
USABLE_SHARED = 0.5


@dataclass(frozen=True)
class Geometry:
    """One core's share of a cache: all its sets, the ways that the core can fill, bytes per line.

    hashed: a hash of the address chooses the set, so that any stride spreads evenly.
    """

    sets: int
    ways: float
    line: int
    hashed: bool

    @property
    def bytes(self) -> float:
        """What one core can keep in it."""
        return self.sets * self.ways * self.line


def geometry(caches: tuple[CacheLevel, ...], level: int, threads: int, ideal: bool = False) -> Geometry:
    """The share of `caches[level]` that one of `threads` busy cores has.

    Cores that share a cache get equal parts of its ways. In L2 only a share `USABLE` of the ways counts, from the third
    level on `USABLE_SHARED`; in an ideal cache all. From the third level on a cache consists of slices, and a hash of
    the address chooses slice and set (Intel since Sandy Bridge, AMD Zen), so strides do not hurt there.
    """
    cache = caches[level]
    sharers = max(1, min(threads, cache.shared_by))
    ways = cache.ways or max(1, cache.bytes // cache.line)
    sets = max(1, cache.bytes // (cache.line * ways))
    share = 1.0 if ideal else (1.0, USABLE, USABLE_SHARED)[min(level, 2)]
    return Geometry(sets, ways / sharers * share, cache.line, cache.ways == 0 or level >= 2)


def geometries(machine: Machine, threads: int, ideal: bool = False) -> tuple[Geometry, ...]:
    """One core's share of every cache of the machine."""
    return tuple(geometry(machine.caches, level, threads, ideal) for level in range(len(machine.caches)))


@dataclass(frozen=True)
class CacheConflicts:
    """A tile's bytes in whole lines; per cache, its lines per set on average, and in the sets that it reaches."""

    bytes: int
    average: tuple[float, ...]
    reached: tuple[float, ...]


def cache_conflicts(
    problem: Problem, tensor: Tensor, extents: Mapping[str, int], caches: tuple[Geometry, ...]
) -> CacheConflicts:
    """What the tile of `tensor` over `extents` points per dim takes of each cache."""
    packed = tensor.name == access_of(problem).packed.name
    moved = caches[0].line * (PAIR if access_of(problem).lanewise and not packed else 1)
    # All caches of most machines have lines of one length.
    sizes = {line: footprint(problem, tensor, extents, line) for line in {moved, *(cache.line for cache in caches)}}
    average, reached = [], []
    for cache in caches:
        lines = sizes[cache.line] // cache.line
        average.append(lines / cache.sets)
        sets = cache.sets if cache.hashed or packed else _sets(problem, tensor, extents, cache)
        # Only lines that share sets count as a conflict. Fewer lines than sets, each in its own, take no more than
        # their average.
        reached.append(lines / sets if sets < min(lines, cache.sets) else lines / cache.sets)
    return CacheConflicts(sizes[moved], tuple(average), tuple(reached))


def _sets(problem: Problem, tensor: Tensor, extents: Mapping[str, int], cache: Geometry) -> int:
    """The largest number of sets that the lines of a tile can fall into.

    A tile consists of runs of contiguous elements that start at Σ index·stride. Modulo the period P = sets·line,
    multiples of one stride take at most P / gcd(stride, P) values. Sums of multiples of several strides take at most
    P / gcd(all strides, P) values.
    """
    element = access_of(problem).bytes_of(tensor)
    period = cache.sets * cache.line
    points = [axis_points(tensor, axis, extents) for axis in range(len(tensor.shape))]
    spacing = [gcd(*(c for dim, c in index.terms if extents[dim] > 1)) for index in tensor.indices]
    run, axis = element * points[-1], len(points) - 1
    while axis > 0 and points[axis] == tensor.shape[axis] and spacing[axis - 1] <= 1:
        axis -= 1
        run *= points[axis]
    starts, step = 1, period
    for outer in range(axis):
        if points[outer] > 1:
            stride = element * tensor.strides[outer] * spacing[outer]
            starts *= min(points[outer], period // gcd(stride, period))
            step = gcd(step, stride)
    starts = min(starts, period // step)
    return max(1, min(cache.sets, starts * max(1, -(-run // cache.line))))


def whole(problem: Problem, line: int = 64) -> dict[str, int]:
    """Bytes of every tensor in whole lines. The arrays of the epilogue count together, as `epilogue`."""
    access = access_of(problem)

    def lines(tensor: Tensor) -> int:
        return -(-tensor.elements * access.bytes_of(tensor) // line) * line

    return {
        **{tensor.name: lines(tensor) for tensor in problem.tensors},
        "epilogue": sum(lines(array) for array in problem.epilogue_arrays),
    }
