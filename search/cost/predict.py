"""The predicted time of a scheme, with its parts.

    seconds = max(core, levels) + exposed · (the other parts) + start of the threads

The slowest part decides, since out-of-order execution and prefetch overlap data movement with arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from microkernels.tile.microkernel import Microkernel, microkernel_of
from search.cost.apart import apart
from search.cost.cache_conflicts import geometries
from search.cost.costs import COSTS, Costs
from search.cost.tiles import TileSeconds
from search.cost.visits import changes_of_tile, sweeps, trips_of
from search.cost.volume import NOTHING, Cold, Traffic, Volumes, tasks
from tiling.arrays.access import access_of
from tiling.loops.lowering.prefetch.pieces import Piece
from tiling.loops.lowering.prefetch.plan import plan_prefetches, prefetched
from tiling.loops.lowering.stream_plan import may_stream, outgrows
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme

# The model, with the constants of `search.cost.costs`:
#
#   core    = compute + overhead: what the FMA pipes do, and what they wait for around a register tile. Where vectors of
#             x are read in place, `split` and `pack` count here too.
#   levels  = for each cache, bytes into it / bandwidth of the memory that they come from
#   seconds = max(core, levels) + `exposed` · (the other parts, but not what vectors from L2 show in scores) + `start`
#             + `theirs` · (lines that another core wrote last: `search.cost.apart`)
#             + `sweep` · (row dims along which lanewise tiles leave lines beside theirs for later) · (the longest of
#               the levels beyond L2)
#             + (data from beyond L2 that no tile prefetches, where it is not the slowest part and comes from a memory
#               slower than `in_time` · L2), times (a share - `exposed`): `not_prefetched`, or `from_memory` of an x
#               that lies beyond the last cache and is no vector. An output there adds nothing: no tile waits for its
#               stores.
#             + (what comes into L1 of an x whose every step is on another line, unless that is the slowest part), times
#               (`stepped` - `exposed`)
#             + `reshape` · (changes of tiles), for matrix instructions
#
# Overlap is not complete, so a share `exposed` of every other part shows; for matrix instructions it is `in_tiles`.
# `search.cost.copies` adds the copy of x.

Score = Callable[[Microkernel], float]

# Data that takes less than this share of the time is not searched for prefetches.
NOTICED = 0.005


@dataclass(frozen=True)
class TileVisits:
    """One register tile of a scheme: its microkernel, the microkernel's score, its visits on the busiest core."""

    kernel: Microkernel
    score: float
    visits: float


@dataclass(frozen=True)
class Prediction:
    """Predicted seconds of a call, and the parts of the busiest core.

    movement: seconds per cache, in the order of `traffic`. imbalance: the busiest core's work over the mean of all
    threads. left: seconds of waiting for lines beyond L2 that tiles left for later. copy: seconds to copy x, where the
    kernel does so (`search.cost.copies`). unaligned: seconds more of a call whose x does not begin with a cache line.
    addition: seconds to add up parts of sums (`search.cost.additions`). apart: seconds of waiting for lines of other
    cores (`search.cost.apart`).
    """

    seconds: float
    compute: float
    overhead: float
    traffic: tuple[Traffic, ...]
    movement: tuple[float, ...]
    parts: tuple[TileVisits, ...]
    imbalance: float
    start: float
    threads: int
    left: float = 0.0
    copy: float = 0.0
    unaligned: float = 0.0
    addition: float = 0.0
    apart: float = 0.0

    @property
    def bottleneck(self) -> str:
        """`compute`, or the name of the cache that waits longest for its data."""
        slowest = max(self.movement, default=0.0)
        if self.compute + self.overhead >= slowest:
            return "compute"
        return self.traffic[self.movement.index(slowest)].level


class Predictor:
    """Predicts schemes of one problem on one machine. Remembers tiles that several schemes share.

    cold: the arrays that each call finds in memory (`search.cost.volume`).
    """

    def __init__(
        self,
        problem: Problem,
        machine: Machine,
        score: Score,
        threads: int = 1,
        costs: Costs = COSTS,
        cold: Cold = NOTHING,
    ):
        self.problem = problem
        self.access = access_of(problem)
        self.machine = machine
        self.threads = threads
        self.costs = costs
        self._score = score
        self._volumes = Volumes(problem, machine, threads, cold)
        self._kernels: dict[tuple[int, ...], tuple[Microkernel, float]] = {}
        self.tiles = TileSeconds(problem, machine, threads, costs)
        self._names = dict(zip("xwy", (tensor.name for tensor in problem.tensors)))
        shares = geometries(machine, threads)
        self._l2 = shares[min(1, len(shares) - 1)].bytes
        # Streamed outputs leave the last cache to the inputs.
        inputs = sum(tensor.elements * self.access.bytes_of(tensor) for tensor in problem.tensors[:2])
        self._kept = inputs <= shares[-1].bytes
        self._outgrows = outgrows(problem, machine.caches[-1].bytes)
        # Bytes/s that come into L1, and whether scores were measured with weights that come so. It is not known that
        # choices gain by it where tiles store transposed: there neighbouring pixels share lines of y.
        self.outside_l1 = machine.caches[1].bandwidth if len(machine.caches) > 1 else machine.memory_bandwidth
        others = self.access.lanewise or self.access.by_matrix or self.access.weights_broadcast
        self._steps_lines = not others and self._on_other_lines()
        self.scored_from_l2 = not others and not self.access.transposed_output

    def predict(self, scheme: Scheme) -> Prediction:
        """The prediction of one scheme."""
        count = tasks(scheme)
        share = -(-count // self.threads) / count
        compute, overhead, parts, passes = self._core(scheme, share)
        stream = self._outgrows and may_stream(scheme)
        traffic = self._volumes.traffic(scheme, stream)
        movement = seconds_of(traffic, self.machine, stream, (passes - 1) / passes if self._whole(parts) else 1.0)
        core = compute + overhead
        start = self.costs.start if count > 1 and self.threads > 1 else 0.0
        exposed = self.costs.in_tiles if self.access.by_matrix else self.costs.exposed
        vectors = traffic[0].of(self.problem.vector.name) / self.outside_l1 if self.scored_from_l2 else 0.0
        left = self.costs.sweep * sweeps(scheme) * max(movement[1:], default=0.0) if self.access.lanewise else 0.0
        others = apart(scheme, self.machine, self.threads)
        seconds = overlapped(core, movement, vectors, exposed) + left + start + others
        if self.access.by_matrix:
            seconds += self.costs.reshape * changes_of_tile(scheme) * share * self.tiles.cycle
        if self._steps_lines and movement[0] < max(core, *movement):
            stepped = movement[0] * traffic[0].of(self._names["x"]) / max(1, traffic[0].total)
            seconds += (self.costs.stepped - exposed) * stepped
        late = self._late(traffic, movement, stream, max(core, *movement), exposed)
        if sum(late.values()) > NOTICED * seconds:
            plans = plan_prefetches(scheme, stream)
            of_x = [piece for plan in plans for piece in plan.pieces if piece.array == "x"]
            gone = set() if all(map(self._stays, of_x)) else {"x"}
            early = {self._names[array] for array in prefetched(plans) - gone}
            seconds += sum(part for tensor, part in late.items() if tensor not in early)
        return Prediction(
            seconds,
            compute,
            overhead,
            traffic,
            movement,
            parts,
            share * self.threads,
            start,
            self.threads,
            left,
            apart=others,
        )

    def _on_other_lines(self) -> bool:
        """Whether neighbouring terms of every sum lie on different lines of x."""
        x, line = self.problem.broadcast, self.machine.caches[0].line // self.access.bytes_of(self.problem.broadcast)
        strides = [x.stride(dim) for dim in self.problem.reductions if self.problem.extents[dim] > 1]
        return bool(strides) and min(strides) >= line

    def _whole(self, parts: tuple[TileVisits, ...]) -> bool:
        """Whether every tile writes whole lines of the output. Every CPU first reads a line that is written in part."""
        y, line = self.problem.output, self.machine.caches[0].line // self.access.bytes_of(self.problem.output)
        tiles = [self.machine.lanes * part.kernel.vectors for part in parts]
        return not self.access.transposed_output and all(width % line == 0 for width in (y.shape[-1], *tiles))

    def _late(
        self,
        traffic: tuple[Traffic, ...],
        movement: tuple[float, ...],
        stream: bool,
        slowest: float,
        exposed: float,
    ) -> dict[str, float]:
        """For each tensor, the seconds that show besides where it comes from beyond L2 and is not prefetched.

        Streamed outputs are left out, since nothing waits for them. So is the slowest part, which counts whole anyway,
        and what a memory sends that is nearly as fast as L2.
        """
        late: dict[str, float] = {}
        caches, output = self.machine.caches, self.problem.output.name
        rates = [*(cache.bandwidth for cache in caches[1:]), self.machine.memory_bandwidth]
        for level, (moved, seconds, rate) in enumerate(zip(traffic, movement, rates)):
            if not level or rate >= self.costs.in_time * rates[0]:
                continue
            beyond = level + 1 == len(caches) and not self.access.lanewise and not (stream and self._kept)
            shares = {self._names["x"]: self.costs.from_memory, output: exposed} if beyond else {}
            for tensor, amount in moved.moved:
                if amount and seconds < slowest and not (stream and tensor == output):
                    share = shares.get(tensor, self.costs.not_prefetched) - exposed
                    late[tensor] = late.get(tensor, 0.0) + share * seconds * amount / moved.total
        return late

    def _stays(self, piece: Piece) -> bool:
        """Whether the next piece of x stays in L2 until its turn, beside this piece and the outputs stored."""
        size, problem = self.access.bytes_of, self.problem
        return 2 * piece.elements * size(problem.broadcast) + piece.outputs * size(problem.output) <= self._l2

    def kernel(self, tile: Mapping[str, int]) -> tuple[Microkernel, float]:
        """The microkernel of a register tile (units per dim) and its score."""
        key = tuple(tile.values())
        if key not in self._kernels:
            kernel = microkernel_of(self.problem, tile, self.machine.isa)
            self._kernels[key] = (kernel, self._score(kernel))
        return self._kernels[key]

    def _core(self, scheme: Scheme, share: float) -> tuple[float, float, tuple[TileVisits, ...], float]:
        """Seconds of arithmetic and of overhead; a register tile for each choice of λ; passes over an output."""
        visits, steps, last, passes = trips_of(scheme)
        counts = [[count for count, _ in branches] for branches in scheme.branches.values()]
        compute = overhead = 0.0
        parts = []
        for choice, tile in zip(product(*counts), scheme.tiles):
            kernel, score = self.kernel(tile)
            times = visits * share
            for count in choice:
                times *= count
            compute += times * self.tiles.arithmetic(kernel, score, steps)
            overhead += times * (
                self.tiles.around(kernel, steps, last, passes) + self.tiles.pixels(scheme, kernel, steps)
            )
            parts.append(TileVisits(kernel, score, times))
        return compute, overhead, tuple(parts), passes


def predict(scheme: Scheme, machine: Machine, score: Score, threads: int = 1, costs: Costs = COSTS) -> Prediction:
    """The time of `scheme` with its parts. For many schemes of one problem use one `Predictor`."""
    return Predictor(scheme.problem, machine, score, threads, costs).predict(scheme)


def overlapped(core: float, movement: Sequence[float], vectors: float, exposed: float) -> float:
    """Seconds of parts that overlap: the longest, and a share `exposed` of the others.

    vectors: what of the first part of `movement` brings vectors from L2. Scores are measured so, and `core` has what it
    shows. So it does not show again while arithmetic goes on that the other data of that part leave uncovered.
    """
    slowest = max(core, *movement)
    rest = core + sum(movement) - slowest
    return slowest + exposed * (rest - min(vectors, max(0.0, core + vectors - movement[0])))


def seconds_of(
    traffic: tuple[Traffic, ...], machine: Machine, stream: bool = False, again: float = 0.0
) -> tuple[float, ...]:
    """Per cache, the seconds that its traffic takes at the bandwidth of the memory outside it.

    A measured write bandwidth includes the reads that a CPU makes to own lines (some make none), so the output's bytes
    count once. In caches a share `again` of them is read besides, where sums continue or lines are written in parts.
    Where write bandwidths were not measured, each line is read and then written. Streamed outputs have a bandwidth of
    their own and are not read.
    """
    seconds = []
    for level, moved in enumerate(traffic):
        others: float = moved.total - moved.written * (1 if stream else 2)
        if level + 1 < len(machine.caches):
            outside = machine.caches[level + 1]
            read, write = outside.bandwidth, outside.write_bandwidth or outside.bandwidth / 2
            others += again * moved.written if outside.write_bandwidth else 0
        else:
            read = machine.memory_bandwidth
            write = machine.stream_bandwidth if stream else machine.memory_write_bandwidth
        seconds.append(others / read + moved.written / write)
    return tuple(seconds)


def bandwidth(machine: Machine, size: int) -> float:
    """Bytes/s of the innermost cache that holds so many bytes."""
    return next((cache.bandwidth for cache in machine.caches if cache.bytes >= size), machine.memory_bandwidth)
