"""Finds out whether other programs used the cores that a measurement needed, and then measures again.

Linux counts in /proc/stat what every CPU did, including the time that a hypervisor gave to others. On other systems
this is unknown, and every measurement stands. Two hardware threads of one core count as two CPUs: a program on the
sibling thread is not seen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_STAT = Path("/proc/stat")
# The positions of user, nice, system, irq, softirq and steal in a CPU's line. Source: proc_stat(5).
_BUSY = (0, 1, 2, 5, 6, 7)
# Seconds. A longer measurement is not repeated, so that nobody waits for it twice.
LONGEST = 0.5
# Cores that others may use beyond the free ones. /proc/stat counts hundredths of a second, so over a measurement of a
# tenth of a second the number of busy cores is exact to a tenth or two.
BEARABLE = 0.3
TRIES = 3

Found = TypeVar("Found")


@dataclass(frozen=True)
class Accounts:
    """Seconds so far: by a clock, of CPU time of this process, and of busy time of all CPUs that it may use.

    all: None if it is unknown.
    """

    clock: float
    own: float
    all: float | None

    def others(self, later: Accounts) -> float:
        """Cores that other programs kept busy until `later`, on average. 0 if that is unknown."""
        if self.all is None or later.all is None or later.clock <= self.clock:
            return 0.0
        return (later.all - self.all - (later.own - self.own)) / (later.clock - self.clock)


def accounts() -> Accounts:
    """The accounts at this moment."""
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
    """Calls `measure`, which needs `threads` cores, up to `tries` times until no other program disturbs it.

    Returns the first undisturbed result, else the least disturbed one. Other programs disturb if they use more cores
    than `threads` leaves free. cores: how many cores this process may use. Raises ValueError if `tries` is below 1.
    """
    free = max(0, (cores or len(_ours())) - threads)
    if tries < 1:
        raise ValueError(f"tries={tries} must be at least 1")
    least: tuple[float, Found] | None = None
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
    assert least is not None  # the loop ran at least once
    return least[1]
