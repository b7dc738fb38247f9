"""Coverings of a problem by register tiles, best first: every point of the output exactly once.

One size covers an output dim, or a pair of sizes composed with λ; the sizes of all dims are the register tiles. Their
time follows from the scores of microkernels and the overhead of a visit, so ranking them needs no loops around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, product
from math import inf, prod
from typing import TypeVar

from microkernels.scores.catalog import GOOD
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import TileRegisters
from microkernels.tile.matrix import registers_of, runs_of
from microkernels.tile.space import most_rows
from search.cost.cache_conflicts import cache_conflicts, geometries
from search.cost.predict import Predictor, overlapped
from search.space.shares import least_share, share
from tiling.arrays.access import access_of
from tiling.arrays.footprint import footprint
from tiling.problem import Problem
from tiling.scheme.compose import Composition, compositions

# Reduction points worth unrolling into one step. A longer body outgrows the caches of decoded instructions: a step of
# 28 accumulators × 24 points is 672 FMAs of about 8 bytes.
MOST_STEPS = 24
# Vectors in one tile. TTile's winners have 1 to 4. With more, so few rows are left that weights stream in too fast.
MOST_VECTORS = 4
# From this extent on the innermost row dim alone has tiles that fill the registers (14×2, 28×1).
WIDE = 14
# Cores share a loop evenly where the busiest has at most so many times the work of the mean.
EVEN = 1.05
# How many compositions of the last dim are kept for each choice of the others.
PER_DIM = 6
# As GOOD, for tiles of matrix instructions: the share of the best score from which a tile is worth composing. It is
# lower, since what such tiles read counts more than their own speed, which loads of tile registers limit too.
GOOD_MATRIX = 0.6
# A cover with slower tiles is looked at if it takes at most this share of the time of the best one without: a slow tile
# beside fast ones may cover a dim that no fast ones cover alone (docs/decisions/069).
WORTH = 0.97
# In a dim longer than LONG only the first PER_PAIR compositions of each pair of sizes are looked at.
LONG, PER_PAIR = 1024, 2

Found = TypeVar("Found")
# One composition per dim, and the seconds of all visits on the busiest core.
Cover = tuple[tuple[Composition, ...], float]
# Sizes of register tiles over the output dims.
Sizes = set[tuple[int, ...]]


@dataclass(frozen=True)
class Covering:
    """How register tiles cover the output dims, and the reductions that they unroll.

    covers: a composition per dim; in the vectorised dim it counts vectors, in a dim that is only looped single points.
    seconds: predicted arithmetic and overhead of all visits on the busiest core.
    """

    covers: tuple[tuple[str, Composition], ...]
    unrolled: tuple[tuple[str, int], ...]
    seconds: float

    def cover(self, dim: str) -> Composition:
        """How `dim` is covered."""
        return dict(self.covers)[dim]


def coverings(problem: Problem, predictor: Predictor, limit: int) -> tuple[Covering, ...]:
    """The `limit` fastest coverings: the best of every unrolling, and only a few of each kind."""
    found: list[Covering] = []
    for unrolled in unrollings(problem):
        found.extend(_covers(problem, predictor, unrolled))
    found = _fastest_first(found, lambda covering: covering.seconds)
    heads = {covering.unrolled: place for place, covering in reversed(list(enumerate(found)))}
    kept = sorted(heads.values())[:limit]
    chosen = {found[place] for place in kept}
    of_kind: dict[tuple[object, ...], int] = {}
    for place, covering in enumerate(found):
        kind = (covering.cover(problem.vector_dim).sizes, covering.unrolled)
        of_kind[kind] = of_kind.get(kind, 0) + 1
        if len(kept) < limit and of_kind[kind] <= max(2, limit // 4) and covering not in chosen:
            kept.append(place)
            chosen.add(covering)
    return tuple(found[place] for place in sorted(kept))


def _fastest_first(found: list[Found], seconds: Callable[[Found], float]) -> list[Found]:
    """The fastest first. Only equally fast ones are ordered by their texts, since a text takes long to make."""
    alike = groupby(sorted(found, key=seconds), key=seconds)
    groups = [list(group) for _, group in alike]
    return [one for group in groups for one in (sorted(group, key=repr) if len(group) > 1 else group)]


def unrollings(problem: Problem) -> tuple[tuple[tuple[str, int], ...], ...]:
    """The sets of reductions worth unrolling whole, each as (dim, extent) in the order of the problem.

    A set is empty, or holds one dim, or several neighbours in the broadcast tensor (c with s, then r). With neighbours
    a convolution of 3 channels gets an inner step that is worth a loop. A set has at most MOST_STEPS points. A dim for
    whose points lanes are exchanged is in every set.
    """
    access = access_of(problem)
    if access.by_matrix:
        return ((),)  # an instruction sums a whole dot group, which is long enough for any loop around it
    looping = [dim for dim in problem.reductions if problem.extents[dim] > 1]
    by_stride = sorted(looping, key=problem.broadcast.stride)
    sets = [(), *((dim,) for dim in looping), *(by_stride[:size] for size in range(2, len(looping) + 1))]
    found = [tuple((dim, problem.extents[dim]) for dim in looping if dim in chosen) for chosen in sets]
    needed = {access.exchange_dim} & set(looping)
    return tuple(
        pick for pick in found if prod(extent for _, extent in pick) <= MOST_STEPS and needed <= set(dict(pick))
    )


def _covers(problem: Problem, predictor: Predictor, unrolled: tuple[tuple[str, int], ...]) -> Iterator[Covering]:
    visits = _Visits(problem, predictor, unrolled)
    vectors = -(-problem.extents[problem.vector_dim] // predictor.machine.lanes)
    possible = visits.possible(vectors)
    looped = looped_covers(problem)
    times = [cover.repeat for cover in looped.values()]

    def seconds(covers: tuple[Composition, ...]) -> float:
        busiest = least_share((*times, *(cover.repeat for cover in covers)), predictor.threads)
        return _total(covers, lambda sizes: visits.speed(sizes)[0]) * prod(times) * busiest

    best = max(visits.speed(sizes)[1] for sizes in possible)
    least = GOOD_MATRIX if visits.matrix else GOOD
    good = {sizes for sizes in possible if visits.speed(sizes)[1] >= least * best} or set(possible)
    covers = list(_exact(problem, visits.dims, vectors, good, predictor.threads, seconds))
    if not covers or not visits.matrix:
        most = WORTH * min((total for _, total in covers), default=inf)
        others = _exact(problem, visits.dims, vectors, set(possible), predictor.threads, seconds)
        covers += [cover for cover in others if cover[1] < most]
    for chosen, total in covers:
        yield Covering(tuple(sorted((looped | dict(zip(visits.dims, chosen))).items())), unrolled, total)


class _Visits:
    """How long one visit to a register tile takes, by its sizes over `dims`: row dims, innermost first, and vectors."""

    def __init__(self, problem: Problem, predictor: Predictor, unrolled: tuple[tuple[str, int], ...]):
        self.problem, self.predictor = problem, predictor
        self.isa = isa_named(predictor.machine.isa)
        self.matrix = self.isa.matrix if predictor.access.by_matrix else None
        self.dims = (*reversed(problem.row_dims), problem.vector_dim)
        self._steps = problem.reduction_length // prod(extent for _, extent in unrolled)
        trips = [problem.extents[dim] for dim in problem.reductions if dim not in dict(unrolled)]
        # The innermost loop is over the first reduction that is not unrolled; the first of all is contiguous in x.
        self._last = next((extent for extent in trips if extent > 1), 1)
        self._single = {dim: 1 for dim in problem.extents}
        self._fixed = self._single | dict(unrolled)
        self._first = geometries(predictor.machine, predictor.threads)[:1]
        self._timed: dict[tuple[int, ...], tuple[float, float]] = {}

    def possible(self, vectors: int) -> list[tuple[int, ...]]:
        """The sizes of all tiles that fit the registers. vectors: those of the whole output."""
        widths = list(range(1, min(MOST_VECTORS, vectors) + 1))
        if self.matrix:
            rows = _run_sizes(self.problem, self.matrix)
        else:
            widths = [v for v in widths if most_rows(self.isa, v) >= 1]
            rows = _row_sizes(self.problem, max(most_rows(self.isa, v) for v in widths))
        return [sizes for sizes in product(*rows, widths) if self._fits(sizes)]

    def _fits(self, sizes: tuple[int, ...]) -> bool:
        if self.matrix:
            runs = runs_of(self.problem, dict(zip(self.dims[:-1], sizes)), self.matrix.rows)
            return registers_of(self.matrix, tuple(run.count for run in runs), sizes[-1]) is not None
        return prod(sizes[:-1]) <= max(1, most_rows(self.isa, sizes[-1]))

    def speed(self, sizes: tuple[int, ...]) -> tuple[float, float]:
        """Seconds of one visit to the tile of these sizes, and its microkernel's score.

        The panel of weights seldom stays in L1 from one tile to the next, so weights and x count as streams from
        outside L1. Where the rows of x evict each other, every scalar of x brings its whole line.
        """
        if sizes not in self._timed:
            predictor, steps = self.predictor, self._steps
            kernel, score = predictor.kernel(self._fixed | dict(zip(self.dims, sizes)))
            tiles = predictor.tiles
            core = tiles.arithmetic(kernel, score, steps) + tiles.around(kernel, steps, self._last, 1)
            weights, moving = (moved / predictor.outside_l1 for moved in self._streamed(sizes))
            scored = weights if predictor.scored_from_l2 else 0.0
            self._timed[sizes] = (overlapped(core, (moving,), scored, predictor.costs.exposed), score)
        return self._timed[sizes]

    def _streamed(self, sizes: tuple[int, ...]) -> tuple[float, float]:
        """Bytes of the weights, and of these and x, that one visit to the tile of these sizes reads."""
        problem, access, lanes = self.problem, self.predictor.access, self.predictor.machine.lanes
        x, (near,) = problem.broadcast, self._first
        weights = problem.reduction_length * sizes[-1] * lanes * access.bytes_of(problem.vector)
        rows = self._single | dict(zip(self.dims[:-1], sizes))
        if access.lanewise:
            summed = {dim: problem.extents[dim] for dim in problem.reductions}
            tile = rows | summed | {problem.vector_dim: sizes[-1] * lanes}
            return weights, weights + footprint(problem, x, tile, near.line)
        conflicts = cache_conflicts(problem, x, rows, self._first)
        row_bytes = near.line if conflicts.reached[0] > near.ways else access.bytes_of(x) * max(1, x.reach)
        return weights, weights + problem.reduction_length * prod(sizes[:-1]) * row_bytes


def looped_covers(problem: Problem) -> dict[str, Composition]:
    """The covers of the dims that no register tile unrolls, with one tile for each point."""
    return {dim: Composition(((1, 1),), problem.extents[dim]) for dim in problem.looped_dims}


def _row_sizes(problem: Problem, most: int) -> list[tuple[int, ...]]:
    """The sizes to try for each row dim, innermost dim first: up to what fills the registers with the inner dims.

    A wide innermost dim takes all rows, so the next dim is tried at 1 and 2 only.
    """
    sizes, within = [], 1
    for dim in reversed(problem.row_dims):
        extent = problem.extents[dim]
        if within >= WIDE:
            tried = range(1, min(2, extent) + 1) if within == problem.extents[problem.row_dims[-1]] else range(1, 2)
        else:
            tried = range(1, min(extent, max(1, most // min(within, 6))) + 1)
        sizes.append(tuple(tried))
        within *= extent
    return sizes


def _run_sizes(problem: Problem, matrix: TileRegisters) -> list[tuple[int, ...]]:
    """As `_row_sizes`, for tile registers: runs along the innermost row dim, and rows of the next dim."""
    inner, *outer = (problem.extents[dim] for dim in reversed(problem.row_dims))
    most = matrix.registers - 2
    sizes = [tuple(range(1, min(inner, most * matrix.rows) + 1))]
    sizes += [tuple(range(1, min(extent, most) + 1)) for extent in outer[:1]]
    return sizes + [(1,)] * len(outer[1:])


def _exact(
    problem: Problem,
    dims: tuple[str, ...],
    vectors: int,
    sizes: Sizes,
    threads: int,
    seconds: Callable[[tuple[Composition, ...]], float],
) -> Iterator[Cover]:
    """Covers of all dims whose every register tile is in `sizes`, with their seconds.

    Dims are fixed one after the other, the vectorised dim first and the innermost rows last. For each dim only those
    sizes are tried that go with the sizes already chosen.
    """
    extents = [problem.extents[dim] for dim in dims[:-1]] + [vectors]

    def extend(chosen: dict[int, Composition], left: tuple[int, ...]) -> Iterator[Cover]:
        place, rest = left[0], left[1:]
        picks = product(*(composition.sizes for composition in chosen.values()))
        allowed = frozenset.intersection(*(_partners(sizes, place, dict(zip(chosen, picked))) for picked in picks))
        options = _compositions(extents[place], allowed)
        if rest:
            for option in _few(options, threads):
                yield from extend(chosen | {place: option}, rest)
            return
        finished = (chosen | {place: option} for option in options)
        covers = [tuple(done[p] for p in range(len(dims))) for done in finished]
        timed = [(cover, seconds(cover)) for cover in covers]
        yield from _fastest_first(timed, lambda pair: pair[1])[:PER_DIM]

    return extend({}, tuple(reversed(range(len(dims)))))


def _few(options: tuple[Composition, ...], threads: int) -> tuple[Composition, ...]:
    """Every single size, and for each pair of sizes the composition of the fewest tiles.

    If cores cannot share that one evenly, there is another one which they can.
    """
    kinds: dict[tuple[object, ...], Composition] = {}
    for option in options:
        even = share(option.repeat, threads) * threads <= EVEN
        if even or (option.sizes, True) not in kinds:
            kinds.setdefault((option.sizes, even), option)
    return tuple(kinds.values())


def _partners(sizes: Sizes, place: int, chosen: dict[int, int]) -> frozenset[int]:
    """The sizes at `place` in the tiles that have the chosen sizes at the other places."""
    return frozenset(s[place] for s in sizes if all(s[p] == size for p, size in chosen.items()))


def _total(covers: tuple[Composition, ...], seconds: Callable[[tuple[int, ...]], float]) -> float:
    """Seconds of all visits: the sum over every choice of one branch per dim, times its counts and repeats."""
    total = 0.0
    for choice in product(*(cover.branches for cover in covers)):
        total += prod(count for count, _ in choice) * seconds(tuple(size for _, size in choice))
    return total * prod(cover.repeat for cover in covers)


@lru_cache(maxsize=4096)
def _compositions(extent: int, sizes: frozenset[int]) -> tuple[Composition, ...]:
    """The compositions worth trying, the fewest tiles first.

    Among compositions that use every size equally often, only the one with the most repeats is kept: it leaves the most
    tile sizes to choose from. A pair is left out where its larger size alone divides the extent.
    """
    best: dict[tuple[tuple[int, int], ...], Composition] = {}
    for composition in compositions(extent, sizes, PER_PAIR if extent > LONG else None):
        if len(composition.branches) > 1 and extent % composition.sizes[-1] == 0:
            continue
        used = tuple((size, count * composition.repeat) for count, size in composition.branches)
        if used not in best or best[used].repeat < composition.repeat:
            best[used] = composition
    return tuple(sorted(best.values(), key=lambda c: (c.repeat * sum(n for n, _ in c.branches), c.branches)))
