"""Notices by the FMA peak measured beside a visit that another program shares the core's pipes.

The core is not taken away then, so the system's accounts show nothing. A program on the core's other hyperthread, or in
another guest of the same host, lowers our peak as much as it slows our kernel.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from tiling.machine import Timing

# A peak below this share of the highest beside the last visits. Clocks drift by less from one visit to the next, and a
# lasting drift is over after RECENT visits; a program on the sibling thread takes a third of the pipes or more.
LOW, RECENT = 0.85, 8


class Peaks:
    """The FMA peaks beside the last visits of one search."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=RECENT)

    def marked(self, timing: Timing) -> Timing:
        """The timing of the next visit, in doubt if its peak fell."""
        self._last.append(timing.peak_gflops)
        share = timing.peak_gflops / max(self._last)
        if timing.disturbed or share >= LOW:
            return timing
        return replace(timing, disturbed=f"the FMA peak fell to {100 * share:.0f} % of the one before")
