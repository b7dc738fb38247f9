"""As `contest`, on a GPU: checks each contender, then times all in turns by CUDA events, in a worker process.

    prepare ──► check against float64 ──► for each round: A, B, C, …, each by events behind a head start

A time is how long one call keeps the device busy, without launch and Python. All contenders read the same random reals,
since a GPU draws less power and runs faster on zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.peers import PEERS
from bench.run.contest import Refused, sentence
from gpu.runtime.arrays import from_device, poisoned, to_device
from gpu.runtime.kernel import load
from gpu.runtime.machine.device import current_device
from gpu.runtime.machine.timer import event_seconds, memory_bandwidth, sweeper, timed
from search.evaluator.gpu.check import Case, Placed, exact_case, placed, real_case, stepwise
from search.tuner.dtypes import on_gpu
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse
from tiling.text.shapes import problem_of


@dataclass
class _Entrant:
    """A contender that passed its check; `seconds(count)` times so many calls."""

    name: str
    layout: str
    seconds: Callable[[int], list[float]]
    max_error: float
    samples: list[float] = field(default_factory=list)


def contest(
    *,
    op: str,
    shape: str,
    dtype: str,
    schemes: dict[str, str],
    peers: list[str],
    cache: str,
    rounds: int,
    seconds: float,
    seed: int,
) -> dict[str, Any]:
    """Times `schemes` (name: scheme's text) and `peers` on one problem, `rounds` turns of about `seconds` each.

    Gives what `bench.run.contest.contest` does. The peak is the data sheet's tensor-core rate, the bandwidth that of a
    copy within the device. Every time is that of a kernel alone, so there is no separate one. A "cold" cache means that
    L2 is swept before each call. Raises WrongResult where one of the schemes is wrong. A peer that fails or is wrong is
    skipped with the reason.
    """
    problem, device = on_gpu(problem_of(op, shape), dtype), current_device()
    case = real_case(problem, seed)
    entrants, skipped = [], []
    exact, inputs = placed(problem, exact_case(problem, seed)), to_device(problem, case.inputs)
    for name, text in schemes.items():
        entrants.append(_ours(name, problem, text, exact, case, inputs))
    for name in peers:
        try:
            entrants.append(_peer(name, problem, case))
        except Exception as error:  # whatever a foreign library raises is its reason
            skipped.append([name, sentence(error)])
    sweep = sweeper(device.l2_bytes) if cache == "cold" else None
    for _ in range(rounds):
        for entrant in entrants:
            entrant.samples += timed(partial(_swept, entrant.seconds, sweep) if sweep else entrant.seconds, seconds)
    peak = device.peak_flops(dtype) / 1e9
    return {
        "contenders": [
            {
                **{"name": e.name, "layout": e.layout, "max_error": e.max_error},
                **{"call": {"samples": e.samples, "peak_gflops": peak}, "kernel": None},
            }
            for e in entrants
        ],
        "skipped": skipped,
        "memory_bandwidth": memory_bandwidth(device.l2_bytes),
    }


def _ours(name: str, problem: Problem, text: str, exact: Placed, case: Case, inputs: list[Any]) -> _Entrant:
    scheme = parse(problem, text)
    assert isinstance(scheme, Scheme)  # Winograd's algorithm is none of a GPU's
    kernel, output = load(scheme), poisoned(problem)
    kernel(*exact.inputs, out=output)
    exact.check(output)
    output = poisoned(problem)
    kernel(*inputs, out=output)
    error = case.check(from_device(problem, output))
    layout = "NHWC, weights channels last" if problem.windows else "row-major"
    return _Entrant(name, layout, partial(event_seconds, lambda: kernel(*inputs, out=output)), error)


def _peer(name: str, problem: Problem, case: Case) -> _Entrant:
    peer = PEERS[name]
    unsupported_reason = peer.missing() or peer.refuses(problem)
    if unsupported_reason:
        raise Refused(unsupported_reason)
    x, w, *arrays = case.inputs
    prepared = peer.prepare(problem, x, w, 1, *arrays)
    if prepared.kernel_seconds is None:
        raise Refused(f"{name} does not tell how long it keeps the device busy")
    prepared.run()
    granted = stepwise(problem, case) if prepared.stepwise else case
    return _Entrant(name, prepared.layout, prepared.kernel_seconds, granted.check(prepared.result()))


def _swept(call_seconds: Callable[[int], list[float]], sweep: Callable[[], None], count: int) -> list[float]:
    found = []
    for _ in range(count):
        sweep()
        found += call_seconds(1)
    return found
