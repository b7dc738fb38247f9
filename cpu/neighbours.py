"""Whether other programs had the cores that a measurement needed, by the kernel's accounts; and measuring again then.

Linux counts what every CPU did in /proc/stat, time that a hypervisor gave to others included, in hundredths of a
second: enough to see a program that runs beside a turn of a tenth of a second. Elsewhere nobody knows, and every
measurement stands. Two CPUs that are one core's hardware threads count as two: what runs on the sibling is not seen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_STAT = Path("/proc/stat")
# The places of user, nice, system, irq, softirq and steal in the line of a CPU; source: proc_stat(5).
_BUSY = (0, 1, 2, 5, 6, 7)
# A measurement that takes longer is not repeated: whoever asked for it waits no longer than it must; seconds.
LONGEST = 0.5
# Cores that others may take beyond those left free: the accounts of a tenth of a second are exact to a tenth or two.
BEARABLE = 0.3
TRIES = 3

Found = TypeVar("Found")


@dataclass(frozen=True)
class Accounts:
    """Seconds by a clock, of CPU time of this process, and of all CPUs that it may use; the last None where that is
    unknown.
    """

    clock: float
    own: float
    all: float | None

    def others(self, later: Accounts) -> float:
        """Cores that others kept busy meanwhile, on average; 0 where that is unknown."""
        if self.all is None or later.all is None or later.clock <= self.clock:
            return 0.0
        return (later.all - self.all - (later.own - self.own)) / (later.clock - self.clock)


def accounts() -> Accounts:
    """As of now."""
    return Accounts(time.perf_counter(), time.process_time(), _busy())


def _ours() -> set[int]:
    """The CPUs that this process may use."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _busy() -> float | None:
    """Seconds that our CPUs were busy since the start of the machine."""
    ours = {f"cpu{number}" for number in _ours()}
    try:
        lines = (line.split() for line in _STAT.read_text(encoding="ascii").splitlines() if line.startswith("cpu"))
        ticks = [int(line[1 + i]) for line in lines if line[0] in ours for i in _BUSY]
        return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None
    except (OSError, ValueError, IndexError):
        return None


def undisturbed(
    measure: Callable[[], Found],
    threads: int,
    tries: int = TRIES,
    read: Callable[[], Accounts] = accounts,
    cores: int | None = None,
) -> Found:
    """What `measure` finds on `threads` threads: of up to `tries` times the first that others left alone, else the one
    that they disturbed least.

    Others disturb once they need more than the cores that are left free. cores: those that this process may use.
    """
    free = max(0, (cores or len(_ours())) - threads)
    least = None
    for _ in range(tries):
        before = read()
        found = measure()
        after = read()
        others = before.others(after)
        if others <= free + BEARABLE:
            return found
        if least is None or others < least[0]:
            least = others, found
        if after.clock - before.clock > LONGEST:
            break
    return least[1]
