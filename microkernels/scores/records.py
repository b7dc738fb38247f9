"""The measurements of microkernels in the SQLite file: they are recorded, read, and marked to be repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from microkernels.scores.catalog import Catalog, Entry, Failure
from microkernels.scores.database import RecordError, connect, ignore, stored_timing
from microkernels.tile.benchmark import EMITTER_VERSION
from microkernels.tile.microkernel import RANKED_AS, Microkernel, parse
from tiling.machine import is_rate

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
    stale INTEGER NOT NULL,        -- 1: a ranking has yet to reach it, or to finish its repetitions
    measured TEXT NOT NULL,        -- UTC
    PRIMARY KEY (fingerprint, emitter, kernel)
);
"""


def load(fingerprint: str, isa: str, op: str = "conv2d") -> Catalog:
    """The outcomes of `op`, or of the operator that is ranked for it, on the machine `fingerprint`.

    They belong to the current EMITTER_VERSION. Invalid records are left out, with a RuntimeWarning. Raises
    StoreError.
    """
    with connect(_SCHEMA) as connection:
        rows = connection.execute(
            "SELECT kernel, isa, op, score, samples, peak_gflops, reason FROM microkernels"
            " WHERE fingerprint = ? AND emitter = ? AND isa = ? AND op = ? ORDER BY score DESC, kernel",
            (fingerprint, EMITTER_VERSION, isa, RANKED_AS[op]),
        ).fetchall()
    found = _outcomes(rows)
    entries = tuple(outcome for outcome in found if isinstance(outcome, Entry))
    return Catalog(fingerprint, isa, op, entries, tuple(outcome for outcome in found if isinstance(outcome, Failure)))


def _outcomes(rows: Iterable[tuple[object, ...]]) -> list[Entry | Failure]:
    """The outcomes of rows (kernel, isa, op, score, samples, peak_gflops, reason). Warns of invalid rows."""
    found, wrong = [], []
    for row in rows:
        try:
            found.append(_outcome(*row))
        except ValueError as error:
            wrong.append(f"{str(row[0])[:80]!r}: {error}")
    ignore(wrong)
    return found


def _outcome(
    name: object, isa: object, op: object, score: object, samples: object, peak_gflops: object, reason: object
) -> Entry | Failure:
    """The outcome of one row. Any column may hold anything. Raises ValueError."""
    kernel = parse(str(name))
    if (kernel.isa, kernel.op) != (isa, op):
        raise RecordError(f"it is stored as one of {op!r:.20} on {isa!r:.20}")
    if isinstance(reason, str):
        return Failure(kernel, reason)
    if reason is not None or not is_rate(score):
        raise RecordError(f"{reason if score is None else score!r:.40} is neither a score nor a reason")
    return Entry(kernel, score, stored_timing(samples, peak_gflops))


def record(fingerprint: str, outcome: Entry | Failure, settled: bool = False) -> None:
    """Keeps one outcome at once. It replaces an earlier one of the same kernel. Raises StoreError.

    A failure does not replace a score: the kernel has worked before, so the machine was at fault. A ranking that
    resumes measures the kernel again until the outcome is settled, here or by `settle`.
    """
    kernel = outcome.kernel
    found: tuple[float | None, str | None, float | None, str | None]
    if isinstance(outcome, Entry):
        timing = outcome.timing
        if timing is None:
            raise ValueError(f"{kernel} was not measured here: its score is no outcome of this machine")
        found = (outcome.score, json.dumps(timing.samples), timing.peak_gflops, None)
    else:
        found = (None, None, None, outcome.reason)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    key = (fingerprint, EMITTER_VERSION, kernel.name)
    with connect(_SCHEMA) as connection:
        # Replaced and not updated: a new row has a new ROWID, which `revision` needs.
        connection.execute(
            "INSERT OR REPLACE INTO microkernels SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
            " WHERE ? OR NOT EXISTS (SELECT * FROM microkernels"
            " WHERE fingerprint = ? AND emitter = ? AND kernel = ? AND reason IS NULL)",
            (*key, kernel.isa, kernel.op, *found, not settled, now, isinstance(outcome, Entry), *key),
        )


def last_measured(fingerprint: str, isa: str, op: str) -> str:
    """The time, in UTC, of the last outcome recorded for `op` on `isa`; "" where none is. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        (when,) = connection.execute(
            "SELECT max(measured) FROM microkernels WHERE fingerprint = ? AND emitter = ? AND isa = ? AND op = ?",
            (fingerprint, EMITTER_VERSION, isa, RANKED_AS[op]),
        ).fetchone()
    return str(when or "")


def start_over(fingerprint: str, kernels: Iterable[Microkernel]) -> None:
    """Marks these kernels as not measured. Their old scores hold until new ones come. Raises StoreError."""
    _mark(fingerprint, kernels, stale=True)


def settle(fingerprint: str, kernels: Iterable[Microkernel]) -> None:
    """Marks the recorded outcomes of these kernels as final. Raises StoreError."""
    _mark(fingerprint, kernels, stale=False)


def measured(fingerprint: str, again: Callable[[str], bool] = lambda reason: False) -> frozenset[str]:
    """The names of the kernels whose outcome is final. Failed ones are among them unless again(reason).

    Raises StoreError.
    """
    with connect(_SCHEMA) as connection:
        rows = connection.execute(
            "SELECT kernel, isa, op, score, samples, peak_gflops, reason FROM microkernels"
            " WHERE fingerprint = ? AND emitter = ? AND NOT stale",
            (fingerprint, EMITTER_VERSION),
        ).fetchall()
    return frozenset(
        found.kernel.name for found in _outcomes(rows) if isinstance(found, Entry) or not again(found.reason)
    )


def revision(fingerprint: str, isa: str, op: str) -> str:
    """A short text that changes with every outcome recorded for `op` on `isa`; "0" where none is. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        count, last, when = connection.execute(
            "SELECT count(*), max(rowid), max(measured) FROM microkernels"
            " WHERE fingerprint = ? AND emitter = ? AND isa = ? AND op = ?",
            (fingerprint, EMITTER_VERSION, isa, RANKED_AS[op]),
        ).fetchone()
    # The ROWID alone tells records of one file apart; the others tell a file from its replacement.
    return f"{count}-{last}-{when}" if count else "0"


def _mark(fingerprint: str, kernels: Iterable[Microkernel], stale: bool) -> None:
    names = json.dumps([kernel.name for kernel in kernels])
    with connect(_SCHEMA) as connection:
        connection.execute(
            "UPDATE microkernels SET stale = ? WHERE fingerprint = ? AND emitter = ?"
            " AND kernel IN (SELECT value FROM json_each(?))",
            (stale, fingerprint, EMITTER_VERSION, names),
        )
