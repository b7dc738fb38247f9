"""Candidates for a problem, ranked by predicted time. Every scheme covers the problem exactly.

Each stage keeps a few: register tiles, cuts of the longest reduction, shares of the cores, loop orders, tile sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from microkernels.scores.catalog import Catalog
from microkernels.tile.microkernel import Microkernel
from search.cost.cache_conflicts import geometry
from search.cost.predict import Prediction, Predictor, Score
from search.space.panels import with_panels
from search.space.permutations import orders
from search.space.registers import RegisterTile, register_tiles
from search.space.sizes import Block, Sizer
from tiling.arrays.access import access_of
from tiling.arrays.footprint import footprint
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.scheme.compose import divisors
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Specifier, Stage, Tile, Unroll, Vector

# TILES register tiles are looked at, the first THOROUGH of them with all loop orders. The others get only the FEW
# orders that did best there.
TILES, THOROUGH, FEW = 12, 2, 4
# How many combinations of loop orders over all levels are tried around one register tile.
MOST_ORDERS = 48
# The factor on an estimated score: a tile must not win because it was never measured.
UNMEASURED = 0.95
# Pieces of a cut reduction are at least this long, so that the innermost loop stays worth entering.
SHORTEST = 16
# A core split counts as balanced up to this much more work for its busiest thread than in the best split. Beyond SLACK
# it is not tried.
BALANCED, SLACK = 0.005, 0.05
# How many ways to share the work between cores are tried for a register tile.
SPLITS = 3

# For each level of the nest, innermost level first: its dims, outermost loop first.
Orders = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Candidate:
    """A scheme and its prediction."""

    scheme: Scheme
    prediction: Prediction


@dataclass(frozen=True)
class Plan:
    """A scheme without the loops around S(output).

    tile: the register tile. inner: reduction loops inside S(output), outermost first. outer: pieces of reductions
    outside it. cores: @core loops.
    """

    problem: Problem
    lanes: int
    tile: RegisterTile
    inner: tuple[tuple[str, int], ...]
    outer: tuple[tuple[str, int], ...] = ()
    cores: tuple[tuple[str, int], ...] = ()

    @property
    def inside(self) -> dict[str, int]:
        """Points per dim that S(output) covers; in a composed dim, all branches once."""
        points = {dim: 1 for dim in self.problem.extents} | dict(self.tile.unrolled)
        for dim, trips in self.inner:
            points[dim] *= trips
        for dim, cover in self.tile.covers:
            points[dim] = cover.extent // cover.repeat * (self.lanes if dim == self.problem.vector_dim else 1)
        return points

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The dims that loop outside S(output), with each core's share."""
        points, cores, found = self.inside, dict(self.cores), []
        for dim, cover in self.tile.covers:
            count = cover.repeat // cores.get(dim, 1)
            if count > 1 or len(cover.branches) > 1:
                found.append(Block(dim, points[dim], count))
        return tuple(found) + tuple(Block(dim, points[dim], trips) for dim, trips in self.outer)

    def one_level(self, order: tuple[str, ...]) -> Scheme:
        """The scheme with one loop over each dim around S(output), in this order."""
        counts = {block.dim: block.count for block in self.blocks}
        return self.scheme((tuple((dim, counts[dim]) for dim in order),))

    def scheme(self, levels: tuple[tuple[tuple[str, int], ...], ...]) -> Scheme:
        """The scheme with these loops around S(output), as (dim, trips) per level, innermost level first."""
        specifiers: list[Specifier] = [Tile(dim, trips, "core") for dim, trips in self.cores]
        composed = {dim: cover for dim, cover in self.tile.covers if len(cover.branches) > 1}
        for depth, loops in reversed(list(enumerate(levels))):
            for dim, trips in loops:
                specifiers.append(Tile(dim, trips))
                if depth == 0 and dim in composed:
                    specifiers.append(Lambda(dim, composed[dim].branches))
        specifiers.append(Stage(self.problem.output.name))
        specifiers.extend(Tile(dim, trips) for dim, trips in self.inner)
        specifiers.extend(register_body(self.problem, self.lanes, self.tile))
        return Scheme(self.problem, canonical(specifiers))


def register_body(problem: Problem, lanes: int, tile: RegisterTile) -> list[Specifier]:
    """The specifiers of a register tile: unrolled reductions, rows, vectors."""
    body: list[Specifier] = [Unroll(dim, extent) for dim, extent in tile.unrolled]
    for dim in (*problem.row_dims, problem.vector_dim):
        branches = tile.cover(dim).branches
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


def candidates(
    problem: Problem,
    machine: Machine,
    catalog: Catalog,
    threads: int = 1,
    limit: int | None = None,
    cold: bool = False,
) -> tuple[Candidate, ...]:
    """The first `limit` schemes worth measuring, fastest predicted first; at least one for any problem."""
    predictor = Predictor(problem, machine, trusted(catalog), threads, cold=cold)
    found: dict[str, Candidate] = {}
    best_orders: dict[Orders, float] = {}
    largest = max(geometry(machine.caches, level, threads).bytes for level in range(min(2, len(machine.caches))))
    for rank, tile in enumerate(register_tiles(problem, predictor, TILES)):
        for plan in plans(problem, machine, tile, threads, thorough=rank < THOROUGH):
            sizer = Sizer(problem, machine, plan.blocks, plan.inside, threads)
            choices = _orders(plan, sizer.tiled)
            if best_orders and rank >= THOROUGH:
                known = sorted(best_orders, key=lambda key: (best_orders[key], key))
                choices = list(dict.fromkeys(_projected(order, choices) for order in known))[:FEW]
            for order in choices:
                if predictor.access.by_matrix and not problem.flat_pixels:
                    # Tiles of few multiplications wait for memory, which is fastest row by row. This scheme has one
                    # level, so it is no evidence for an order of all levels.
                    plain = plan.one_level(order[0])
                    found.setdefault(plain.text, Candidate(plain, predictor.predict(plain)))
                for scheme in _staged(_sized(plan, sizer, order), largest):
                    if scheme.text not in found:
                        found[scheme.text] = Candidate(scheme, predictor.predict(scheme))
                    seconds = found[scheme.text].prediction.seconds
                    best_orders[order] = min(seconds, best_orders.get(order, seconds))
    return tuple(in_order(found.values())[:limit])


def in_order(found: Collection[Candidate]) -> list[Candidate]:
    """The candidates by predicted time.

    Equal candidates are ordered by three further rules: larger steps through memory between cores first, then smaller
    steps within a core, then shorter texts.
    """
    seconds = rounded(found)

    def rank(candidate: Candidate) -> tuple[float, list[int], list[int], int, str]:
        scheme = candidate.scheme
        stride = scheme.problem.tensors[0].stride
        loops = [
            s for s in scheme.specifiers if isinstance(s, (Tile, Lambda)) and s.dim not in scheme.problem.reductions
        ]
        shared = [-stride(s.dim) for s in loops if isinstance(s, Tile) and s.worker == "core"]
        steps = [stride(s.dim) for s in reversed(loops)]
        return seconds(candidate), shared, steps, len(scheme.text), scheme.text

    return sorted(found, key=rank)


def rounded(found: Collection[Candidate]) -> Callable[[Candidate], float]:
    """A function from a candidate among `found` to its predicted seconds, rounded so that near ties are equal."""
    # The model knows nothing of pages and prefetchers, which prefer loops over neighbours innermost. Two cases matter:
    # - A tile with transposed output writes to as many planes of y as its vectors have points. There times within a
    #   percent are equal: yolo9000:Y2, channels first, takes 15.5 ms with w innermost and 18.4 with h (predicted: 13.39
    #   and 13.37).
    # - The fastest candidate waits for memory or a cache. Then all within a percent of it are equal: Y0 in int8 takes
    #   1.79 and 2.33 ms, predicted 1.792 and 1.790.
    fastest = min(found, key=lambda candidate: candidate.prediction.seconds, default=None)
    waits = fastest is not None and fastest.prediction.bottleneck != "compute"
    least = 1.01 * fastest.prediction.seconds if fastest and waits else 0.0

    def seconds(candidate: Candidate) -> float:
        if access_of(candidate.scheme.problem).transposed_output:
            return float(f"{candidate.prediction.seconds:.2e}")
        # Nine digits: schemes that move the same bytes are equal, in whatever order the parts were added.
        return float(f"{max(candidate.prediction.seconds, least):.8e}")

    return seconds


def shortlist(ranked: tuple[Candidate, ...], count: int) -> tuple[Candidate, ...]:
    """The first `count` candidates to measure: the best of each body of S(output), with and without S(x), first.

    Neighbours in the ranking often differ in an outer loop only, and run equally fast. The model is least sure of the
    body and of the use of a copy, so a measurement is best spent on another body.
    """
    seen: dict[tuple[object, ...], int] = {}
    turns = []
    for place, candidate in enumerate(ranked):
        scheme = candidate.scheme
        staged = any(isinstance(s, Stage) for s in scheme.specifiers[: scheme.accumulators_at])
        body = (scheme.specifiers[scheme.accumulators_at :], tuple(scheme.branches.items()), staged)
        seen[body] = seen.get(body, 0) + 1
        turns.append((seen[body], place))
    return tuple(ranked[place] for _, place in sorted(turns)[:count])


def trusted(catalog: Catalog) -> Score:
    """The catalog's scores; the score of a tile that was never measured is multiplied by UNMEASURED."""
    known: dict[Microkernel, float] = {}

    def score(kernel: Microkernel) -> float:
        if kernel not in known:
            known[kernel] = catalog.score(kernel) * (1.0 if catalog.is_measured(kernel) else UNMEASURED)
        return known[kernel]

    return score


def plans(problem: Problem, machine: Machine, tile: RegisterTile, threads: int, thorough: bool) -> Iterator[Plan]:
    """The plans for a register tile: how cores share the work, and where reductions are cut."""
    whole = Plan(problem, machine.lanes, tile, _reduction_loops(problem, tile))
    splits = core_splits(problem, tile, threads)
    yield from (replace(whole, cores=cores) for cores in splits)
    if thorough or access_of(problem).by_matrix:
        yield from _cuts(replace(whole, cores=splits[0]), machine, threads)


def _reduction_loops(problem: Problem, tile: RegisterTile) -> tuple[tuple[str, int], ...]:
    """Loops over the reductions that are not unrolled: taps by falling stride in x, then channels.

    In a layout whose channels are contiguous that is the order of x.
    """
    looped = [dim for dim in problem.reductions if dim not in dict(tile.unrolled) and problem.extents[dim] > 1]
    x = problem.broadcast
    taps = {dim for index in x.indices for dim, _ in index.terms if any(index.coefficient(r) for r in problem.row_dims)}
    # Equal strides keep the order of the problem.
    looped.sort(key=lambda dim: (dim in taps, x.stride(dim)), reverse=True)
    return tuple((dim, problem.extents[dim]) for dim in looped)


def _cuts(plan: Plan, machine: Machine, threads: int) -> Iterator[Plan]:
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
    vectors = plan.tile.cover(problem.vector_dim).sizes[-1]
    panel = access.bytes_of(problem.vector) * step * vectors * plan.lanes  # bytes for one point of the cut dim
    tile = points | {d: cover.branches[-1][1] for d, cover in plan.tile.covers}
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


def core_splits(problem: Problem, tile: RegisterTile, threads: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    """@core loops over one or two output dims that give the threads equal work; none for one thread.

    Among splits over the same dims the one of the fewest tasks is best, since each task starts with cold caches. Where
    it is not balanced, a balanced split comes before it.
    """
    if threads == 1:
        return ((),)
    parts = {dim: divisors(cover.repeat) for dim, cover in tile.covers}
    dims = [dim for dim in (*problem.looped_dims, *problem.row_dims, problem.vector_dim) if len(parts[dim]) > 1]
    splits: list[tuple[tuple[str, int], ...]] = [((dim, n),) for dim in dims for n in parts[dim][1:]]
    for i, one in enumerate(dims):
        for two in dims[i + 1 :]:
            splits += [((one, a), (two, b)) for a in parts[one][1:] for b in parts[two][1:] if a * b <= 8 * threads]
    if not splits:
        return ((),)

    def busiest(split: tuple[tuple[str, int], ...]) -> float:
        count = prod(n for _, n in split)
        return -(-count // threads) / count

    least = min(map(busiest, splits))
    kinds: dict[tuple[object, ...], tuple[tuple[str, int], ...]] = {}
    for slack in (BALANCED, SLACK):
        even = (split for split in splits if busiest(split) <= least * (1 + slack))
        for split in sorted(even, key=lambda split: prod(n for _, n in split)):
            kinds.setdefault((slack, *(dim for dim, _ in split)), split)
    return tuple(dict.fromkeys(kinds.values()))[:SPLITS]


def _orders(plan: Plan, tiled: int) -> list[Orders]:
    """Loop orders of every level, innermost level first: inside the first tiled cache, then outside each tiled cache.

    Where they are too many, orders of the outermost levels are dropped first, since those loops run least often.
    """
    innermost = orders(plan.problem, [block.dim for block in plan.blocks])
    further = orders(plan.problem, [block.dim for block in plan.blocks if block.count > 1])
    levels = [innermost, *[further] * tiled]
    for level in reversed(range(len(levels))):
        others = prod(len(found) for place, found in enumerate(levels) if place != level)
        levels[level] = levels[level][: max(1, MOST_ORDERS // others)]
    return list(product(*levels))


def _projected(order: Orders, choices: list[Orders]) -> Orders:
    """The choice that agrees most, level by level, with an order found for another register tile."""

    def agreement(choice: Orders) -> int:
        # Innermost loops decide what is re-used, so the common ending is counted.
        score = 0
        for mine, theirs in zip(choice, order):
            theirs = tuple(dim for dim in theirs if dim in mine)
            for a, b in zip(reversed(mine), reversed(theirs)):
                if a != b:
                    break
                score += 1
        return score

    return max(choices, key=agreement)


def _staged(schemes: Iterator[Scheme], largest: float) -> Iterator[Scheme]:
    """Each scheme, followed by the same scheme with x in panels of at most `largest` bytes."""
    for scheme in schemes:
        yield scheme
        yield from with_panels(scheme, largest)


def _sized(plan: Plan, sizer: Sizer, order: Orders) -> Iterator[Scheme]:
    """The schemes of one loop order with the tile sizes that suit the caches."""
    dims = [block.dim for block in plan.blocks]
    counts = tuple(block.count for block in plan.blocks)
    composed = sum(len(cover.branches) > 1 for _, cover in plan.tile.covers)
    if composed > 1 or access_of(plan.problem).lanewise:
        # Two compositions may cover more than any cache holds, but the loops inside them re-use what a tile reads. One
        # loop over all vectorised channels reads pixels whole, where several loops sweep over them repeatedly.
        yield plan.one_level(order[0])
    for chain in sizer.choose(order[1:]):
        tiles = [*chain[: sizer.tiled], counts]
        levels, held = [], (1,) * len(dims)
        for level, tile in enumerate(tiles):
            trips = {dim: outside // inside for dim, outside, inside in zip(dims, tile, held)}
            levels.append(tuple((dim, trips[dim]) for dim in order[level] if dim in trips))
            held = tile
        yield plan.scheme(tuple(levels))
