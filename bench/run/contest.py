"""Checks several ways to compute one layer, then times them in turns, in one worker process.

    prepare ──► check against float64 ──► for each round: A, B, C, … each warmed, then sampled

Turns spread slow moments and clock drift over all contenders. The target says how a contender is checked and timed
(`bench.run.targets`).
"""

from __future__ import annotations

from typing import Any

from bench.peers import PEERS
from bench.run.targets.interface import Arena, Contender, Refused
from bench.run.targets.table import TARGETS
from cpu.reference.oracle import WrongResult
from tiling.machine import Timing


def contest(
    *, target: str, schemes: dict[str, str], peers: list[str], rounds: int, seconds: float, **question: Any
) -> dict[str, Any]:
    """Times `schemes` (name: scheme's text) and `peers` on one problem, `rounds` turns of about `seconds` each.

    question: what the target's arena takes: the problem, what it is computed with, "warm" or "cold" as its cache.
    Gives {"contenders": [{name, layout, max_error, call, kernel}], "skipped": [[peer, reason]], "memory_bandwidth",
    "histories": {peer: that of its search}}.
    Timings are {"samples", "peak_gflops"}; kernel is None where the library does not tell, or where caches are cold.
    Raises WrongResult where one of the schemes is wrong. A peer that fails or is wrong is skipped with the reason.
    """
    arena = TARGETS[target].arena(**question)
    contenders = [arena.ours(name, text) for name, text in schemes.items()]
    skipped = []
    for name in peers:
        try:
            contenders.append(_peer(arena, name))
        except Exception as error:  # whatever a foreign library raises is its reason
            skipped.append([name, sentence(error)])
    for _ in range(rounds):
        for contender in contenders:
            contender.calls.append(contender.turn(seconds))
            if contender.kernel_turn:
                contender.kernels.append(contender.kernel_turn(seconds))
    # All contenders share one peak, since they took turns. Other programs only lower a measured peak, so the highest
    # counts.
    highest = max((turn.peak_gflops for contender in contenders for turn in contender.calls), default=0.0)
    return {
        "contenders": [
            {
                **{"name": c.name, "layout": c.layout, "max_error": c.max_error},
                **{"call": _pooled(c.calls, highest), "kernel": _pooled(c.kernels, highest) if c.kernels else None},
            }
            for c in contenders
        ],
        "skipped": skipped,
        "histories": {c.name: c.prepared.history for c in contenders if c.prepared and c.prepared.history},
        "memory_bandwidth": arena.bandwidth(),
    }


def _peer(arena: Arena, name: str) -> Contender:
    peer = PEERS[name]
    unsupported_reason = peer.missing() or peer.unsupported_reason(arena.problem)
    if unsupported_reason:
        raise Refused(unsupported_reason)
    x, w, *arrays = arena.inputs
    prepared = peer.prepare(arena.problem, x, w, arena.threads, *arrays)
    prepared.run()
    return arena.peer(name, prepared)


def _pooled(turns: list[Timing], peak_gflops: float) -> dict[str, Any]:
    """The samples of all turns together."""
    return {"samples": [sample for turn in turns for sample in turn.samples], "peak_gflops": peak_gflops}


def sentence(error: Exception) -> str:
    """The first line of what a library says, with its type where that is not our own."""
    said = (str(error).strip() or "no reason given").splitlines()[0][:300]
    return said if isinstance(error, (Refused, WrongResult)) else f"{type(error).__name__}: {said}"
