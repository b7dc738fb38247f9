"""The bytes that a scheme moves into each cache from the memory outside it: TTile's model.

Each cache is looked at alone. The model walks the lowered nest from the register tile outwards, and for each tensor
keeps how many bytes a piece of the nest moves and what becomes of the tensor's tile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from search.cost.cache_conflicts import CacheConflicts, Geometry, cache_conflicts, geometries
from tiling.arrays.access import access_of
from tiling.arrays.footprint import read_share
from tiling.loops.lowering.nest import Loop, Node, RegisterTile, Staged, nest_of
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile

# What becomes of a tensor's tile, seen from outside a piece of the nest:
#
# - KEPT: everything in the piece fits the cache. The tensor moves once, and its volume is its footprint.
# - REUSED: a loop whose whole does not fit saturates the cache. The least recently used lines leave first, so whatever
#   every iteration touches stays. A tensor that does not depend on the loop's dim still moves only once, and so on
#   outwards. The first loop that moves the tensor multiplies its volume, or widens its window where neighbouring tiles
#   overlap (h with r, w with s).
# - LOST: every loop further out multiplies the volume by its trips.
#
# Branches of λ are loops one after the other, so their volumes add up. A tile fits if its sets hold it
# (`search.cost.cache_conflicts`), so a tensor whose rows share few sets is lost earlier than the others. Inside
# S(output) the output lives in registers and moves nothing. Outside it counts twice: a cache reads a line before the
# line is stored to, even if only to own it, and writes it back later. The arrays of an epilogue are read once, in any
# order of loops. What falls on padding is never read, weights that meet nothing but padding neither
# (`tiling.arrays.footprint.read_share`).
LOST, REUSED, KEPT = 0, 1, 2

# The arrays that each call finds in memory, by their places in `Problem.tensors` (x, w, y).
Cold = frozenset[int]
NOTHING, WEIGHTS, EVERYTHING = Cold(), Cold({1}), Cold({0, 1, 2})


@dataclass(frozen=True)
class Traffic:
    """Bytes moved into one cache for each tensor.

    The output counts both ways; `written` is the part that is written back. All arrays of an epilogue are one entry of
    `moved`, called epilogue.
    """

    level: str
    moved: tuple[tuple[str, int], ...]
    written: int

    @property
    def total(self) -> int:
        return sum(amount for _, amount in self.moved)

    def of(self, tensor: str) -> int:
        """The bytes of one tensor."""
        return dict(self.moved)[tensor]


@dataclass(frozen=True)
class _Piece:
    """A piece of the nest: points per dim; per cache and tensor, bytes moved and what becomes of the tile.

    live: from here outwards the output is in memory, not in registers.
    """

    extents: tuple[int, ...]
    live: bool
    volumes: list[list[float]]
    states: list[list[int]]


class Volumes:
    """The traffic of schemes for one problem, machine and number of threads. Remembers the cache conflicts of tiles.

    cold: the arrays that each call finds in memory: `NOTHING`, `WEIGHTS` or `EVERYTHING`. A cache that holds the whole
    problem moves nothing of the others. ideal: whether data can use all ways of all caches.
    """

    def __init__(
        self,
        problem: Problem,
        machine: Machine,
        threads: int = 1,
        cold: Cold = NOTHING,
        ideal: bool = False,
    ):
        self.problem = problem
        self.access = access_of(problem)
        self.threads = threads
        self.cold = cold
        self._levels = tuple(cache.name for cache in machine.caches)
        self._caches: tuple[Geometry, ...] = geometries(machine, threads, ideal)
        self._dims = tuple(dim for dim, _ in problem.dims)
        self._reduced = tuple(place for place, dim in enumerate(self._dims) if dim in problem.reductions)
        self._place = {dim: place for place, dim in enumerate(self._dims)}
        self._tensors = problem.tensors
        self._output = problem.tensors.index(problem.output)
        self._input, self._weights = problem.tensors.index(problem.broadcast), problem.tensors.index(problem.vector)
        self._moves = tuple(tuple(dim in t.dims for t in problem.tensors) for dim in self._dims)
        self._used = tuple(tuple(i for i, dim in enumerate(self._dims) if dim in t.dims) for t in problem.tensors)
        self._known: tuple[dict[tuple[int, ...], CacheConflicts], ...] = tuple({} for _ in problem.tensors)
        nothing = (0.0,) * len(self._caches)
        self._absent = CacheConflicts(0, nothing, nothing)
        self._beside = sum(a.elements * self.access.bytes_of(a) for a in problem.epilogue_arrays)
        self._bodies: dict[tuple[Node, ...], _Piece] = {}
        windowed = {dim for window in problem.windows for dim in (window.dim, window.tap)}
        self._windowed = tuple(place for place, dim in enumerate(self._dims) if dim in windowed)
        self._shares: dict[tuple[int, ...], tuple[float, ...]] = {}

    def traffic(self, scheme: Scheme, stream: bool = False) -> tuple[Traffic, ...]:
        """Bytes into each cache, innermost first, that the busiest core moves. Streamed outputs bypass all caches."""
        piece = self._walk(of_one_core(nest_of(scheme), self.threads))
        count = tasks(scheme)
        share = -(-count // self.threads) / count
        result = []
        for level, name in enumerate(self._levels):
            volumes = [round(volume) for volume in piece.volumes[level]]
            beside = round(self._beside * share)
            if self.cold != EVERYTHING and all(state == KEPT for state in piece.states[level]):
                beside = 0 if sum(volumes) + beside <= self._caches[level].bytes else beside
                volumes = [volume if place in self.cold else 0 for place, volume in enumerate(volumes)]
            written = volumes[self._output]
            if not stream:
                volumes[self._output] *= 2  # a line is read before it is written
            elif level + 1 < len(self._levels):
                written = volumes[self._output] = 0
            moved = tuple((t.name, v) for t, v in zip(self._tensors, volumes))
            result.append(Traffic(name, moved + ((("epilogue", beside),) if self._beside else ()), written))
        return tuple(result)

    def _walk(self, nodes: tuple[Node, ...]) -> _Piece:
        first = nodes[0]
        if isinstance(first, RegisterTile):
            return self._register(first)
        if isinstance(first, Staged):
            if not first.holds_sums:  # a panel of x counts as x, read in place
                return self._walk(first.body)
            # Most candidates differ only in the loops outside S(output), so what is inside is remembered.
            if nodes not in self._bodies:
                self._bodies[nodes] = self._stored(self._walk(first.body))
            return self._bodies[nodes]
        loops = tuple(node for node in nodes if isinstance(node, Loop))
        return self._loops(loops, [self._walk(loop.body) for loop in loops])

    def _register(self, register: RegisterTile) -> _Piece:
        extents = tuple(points for _, points in register.points)
        found = self._conflicts(extents, live=False)
        steps = prod(extents[place] for place in self._reduced)
        once = tuple(1 if place in self._reduced else points for place, points in enumerate(extents))
        single = self._conflicts(once, live=False)
        volumes, states = [], []
        read = self._read(extents)
        for level in range(len(self._caches)):
            fitting, at_once = self._fits(level, found), self._fits(level, single)
            # A tile that does not fit beside the others is evicted before its next use. If not even the lines of one
            # reduction point stay, each unrolled point brings them anew.
            states.append([KEPT if fits else LOST for fits in fitting])
            whole = [o.bytes if stays else one.bytes * steps for o, one, stays in zip(found, single, at_once)]
            volumes.append([share * moved for share, moved in zip(read, whole)])
        return _Piece(extents, False, volumes, states)

    def _stored(self, body: _Piece) -> _Piece:
        """The piece as S(output) leaves it: the register tile of the output is loaded and stored once."""
        found = self._conflicts(body.extents, live=True)
        piece = _Piece(body.extents, True, [list(v) for v in body.volumes], [list(s) for s in body.states])
        for level in range(len(self._caches)):
            piece.volumes[level][self._output] = found[self._output].bytes
            for t, fits in enumerate(self._fits(level, found)):
                if t == self._output:
                    # The output is touched once a visit, after everything else, so it stays only if all of it fits.
                    piece.states[level][t] = KEPT if fits else LOST
                elif not fits:
                    piece.states[level][t] = min(piece.states[level][t], REUSED)
        return piece

    def _loops(self, loops: tuple[Loop, ...], bodies: list[_Piece]) -> _Piece:
        """The piece that loops over one dim make, one after the other: several where λ composes the dim."""
        place = self._place[loops[0].dim]
        inside = bodies[0].extents
        covered = sum(loop.trips * loop.step for loop in loops)
        extents = (*inside[:place], covered, *inside[place + 1 :])
        live = bodies[0].live
        found = self._conflicts(extents, live)
        moves = self._moves[place]
        trips = [loop.trips for loop in loops]
        read, inside_read = self._read(extents), [self._read(body.extents) for body in bodies]
        volumes, states = [], []
        for level in range(len(self._caches)):
            fitting = self._fits(level, found)
            level_volumes, level_states = [], []
            for t, o in enumerate(found):
                state = min(body.states[level][t] for body in bodies)
                repeated = sum(n * body.volumes[level][t] for n, body in zip(trips, bodies))
                if state == KEPT and fitting[t]:
                    volume = read[t] * o.bytes
                elif state == LOST:
                    volume = repeated
                elif moves[t]:
                    volume, state = min(read[t] * o.bytes, repeated), LOST
                else:
                    once = [body.volumes[level][t] * read[t] / part[t] for body, part in zip(bodies, inside_read)]
                    volume, state = max(once), REUSED
                level_volumes.append(volume)
                level_states.append(state)
            volumes.append(level_volumes)
            states.append(level_states)
        return _Piece(extents, live, volumes, states)

    def _read(self, extents: tuple[int, ...]) -> tuple[float, ...]:
        """For each tensor, the share of its footprint that is read. Lanewise tiles are taken as reading all of it."""
        if self.access.lanewise:
            return (1.0,) * len(self._tensors)
        key = tuple(extents[place] for place in self._windowed)
        if key not in self._shares:
            points = dict(zip(self._dims, extents))
            self._shares[key] = tuple(read_share(self.problem, tensor, points) for tensor in self._tensors)
        return self._shares[key]

    def _fits(self, level: int, found: tuple[CacheConflicts, ...]) -> list[bool]:
        """For each tensor, whether the sets of its tile hold the tile beside an even share of the other tensors.

        Where a tile shares few sets, an average of the others below one line means that most of their sets hold no line
        of the others. So only whole lines of the others count there.
        """
        ways = self._caches[level].ways
        total = sum(o.average[level] for o in found)

        def fits(average: float, reached: float, total: float) -> bool:
            return total <= ways and (reached == average or reached + int(total - average) <= ways)

        # A visit reads a line of weights once, and a line of x for every number in it and every tap. L1 first evicts
        # the lines that were not read again, so the weights do not push x out. With k innermost and outermost bf16
        # yolo9000:Y8 takes 1.38 and 1.65 ms, and f32 Y13 reaches 84 and 78 % of peak.
        streamed = not self.access.lanewise and level == 0
        beside = total - found[self._weights].average[level] if streamed else total
        return [
            fits(o.average[level], o.reached[level], beside if t == self._input else total) for t, o in enumerate(found)
        ]

    def _conflicts(self, extents: tuple[int, ...], live: bool) -> tuple[CacheConflicts, ...]:
        found = []
        for t, tensor in enumerate(self._tensors):
            if t == self._output and not live:
                found.append(self._absent)
                continue
            key = tuple([extents[i] for i in self._used[t]])
            known = self._known[t].get(key)
            if known is None:
                known = cache_conflicts(self.problem, tensor, dict(zip(self._dims, extents)), self._caches)
                self._known[t][key] = known
            found.append(known)
        return tuple(found)


def traffic(scheme: Scheme, machine: Machine, threads: int = 1, cold: Cold = NOTHING) -> tuple[Traffic, ...]:
    """Bytes into each cache, innermost first, that the busiest core moves. For many schemes use one `Volumes`."""
    return Volumes(scheme.problem, machine, threads, cold).traffic(scheme)


def tasks(scheme: Scheme) -> int:
    """The number of tasks that the scheme's @core loops hand out; 1 where there are no such loops."""
    count = 1
    for specifier in scheme.specifiers:
        if isinstance(specifier, Tile) and specifier.worker == "core":
            count *= specifier.trips
    return count


def of_one_core(nodes: tuple[Node, ...], threads: int) -> tuple[Node, ...]:
    """The nest that the busiest core walks: its ⌈tasks / threads⌉ contiguous tasks of the @core loops.

    The share comes from the innermost @core loops first, since the next task is one step of the innermost loop.
    """
    bound: list[Loop] = []
    inner = nodes
    while len(inner) == 1 and isinstance(inner[0], Loop) and inner[0].worker == "core":
        bound.append(inner[0])
        inner = inner[0].body
    if not bound:
        return nodes
    share = 1
    for loop in bound:
        share *= loop.trips
    share = -(-share // threads)
    for loop in reversed(bound):
        trips = min(loop.trips, share)
        share = -(-share // loop.trips)
        inner = (replace(loop, trips=trips, body=inner),)
    return inner
