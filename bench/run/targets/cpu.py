"""Contenders on the CPU: calls from Python by its clock, with the FMA peak measured around every turn.

A turn beside which other programs took the cores is repeated (`cpu.runtime.machine.neighbours`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.peers.interface.peer import Prepared
from bench.run.targets.interface import BenchTarget, Contender
from bench.run.targets.turns import PAUSE_SECONDS, WARM_CALLS
from cpu.codegen.arrays import stored
from cpu.kernel.arguments import aligned
from cpu.kernel.callable import build
from cpu.kernel.measure import bound_of, check_exact, largest_error
from cpu.reference.oracle import error_bound, reals, reference
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import host
from cpu.runtime.machine.neighbours import TRIES, undisturbed
from cpu.runtime.machine.timer import peak_gflops, read_bandwidth
from cpu.runtime.numbers import to_bits
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import Isa
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.notation import parse
from tiling.text.shapes import problem_of

# A sample is about as long as this, or one call: long beside the clock's resolution, short beside a scheduler's slice.
SAMPLE_SECONDS = 0.001
PEAK_SECONDS = 0.004
TOLD_SAMPLES = 10  # samples a turn of a kernel alone, as its library reports them
# A buffer that is larger than the last cache by this factor, and is read, pushes everything that a call used out of all
# caches.
SWEEP = 2
_MOST_BUFFER_BYTES = 256 << 20  # beyond every last cache but those of servers that share it among dozens of cores
_BANDWIDTH_SECONDS = 0.05


@dataclass(frozen=True)
class _Arena:
    """`bench.run.targets.interface.Arena` of the CPU.

    own: the problem as our schemes have it. expected: the result in float64, bound: how far one of `problem`'s dtype
    may be from it.
    """

    own: Problem
    isa: Isa
    threads: int
    stream: bool
    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    bound: np.ndarray | float
    sweep: Callable[[], None] | None

    @property
    def problem(self) -> Problem:
        return self.own.original

    def ours(self, name: str, text: str) -> Contender:
        kernel = build(parse(self.own, text), self.isa, self.threads, self.stream)
        check_exact(kernel)
        bound = bound_of(kernel.scheme, *self.inputs)
        x, w, *arrays = map(aligned, stored(kernel.problem, self.inputs))
        packed, y = kernel.pack(w), kernel.empty()
        kernel(x, packed, *arrays, out=y)
        error = largest_error(kernel.problem, y, self.expected, bound)

        def alone(seconds: float) -> Timing:
            return kernel.measure(x, packed.data, y, seconds, arrays)

        layout = f"{self.problem.layout.upper()}, weights packed" if self.problem.windows else "row-major, b packed"
        return self._contender(name, layout, error, lambda: kernel(x, packed, *arrays, out=y), alone)

    def peer(self, name: str, prepared: Prepared) -> Contender:
        # The result has the output's dtype already, so nothing is rounded here.
        result = to_bits(np.asarray(prepared.result()), self.problem.output_dtype)
        error = largest_error(self.problem, result, self.expected, self.bound)
        told = prepared.kernel_seconds
        alone = partial(_told, prepared.run, told, self._peak) if told else None
        return self._contender(name, prepared.layout, error, prepared.run, alone, prepared)

    def bandwidth(self) -> float:
        """Bytes/s that one core reads."""
        buffer = np.ones(min(2 * SWEEP * host().caches[-1].bytes, _MOST_BUFFER_BYTES) // 8)
        return read_bandwidth(buffer, self.isa.compiler_flags, self.isa.lanes, _BANDWIDTH_SECONDS)

    def _contender(
        self,
        name: str,
        layout: str,
        max_error: float,
        run: Callable[[], object],
        alone: Callable[[float], Timing] | None,
        prepared: Prepared | None = None,
    ) -> Contender:
        def turn(seconds: float) -> Timing:
            return undisturbed(partial(_turn, run, seconds, self._peak, self.sweep), self.threads)

        def kernel_turn(seconds: float) -> Timing:
            assert alone is not None
            return undisturbed(partial(alone, seconds), self.threads)

        tells = alone is not None and self.sweep is None
        return Contender(name, layout, max_error, turn, kernel_turn if tells else None, prepared)

    def _peak(self) -> float:
        return peak_gflops(self.isa.compiler_flags, self.isa.lanes, PEAK_SECONDS)


def _arena(*, op: str, shape: str, isa: str, threads: int, stream: bool, cache: str, seed: int) -> _Arena:
    problem = problem_of(op, shape)
    # On a cache line, as every contender's output.
    inputs = tuple(map(aligned, reals(problem, seed)))
    expected, bound = reference(problem, *inputs), error_bound(problem, *inputs)
    sweep = _sweeper() if cache == "cold" else None
    return _Arena(problem, isa_named(isa), threads, stream, inputs, expected, bound, sweep)


def _told(
    run: Callable[[], object], samples: Callable[[int], list[float]], peak: Callable[[], float], seconds: float
) -> Timing:
    """What a peer tells of its kernel alone, however many seconds there are."""
    time.sleep(PAUSE_SECONDS)
    before = peak()
    run()
    return Timing(tuple(samples(TOLD_SAMPLES)), max(before, peak()))


def _turn(
    run: Callable[[], object], seconds: float, peak: Callable[[], float], sweep: Callable[[], None] | None
) -> Timing:
    """Samples of seconds per call for about `seconds`, with the peak measured before and after."""
    time.sleep(PAUSE_SECONDS)
    before = peak()
    for _ in range(WARM_CALLS):
        run()
    clock = time.perf_counter
    started = clock()
    run()
    calls = 1 if sweep else max(1, round(SAMPLE_SECONDS / max(clock() - started, 1e-9)))
    samples: list[float] = []
    end = clock() + seconds
    while not samples or clock() < end:
        if sweep:
            sweep()
        started = clock()
        for _ in range(calls):
            run()
        samples.append((clock() - started) / calls)
    return Timing(tuple(samples), max(before, peak()))


def _sweeper() -> Callable[[], None]:
    buffer = np.ones(SWEEP * host().caches[-1].bytes // 8)
    return lambda: buffer.sum()


def _compiler(backend: Any) -> str:
    compiler = find_compiler()
    return f"{compiler.kind} {compiler.version}"


def _state() -> str:
    bound = os.environ.get("OMP_PROC_BIND")
    how = f"bound by OMP_PROC_BIND={bound}" if bound else "not pinned"
    return (
        f"threads may run on {host().cores} cores and are {how}; on several, percents are of as many times the peak of "
        "one core"
    )


TARGET = BenchTarget(
    arena=_arena,
    address_space=None,
    lasting=False,
    turn_seconds=0.1,
    usual_peers=("onednn", "onednn-nchw", "ort", "openvino"),
    caches={
        "warm": "warm caches: inputs, weights and output stay where the call before left them",
        "cold": "cold caches: a buffer larger than the last one is read before each call; ours are chosen for such "
        "calls",
    },
    compiler=_compiler,
    state=_state,
    allocator="output memory is re-used; where a library allocates it, glibc is told to keep what is freed; large "
    "arrays lie on huge pages where the system grants them, whoever allocates them",
    turns=", the FMA peak measured before and after each turn; warm turns begin with 3 calls that do not count; a turn "
    f"beside which other programs took the cores is repeated, up to {TRIES - 1} times",
)
