"""Checks several ways to compute one layer, then times them in turns, in one worker process.

    prepare ──► check against float64 ──► for each round: A, B, C, … each warmed, then sampled, the FMA peak around it

Turns spread slow moments and clock drift over all contenders. One beside which other programs took the cores is
repeated (`cpu.runtime.machine.neighbours`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bench.peers import PEERS
from bench.peers.interface.peer import Prepared
from bench.run.turns import PAUSE_SECONDS, WARM_CALLS
from cpu.codegen.arrays import stored
from cpu.kernel.arguments import aligned
from cpu.kernel.callable import Kernel, build
from cpu.kernel.measure import WrongResult, bound_of, check_exact, largest_error
from cpu.reference.oracle import error_bound, reals, reference
from cpu.runtime.machine.host import host
from cpu.runtime.machine.neighbours import undisturbed
from cpu.runtime.machine.timer import peak_gflops, read_bandwidth
from cpu.runtime.numbers import to_bits
from microkernels.tile.isa import isa_named
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.notation import parse
from tiling.text.shapes import problem_of

# A sample is about as long as this, or one call: long beside the clock's resolution, short beside a scheduler's slice.
SAMPLE_SECONDS = 0.001
PEAK_SECONDS = 0.004
TOLD_SAMPLES = 10  # samples a turn of a kernel alone, as its library reports them
# Larger than the last cache by this factor, a buffer that is read leaves nothing of what a call used in any cache.
SWEEP = 2
_MOST_BUFFER_BYTES = 256 << 20  # beyond every last cache but those of servers that share it among dozens of cores
_BANDWIDTH_SECONDS = 0.05


class Refused(Exception):
    """Why a peer cannot compute the problem or is not installed."""


@dataclass
class _Entrant:
    """A contender that passed its check, and its samples so far."""

    name: str
    layout: str
    run: Callable[[], object]
    max_error: float
    kernel: Callable[[float], Timing] | None = None
    prepared: Prepared | None = None  # a peer's: what it holds must live as long as its calls
    calls: list[Timing] = field(default_factory=list)
    kernels: list[Timing] = field(default_factory=list)


def contest(
    *,
    op: str,
    shape: str,
    schemes: dict[str, str],
    isa: str,
    threads: int,
    stream: bool,
    peers: list[str],
    cache: str,
    rounds: int,
    seconds: float,
    seed: int,
) -> dict[str, Any]:
    """Times `schemes` (name: scheme's text) and `peers` on one problem, `rounds` turns of about `seconds` each.

    Gives {"contenders": [{name, layout, max_error, call, kernel}], "skipped": [[peer, reason]], "memory_bandwidth",
    "histories": {peer: that of its search}}.
    Timings are {"samples", "peak_gflops"}; kernel is None where the library does not tell. cache: "warm", or "cold",
    which sweeps the caches before each call and gives no time of a kernel alone. Raises WrongResult where one of the
    schemes is wrong. A peer that fails or is wrong is skipped with the reason.
    """
    problem, warm = problem_of(op, shape), cache == "warm"
    chosen = isa_named(isa)
    # On a cache line, as every contender's output.
    inputs = tuple(map(aligned, reals(problem, seed)))
    expected, bound = reference(problem, *inputs), error_bound(problem, *inputs)

    def peak() -> float:
        return peak_gflops(chosen.compiler_flags, chosen.lanes, PEAK_SECONDS)

    entrants, skipped = [], []
    for name, text in schemes.items():
        kernel = build(parse(problem, text), chosen, threads, stream)
        entrants.append(_ours(name, kernel, inputs, expected, warm))
    for name in peers:
        try:
            entrants.append(_peer(name, problem.original, inputs, threads, expected, bound, peak if warm else None))
        except Exception as error:  # whatever a foreign library raises is its reason
            skipped.append([name, sentence(error)])

    sweep = None if warm else _sweeper()
    for _ in range(rounds):
        for entrant in entrants:
            entrant.calls.append(undisturbed(partial(_turn, entrant.run, seconds, peak, sweep), threads))
            if entrant.kernel:
                entrant.kernels.append(undisturbed(partial(entrant.kernel, seconds), threads))
    buffer = np.ones(min(2 * SWEEP * host().caches[-1].bytes, _MOST_BUFFER_BYTES) // 8)
    # All contenders share one peak, since they took turns. Other programs only lower a measured peak, so the highest
    # counts.
    highest = max((turn.peak_gflops for entrant in entrants for turn in entrant.calls), default=0.0)
    return {
        "contenders": [
            {
                **{"name": e.name, "layout": e.layout, "max_error": e.max_error},
                **{"call": _pooled(e.calls, highest), "kernel": _pooled(e.kernels, highest) if e.kernels else None},
            }
            for e in entrants
        ],
        "skipped": skipped,
        "histories": {e.name: e.prepared.history for e in entrants if e.prepared and e.prepared.history},
        "memory_bandwidth": read_bandwidth(buffer, chosen.compiler_flags, chosen.lanes, _BANDWIDTH_SECONDS),
    }


def _ours(name: str, kernel: Kernel, inputs: tuple[np.ndarray, ...], expected: np.ndarray, warm: bool) -> _Entrant:
    check_exact(kernel)
    bound = bound_of(kernel.scheme, *inputs)
    x, w, *arrays = map(aligned, stored(kernel.problem, inputs))
    packed, y = kernel.pack(w), kernel.empty()
    kernel(x, packed, *arrays, out=y)
    error = largest_error(kernel.problem, y, expected, bound)

    def alone(seconds: float) -> Timing:
        return kernel.measure(x, packed.data, y, seconds, arrays)

    images = kernel.problem.original
    layout = f"{images.layout.upper()}, weights packed" if images.windows else "row-major, b packed"
    return _Entrant(name, layout, lambda: kernel(x, packed, *arrays, out=y), error, alone if warm else None)


def _peer(
    name: str,
    problem: Problem,
    inputs: tuple[np.ndarray, ...],
    threads: int,
    expected: np.ndarray,
    bound: np.ndarray | float,
    peak: Callable[[], float] | None,
) -> _Entrant:
    peer = PEERS[name]
    unsupported_reason = peer.missing() or peer.refuses(problem)
    if unsupported_reason:
        raise Refused(unsupported_reason)
    x, w, *arrays = inputs
    prepared = peer.prepare(problem, x, w, threads, *arrays)
    prepared.run()
    # The result has the output's dtype already, so nothing is rounded here.
    result = to_bits(np.asarray(prepared.result()), problem.output_dtype)
    error = largest_error(problem, result, expected, bound)

    kernel = None
    if peak and prepared.kernel_seconds:
        kernel = partial(_told, prepared.run, prepared.kernel_seconds, peak)
    return _Entrant(name, prepared.layout, prepared.run, error, kernel, prepared)


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


def _pooled(turns: list[Timing], peak_gflops: float) -> dict[str, Any]:
    """The samples of all turns together."""
    return {"samples": [sample for turn in turns for sample in turn.samples], "peak_gflops": peak_gflops}


def sentence(error: Exception) -> str:
    """The first line of what a library says, with its type where that is not our own."""
    said = (str(error).strip() or "no reason given").splitlines()[0][:300]
    return said if isinstance(error, (Refused, WrongResult)) else f"{type(error).__name__}: {said}"
