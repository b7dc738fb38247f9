"""The time of a scheme, predicted, with its parts.

    core    = compute + overhead                what the FMA pipes do, and what they wait for around a register tile;
                                                where vectors of x are read in place, SPLIT and PACK of these too
    levels  = bytes into each cache / bandwidth of the memory that they come from; from beyond L2, where pixels are
              swept in parts of their channels, 1 + SWEEP times as long for each row dim
    seconds = max(core, levels) + EXPOSED · (the rest) + start of the threads + copy of x, where one is made
              (`search.copies`)
              + (UNASKED - EXPOSED) · (what comes from beyond L2 and no tile has asked for before, unless it rules)
              + RESHAPE · (changes of tiles), for matrix instructions

For matrix instructions EXPOSED is IN_TILES. Out-of-order execution and prefetch overlap data movement with arithmetic,
so the slowest part rules; but not wholly, so a fraction of every other part shows. All constants that are not facts of
the machine are in `search.costs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from microkernels.isa import isa_named
from microkernels.microkernel import Microkernel, microkernel_of
from microkernels.transpose import blocks, transposition, whole_stores
from search.costs import COSTS, Costs
from search.panels import visits_of_panel
from search.volume import Traffic, Volumes, streams, tasks
from tiling.ahead import next_outputs, next_panel, outputs, pieces
from tiling.machine import Machine
from tiling.nest import lower, tiles
from tiling.problem import Problem
from tiling.scheme import Lambda, Rest, Scheme, Stage, Tile

Score = Callable[[Microkernel], float]


# A part of the time that is too small to look for who asked for it.
NOTICED = 0.005


@dataclass(frozen=True)
class Part:
    """One register tile of a scheme: its microkernel, that one's score, how often it runs on the busiest core."""

    kernel: Microkernel
    score: float
    visits: float


@dataclass(frozen=True)
class Prediction:
    """Predicted seconds of a call and what they are made of; the parts are those of the busiest core.

    movement: seconds per cache, in the order of `traffic`; imbalance: its work over the mean of all threads; copy:
    seconds of the copy of x that the kernel makes (`search.copies`).
    """

    seconds: float
    compute: float
    overhead: float
    traffic: tuple[Traffic, ...]
    movement: tuple[float, ...]
    parts: tuple[Part, ...]
    imbalance: float
    start: float
    threads: int
    copy: float = 0.0

    @property
    def bottleneck(self) -> str:
        """`compute`, or the name of the cache that waits longest for its data."""
        slowest = max(self.movement, default=0.0)
        if self.compute + self.overhead >= slowest:
            return "compute"
        return self.traffic[self.movement.index(slowest)].level


class Predictor:
    """Predicts schemes of one problem on one machine, and remembers what they have in common."""

    def __init__(self, problem: Problem, machine: Machine, score: Score, threads: int = 1, costs: Costs = COSTS):
        self.problem = problem
        self.machine = machine
        self.threads = threads
        self.costs = costs
        self._score = score
        self._volumes = Volumes(problem, machine, threads)
        self._kernels: dict[tuple[int, ...], tuple[Microkernel, float]] = {}
        self._inside = problem.inside_fraction
        narrow = isa_named(machine.isa).narrow_to(problem.output_dtype)
        self._in_line = narrow.in_line if narrow else 1
        self._streams = streams(problem, machine.caches[-1].bytes)
        # peak FLOP/s = pipes · lanes · 2 · clock
        self._cycle = costs.pipes * machine.lanes * 2 / machine.peak

    def predict(self, scheme: Scheme) -> Prediction:
        """The prediction of one scheme."""
        count = tasks(scheme)
        share = -(-count // self.threads) / count
        compute, overhead, parts, passes = self._core(scheme, share)
        stream = self._streams and passes == 1 and whole_stores(scheme)
        traffic = self._volumes.traffic(scheme, stream)
        movement = seconds_of(traffic, self.machine, stream, (passes - 1) / passes if self._whole(parts) else 1.0)
        if self.problem.lanewise:
            longer = 1 + self.costs.sweep * _sweeps(scheme)
            movement = (*movement[:1], *(longer * part for part in movement[1:]))
        slowest = max(compute + overhead, *movement)
        rest = compute + overhead + sum(movement) - slowest
        start = self.costs.start if count > 1 and self.threads > 1 else 0.0
        exposed = self.costs.in_tiles if self.problem.blocked else self.costs.exposed
        seconds = slowest + exposed * rest + start
        if self.problem.blocked:
            seconds += self.costs.reshape * _changes(scheme) * share * self._cycle
        late = self._late(traffic, movement, stream, slowest)
        if sum(late.values()) > NOTICED * seconds:
            asked = asked_for(scheme)
            seconds += (self.costs.unasked - exposed) * sum(
                part for tensor, part in late.items() if tensor not in asked
            )
        return Prediction(
            seconds, compute, overhead, traffic, movement, parts, share * self.threads, start, self.threads
        )

    def _whole(self, parts: tuple[Part, ...]) -> bool:
        """Whether every tile writes whole lines of the output: the rest of a line is read first, whatever the CPU."""
        y, line = self.problem.output, self.machine.caches[0].line // self.problem.bytes_of(self.problem.output)
        tiles = [self.machine.lanes * part.kernel.vectors for part in parts]
        return not self.problem.crosswise and all(width % line == 0 for width in (y.shape[-1], *tiles))

    def _late(
        self, traffic: tuple[Traffic, ...], movement: tuple[float, ...], stream: bool, slowest: float
    ) -> dict[str, float]:
        """Seconds of `movement` in which each tensor comes from beyond L2; nobody waits for outputs past the caches,
        and what is the slowest of all counts whole anyway.
        """
        late: dict[str, float] = {}
        for moved, seconds in list(zip(traffic, movement))[1:]:
            for tensor, amount in moved.moved:
                if amount and seconds < slowest and not (stream and tensor == self.problem.output.name):
                    late[tensor] = late.get(tensor, 0.0) + seconds * amount / moved.total
        return late

    def kernel(self, tile: Mapping[str, int]) -> tuple[Microkernel, float]:
        """The microkernel of a register tile (units per dim) and its score."""
        key = tuple(tile.values())
        if key not in self._kernels:
            kernel = microkernel_of(self.problem, tile, self.machine.isa)
            self._kernels[key] = (kernel, self._score(kernel))
        return self._kernels[key]

    def _core(self, scheme: Scheme, share: float) -> tuple[float, float, tuple[Part, ...], float]:
        """Seconds of arithmetic and of overhead, the register tiles, each λ choice one, and passes over an output."""
        visits, steps, last, passes = _trips(scheme)
        counts = [[count for count, _ in branches] for branches in scheme.branches.values()]
        compute = overhead = 0.0
        parts = []
        for choice, tile in zip(product(*counts), scheme.tiles):
            kernel, score = self.kernel(tile)
            times = visits * share
            for count in choice:
                times *= count
            compute += times * self.tile_seconds(kernel, score, steps)
            overhead += times * (self.tile_overhead(kernel, steps, last, passes) + self._pixels(scheme, kernel, steps))
            parts.append(Part(kernel, score, times))
        return compute, overhead, tuple(parts), passes

    def tile_seconds(self, kernel: Microkernel, score: float, steps: float) -> float:
        """Arithmetic of one visit to a register tile of `steps` reduction steps; taps on padding are skipped."""
        return steps * kernel.fmas * self._inside / self.costs.pipes / max(score, 1e-3) * self._cycle

    def tile_overhead(self, kernel: Microkernel, steps: float, last: float, passes: float) -> float:
        """What one visit costs besides: `last` trips of the innermost loop, `passes` over the same outputs.

        The stores of one tile overlap the arithmetic of the next only as far as registers are free, so they count.
        """
        costs = self.costs
        shuffles, lines = self._stored(kernel)
        outputs = shuffles * costs.shuffle + lines * costs.store
        outputs += (shuffles * costs.shuffle + lines * costs.load) * (passes - 1) / passes
        entries = steps / last * costs.entry if last > 1 else 0.0
        # An iteration whose FMAs take many cycles hides its own counting; a short one does not.
        control = steps * max(0.0, costs.step - kernel.fmas / costs.pipes / 2)
        if self.problem.blocked:
            outputs += costs.matrix + costs.through * kernel.accumulators
            outputs += costs.lone * kernel.accumulators if kernel.vectors == 1 else 0
        if self._in_line > 1 and not self.problem.crosswise:
            outputs += costs.narrow * (kernel.accumulators // kernel.vectors) * (kernel.vectors % self._in_line)
        return (outputs + costs.drain + costs.tile + entries + control) * self._cycle

    def _pixels(self, scheme: Scheme, kernel: Microkernel, steps: float) -> float:
        """Seconds that a visit spends on vectors of x that are two lines, where it reads them in place, and on packing
        them, where it is the first to.

        Vectors of V bytes begin at multiples of g, if planes do, so of lines of L bytes (V - g) / L of them are two.
        """
        if not self.problem.in_place:
            return 0.0
        costs, x = self.costs, self.problem.vector
        line, size = self.machine.caches[0].line, self.problem.bytes_of(x)
        two = max(0, self.machine.lanes * size - gcd(x.shape[-1] * size, line)) / line
        points = prod(count for _, count in kernel.unrolled)
        visits = visits_of_panel(scheme, self.threads)
        each = (costs.split * two + costs.pack) / visits if visits else costs.split * two
        return steps * points * kernel.vectors * each * self._cycle

    def _stored(self, kernel: Microkernel) -> tuple[int, float]:
        """Shuffles, and lines stored to, that bring a tile's accumulators to memory.

        A store of n outputs to any place in lines of L touches 1 + (n - 1) / L of them on average, to a multiple of g
        places 1 + (n - g) / L: rows of K outputs begin at multiples of gcd(K, L).
        """
        problem, lanes = self.problem, self.machine.lanes
        line = self.machine.caches[0].line // problem.bytes_of(problem.output)
        if not problem.crosswise:
            apart, stores, alone = gcd(problem.output.shape[-1], line), *divmod(kernel.vectors, self._in_line)
            rows = kernel.accumulators // kernel.vectors
            whole = stores * (1 + max(0, lanes * self._in_line - apart) / line)
            return 0, rows * (whole + alone * (1 + max(0, lanes - apart) / line))
        tile = {dim: 1 for dim in problem.row_dims} | dict(kernel.rows)
        aligned = tile[problem.output_axes[-1]] % lanes == 0
        shuffles = lines = 0
        for block in blocks(problem, tile, lanes):
            shuffles += len(transposition(lanes, block.count).shuffles)
            lines += lanes * (1 if aligned else 1 + (block.count - 1) / line)
        return kernel.vectors * shuffles, kernel.vectors * lines


def predict(scheme: Scheme, machine: Machine, score: Score, threads: int = 1, costs: Costs = COSTS) -> Prediction:
    """The time of `scheme` with its parts. Many schemes of one problem: use one `Predictor`."""
    return Predictor(scheme.problem, machine, score, threads, costs).predict(scheme)


def seconds_of(
    traffic: tuple[Traffic, ...], machine: Machine, stream: bool = False, again: float = 0.0
) -> tuple[float, ...]:
    """Per cache, the seconds that its traffic takes at the bandwidth of the memory outside it.

    As measured, write bandwidths include the reads that the CPU makes to own the lines (some make none), so there the
    output's bytes are counted once, and in caches `again` of them read besides, since they are taken up again or
    written in parts of lines; where they were not measured a line is read and written. Streamed outputs have a
    bandwidth of their own and are not read.
    """
    seconds = []
    for level, moved in enumerate(traffic):
        others = moved.total - moved.written * (1 if stream else 2)
        if level + 1 < len(machine.caches):
            outside = machine.caches[level + 1]
            read, write = outside.bandwidth, outside.write_bandwidth or outside.bandwidth / 2
            others += again * moved.written if outside.write_bandwidth else 0
        else:
            read = machine.memory_bandwidth
            write = machine.stream_bandwidth if stream else machine.memory_write_bandwidth
        seconds.append(others / read + moved.written / write)
    return tuple(seconds)


def asked_for(scheme: Scheme) -> frozenset[str]:
    """The names of the tensors that all tiles bring nearer before they need them."""
    problem, asked = scheme.problem, []
    for tile in tiles(lower(scheme)):
        found = {piece.array for piece in pieces(problem, tile)}
        found |= {"x"} if next_panel(problem, tile) else set()
        asked.append(found | ({"y"} if outputs(problem, tile) or next_outputs(problem, tile) else set()))
    arrays = dict(zip("xwy", (tensor.name for tensor in problem.tensors)))
    return frozenset(name for array, name in arrays.items() if all(array in found for found in asked))


def _sweeps(scheme: Scheme) -> int:
    """Along how many row dims tiles go on before they come back for more channels of the same pixels, which lie side by
    side in x and y.
    """
    problem, outside = scheme.problem, scheme.specifiers[: scheme.place_of_sums]
    alone = [s for s in outside if not isinstance(s, Stage) and getattr(s, "worker", None) is None]
    loops = [s.dim for s in alone if scheme.iterations(s) > 1]
    if problem.vector_dim not in loops:
        return 0
    return len(set(loops[loops.index(problem.vector_dim) :]) & set(problem.row_dims))


def _changes(scheme: Scheme) -> float:
    """How often a register tile follows one of another size: each time the loops go on from a branch of λ to the next,
    or begin again with the first.
    """
    times, changes = 1, 0
    for specifier in scheme.specifiers:
        if isinstance(specifier, Lambda):
            sizes = len(specifier.branches)
            changes += times * sizes if sizes > 1 else 0
        if isinstance(specifier, (Rest, Tile, Lambda)):
            times *= scheme.iterations(specifier)
        elif isinstance(specifier, Stage) and specifier.tensor == scheme.problem.output.name:
            break
    return changes


def _trips(scheme: Scheme) -> tuple[float, float, float, float]:
    """Visits to a register tile but for λ's counts, reduction steps of a visit, trips of the innermost loop, and
    passes over each output."""
    visits = steps = last = passes = 1
    inside = False
    for specifier in scheme.specifiers:
        if isinstance(specifier, Stage):
            inside = inside or specifier.tensor == scheme.problem.output.name
            continue
        if not isinstance(specifier, (Rest, Tile)):
            continue
        trips = scheme.iterations(specifier)
        if inside:
            steps *= trips
            last = trips if trips > 1 else last
        else:
            visits *= trips
            if specifier.dim in scheme.problem.reductions:
                passes *= trips
    return visits, steps, last, passes
