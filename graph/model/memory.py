"""Places arrays that live at different times in one arena.

    plan((Life("a", 4096, 0, 2), …)) -> Plan

Large arrays are placed first, each as low as those that live at the same time allow. No plan can be smaller than the
largest sum of bytes that live at once, `Plan.least`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


@dataclass(frozen=True)
class Life:
    """An array of so many bytes, from the step that writes it to the last one that reads it."""

    name: str
    bytes: int
    first: int
    last: int

    def meets(self, other: Life) -> bool:
        """Whether both live during some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Plan:
    """Where each array begins, in bytes. least: the lower bound of `bytes`."""

    offsets: Mapping[str, int]
    bytes: int
    least: int


def aligned(size: int) -> int:
    """The size, rounded up to a whole cache line."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def plan(lives: Sequence[Life]) -> Plan:
    """A place for each array."""
    placed: list[tuple[int, int, Life]] = []
    for life in sorted(lives, key=lambda life: (-life.bytes, life.first, life.name)):
        at, size = 0, aligned(life.bytes)
        for start, end, other in placed:
            if life.meets(other) and at < end and start < at + size:
                at = end
        placed.append((at, at + size, life))
        placed.sort(key=lambda place: place[0])
    steps = {life.first for life in lives}
    least = max((sum(aligned(o.bytes) for o in lives if o.first <= step <= o.last) for step in steps), default=0)
    return Plan({life.name: at for at, _, life in placed}, max((end for _, end, _ in placed), default=0), least)
