"""Which of the measured schemes is chosen, and whether the machine was quiet enough to tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from search.tuner.measured import AnyScheme, Measured

# How far a scheme may be behind the fastest and still win: NEAR for an earlier choice, LEVEL for a simpler scheme. It
# must also lie within the spread of the fastest one's samples. That alone would let slow schemes in on noisy machines.
NEAR, LEVEL = 0.01, 0.005
# How many rivals of a choice in doubt are kept, to be measured beside it again.
RIVALS = 8


def settled(contenders: Mapping[str, Measured], candidates: Sequence[AnyScheme], incumbent: str | None) -> Measured:
    """The incumbent if it is near the fastest contender, else the simplest contender that is level with the fastest.

    The incumbent stays so that the same store gives the same answer. Among equally simple schemes the first candidate
    wins.
    """
    best = min(contenders.values(), key=lambda m: m.work)

    def within(share: float) -> float:
        return best.work * (1 + min(best.timing.spread, share))

    earlier = contenders.get(incumbent) if incumbent is not None else None
    if earlier and earlier.work <= within(NEAR):
        return earlier
    level = [m for s in candidates if (m := contenders.get(s.text)) and m.work <= within(LEVEL)]
    return min(level, key=lambda m: complexity(m.scheme))


def complexity(scheme: AnyScheme) -> tuple[int, int]:
    """How far a scheme is from simple: first its number of register tiles, then its number of specifiers."""
    return len({tuple(tile.items()) for tile in scheme.tiles}), len(scheme.specifiers)


def doubt(tried: Iterable[Measured]) -> str:
    """Why another scheme may be the fastest on a quiet machine; empty where every scheme had an undisturbed visit."""
    schemes = tuple(tried)
    reasons = [measured.disturbed for measured in schemes if measured.disturbed]
    if not reasons:
        return ""
    if len(schemes) == 1:
        return f"the one scheme was only timed while {reasons[0]}"
    were = "was" if len(reasons) == 1 else "were"
    return f"{len(reasons)} of {len(schemes)} schemes {were} only timed while {reasons[0]}"
