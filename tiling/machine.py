"""The machine that a scheme runs on, and the timings taken on it, as data. `cpu/` measures both."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeGuard


def is_rate(value: object) -> TypeGuard[float]:
    """Whether a value can be a measured time or rate: a finite number above 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= sys.float_info.max


@dataclass(frozen=True)
class CacheLevel:
    """One level of the memory hierarchy as one core sees it. Bandwidths are in bytes/s, 0 where they are not known.

    bandwidth: for reads that hit this level. write_bandwidth: for stores to lines that lie there; the reads that the
    CPU makes to own these lines count too. shared_by: how many cores share the level. ways: 0 where the system does not
    tell, or where the cache is fully associative.
    """

    name: str
    bytes: int
    line: int
    ways: int
    bandwidth: float
    shared_by: int = 1
    write_bandwidth: float = 0.0


@dataclass(frozen=True)
class Machine:
    """The facts that the model needs. `peak` is one core's f32 FLOP/s; `caches` run from L1 outwards.

    `memory_bandwidth`, `memory_write_bandwidth` (plain stores) and `stream_bandwidth` (stores that bypass the caches)
    are bytes/s of one core beyond the last cache.
    """

    fingerprint: str
    isa: str
    lanes: int
    registers: int
    peak: float
    cores: int
    caches: tuple[CacheLevel, ...]
    memory_bandwidth: float
    memory_write_bandwidth: float
    stream_bandwidth: float


@dataclass(frozen=True)
class Timing:
    """Raw samples in seconds a call, and the FMA peak of one core (GFLOP/s), measured beside them.

    disturbed: why these times are in doubt, such as "other programs took 0.9 cores"; empty where nothing was noticed.
    Raises ValueError unless there are samples and all are finite numbers above 0.
    """

    samples: tuple[float, ...]
    peak_gflops: float
    disturbed: str = ""

    def __post_init__(self) -> None:
        wrong = [value for value in (*self.samples, self.peak_gflops) if not is_rate(value)]
        if wrong or not self.samples:
            raise ValueError(f"{wrong[0]!r:.40} is not a time or rate" if wrong else "no samples")

    @classmethod
    def of(cls, measurement: Mapping[str, Any]) -> Timing:
        """The timing in the JSON {"samples", "peak_gflops", "disturbed"} that a worker gives. Raises ValueError.

        A target that nobody can disturb gives no "disturbed".
        """
        return cls(tuple(measurement["samples"]), measurement["peak_gflops"], measurement.get("disturbed", ""))

    @property
    def seconds(self) -> float:
        """The median sample."""
        return median(self.samples)

    @property
    def work(self) -> float:
        """Operations (10⁹) that a core at its peak could have done in the fastest sample, to compare kernels by."""
        return min(self.samples) * self.peak_gflops

    def __str__(self) -> str:
        """Such as "0.858 ms, median of 100 samples, spread 0.7 %"."""
        told = f"{1e3 * self.seconds:.4g} ms, median of {len(self.samples)} samples, spread {100 * self.spread:.1f} %"
        return f"{told}, in doubt: {self.disturbed}" if self.disturbed else told

    @property
    def quartiles(self) -> tuple[float, float]:
        """The sample that a quarter of all samples do not exceed, and the one that three quarters do not exceed."""
        ordered = sorted(self.samples)
        quarter = len(ordered) // 4
        return ordered[quarter], ordered[-1 - quarter]

    @property
    def spread(self) -> float:
        """The interquartile range over the median. Two runs that differ by less are alike."""
        low, high = self.quartiles
        return (high - low) / self.seconds

    def fraction_of_peak(self, flops: int, threads: int = 1) -> float:
        """FLOP/s over the peak of `threads` cores."""
        return flops / self.seconds / (self.peak_gflops * 1e9 * threads)
