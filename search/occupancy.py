"""How hard a tile presses on a cache: lines per set, over all sets and over the sets that the tile can reach.

A cache of S sets and A ways keeps a tile while no set is asked for more than A lines. Lines that spread evenly ask
for lines/S, and Σ lines/S ≤ A is the usual Σ bytes ≤ capacity. Strided rows do not spread: addresses that differ
by a multiple of S·line share a set. C = 1024 f32 channels put pixels 4096 bytes apart, which on 64 sets of 64-byte
lines is one and the same set, so 14 pixels of one channel ask 14 lines of a set of 12 ways, and every one of them
is evicted before it is read again. SARCASM (2024) found that a model without this ranks kernels poorly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from tiling.footprint import axis_points, footprint
from tiling.machine import CacheLevel, Machine
from tiling.problem import Problem, Tensor

# Where x is read by vectors, one vector is a line or less, and prefetchers of x86 cores bring the line's neighbour with
# it: a tile one vector wide moves lines that are gone before a loop over channels comes to them.
PAIR = 2

# Of the ways of a cache whose sets go by physical addresses, so from L2 on: pages do not lie evenly over its sets, and
# code, stack, page tables and what is asked for ahead are there too. Of 24 layers in f32 on Sapphire Rapids the scheme
# predicted to be the fastest reached 0.966 of the fastest's speed with 1, 0.976 with 0.8 and with 0.7.
USABLE = 0.8


@dataclass(frozen=True)
class Geometry:
    """One core's share of a cache: its sets, the ways that core can fill, its line.

    hashed: the set is a hash of the address, so strides spread evenly whatever they are.
    """

    sets: int
    ways: float
    line: int
    hashed: bool

    @property
    def bytes(self) -> float:
        """What one core can keep in it."""
        return self.sets * self.ways * self.line


def geometry(caches: tuple[CacheLevel, ...], level: int, threads: int, usable: float = USABLE) -> Geometry:
    """The share of `caches[level]` that one of `threads` busy cores has.

    Cores that share a cache get equal parts of its ways, from L2 on of `usable` of them. From the third level on a
    cache is built of slices and picks slice and set by a hash of the address (Intel since Sandy Bridge, AMD Zen), so
    strides do not hurt there.
    """
    cache = caches[level]
    sharers = max(1, min(threads, cache.shared_by))
    ways = cache.ways or max(1, cache.bytes // cache.line)
    sets = max(1, cache.bytes // (cache.line * ways))
    return Geometry(sets, ways / sharers * (usable if level else 1), cache.line, cache.ways == 0 or level >= 2)


def geometries(machine: Machine, threads: int, usable: float = USABLE) -> tuple[Geometry, ...]:
    """One core's share of every cache of the machine."""
    return tuple(geometry(machine.caches, level, threads, usable) for level in range(len(machine.caches)))


@dataclass(frozen=True)
class Occupancy:
    """A tile's bytes in whole lines; per cache, its lines per set on average, and in the sets that it reaches."""

    bytes: int
    average: tuple[float, ...]
    reached: tuple[float, ...]


def occupancy(problem: Problem, tensor: Tensor, extents: Mapping[str, int], caches: tuple[Geometry, ...]) -> Occupancy:
    """What the tile of `tensor` over `extents` points per dim asks of each cache."""
    packed = tensor.name == problem.packed.name
    moved = caches[0].line * (PAIR if problem.lanewise and not packed else 1)
    size = footprint(problem, tensor, extents, moved)
    average, reached = [], []
    for cache in caches:
        lines = footprint(problem, tensor, extents, cache.line) // cache.line
        average.append(lines / cache.sets)
        sets = cache.sets if cache.hashed or packed else _sets(problem, tensor, extents, cache)
        # Only lines that pile up count as a conflict; fewer lines than sets, each in its own, ask for no more
        # than their average.
        reached.append(lines / sets if sets < min(lines, cache.sets) else lines / cache.sets)
    return Occupancy(size, tuple(average), tuple(reached))


def _sets(problem: Problem, tensor: Tensor, extents: Mapping[str, int], cache: Geometry) -> int:
    """At most how many sets the lines of a tile can fall into.

    The tile is runs of contiguous elements that start at Σ index·stride. Modulo the period P = sets·line, multiples
    of a stride take at most P / gcd(stride, P) values, sums of several strides at most P / gcd(all of them, P).
    """
    element = problem.bytes_of(tensor)
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
    """Bytes of every tensor of the problem, in whole lines; those of its epilogue's arrays together as `epilogue`."""

    def lines(tensor: Tensor) -> int:
        return -(-tensor.elements * problem.bytes_of(tensor) // line) * line

    return {
        **{tensor.name: lines(tensor) for tensor in problem.tensors},
        "epilogue": sum(lines(array) for array in problem.epilogue_arrays),
    }
