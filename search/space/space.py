"""Candidates for a problem, ranked by predicted time. Every scheme covers the problem exactly.

Each stage keeps a few: register tiles, cuts of the longest reduction, shares of the cores, loop orders, tile sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from microkernels.scores.catalog import Catalog
from microkernels.tile.microkernel import Microkernel
from search.cost.cache_conflicts import geometry
from search.cost.predict import Prediction, Predictor, Score
from search.cost.volume import NOTHING, Cold
from search.space.panels import with_panels
from search.space.permutations import orders
from search.space.plan import TilePlan, plans
from search.space.registers import coverings
from search.space.sizes import Sizer
from tiling.arrays.access import access_of
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Stage, Tile

# TILES register tiles are looked at, the first THOROUGH of them with all loop orders. The others get only the FEW
# orders that did best there.
TILES, THOROUGH, FEW = 12, 2, 4
# How many combinations of loop orders over all levels are tried around one register tile.
MOST_ORDERS = 48
# The factor on an estimated score: a tile must not win because it was never measured.
UNMEASURED = 0.95
# Candidates within this factor of the fastest are predicted alike, and so many more than the first of each body are
# measured early. Loops of one body that an earlier model took for equal were 1.4 times apart (docs/decisions/058).
ALIKE, NEAR_TIES = 1.005, 4

# For each level of the nest, innermost level first: its dims, outermost loop first.
Orders = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Candidate:
    """A scheme and its prediction."""

    scheme: Scheme
    prediction: Prediction


def candidates(
    problem: Problem,
    machine: Machine,
    catalog: Catalog,
    threads: int = 1,
    limit: int | None = None,
    cold: Cold = NOTHING,
) -> tuple[Candidate, ...]:
    """The first `limit` schemes worth measuring, fastest predicted first; at least one for any problem."""
    predictor = Predictor(problem, machine, trusted(catalog), threads, cold=cold)
    found: dict[str, Candidate] = {}
    best_orders: dict[Orders, float] = {}
    largest = max(geometry(machine.caches, level, threads).bytes for level in range(min(2, len(machine.caches))))
    for rank, covering in enumerate(coverings(problem, predictor, TILES)):
        for plan in plans(problem, machine, covering, threads, thorough=rank < THOROUGH):
            sizer = Sizer(problem, machine, plan.blocks, plan.inside, threads)
            choices = _orders(plan, sizer.tiled)
            if best_orders and rank >= THOROUGH:
                known = sorted(best_orders, key=lambda key: (best_orders[key], key))
                choices = _first_few(_projected(order, choices) for order in known)
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

    Equal candidates are ordered by four further rules: larger steps through memory between cores first, then fewer
    loops inside a register tile, then smaller steps within a core, then shorter texts.
    """
    seconds = rounded(found)

    def rank(candidate: Candidate) -> tuple[float, list[int], int, list[int], int, str]:
        scheme = candidate.scheme
        stride = scheme.problem.tensors[0].stride
        loops = [
            s for s in scheme.specifiers if isinstance(s, (Tile, Lambda)) and s.dim not in scheme.problem.reductions
        ]
        shared = [-stride(s.dim) for s in loops if isinstance(s, Tile) and s.worker == "core"]
        inner = sum(isinstance(s, Tile) for s in scheme.specifiers[scheme.accumulators_at :])
        steps = [stride(s.dim) for s in reversed(loops)]
        return seconds(candidate), shared, inner, steps, len(scheme.text), scheme.text

    return sorted(found, key=rank)


def rounded(found: Collection[Candidate]) -> Callable[[Candidate], float]:
    """A function from a candidate among `found` to its predicted seconds, rounded so that near ties are equal."""
    # The model knows nothing of pages and prefetchers, which prefer loops over neighbours innermost. Two cases matter:
    # - A tile with transposed output writes to as many channels of y as its vectors have points. There times within a
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
    body and of the use of a copy, so a measurement is best spent on another body. Candidates that are predicted like
    the fastest stand among them, whatever their bodies: the model cannot tell them apart, and a clock can.
    """
    seen: dict[tuple[object, ...], int] = {}
    turns, ties = [], 0
    for place, candidate in enumerate(ranked):
        scheme = candidate.scheme
        staged = any(isinstance(s, Stage) for s in scheme.specifiers[: scheme.accumulators_at])
        body = (scheme.specifiers[scheme.accumulators_at :], tuple(scheme.branches.items()), staged)
        seen[body] = seen.get(body, 0) + 1
        alike = candidate.prediction.seconds <= ALIKE * ranked[0].prediction.seconds
        tie = alike and seen[body] > 1 and ties < NEAR_TIES
        ties += tie
        turns.append((1 if tie else seen[body], place))
    return tuple(ranked[place] for _, place in sorted(turns)[:count])


def trusted(catalog: Catalog) -> Score:
    """The catalog's scores; the score of a tile that was never measured is multiplied by UNMEASURED."""
    known: dict[Microkernel, float] = {}

    def score(kernel: Microkernel) -> float:
        if kernel not in known:
            known[kernel] = catalog.score(kernel) * (1.0 if catalog.is_measured(kernel) else UNMEASURED)
        return known[kernel]

    return score


def _orders(plan: TilePlan, tiled: int) -> list[Orders]:
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


def _first_few(found: Iterator[Orders]) -> list[Orders]:
    """The first FEW different orders. No more are asked for."""
    kept: dict[Orders, None] = {}
    for order in found:
        kept[order] = None
        if len(kept) == FEW:
            break
    return list(kept)


def _staged(schemes: Iterator[Scheme], largest: float) -> Iterator[Scheme]:
    """Each scheme, followed by the same scheme with x in panels of at most `largest` bytes."""
    for scheme in schemes:
        yield scheme
        yield from with_panels(scheme, largest)


def _sized(plan: TilePlan, sizer: Sizer, order: Orders) -> Iterator[Scheme]:
    """The schemes of one loop order with the tile sizes that suit the caches."""
    dims = [block.dim for block in plan.blocks]
    counts = tuple(block.count for block in plan.blocks)
    composed = sum(len(cover.branches) > 1 for _, cover in plan.covering.covers)
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
