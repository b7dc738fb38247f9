"""Keeps the facts of this machine, and the measurements and choices of its problems, in one SQLite file.

Keys hold the machine's fingerprint and VERSION, so a changed emitter or model starts afresh; old records stay. Keys of
schemes hold the compiler too. Each record is committed by itself. An unreadable record is ignored with a
RuntimeWarning. Samples that are in doubt lie in an object that says why: an earlier version ignores it, and measures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # facts are JSON

from microkernels.scores.database import RecordError, connect, ignore, stored_json, timing_of
from microkernels.tile.benchmark import EMITTER_VERSION
from tiling.machine import Timing, is_rate

# The version of the model, of whole kernels and of this file's records. EMITTER_VERSION is the version of register
# tiles.
MODEL_VERSION = 49
VERSION = f"{EMITTER_VERSION}.{MODEL_VERSION}"

# The bandwidths that a machine's facts hold for every level.
KINDS = ("read", "write")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS machines (
    fingerprint TEXT NOT NULL, isa TEXT NOT NULL, version TEXT NOT NULL, facts TEXT NOT NULL,
    measured_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (fingerprint, isa, version)
);
CREATE TABLE IF NOT EXISTS schemes (
    fingerprint TEXT NOT NULL, isa TEXT NOT NULL, compiler TEXT NOT NULL, version TEXT NOT NULL, op TEXT NOT NULL,
    shape TEXT NOT NULL, threads INTEGER NOT NULL, scheme TEXT NOT NULL,
    samples TEXT, peak_gflops REAL, reason TEXT,
    measured_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (fingerprint, isa, compiler, version, op, shape, threads, scheme)
);
CREATE TABLE IF NOT EXISTS choices (
    fingerprint TEXT NOT NULL, isa TEXT NOT NULL, compiler TEXT NOT NULL, version TEXT NOT NULL, op TEXT NOT NULL,
    shape TEXT NOT NULL, threads INTEGER NOT NULL, tune TEXT NOT NULL, scheme TEXT NOT NULL,
    samples TEXT, peak_gflops REAL,
    chosen_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (fingerprint, isa, compiler, version, op, shape, threads, tune)
);
"""
_OF_PROBLEM = "fingerprint = ? AND isa = ? AND compiler = ? AND version = ? AND op = ? AND shape = ? AND threads = ?"
_OF_SCHEME = f"{_OF_PROBLEM} AND scheme = ?"
# A failure never replaces a timing. A timing in doubt never replaces one that is beyond doubt.
_TIMED, _BEYOND_DOUBT = "samples IS NOT NULL", "samples LIKE '[%' AND reason IS NULL"


@dataclass(frozen=True)
class Key:
    """One problem on one machine. shape: the canonical text form. compiler: its kind and version.

    conditions: how times were taken; "" for a kernel by itself with warm caches.
    """

    fingerprint: str
    isa: str
    compiler: str
    op: str
    shape: str
    threads: int
    conditions: str = ""

    @property
    def columns(self) -> tuple[str | int, ...]:
        version = f"{VERSION} {self.conditions}".strip()
        return (self.fingerprint, self.isa, self.compiler, version, self.op, self.shape, self.threads)


def facts(fingerprint: str, isa: str) -> dict[str, Any] | None:
    """The measured facts of a machine (`cpu.runtime.machine.probe`), None if it was not probed. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        row = connection.execute(
            "SELECT facts FROM machines WHERE fingerprint = ? AND isa = ? AND version = ?", (fingerprint, isa, VERSION)
        ).fetchone()
    try:
        return _facts(row[0]) if row else None
    except RecordError as error:
        ignore([f"the facts of {isa}: {error}"])
        return None


def _facts(text: object) -> dict[str, Any]:
    found = stored_json(text)
    if not isinstance(found, dict) or not all(isinstance(found.get(kind), dict) for kind in KINDS):
        raise RecordError("they lack the bandwidths")
    rates = {key: found.get(key) for key in ("peak_gflops", "memory_stream")}
    for kind in KINDS:
        rates |= {f"{kind} {level}": found[kind].get(level) for level in ("memory", *found["read"])}
    rates |= {"at": found["at"]} if "at" in found else {}
    for name, rate in rates.items():
        if not is_rate(rate):
            raise RecordError(f"{name}={rate!r:.40} is not a rate")
    return found


def keep_facts(fingerprint: str, isa: str, found: Mapping[str, Any]) -> None:
    """Keeps the facts of a machine and drops its earlier facts. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        connection.execute(
            "INSERT OR REPLACE INTO machines (fingerprint, isa, version, facts) VALUES (?, ?, ?, ?)",
            (fingerprint, isa, VERSION, json.dumps(found)),
        )


def record(key: Key, scheme: str, outcome: Timing | str) -> None:
    """Keeps one measurement, or the reason why it failed, at once. Raises StoreError.

    A failure does not replace a timing: the scheme worked once, so the machine is at fault (but see `reject`). A timing
    in doubt does not replace one that is beyond doubt.
    """
    found: tuple[str | None, float | None, str | None]
    if isinstance(outcome, str):
        found, replaces, stays = (None, None, outcome), False, _TIMED
    else:
        found, replaces, stays = (*_columns(outcome), None), not outcome.disturbed, _BEYOND_DOUBT
    with connect(_SCHEMA) as connection:
        connection.execute(
            "INSERT OR REPLACE INTO schemes (fingerprint, isa, compiler, version, op, shape, threads, scheme, samples,"
            " peak_gflops, reason) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE ? OR NOT EXISTS (SELECT * FROM schemes"
            f" WHERE {_OF_SCHEME} AND {stays})",
            (*key.columns, scheme, *found, replaces, *key.columns, scheme),
        )


def reject(key: Key, scheme: str, reason: str) -> None:
    """Marks a scheme as failed because its last check failed, even if it was timed. Raises StoreError.

    The timing stays in the file.
    """
    with connect(_SCHEMA) as connection:
        connection.execute(f"UPDATE schemes SET reason = ? WHERE {_OF_SCHEME}", (reason, *key.columns, scheme))


def measured(key: Key) -> dict[str, Timing | str]:
    """Every scheme that was measured for `key`, with its timing or the reason why it failed. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        rows = connection.execute(
            f"SELECT scheme, samples, peak_gflops, reason FROM schemes WHERE {_OF_PROBLEM}", key.columns
        ).fetchall()
    found, wrong = {}, []
    for scheme, *columns in rows:
        try:
            found[scheme] = _outcome(*columns)
        except RecordError as error:
            wrong.append(f"{str(scheme)[:80]!r}: {error}")
    ignore(wrong)
    return found


def timings(key: Key, scheme: str) -> dict[tuple[str, str], Timing]:
    """The timings of one scheme for all operators and shapes, under the rest of `key`. Raises StoreError."""
    fingerprint, isa, compiler, version, _, _, threads = key.columns
    with connect(_SCHEMA) as connection:
        rows = connection.execute(
            "SELECT op, shape, samples, peak_gflops FROM schemes WHERE fingerprint = ? AND isa = ? AND compiler = ? AND"
            f" version = ? AND threads = ? AND scheme = ? AND {_TIMED} AND reason IS NULL",
            (fingerprint, isa, compiler, version, threads, scheme),
        ).fetchall()
    found, wrong = {}, []
    for op, shape, *columns in rows:
        try:
            found[op, shape] = _stored(*columns)[0]
        except RecordError as error:
            wrong.append(f"{str(shape)[:80]!r}: {error}")
    ignore(wrong)
    return found


def _outcome(samples: object, peak_gflops: object, reason: object) -> Timing | str:
    if reason is None:
        return _stored(samples, peak_gflops)[0]
    return _text(reason, "reason")


@dataclass(frozen=True)
class KeptScheme:
    """A scheme that an earlier search chose, with its timing where it was measured.

    rivals: the schemes to measure again beside a choice in doubt (`Timing.disturbed`).
    """

    scheme: str
    timing: Timing | None
    rivals: tuple[str, ...] = ()


def choose(key: Key, tune: str, scheme: str, timing: Timing | None, rivals: Sequence[str] = ()) -> None:
    """Keeps the scheme that a search chose. `tune`: the kind of search. rivals: see `KeptScheme`. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        connection.execute(
            "INSERT OR REPLACE INTO choices (fingerprint, isa, compiler, version, op, shape, threads, tune, scheme, "
            "samples,"
            " peak_gflops) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*key.columns, tune, scheme, *(_columns(timing, rivals) if timing else (None, None))),
        )


def choice(key: Key, tune: str) -> KeptScheme | None:
    """What an earlier search chose. Raises StoreError."""
    with connect(_SCHEMA) as connection:
        row = connection.execute(
            f"SELECT scheme, samples, peak_gflops FROM choices WHERE {_OF_PROBLEM} AND tune = ?", (*key.columns, tune)
        ).fetchone()
    try:
        if not row:
            return None
        return KeptScheme(str(row[0]), *(_stored(row[1], row[2]) if row[1] is not None else (None,)))
    except RecordError as error:
        ignore([f"the choice for {key.shape}: {error}"])
        return None


def _columns(timing: Timing, rivals: Sequence[str] = ()) -> tuple[str, float]:
    """The columns samples and peak_gflops; `_stored` is the way back."""
    samples: object = list(timing.samples)
    if timing.disturbed:
        samples = {"samples": samples, "disturbed": timing.disturbed, "rivals": list(rivals)}
    return json.dumps(samples), timing.peak_gflops


def _stored(samples: object, peak_gflops: object) -> tuple[Timing, tuple[str, ...]]:
    """The timing and the rivals of two columns. Raises RecordError."""
    found = stored_json(samples)
    if not isinstance(found, dict):
        return timing_of(found, peak_gflops), ()
    rivals = found.get("rivals")
    if not isinstance(rivals, list):
        raise RecordError(f"{rivals!r:.40} is no list of schemes")
    timing = timing_of(found.get("samples"), peak_gflops, _text(found.get("disturbed"), "reason"))
    return timing, tuple(_text(each, "scheme") for each in rivals)


def _text(value: object, called: str) -> str:
    if not isinstance(value, str) or not value:
        raise RecordError(f"{value!r:.40} is no {called}")
    return value
