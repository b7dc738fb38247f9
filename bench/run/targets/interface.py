"""What a target gives to a contest, and to the conditions of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from bench.peers.interface.peer import Prepared
from tiling.machine import Timing
from tiling.problem import Problem


class Refused(Exception):
    """Why a peer cannot compute the problem or is not installed."""


@dataclass
class Contender:
    """A way to compute the problem that passed its check, and the timings of its turns so far.

    turn: times calls for about so many seconds. kernel_turn: the kernel alone, where the library tells. prepared: a
    peer's; what it holds must live as long as its calls.
    """

    name: str
    layout: str
    max_error: float
    turn: Callable[[float], Timing]
    kernel_turn: Callable[[float], Timing] | None = None
    prepared: Prepared | None = None
    calls: list[Timing] = field(default_factory=list)
    kernels: list[Timing] = field(default_factory=list)


class Arena(Protocol):
    """One problem on one target, with the inputs that every contender reads.

    problem: the problem that peers compute. inputs: x, w and the epilogue's arrays, random reals in float32. threads:
    how many a peer's call may use.
    """

    @property
    def problem(self) -> Problem: ...

    @property
    def inputs(self) -> Sequence[np.ndarray]: ...

    @property
    def threads(self) -> int: ...

    def ours(self, name: str, text: str) -> Contender:
        """Our kernel of a scheme. Raises WrongResult where it is wrong."""

    def peer(self, name: str, prepared: Prepared) -> Contender:
        """A peer that is prepared. Raises WrongResult for a wrong result, Refused where it cannot be timed."""

    def bandwidth(self) -> float:
        """Bytes/s of memory, as the target counts them."""


@dataclass(frozen=True)
class BenchTarget:
    """A target as data.

    arena: an `Arena` from what `job` of its back end says, with `cache` and `seed`. address_space: bytes that the
    contest's process may use; None stands for a worker's own limit. lasting: whether one process holds the contests of
    all layers, which saves its start. turn_seconds: how long a contender has each turn. usual_peers: those that a user
    would pick; the others are slow to prepare, or known to be slower, and run when named. caches: what "warm" and
    "cold" mean. compiler: what the back end compiles with. state: says in which state the machine is when the run
    begins. allocator, turns: how outputs are allocated, and what belongs to a turn, going on from "in one process".
    """

    arena: Callable[..., Arena]
    address_space: int | None
    lasting: bool
    turn_seconds: float
    usual_peers: tuple[str, ...]
    caches: Mapping[str, str]
    compiler: Callable[[Any], str]
    state: Callable[[], str]
    allocator: str
    turns: str
