"""The seconds of one visit to a register tile: its arithmetic, and what stands around that."""

from __future__ import annotations

from math import gcd, prod

from microkernels.tile.isa import isa_named
from microkernels.tile.microkernel import Microkernel
from microkernels.tile.transpose import blocks, transposition
from search.cost.costs import Costs
from tiling.arrays.access import access_of
from tiling.loops.lowering.prefetch.limits import LONG_VECTOR
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.rewrite.copies.panels import visits_of_panel
from tiling.scheme.scheme import Scheme


class TileSeconds:
    """The seconds of a visit to register tiles of one problem on one machine."""

    def __init__(self, problem: Problem, machine: Machine, threads: int, costs: Costs):
        self.problem = problem
        self.access = access_of(problem)
        self.machine = machine
        self.threads = threads
        self.costs = costs
        self._inside = problem.inside_fraction
        narrow = isa_named(machine.isa).narrow_to(problem.output_dtype)
        self._in_line = narrow.in_line if narrow else 1
        # peak FLOP/s = pipes · lanes · 2 · clock
        self.cycle = costs.pipes * machine.lanes * 2 / machine.peak

    def arithmetic(self, kernel: Microkernel, score: float, steps: float) -> float:
        """Seconds of arithmetic in one visit of `steps` steps to a register tile. Taps on padding are skipped."""
        return steps * kernel.fmas * self._inside / self.costs.pipes / max(score, 1e-3) * self.cycle

    def around(self, kernel: Microkernel, steps: float, last: float, passes: float) -> float:
        """Seconds of one visit besides its arithmetic.

        last: trips of the innermost loop. passes: how often the same outputs are visited. The stores of one tile
        overlap the arithmetic of the next only as far as registers are free, so they count here.
        """
        costs = self.costs
        shuffles, lines = self._stored(kernel)
        outputs = shuffles * costs.shuffle + lines * costs.store
        outputs += (shuffles * costs.shuffle + lines * costs.load) * (passes - 1) / passes
        entry = costs.entry_by_vectors if self.access.lanewise else costs.entry
        entries = steps / last * entry if last > 1 else 0.0
        # An iteration whose FMAs take many cycles hides its own counting; a short one does not.
        control = steps * max(0.0, costs.step - kernel.fmas / costs.pipes / 2)
        if not self.access.lanewise and not self.access.by_matrix and kernel.accumulators <= costs.pipes * costs.drain:
            control += steps * costs.slack
        control += self._from_l2(kernel, steps) * costs.from_l2
        if self.access.by_matrix:
            outputs += costs.matrix + costs.through * kernel.accumulators
            outputs += costs.lone * kernel.accumulators if kernel.vectors == 1 else 0
        if self._in_line > 1 and not self.access.transposed_output:
            outputs += costs.narrow * (kernel.accumulators // kernel.vectors) * (kernel.vectors % self._in_line)
        return (outputs + costs.drain + costs.tile + entries + control) * self.cycle

    def pixels(self, scheme: Scheme, kernel: Microkernel, steps: float) -> float:
        """Seconds of one visit for vectors of x that are read in place: for vectors that lie in two lines, and for
        packing.

        The first visit to a panel packs it. Vectors of V bytes begin at multiples of g where channels do, so a share
        (V - g) / L of them crosses from one line of L bytes to the next.
        """
        if not self.access.weights_broadcast:
            return 0.0
        costs, x = self.costs, self.problem.vector
        line, size = self.machine.caches[0].line, self.access.bytes_of(x)
        two = max(0, self.machine.lanes * size - gcd(x.shape[-1] * size, line)) / line
        points = prod(count for _, count in kernel.unrolled)
        visits = visits_of_panel(scheme, self.threads)
        each = (costs.split * two + costs.pack) / visits if visits else costs.split * two
        return steps * points * kernel.vectors * each * self.cycle

    def _from_l2(self, kernel: Microkernel, steps: float) -> float:
        """How many short vectors of packed weights come from L2 in one visit: all, where L1 does not hold them."""
        lanes, access = self.machine.lanes, self.access
        if access.lanewise or access.by_matrix or access.weights_broadcast or lanes >= LONG_VECTOR:
            return 0.0
        vectors = steps * prod(count for _, count in kernel.unrolled) * kernel.vectors
        return vectors if vectors * lanes * access.bytes_of(access.packed) > self.machine.caches[0].bytes else 0.0

    def _stored(self, kernel: Microkernel) -> tuple[int, float]:
        """Shuffles and touched lines that bring a tile's accumulators to memory.

        A store of n outputs anywhere in lines of L outputs touches 1 + (n - 1) / L lines on average. Where it begins at
        a multiple of g outputs it touches 1 + (n - g) / L. Rows of K outputs begin at multiples of gcd(K, L).
        """
        problem, lanes = self.problem, self.machine.lanes
        line = self.machine.caches[0].line // self.access.bytes_of(problem.output)
        if not self.access.transposed_output:
            apart, stores, alone = gcd(problem.output.shape[-1], line), *divmod(kernel.vectors, self._in_line)
            rows = kernel.accumulators // kernel.vectors
            whole = stores * (1 + max(0, lanes * self._in_line - apart) / line)
            return 0, rows * (whole + alone * (1 + max(0, lanes - apart) / line))
        tile = {dim: 1 for dim in problem.row_dims} | dict(kernel.rows)
        aligned = tile[problem.output_axes[-1]] % lanes == 0
        shuffles, lines = 0, 0.0
        for block in blocks(problem, tile, lanes):
            shuffles += len(transposition(lanes, block.count).shuffles)
            lines += lanes * (1 if aligned else 1 + (block.count - 1) / line)
        return kernel.vectors * shuffles, kernel.vectors * lines
