"""Finds out whether other programs used the cores that a measurement needed, and then measures again.

Linux counts in /proc/stat what every CPU did, including the time that a hypervisor gave to others, and for each process
how often a core was taken from it. Elsewhere this is unknown, and every measurement stands. A program on the sibling
thread of a core is not seen here: it lowers the FMA peak (`search.tuner.peaks`).
"""

from __future__ import annotations

import os
import resource
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
# How often a core may be taken from each thread: in all, or a second. A quiet machine does it up to forty times a
# second for its own work. A program that competes for the core takes it every few milliseconds.
FEW, OFTEN = 5, 100.0
TRIES = 3

Found = TypeVar("Found")


@dataclass(frozen=True)
class Accounts:
    """Seconds so far: by a clock, of CPU time of this process, and of busy time of all CPUs that it may use.

    all: None if it is unknown. taken: how often the system took a core from a thread of this process.
    """

    clock: float
    own: float
    all: float | None
    taken: int = 0

    def others(self, later: Accounts) -> float:
        """Cores that other programs kept busy until `later`, on average. 0 if that is unknown."""
        if self.all is None or later.all is None or later.clock <= self.clock:
            return 0.0
        return (later.all - self.all - (later.own - self.own)) / (later.clock - self.clock)


def accounts() -> Accounts:
    """The accounts at this moment."""
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    return Accounts(time.perf_counter(), time.process_time(), _busy(), taken)


def disturbance(before: Accounts, after: Accounts, threads: int, cores: int | None = None) -> str:
    """How other programs disturbed a measurement on `threads` cores; empty where nothing was noticed.

    They disturb it if they use more cores than `threads` leaves free, or often take a core away. cores: how many cores
    this process may use.
    """
    others, taken = before.others(after), after.taken - before.taken
    if others > _free(threads, cores) + BEARABLE:
        return f"other programs took {others:.1f} cores"
    if taken > threads * max(FEW, OFTEN * (after.clock - before.clock)):
        return f"other programs took a core away from the measurement {taken} times"
    return ""


def busy(
    threads: int,
    seconds: float = 0.1,
    read: Callable[[], Accounts] = accounts,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Watches the machine for so many seconds. Returns how it would disturb a measurement on `threads` cores, or ""."""
    before = read()
    wait(seconds)
    return disturbance(before, read(), threads)


def _free(threads: int, cores: int | None) -> int:
    return max(0, (cores or len(_ours())) - threads)


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
    """The result of `watched`, without the reason why it may be in doubt."""
    return watched(measure, threads, tries, read, cores)[0]


def watched(
    measure: Callable[[], Found],
    threads: int,
    tries: int = TRIES,
    read: Callable[[], Accounts] = accounts,
    cores: int | None = None,
) -> tuple[Found, str]:
    """Calls `measure`, which needs `threads` cores, up to `tries` times until no other program disturbs it.

    Returns the first undisturbed result and "", else the least disturbed one and its `disturbance`. cores: how many
    cores this process may use. Raises ValueError if `tries` is below 1.
    """
    if tries < 1:
        raise ValueError(f"tries={tries} must be at least 1")
    least: tuple[float, Found, str] | None = None
    for _ in range(tries):
        before = read()
        found = measure()
        after = read()
        why = disturbance(before, after, threads, cores)
        if not why:
            return found, ""
        others = before.others(after)
        if least is None or others < least[0]:
            least = others, found, why
        if after.clock - before.clock > LONGEST:
            break
    assert least is not None  # the loop ran at least once
    return least[1:]
