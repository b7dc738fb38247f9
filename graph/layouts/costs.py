"""What works take in either layout, in seconds: measured inside a model where that is known, else predicted.

Costs(predicted, measured).pair(works, guesses) -> seconds with channels first, seconds with channels last
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tiling.durations import milliseconds
from tiling.problem import Problem
from tiling.program.infer import Sized
from tiling.program.rewrite.axes import is_copy

Work = Problem | Sized


def _never(work: Work) -> float | None:
    return None


@dataclass(frozen=True)
class Costs:
    """The seconds that works take.

    predicted: what a convolution takes by the model of data movement. measured: what any work took inside a model; None
    where it was not timed. hope: a work that was not timed may take this share of its predicted time.
    """

    predicted: Callable[[Problem], float]
    measured: Callable[[Work], float | None] = _never
    hope: float = 1.0

    def known(self, work: Work) -> float | None:
        """The measured seconds. A program that moves nothing becomes a view."""
        return 0.0 if isinstance(work, Sized) and is_copy(work) else self.measured(work)

    def of(self, work: Work, guess: float) -> float:
        """The seconds of a work by itself. guess: predicted."""
        known = self.known(work)
        return self.hope * guess if known is None else known

    def pair(self, works: tuple[Work, Work], guesses: tuple[float, float]) -> tuple[float, float]:
        """The seconds of a step's two works.

        Predictions tell two works of a step better than how long they take. So where one is measured, the other takes
        as many times as long as is predicted.
        """
        known = tuple(map(self.known, works))
        first, last = (
            self.hope * guess * (other / its if other and its else 1.0) if own is None else own
            for own, guess, other, its in zip(known, guesses, known[::-1], guesses[::-1])
        )
        return first, last

    def more(self, work: Work, least: Work, guess: float) -> float:
        """How much longer a work takes than another."""
        long, short = self.known(work), self.known(least)
        return self.hope * guess if long is None or short is None else max(0.0, long - short)

    def told(self, work: Work, seconds: float) -> str:
        """Seconds for readers."""
        return f"{milliseconds(seconds)} ms {'predicted' if self.known(work) is None else 'measured'}"
