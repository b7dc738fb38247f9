"""Samples of the seconds that calls take, between two measurements of the FMA peak.

timed, timed_cold    warm calls, and calls that find all arrays in memory
quietly              either one, again while other programs disturb it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cpu.runtime.machine.neighbours import TRIES, watched
from cpu.runtime.machine.timer import peak_gflops
from tiling.machine import Timing

# In a shorter measurement of the peak, one interrupt would decide the result.
_PEAK_SECONDS = 0.004
# Two peaks that differ by more are measured again: other programs only ever lower a peak, and a clock drifts by less.
_STEADY = 0.97
# A sample takes about this long, or one call. That is shorter than a scheduler's slice, so an interruption spoils few
# samples and leaves the median alone.
SAMPLE_SECONDS = 0.001
# The most are for samples of this length. Shorter samples are as many times more.
_LEAST_SAMPLES, _MOST_SAMPLES = 5, 100


def quietly(measure: Callable[[], Timing], threads: int, tries: int = TRIES) -> Timing:
    """The timing of `measure` on `threads` cores, tried again while other programs disturb it (`disturbed` says
    how).
    """
    timing, why = watched(measure, threads, tries)
    return replace(timing, disturbed=why) if why else timing


def timed(
    called: Callable[..., tuple[float, ...]],
    flags: tuple[str, ...],
    lanes: int,
    seconds: float,
    sample: float = SAMPLE_SECONDS,
) -> Timing:
    """Times calls between two measurements of the peak. called: `time_calls` for a kernel and its arrays."""
    before = peak_gflops(flags, lanes, _PEAK_SECONDS)
    count = round(seconds / max(called(seconds=0, samples=1)[0], sample))
    count = max(_LEAST_SAMPLES, min(round(_MOST_SAMPLES * SAMPLE_SECONDS / sample), count))
    samples = called(seconds=seconds, samples=count, warmup=0)
    return Timing(samples, _peak_beside(before, flags, lanes))


def timed_cold(called: Callable[..., tuple[float, ...]], flags: tuple[str, ...], lanes: int, seconds: float) -> Timing:
    """Times single calls between two measurements of the peak. called: `time_cold_calls` for a kernel."""
    before = peak_gflops(flags, lanes, _PEAK_SECONDS)
    called(seconds=0, most=1)  # the first call also finds its code in no cache
    samples = called(seconds=seconds, most=_MOST_SAMPLES)
    return Timing(samples, _peak_beside(before, flags, lanes))


def _peak_beside(before: float, flags: tuple[str, ...], lanes: int) -> float:
    """The FMA peak, from measurements just before and just after."""
    after = peak_gflops(flags, lanes, _PEAK_SECONDS)
    if min(before, after) < _STEADY * max(before, after):
        after = max(after, peak_gflops(flags, lanes, 4 * _PEAK_SECONDS))
    return max(before, after)
