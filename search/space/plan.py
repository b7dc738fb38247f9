"""The plans for a covering: the loops inside S(output), where reductions are cut, how cores share the work.

A plan becomes a scheme with the loops around S(output), which `search.space.space` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from search.cost.cache_conflicts import geometry
from search.space.registers import Covering
from search.space.shares import PER_THREAD, share
from search.space.sizes import TiledDim
from tiling.arrays.access import access_of
from tiling.arrays.footprint import footprint
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.rewrite.parts import PARTS
from tiling.scheme.compose import divisors
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Specifier, Stage, Tile, Unroll, Vector

# Pieces of a cut reduction are at least this long, so that the innermost loop stays worth entering.
SHORTEST = 16
# A core split counts as balanced up to this much more work for its busiest thread than in the best split. Beyond SLACK
# it is not tried.
BALANCED, SLACK = 0.005, 0.05
# How many ways to share the work between cores are tried for a covering.
SPLITS = 3


@dataclass(frozen=True)
class TilePlan:
    """A scheme without the loops around S(output).

    covering: how register tiles cover the output. inner: reduction loops inside S(output), outermost first. outer:
    pieces of reductions outside it. cores: @core loops.
    """

    problem: Problem
    lanes: int
    covering: Covering
    inner: tuple[tuple[str, int], ...]
    outer: tuple[tuple[str, int], ...] = ()
    cores: tuple[tuple[str, int], ...] = ()

    @property
    def inside(self) -> dict[str, int]:
        """Points per dim that S(output) covers; in a composed dim, all branches once."""
        points = {dim: 1 for dim in self.problem.extents} | dict(self.covering.unrolled)
        for dim, trips in self.inner:
            points[dim] *= trips
        for dim, cover in self.covering.covers:
            points[dim] = cover.extent // cover.repeat * (self.lanes if dim == self.problem.vector_dim else 1)
        return points

    @property
    def blocks(self) -> tuple[TiledDim, ...]:
        """The dims that loop outside S(output), with each core's share."""
        points, cores, found = self.inside, dict(self.cores), []
        for dim, cover in self.covering.covers:
            count = cover.repeat // cores.get(dim, 1)
            if count > 1 or len(cover.branches) > 1:
                found.append(TiledDim(dim, points[dim], count))
        return tuple(found) + tuple(TiledDim(dim, points[dim], trips) for dim, trips in self.outer)

    def one_level(self, order: tuple[str, ...]) -> Scheme:
        """The scheme with one loop over each dim around S(output), in this order."""
        counts = {block.dim: block.count for block in self.blocks}
        return self.scheme((tuple((dim, counts[dim]) for dim in order),))

    def scheme(self, levels: tuple[tuple[tuple[str, int], ...], ...]) -> Scheme:
        """The scheme with these loops around S(output), as (dim, trips) per level, innermost level first."""
        specifiers: list[Specifier] = [Tile(dim, trips, "core") for dim, trips in self.cores]
        composed = {dim: cover for dim, cover in self.covering.covers if len(cover.branches) > 1}
        for depth, loops in reversed(list(enumerate(levels))):
            for dim, trips in loops:
                specifiers.append(Tile(dim, trips))
                if depth == 0 and dim in composed:
                    specifiers.append(Lambda(dim, composed[dim].branches))
        specifiers.append(Stage(self.problem.output.name))
        specifiers.extend(Tile(dim, trips) for dim, trips in self.inner)
        specifiers.extend(register_body(self.problem, self.lanes, self.covering))
        return _scheme(self.problem, canonical(specifiers))


@lru_cache(maxsize=4096)
def _scheme(problem: Problem, specifiers: tuple[Specifier, ...]) -> Scheme:
    """The scheme, checked once. More than half of all that a layer is given differ in loops of one trip alone."""
    return Scheme(problem, specifiers)


def register_body(problem: Problem, lanes: int, covering: Covering) -> list[Specifier]:
    """The specifiers of the register tiles of a covering: unrolled reductions, rows, vectors."""
    body: list[Specifier] = [Unroll(dim, extent) for dim, extent in covering.unrolled]
    for dim in (*problem.row_dims, problem.vector_dim):
        branches = covering.cover(dim).branches
        if len(branches) > 1:
            body.append(Unroll(dim, None))
        elif branches[0][1] > 1:
            body.append(Unroll(dim, branches[0][1]))
    return [*body, Vector(problem.vector_dim, lanes)]


def canonical(specifiers: list[Specifier]) -> tuple[Specifier, ...]:
    """The specifiers without loops of one trip, and with neighbouring loops over one dim merged."""
    kept: list[Specifier] = []
    for specifier in specifiers:
        if isinstance(specifier, Tile):
            if specifier.trips == 1:
                continue
            last = kept[-1] if kept else None
            if isinstance(last, Tile) and (last.dim, last.worker) == (specifier.dim, specifier.worker):
                kept[-1] = replace(last, trips=last.trips * specifier.trips)
                continue
        kept.append(specifier)
    return tuple(kept)


def plans(problem: Problem, machine: Machine, covering: Covering, threads: int, thorough: bool) -> Iterator[TilePlan]:
    """The plans for a covering: how cores share the work, and where reductions are cut."""
    whole = TilePlan(problem, machine.lanes, covering, _reduction_loops(problem, covering))
    splits = core_splits(problem, covering, threads)
    yield from (replace(whole, cores=cores) for cores in splits)
    if thorough or access_of(problem).by_matrix:
        yield from _cuts(replace(whole, cores=splits[0]), machine, threads)


def _reduction_loops(problem: Problem, covering: Covering) -> tuple[tuple[str, int], ...]:
    """Loops over the reductions that are not unrolled: taps by falling stride in x, then channels.

    In a layout whose channels are contiguous that is the order of x.
    """
    looped = [dim for dim in problem.reductions if dim not in dict(covering.unrolled) and problem.extents[dim] > 1]
    x = problem.broadcast
    taps = {dim for index in x.indices for dim, _ in index.terms if any(index.coefficient(r) for r in problem.row_dims)}
    # Equal strides keep the order of the problem.
    looped.sort(key=lambda dim: (dim in taps, x.stride(dim)), reverse=True)
    return tuple((dim, problem.extents[dim]) for dim in looped)


def _cuts(plan: TilePlan, machine: Machine, threads: int) -> Iterator[TilePlan]:
    """The plan with its innermost reduction cut.

    A cut inside S(output) keeps the window of x in L1 over the taps. A cut outside it keeps a panel of weights in a
    cache over many register tiles.
    """
    if not plan.inner:
        return
    problem, access = plan.problem, access_of(plan.problem)
    dim, trips = plan.inner[-1]
    # A matrix instruction's dot group is long enough for any loop around it.
    pieces = [d for d in range(1 if access.by_matrix else SHORTEST, trips) if trips % d == 0]
    points = plan.inside
    step = prod(points[d] for d in problem.reductions) // trips  # reduction points for one of the cut dim
    vectors = plan.covering.cover(problem.vector_dim).sizes[-1]
    panel = access.bytes_of(problem.vector) * step * vectors * plan.lanes  # bytes for one point of the cut dim
    tile = points | {d: cover.branches[-1][1] for d, cover in plan.covering.covers}
    first = geometry(machine.caches, 0, threads)

    def stays(piece: int) -> bool:
        """Whether a register tile reads at most half of L1 from x in a piece of the cut dim."""
        window = {**tile, dim: points[dim] // trips * piece}
        return footprint(problem, problem.broadcast, window, first.line) <= first.bytes / 2

    if len(plan.inner) > 1:
        fitting = [d for d in pieces if stays(d)]
        if fitting and not stays(trips):
            yield replace(plan, inner=((dim, trips // fitting[-1]), *plan.inner[:-1], (dim, fitting[-1])))
    if not problem.keeps_sums:
        return
    caches = [geometry(machine.caches, level, threads).bytes for level in range(min(2, len(machine.caches)))]
    outside = {max((d for d in pieces if d * panel <= size / 2), default=0) for size in caches} - {0}
    for piece in sorted(outside):
        if trips * panel > first.bytes / 2:
            yield replace(plan, inner=(*plan.inner[:-1], (dim, piece)), outer=((dim, trips // piece),))


def core_splits(problem: Problem, covering: Covering, threads: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    """@core loops over one or two output dims that give the threads equal work; none for one thread.

    Among splits over the same dims the one of the fewest tasks is best, since each task starts with cold caches. Where
    it is not balanced, a balanced split comes before it.
    """
    if threads == 1:
        return ((),)
    parts = {dim: divisors(cover.repeat) for dim, cover in covering.covers}
    dims = [dim for dim in (*problem.looped_dims, *problem.row_dims, problem.vector_dim) if len(parts[dim]) > 1]
    splits: list[tuple[tuple[str, int], ...]] = [((dim, n),) for dim in dims for n in parts[dim][1:]]
    for i, one in enumerate(dims):
        for two in dims[i + 1 :]:
            splits += [
                ((one, a), (two, b)) for a in parts[one][1:] for b in parts[two][1:] if a * b <= PER_THREAD * threads
            ]
    if PARTS in parts:  # each part of a sum is a task's
        splits = [split for split in splits if (PARTS, problem.extents[PARTS]) in split]
    if not splits:
        return ((),)

    def busiest(split: tuple[tuple[str, int], ...]) -> float:
        return share(prod(n for _, n in split), threads)

    least = min(map(busiest, splits))
    kinds: dict[tuple[object, ...], tuple[tuple[str, int], ...]] = {}
    for slack in (BALANCED, SLACK):
        even = (split for split in splits if busiest(split) <= least * (1 + slack))
        for split in sorted(even, key=lambda split: prod(n for _, n in split)):
            kinds.setdefault((slack, *(dim for dim, _ in split)), split)
    return tuple(dict.fromkeys(kinds.values()))[:SPLITS]
