"""Candidates that use Winograd's algorithm: blocks, the schemes of the products, and the predicted time of a call.

    seconds = transforms + products + start of the threads

Transforms and products each take max(core, movement) + `exposed` · (the smaller of the two). Products wait besides for
what comes from beyond L2 and is not prefetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from microkernels.scores.catalog import Catalog
from search.cost.cache_conflicts import geometry
from search.cost.costs import COSTS
from search.cost.predict import Prediction, Predictor
from search.cost.volume import EVERYTHING, NOTHING, WEIGHTS, Cold
from search.space.explain import aligned
from search.space.space import candidates, trusted
from tiling.durations import microseconds
from tiling.loops.lowering.prefetch.plan import left
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import Matrix, Winograd, product_problem, tile_grid, transforms

# A direct convolution takes 9 multiplications an output, F(2) takes 4, F(3) 2.8 and F(4) 2.25. F(4) has 36 weights for
# 9, F(3) 25: of 256 channels at 14 x 14 it takes 0.81 times as long as F(4) inside ResNet-50, where they come from
# memory.
TRIED = (2, 3, 4)
# How many blocks are looked at for each tile size, and how many schemes for the products of each block.
BLOCKS, SCHEMES = 4, 3
# The share of the terms of a transform's matrix that remains once sums are shared
# (`cpu.passes.vectors.share_sums`): 12 of 22, 10 of 18.
SHARED = 0.6
# The fewest rows of a product: fewer do not fill the registers beside two vectors of weights.
LEAST_TILES = 8


@dataclass(frozen=True)
class Unprefetched:
    """The shares of a product that are in tiles which prefetch no rows of V, or no weights, from beyond L2."""

    rows: float
    weights: float


PREFETCHED = Unprefetched(0.0, 0.0)


@dataclass(frozen=True)
class WinogradPrediction:
    """Predicted seconds of a call and its two parts on the busiest core.

    movement: seconds to move the data of the products, which their arithmetic hides in part.
    """

    seconds: float
    transforms: float
    products: float
    movement: float


@dataclass(frozen=True)
class WinogradCandidate:
    """One form of Winograd's algorithm and its prediction."""

    scheme: Winograd
    prediction: WinogradPrediction


def winograd_candidates(
    problem: Problem, machine: Machine, catalog: Catalog, threads: int, cold: Cold = NOTHING
) -> list[WinogradCandidate]:
    """Forms worth measuring, fastest predicted first. `catalog` ranks the microkernels of matrix products.

    cold: the arrays that each call finds in memory (`search.cost.volume`).
    """
    found = []
    for m in TRIED:
        for block, channels in blocks(problem, m, machine, threads, cold)[:BLOCKS]:
            product = product_problem(problem, block, channels)
            for candidate in candidates(product, machine, catalog, 1, SCHEMES):
                winograd = Winograd(problem, m, block, channels, candidate.scheme)
                found.append(_candidate(winograd, candidate.prediction, machine, threads, cold))
    return sorted(found, key=lambda candidate: (candidate.prediction.seconds, candidate.scheme.text))


def fit_for_networks(
    found: Sequence[WinogradCandidate], machine: Machine, catalog: Catalog, threads: int
) -> list[WinogradCandidate]:
    """The same candidates; first comes the best of the tile size that takes least where arrays come from memory.

    A network pushes weights out of caches, and larger tiles have more. Blocks and the other algorithm are compared as
    before: prefetches hide more of the memory's time than is predicted.
    """
    from_memory = predicted([candidate.scheme for candidate in found], machine, catalog, threads, EVERYTHING)
    size = min(from_memory, key=lambda candidate: candidate.prediction.seconds).scheme.m
    first = next(candidate for candidate in found if candidate.scheme.m == size)
    return [first, *(candidate for candidate in found if candidate is not first)]


def predicted(
    schemes: Sequence[Winograd], machine: Machine, catalog: Catalog, threads: int, cold: Cold = NOTHING
) -> list[WinogradCandidate]:
    """Given forms with their predictions, in the order given."""
    found = []
    for winograd in schemes:
        part = Predictor(winograd.product.problem, machine, trusted(catalog), 1).predict(winograd.product)
        found.append(_candidate(winograd, part, machine, threads, cold))
    return found


def _candidate(
    winograd: Winograd, product: Prediction, machine: Machine, threads: int, cold: Cold
) -> WinogradCandidate:
    """A form with its prediction. product: that of one product."""
    block, core = (winograd.problem, winograd.m, winograd.block, winograd.channels), product.compute + product.overhead
    alone = Unprefetched(left(winograd.prefetches, "x"), left(winograd.prefetches, "w"))
    return WinogradCandidate(winograd, _prediction(*block, machine, threads, core, alone, cold))


def blocks(problem: Problem, m: int, machine: Machine, threads: int, cold: Cold = NOTHING) -> list[tuple[int, int]]:
    """The blocks worth trying, as (tiles, output channels). Blocks come first that would be fastest at the peak.

    The tiles are cut into 1, 2, 3, 4, 6, 8, 12 … equal blocks, the output channels into 1, 2, 4 or 8 parts of whole
    vectors.
    """
    tiles = problem.extents["n"] * prod(tile_grid(problem, m))
    vectors = -(-problem.extents["k"] // machine.lanes)
    counts = [base << shift for shift in range(25) for base in (2, 3)]
    sizes = {-(-tiles // count) for count in (1, *counts)}
    sizes = {size for size in sizes if size >= LEAST_TILES} or {tiles}
    parts = {-(-vectors // count) * machine.lanes for count in (1, 2, 4, 8) if vectors >= 2 * count} or {
        vectors * machine.lanes
    }
    found = {}
    for size in sizes:
        for channels in parts:
            peak = product_problem(problem, size, channels).flops / machine.peak
            found[size, channels] = _prediction(
                problem, m, size, channels, machine, threads, peak, PREFETCHED, cold
            ).seconds
    # With several threads the remainder for the busiest one weighs most; the prediction includes it.
    return sorted(found, key=lambda block: (float(f"{found[block]:.2e}"), -block[0] * block[1]))


def _prediction(
    problem: Problem,
    m: int,
    block: int,
    channels: int,
    machine: Machine,
    threads: int,
    product_seconds: float,
    alone: Unprefetched,
    cold: Cold,
) -> WinogradPrediction:
    # The model's arithmetic and overhead of one product assume that its data is near. Data from further out is counted
    # here: the weights of all points pass by once a block, and V and M of a block are written and read.
    tiles = problem.extents["n"] * prod(tile_grid(problem, m))
    c, k = problem.extents["c"], problem.extents["k"]
    counts = -(-tiles // block), -(-k // channels)
    tasks = prod(counts)
    busiest = -(-tasks // threads)
    # Each thread transforms the input of every block that it has a part of.
    inputs = min(counts[0], -(-busiest // counts[1]))
    points, cycle = (m + 2) ** 2, COSTS.pipes * machine.lanes * 2 / machine.peak
    into, out = _cycles(m)
    vectors = inputs * block * -(-c // machine.lanes), busiest * block * (channels // machine.lanes)
    transforming = (vectors[0] * into + vectors[1] * out) * cycle
    v, product, u = (4 * points * floats for floats in (block * c, block * channels, c * channels))
    moved = (inputs * v + busiest * product) / _bandwidth(machine, threads, v + product)
    x, y = (4 * tensor.elements * busiest / tasks for tensor in (problem.broadcast, problem.output))
    near = _bandwidth(machine, threads, x + y)
    from_memory = (machine.memory_bandwidth, machine.memory_write_bandwidth)
    reading, writing = from_memory if cold == EVERYTHING else (near, near)
    outside = moved + x / reading + y / writing
    first = max(transforming, outside) + COSTS.exposed * min(transforming, outside)
    core = busiest * points * product_seconds
    weights = [(busiest * u, _bandwidth(machine, threads, u * counts[1] + v + product))]
    # The weights of each part come from memory once, and then lie where a warm call finds them.
    weights += [(min(busiest, counts[1]) * u, machine.memory_bandwidth)] if cold >= WEIGHTS else []
    rows = [(busiest * v, _bandwidth(machine, threads, v + product))]
    passing = sum(size / rate for size, rate in weights) + moved
    second = max(core, passing) + COSTS.exposed * min(core, passing)
    if passing < core:
        second += alone.weights * _late(machine, weights) + alone.rows * _late(machine, rows)
    start = COSTS.start if tasks > 1 and threads > 1 else 0.0
    return WinogradPrediction(first + second + start, first, second, passing)


def _late(machine: Machine, moved: Sequence[tuple[float, float]]) -> float:
    """Seconds that show besides where data of so many bytes, at so many bytes/s, is not prefetched.

    Rows of V and panels of U are short, and each begins a stream of its own. So they are waited for from a fast L3 too:
    rows of V show 0.34 and 0.36 of their time on a Zen 3 (yolo9000:Y4 and Y8), 0.5 to 1 on a Zen 5 (Y4). Weights from
    memory show 0.38 and 0.46 of theirs (512 and 256 channels of ResNet-50), fewer of them more. These follow from the
    times in docs/decisions/018 and 055.
    """
    near = machine.caches[min(1, len(machine.caches) - 1)].bandwidth
    return (COSTS.not_prefetched - COSTS.exposed) * sum(size / rate for size, rate in moved if rate < near)


def _cycles(m: int) -> tuple[float, float]:
    """Cycles to transform one vector of a tile's input, and one of its output.

    Each is two transforms, with stores half way and of the result.
    """
    matrices, alpha = transforms(m), m + 2

    def sums(matrix: Matrix, times: int) -> float:
        return times * SHARED * sum(value != 0 for row in matrix for value in row) / COSTS.pipes

    into = sums(matrices.input, 2 * alpha) + COSTS.store * 2 * alpha**2
    return into, sums(matrices.output, alpha + m) + COSTS.store * (alpha * m + m * m)


def _bandwidth(machine: Machine, threads: int, size: float) -> float:
    """Bytes/s of the nearest cache beyond L1, or of memory, that holds so many bytes of each thread."""
    for level in range(1, len(machine.caches)):
        if size <= geometry(machine.caches, level, threads).bytes:
            return machine.caches[level].bandwidth
    return machine.memory_bandwidth


def explain_winograd(chosen: WinogradCandidate, runners_up: Sequence[WinogradCandidate]) -> str:
    """A plain-text report: one row per candidate, their texts, and one sentence on the chosen one."""
    found = [chosen, *runners_up]
    rows = [["", "time", "speed", "products", "moved for them", "transforms"]]
    for place, candidate in enumerate(found):
        p = candidate.prediction
        rate = f"{candidate.scheme.problem.flops / p.seconds / 1e9:.0f} GFLOP/s"
        cells = [microseconds(seconds) for seconds in (p.seconds, p.products, p.movement, p.transforms)]
        rows.append(["chosen" if place == 0 else f"#{place + 1}", cells[0], rate, *cells[1:]])
    texts = [f"{row[0]:>6}  {candidate.scheme.text}" for row, candidate in zip(rows[1:], found)]
    return "\n".join([*aligned(rows), "", *texts, "", _reason(chosen)])


def _reason(chosen: WinogradCandidate) -> str:
    winograd, p = chosen.scheme, chosen.prediction
    points = winograd.alpha**2
    fewer = 9 * winograd.m**2 / points
    padded = winograd.all_tiles * winograd.m**2 / prod(winograd.problem.extents[dim] for dim in "nhw") - 1
    beyond = f", {padded:.0%} of them beyond the output" if padded > 0.005 else ""
    return (
        f"F({winograd.m}) takes {points} products where the definition takes {9 * winograd.m**2}: {fewer:.2f} times "
        f"fewer multiplications{beyond}; transforms are {p.transforms / p.seconds:.0%} of the time. GFLOP/s counts "
        "the definition's operations, so that it can be compared."
    )
