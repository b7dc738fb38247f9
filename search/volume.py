"""Bytes that a scheme moves into each cache from the memory outside it.

The model is TTile's, walked over the lowered nest from the register tile outwards, for each cache alone:

- A tensor is *kept* across a piece of the nest while everything in that piece fits the cache: it is then moved once,
  and its volume is its footprint. In L1 the weights pass x by (`_fits`).
- The first loop outwards whose whole does not fit *saturates* the cache. What every iteration of it touches stays
  (least recently used goes first, and this was just used): a tensor that does not depend on the loop's dim still
  moves only once, and so on outwards while the loops do not move it. The first loop that does move it multiplies,
  or widens its window where neighbouring tiles overlap (h with r, w with s).
- Every loop further out multiplies by its trips. Branches of λ are loops one after the other: their volumes add up.

To fit is a matter of sets, not only of bytes (`occupancy`): a tensor whose rows share few sets is lost earlier than
its neighbours. Inside S(output) the output lives in registers and moves nothing.

The output counts twice: a cache reads a line before it is stored to, whether to add to it or only to own it
(write-allocate), and writes it back later.

The arrays of an epilogue are read once, by the store that uses them: each core's part of them, in any order of loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from search.occupancy import Geometry, Occupancy, geometries, occupancy
from tiling.machine import Machine
from tiling.nest import Loop, Node, Register, Staged, lower
from tiling.problem import Problem
from tiling.scheme import Scheme

# What becomes of a tensor's tile, seen from outside a piece of the nest.
LOST, REUSED, KEPT = 0, 1, 2


@dataclass(frozen=True)
class Traffic:
    """Bytes moved into one cache for each tensor, the output's both ways; `written` is the part written back.

    All arrays of an epilogue together are one entry of `moved`, called epilogue.
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
    """A piece of the nest: points per dim, and per cache and tensor what it moves and what becomes of the tile.

    `live`: the output is in memory, not in registers, from here outwards.
    """

    extents: tuple[int, ...]
    live: bool
    volumes: list[list[int]]
    states: list[list[int]]


class Volumes:
    """The traffic of schemes for one problem, machine and number of threads; remembers what tiles occupy.

    resident: the problem is computed again and again, so a cache that holds all of it stays warm and moves nothing.
    False counts the first, cold call.
    """

    def __init__(self, problem: Problem, machine: Machine, threads: int = 1, resident: bool = True):
        self.problem = problem
        self.threads = threads
        self.resident = resident
        self._levels = tuple(cache.name for cache in machine.caches)
        self._caches: tuple[Geometry, ...] = geometries(machine, threads)
        self._dims = tuple(dim for dim, _ in problem.dims)
        self._reduced = tuple(place for place, dim in enumerate(self._dims) if dim in problem.reductions)
        self._place = {dim: place for place, dim in enumerate(self._dims)}
        self._tensors = problem.tensors
        self._output = problem.tensors.index(problem.output)
        self._input, self._weights = problem.tensors.index(problem.broadcast), problem.tensors.index(problem.vector)
        self._moves = tuple(tuple(dim in t.dims for t in problem.tensors) for dim in self._dims)
        self._used = tuple(tuple(i for i, dim in enumerate(self._dims) if dim in t.dims) for t in problem.tensors)
        self._known: tuple[dict[tuple[int, ...], Occupancy], ...] = tuple({} for _ in problem.tensors)
        nothing = (0.0,) * len(self._caches)
        self._absent = Occupancy(0, nothing, nothing)
        self._beside = sum(a.elements * problem.bytes_of(a) for a in problem.epilogue_arrays)
        self._bodies: dict[tuple[Node, ...], _Piece] = {}

    def traffic(self, scheme: Scheme, stream: bool = False) -> tuple[Traffic, ...]:
        """Bytes into each cache, innermost first, that the busiest core moves; streamed outputs pass by all caches."""
        piece = self._walk(of_one_core(lower(scheme), self.threads))
        count = tasks(scheme)
        share = -(-count // self.threads) / count
        result = []
        for level, name in enumerate(self._levels):
            volumes = list(piece.volumes[level])
            beside = round(self._beside * share)
            if self.resident and all(state == KEPT for state in piece.states[level]):
                beside = 0 if sum(volumes) + beside <= self._caches[level].bytes else beside
                volumes = [0] * len(volumes)
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
        if isinstance(first, Register):
            return self._register(first)
        if isinstance(first, Staged):
            if not first.sums:  # a panel of x counts as x, read in place
                return self._walk(first.body)
            # Most candidates differ only in the loops outside S(output), so what is inside is remembered.
            if nodes not in self._bodies:
                self._bodies[nodes] = self._stored(self._walk(first.body))
            return self._bodies[nodes]
        return self._loops(nodes, [self._walk(node.body) for node in nodes])

    def _register(self, register: Register) -> _Piece:
        extents = tuple(points for _, points in register.points)
        found = self._occupancies(extents, live=False)
        steps = prod(extents[place] for place in self._reduced)
        once = tuple(1 if place in self._reduced else points for place, points in enumerate(extents))
        single = self._occupancies(once, live=False)
        volumes, states = [], []
        for level in range(len(self._caches)):
            fitting, at_once = self._fits(level, found), self._fits(level, single)
            # A tile that does not fit beside the others is evicted before its next use; if not even the lines of
            # one reduction point stay, each unrolled point brings them anew.
            states.append([KEPT if fits else LOST for fits in fitting])
            volumes.append([o.bytes if stays else one.bytes * steps for o, one, stays in zip(found, single, at_once)])
        return _Piece(extents, False, volumes, states)

    def _stored(self, body: _Piece) -> _Piece:
        """Out of S(output): the register tile of the output is loaded and stored once."""
        found = self._occupancies(body.extents, live=True)
        piece = _Piece(body.extents, True, [list(v) for v in body.volumes], [list(s) for s in body.states])
        for level in range(len(self._caches)):
            piece.volumes[level][self._output] = found[self._output].bytes
            for t, fits in enumerate(self._fits(level, found)):
                if t == self._output:
                    # It is touched once a visit, after everything else, so it stays only if all of that fits.
                    piece.states[level][t] = KEPT if fits else LOST
                elif not fits:
                    piece.states[level][t] = min(piece.states[level][t], REUSED)
        return piece

    def _loops(self, loops: tuple[Loop, ...], bodies: list[_Piece]) -> _Piece:
        """Loops over one dim, one after the other (several where λ composes it)."""
        place = self._place[loops[0].dim]
        extents = list(bodies[0].extents)
        extents[place] = sum(loop.trips * loop.step for loop in loops)
        extents = tuple(extents)
        live = bodies[0].live
        found = self._occupancies(extents, live)
        moves = self._moves[place]
        trips = [loop.trips for loop in loops]
        volumes, states = [], []
        for level in range(len(self._caches)):
            fitting = self._fits(level, found)
            level_volumes, level_states = [], []
            for t, o in enumerate(found):
                state = min(body.states[level][t] for body in bodies)
                repeated = sum(n * body.volumes[level][t] for n, body in zip(trips, bodies))
                if state == KEPT and fitting[t]:
                    volume = o.bytes
                elif state == LOST:
                    volume = repeated
                elif moves[t]:
                    volume, state = min(o.bytes, repeated), LOST
                else:
                    volume, state = max(body.volumes[level][t] for body in bodies), REUSED
                level_volumes.append(volume)
                level_states.append(state)
            volumes.append(level_volumes)
            states.append(level_states)
        return _Piece(extents, live, volumes, states)

    def _fits(self, level: int, found: tuple[Occupancy, ...]) -> list[bool]:
        """For each tensor: do the sets that its tile falls into hold it beside an even share of the others?

        Where it piles up in few sets, an average of the others below one line means that most of those sets hold
        none of them, so only whole lines of the others count there.
        """
        ways = self._caches[level].ways
        total = sum(o.average[level] for o in found)

        def fits(average: float, reached: float, total: float) -> bool:
            return total <= ways and (reached == average or reached + int(total - average) <= ways)

        # A visit reads a line of weights once, and one of x for every number in it and every tap: L1 gives up the lines
        # that were not read again first (bf16 yolo9000:Y8 with k innermost and outermost: 1.38 and 1.65 ms; f32 Y13 84
        # and 78 % of peak).
        streamed = not self.problem.lanewise and level == 0
        beside = total - found[self._weights].average[level] if streamed else total
        return [
            fits(o.average[level], o.reached[level], beside if t == self._input else total) for t, o in enumerate(found)
        ]

    def _occupancies(self, extents: tuple[int, ...], live: bool) -> tuple[Occupancy, ...]:
        found = []
        for t, tensor in enumerate(self._tensors):
            if t == self._output and not live:
                found.append(self._absent)
                continue
            key = tuple([extents[i] for i in self._used[t]])
            known = self._known[t].get(key)
            if known is None:
                known = occupancy(self.problem, tensor, dict(zip(self._dims, extents)), self._caches)
                self._known[t][key] = known
            found.append(known)
        return tuple(found)


def traffic(scheme: Scheme, machine: Machine, threads: int = 1, resident: bool = True) -> tuple[Traffic, ...]:
    """Bytes into each cache, innermost first, that the busiest core moves. Many schemes: use one `Volumes`."""
    return Volumes(scheme.problem, machine, threads, resident).traffic(scheme)


def streams(problem: Problem, last_cache: int) -> bool:
    """Whether a problem's outputs are written past the caches, the last of which holds `last_cache` bytes.

    Larger outputs would not stay until anyone reads them, and a plain store first reads the line it overwrites.
    """
    return problem.output.elements * problem.bytes_of(problem.output) > last_cache


def tasks(scheme: Scheme) -> int:
    """Tasks that the scheme's @core loops hand out; 1 where there are none."""
    count = 1
    for specifier in scheme.specifiers:
        if getattr(specifier, "worker", None) == "core":
            count *= specifier.trips
    return count


def of_one_core(nodes: tuple[Node, ...], threads: int) -> tuple[Node, ...]:
    """The nest that the busiest core walks: its contiguous share, ⌈tasks / threads⌉, of the @core loops' tasks.

    A share is taken from the innermost @core loops first, since the next task is one step of the innermost.
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
