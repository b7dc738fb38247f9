"""Places arrays that live at different times in one arena.

    plan((Life("a", 4096, 0, 2), …)) -> ArenaPlan

Arrays are placed one after the other, each as low as those that live at the same time allow. The order decides how
much is left between them. No plan can be smaller than the largest sum of bytes that live at once, `ArenaPlan.least`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
_NEAR = 1.01  # of the least size, where no other order is tried
# Orders to try at most, and pairs of arrays to compare for them, which takes a tenth of a second.
_MOST_ORDERS, _COMPARISONS = 100, 400_000


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
class ArenaPlan:
    """Where each array begins, in bytes. least: the lower bound of `bytes`."""

    offsets: Mapping[str, int]
    bytes: int
    least: int


def aligned(size: int) -> int:
    """The size, rounded up to a whole cache line."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def plan(lives: Sequence[Life]) -> ArenaPlan:
    """A place for each array: the best of a few orders of placing them."""
    steps = {life.first for life in lives}
    least = max((sum(aligned(o.bytes) for o in lives if o.first <= step <= o.last) for step in steps), default=0)
    best: ArenaPlan | None = None
    for offsets in _attempts(lives):
        size = max((offsets[life.name] + aligned(life.bytes) for life in lives), default=0)
        if best is None or size < best.bytes:
            best = ArenaPlan(offsets, size, least)
        if best.bytes <= least * _NEAR:
            break
    assert best is not None
    return best


def _attempts(lives: Sequence[Life]) -> Iterator[dict[str, int]]:
    """Places by several orders: the largest arrays first, those that live longest, as they are written. Then again and
    again from the largest, with what ended highest before all others.
    """
    order = sorted(lives, key=lambda life: (-life.bytes, life.first, life.name))
    yield (offsets := _placed(order))
    yield _placed(sorted(lives, key=lambda life: (life.first - life.last, -life.bytes, life.name)))
    yield _placed(sorted(lives, key=lambda life: (life.first, -life.bytes, life.name)))
    for _ in range(min(_MOST_ORDERS, _COMPARISONS // len(lives) ** 2)):
        highest = max(order, key=lambda life: offsets[life.name] + aligned(life.bytes))
        order = [highest, *(life for life in order if life is not highest)]
        yield (offsets := _placed(order))


def _placed(order: Sequence[Life]) -> dict[str, int]:
    """Where arrays begin that are placed one after the other, each as low as those before it allow."""
    placed: list[tuple[int, int, Life]] = []
    for life in order:
        at, size = 0, aligned(life.bytes)
        for start, end, other in placed:
            if life.meets(other) and at < end and start < at + size:
                at = end
        insort(placed, (at, at + size, life), key=lambda place: place[0])
    return {life.name: at for at, _, life in placed}
