"""A scheme and its timings, and how schemes are compared by them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from tiling.machine import Timing
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.scheme.scheme import Scheme

AnyScheme = Scheme | Winograd

# Clocks drift and a machine is shared, so schemes are compared by seconds x the FMA peak measured beside them: the work
# that a core could have done meanwhile.


@dataclass(frozen=True)
class Measured:
    """A scheme and its timings, one for each visit."""

    scheme: AnyScheme
    visits: tuple[Timing, ...]

    @property
    def counted(self) -> tuple[Timing, ...]:
        """The visits that count: the undisturbed ones, or all where there are none."""
        return tuple(visit for visit in self.visits if not visit.disturbed) or self.visits

    @property
    def disturbed(self) -> str:
        """Why its times are in doubt; empty where one visit was undisturbed."""
        return self.counted[0].disturbed

    @property
    def timing(self) -> Timing:
        """The samples of all visits that count, with the median of their peaks."""
        samples = tuple(sample for visit in self.counted for sample in visit.samples)
        return Timing(samples, median(visit.peak_gflops for visit in self.counted), self.disturbed)

    @property
    def work(self) -> float:
        """Floating-point operations that a core at its peak could have done in the same time, to compare schemes by.

        It is the median, over the visits that count, of the fastest sample times the visit's own peak. What disturbs a
        core only adds time, often for most of a visit, and the peak beside is the fastest of its chunks as well. One
        visit in a slow or a lucky moment does not count.
        """
        # 72 contenders of resnet18 on a disturbed Zen 3, in 3 turns and the next 3: the ratio of two differs by 8 % in
        # the middle by medians, by 9 % by lower quartiles, and by 2 % by fastest samples (docs/decisions/062).
        return median(visit.work for visit in self.counted) * 1e9

    def after(self, visit: Timing) -> Measured:
        """With one more visit."""
        return Measured(self.scheme, (*self.visits, visit))
