"""The ranked microkernels of a machine, and a score for those that were never measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from math import prod

from microkernels.database import connect
from microkernels.emit import EMITTER_VERSION
from microkernels.isa import isa_named
from microkernels.microkernel import Microkernel, parse
from microkernels.space import INDEPENDENT_FMAS
from tiling.machine import Timing

GOOD = 0.85  # of the best: TTile's threshold for the microkernels worth composing

_SCHEMA = """
CREATE TABLE IF NOT EXISTS microkernels (
    fingerprint TEXT NOT NULL,     -- of the machine
    emitter INTEGER NOT NULL,      -- EMITTER_VERSION of the code that was measured
    kernel TEXT NOT NULL,          -- its name
    isa TEXT NOT NULL,
    op TEXT NOT NULL,
    score REAL,                    -- fraction of peak_gflops; null where it failed
    samples TEXT,                  -- JSON list of seconds per call
    peak_gflops REAL,              -- one core's FMA peak measured beside
    reason TEXT,                   -- why it failed; null where it did not
    stale INTEGER NOT NULL,        -- 1: a ranking that starts over has yet to reach it
    measured TEXT NOT NULL,        -- UTC
    PRIMARY KEY (fingerprint, emitter, kernel)
);
"""


@dataclass(frozen=True)
class Entry:
    """A measured microkernel. score: fraction of one core's FMA peak that its fastest sample reached."""

    kernel: Microkernel
    score: float
    timing: Timing


@dataclass(frozen=True)
class Failure:
    """A microkernel that could not be measured, and why, in one sentence."""

    kernel: Microkernel
    reason: str


@dataclass(frozen=True)
class Catalog:
    """What is known of one operator's microkernels on one instruction set of one machine; entries best first."""

    fingerprint: str
    isa: str
    op: str
    entries: tuple[Entry, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def best(self) -> Entry | None:
        """The entry of the highest score; None while nothing was measured."""
        return self.entries[0] if self.entries else None

    def good(self, threshold: float = GOOD) -> tuple[Entry, ...]:
        """The entries that reach `threshold` of the best score."""
        return tuple(entry for entry in self.entries if entry.score >= threshold * self.entries[0].score)

    def score(self, kernel: Microkernel) -> float:
        """The fraction of peak to expect of any tile: its own score; 0 where it failed; else its score at stride 1,
        where the FMAs are the same and only the addresses differ; else `estimate`, scaled by the best score since
        no tile here was seen to go faster. At most 1: a score beyond it says that the peak beside it was disturbed.
        """
        for known in (kernel, replace(kernel, stride=1)):
            if known in self._scores:
                return min(1.0, self._scores[known])
            if known == kernel and known in self._failed:
                return 0.0
        return estimate(kernel) * min(1.0, self.best.score if self.best else 1.0)

    @cached_property
    def _scores(self) -> dict[Microkernel, float]:
        return {entry.kernel: entry.score for entry in self.entries}

    @cached_property
    def _failed(self) -> frozenset[Microkernel]:
        return frozenset(failure.kernel for failure in self.failures)


# TTile measured 97 % of peak for the largest tile of two vectors that the compiler kept in registers, and 45 % for
# one with a row more.
SPILLED = 0.45 / 0.97


def estimate(kernel: Microkernel) -> float:
    """The fraction of peak, in (0, 1], that the tile's shape allows on a core of 2 FMAs and 2 loads a cycle.

    Three limits. Latency: fewer than INDEPENDENT_FMAS accumulators leave the pipes waiting for themselves. Loads:
    each weight vector is read once a reduction point; each x once, and by every FMA anew where the FMA reads it from
    memory for want of a register; unrolled taps share an x where the whole step's weights fit beside the
    accumulators (as `emit` does it). Registers: beyond those there are, the tile spills.
    """
    isa = isa_named(kernel.isa)
    latency = min(1.0, kernel.accumulators / INDEPENDENT_FMAS)
    if kernel.accumulators + kernel.steps * kernel.vectors + 1 <= isa.registers:
        spreads = _distinct_x(kernel)
    elif kernel.accumulators + kernel.vectors + 1 <= isa.registers:
        spreads = kernel.row_count * kernel.steps
    else:
        spreads = kernel.fmas
    loads = min(1.0, kernel.fmas / (kernel.vectors * kernel.steps + spreads))
    return min(latency, loads) * (SPILLED if kernel.registers > isa.registers else 1.0)


def _distinct_x(kernel: Microkernel) -> int:
    """Different x in one step: along an axis, rows·taps points of which those at equal stride·row + tap are one."""
    points = dict(kernel.rows) | dict(kernel.unrolled)
    rest = prod(extent for dim, extent in points.items() if dim not in ("h", "w", "r", "s"))
    for row_dim, tap_dim in (("h", "r"), ("w", "s")):
        rows, taps = points.get(row_dim, 1), points.get(tap_dim, 1)
        rest *= min(rows * taps, (rows - 1) * kernel.stride + taps)
    return rest


def load(fingerprint: str, isa: str, op: str = "conv2d") -> Catalog:
    """What the current emitter's microkernels reached on the machine `fingerprint`. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        rows = connection.execute(
            "SELECT kernel, score, samples, peak_gflops, reason FROM microkernels"
            " WHERE fingerprint = ? AND emitter = ? AND isa = ? AND op = ? ORDER BY score DESC, kernel",
            (fingerprint, EMITTER_VERSION, isa, op),
        ).fetchall()
    entries, failures = [], []
    for name, score, samples, peak_gflops, reason in rows:
        if reason is None:
            entries.append(Entry(parse(name), score, Timing(tuple(json.loads(samples)), peak_gflops)))
        else:
            failures.append(Failure(parse(name), reason))
    return Catalog(fingerprint, isa, op, tuple(entries), tuple(failures))


def record(fingerprint: str, outcome: Entry | Failure) -> None:
    """Keep one outcome, at once, in the place of an earlier one of the same kernel. Raises StoreError."""
    kernel = outcome.kernel
    if isinstance(outcome, Entry):
        timing = outcome.timing
        found = (outcome.score, json.dumps(timing.samples), timing.peak_gflops, None)
    else:
        found = (None, None, None, outcome.reason)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with connect(_SCHEMA) as connection:
        connection.execute(
            "INSERT OR REPLACE INTO microkernels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
            (fingerprint, EMITTER_VERSION, kernel.name, kernel.isa, kernel.op, *found, now),
        )


def start_over(fingerprint: str, kernels: Iterable[Microkernel]) -> None:
    """Have these kernels count as not measured; their old scores hold until new ones come. Raises StoreError."""
    names = json.dumps([kernel.name for kernel in kernels])
    with connect(_SCHEMA) as connection:
        connection.execute(
            "UPDATE microkernels SET stale = 1 WHERE fingerprint = ? AND emitter = ?"
            " AND kernel IN (SELECT value FROM json_each(?))",
            (fingerprint, EMITTER_VERSION, names),
        )


def measured(fingerprint: str) -> frozenset[str]:
    """The names of the kernels that a ranking need not visit again, failed ones too. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        rows = connection.execute(
            "SELECT kernel FROM microkernels WHERE fingerprint = ? AND emitter = ? AND NOT stale",
            (fingerprint, EMITTER_VERSION),
        ).fetchall()
    return frozenset(name for (name,) in rows)
