"""The one SQLite file that keeps what was measured, whoever measured it.

Every statement is its own transaction, so a record is on disk, and visible to other processes, once `execute`
returns; a process killed at any moment loses at most the measurement in flight. A file that cannot be used is set
aside under another name: measurements are never overwritten or deleted. What is read from a sound file is data all the
same: a record that cannot be one of ours is ignored, with a warning, as if it had never been measured.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import filelock
import platformdirs

from tiling.machine import Timing

FILE_NAME = "tilewright.sqlite"

# Of the whole file, all packages' tables together; 0 is what SQLite gives a file that nobody has claimed.
SCHEMA_VERSION = 1

# Longer than any write of ours or an opening takes, shorter than a user's patience with a hung process.
BUSY_SECONDS = 30.0

_SQLITE_ERROR = 1  # the primary result code; Python names it from 3.11 on

# The files that this process found undamaged: looking takes longer the more a file holds, and connecting must not.
_sound: set[Path] = set()
# The files that it found to have the tables of these schemas.
_fitting: set[tuple[Path, str]] = set()


class StoreError(RuntimeError):
    """The data folder cannot be used: says which, why, and what to do."""


class RecordError(ValueError):
    """What is stored cannot have been stored by us: says why."""


class _Unusable(Exception):
    """What is wrong with a file that must be set aside."""


def data_folder() -> Path:
    """The folder of what is worth keeping: `TILEWRIGHT_DATA`, else the user's data folder."""
    chosen = os.environ.get("TILEWRIGHT_DATA")
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_data_dir("tilewright"))


def stored_json(text: object) -> object:
    """What a JSON text stands for. Raises RecordError."""
    try:
        return json.loads(text)  # of anything but a text it is a TypeError
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{str(text)[:40]!r} is not JSON: {type(error).__name__}") from None


def stored_timing(samples: object, peak_gflops: object) -> Timing:
    """The timing of two columns, a JSON list of seconds and a number. Raises RecordError."""
    found = stored_json(samples)
    if not isinstance(found, list):
        raise RecordError(f"{str(samples)[:40]!r} is not a list of samples")
    try:
        return Timing(tuple(found), peak_gflops)
    except ValueError as error:
        raise RecordError(str(error)) from None


def readable(text: str) -> str:
    """A text as a terminal may show it: what a crashed program printed last may hold anything."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def ignore(wrong: list[str]) -> None:
    """Warns of records that were ignored, each given as a name and why it is none of ours."""
    if wrong:
        count = "a record" if len(wrong) == 1 else f"{len(wrong)} records"
        first = "" if len(wrong) == 1 else "the first "
        warnings.warn(
            f"{count} in {data_folder() / FILE_NAME} cannot be Tilewright's and will be measured anew: "
            f"{first}{wrong[0]}",
            RuntimeWarning,
            stacklevel=3,
        )


@contextmanager
def connect(schema: str) -> Iterator[sqlite3.Connection]:
    """A connection with the tables of `schema`, a text of `CREATE TABLE IF NOT EXISTS …;`, closed on leaving.

    The connection commits each statement by itself; several processes may use the file at once. A file of another
    schema version or with other tables, or one that a process finds corrupt when it first connects, is renamed to
    `tilewright.sqlite.set-aside-TIME` with a RuntimeWarning, and a new one is begun. What reads does not write: it
    waits for no writer, and works on a full disk and in a folder that cannot be written. Raises StoreError where what
    has to be written cannot be, the file turns out corrupt later, or another process holds it for longer than
    BUSY_SECONDS.
    """
    path = data_folder() / FILE_NAME
    try:
        with closing(_open(path, schema)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        if _is_corruption(error):
            _sound.discard(path)  # the next connection looks, and sets it aside
        if not _is_environment(error):
            raise
        raise _store_error(path, error) from error


def _open(path: Path, schema: str) -> sqlite3.Connection:
    """Opens under a lock: of two processes that find a new or an unusable file, one prepares it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{path}.lock", timeout=BUSY_SECONDS):
            try:
                return _prepared(path, schema)
            except _Unusable as wrong:
                aside = _set_aside(path)
                warnings.warn(
                    f"{path} {wrong}: it was set aside as {aside.name}, and a new one begun",
                    RuntimeWarning,
                    # Past connect and the context manager, to the line of the `with`.
                    stacklevel=4,
                )
                return _prepared(path, schema)
    except filelock.Timeout as error:
        raise _store_error(path, error) from error
    except (OSError, sqlite3.OperationalError) as error:
        readable_only = _read_only(path, schema)
        if readable_only is None:
            raise _store_error(path, error) from error
        return readable_only


def _read_only(path: Path, schema: str) -> sqlite3.Connection | None:
    """The file where nothing can be written, not even SQLite's own files beside it; None where it has a log, or is none
    of ours: without a log nobody is writing, and the file is whole.
    """
    log = Path(f"{path}-wal")
    if not os.access(path, os.R_OK) or log.exists() and log.stat().st_size:
        return None
    connection = _connected(f"{path.as_uri()}?immutable=1")
    try:
        _check(connection, path)
        _check_tables(connection, schema)
    except (_Unusable, sqlite3.DatabaseError):
        connection.close()
        return None
    return connection


def _connected(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
    # The precautions for a file that others may have written: https://sqlite.org/security.html.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    # Text that is none is a record to ignore, not an error of the file.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _prepared(path: Path, schema: str) -> sqlite3.Connection:
    connection = _connected(path.as_uri())
    try:
        version = _check(connection, path)
        # Readers do not wait for the writer. NORMAL: a killed process loses nothing, a power cut the last records.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        # Written only where it is missing: whoever reads needs neither the write lock nor room on the disk.
        if not _has_tables(connection, schema):
            connection.executescript(schema)
        if (path, schema) not in _fitting:
            _check_tables(connection, schema)
            _fitting.add((path, schema))
        if version != SCHEMA_VERSION:
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.DatabaseError) and _is_corruption(error):
            raise _Unusable(f"is damaged ({error})") from error
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> int:
    """The schema version, 0 of a new file. Reads only: a file that is not ours to write stays as it is."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version != SCHEMA_VERSION and (version or tables):
        raise _Unusable(f"has schema version {version} where this Tilewright reads {SCHEMA_VERSION}")
    if path in _sound:
        return version
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise _Unusable(f"is damaged ({verdict})")
    _sound.add(path)
    return version


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


def _has_tables(connection: sqlite3.Connection, schema: str) -> bool:
    """Whether no table of `schema` is missing."""
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(schema)
        return set(ours.execute(_TABLES)) <= set(connection.execute(_TABLES))


def _check_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Whether what bears the names of our tables are tables, and have our columns."""
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(schema)
        for (table,) in ours.execute(_TABLES).fetchall():
            columns = "SELECT name FROM pragma_table_info(?)"
            found = connection.execute(columns, (table,)).fetchall()
            kind = connection.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            missing = [name for (name,) in ours.execute(columns, (table,)) if (name,) not in found]
            if kind != ("table",) or missing:
                lacks = f"has no column {missing[0]}" if missing else f"is a {kind[0]}"
                raise _Unusable(f"is another program's or version's: its table {table} {lacks}")


def _set_aside(path: Path) -> Path:
    """Rename the file and what SQLite keeps beside it, so that the renamed ones still belong together.

    The file itself comes last: one killed before that leaves a file that is set aside again, while SQLite would delete
    a log that it finds beside a new file.
    """
    stamp = time.strftime("%Y%m%dT%H%M%S")
    aside, others = path.with_name(f"{path.name}.set-aside-{stamp}"), 1
    while aside.exists():
        others += 1
        aside = path.with_name(f"{path.name}.set-aside-{stamp}-{others}")
    for suffix in ("-wal", "-shm"):
        beside = Path(f"{path}{suffix}")
        if beside.exists():
            beside.rename(f"{aside}{suffix}")
    path.rename(aside)
    return aside


def _is_corruption(error: sqlite3.DatabaseError) -> bool:
    """SQLITE_CORRUPT and SQLITE_NOTADB are the codes that Python raises as DatabaseError itself."""
    return type(error) is sqlite3.DatabaseError


def _is_environment(error: sqlite3.DatabaseError) -> bool:
    """Not a fault of the statement: a full disk, a missing permission, a lock, damage.

    SQLITE_ERROR is the statement's: a syntax error, an unknown column. Python 3.10 does not tell the code.
    """
    if isinstance(error, sqlite3.OperationalError):
        return getattr(error, "sqlite_errorcode", None) is None or error.sqlite_errorcode & 0xFF != _SQLITE_ERROR
    return _is_corruption(error)


def _store_error(path: Path, error: Exception) -> StoreError:
    if isinstance(error, filelock.Timeout):
        reason = f"another process held it for {BUSY_SECONDS:.0f} s"
    else:
        reason = getattr(error, "strerror", None) or str(error)
    return StoreError(
        f"measurements cannot be kept in {path} ({reason}): set TILEWRIGHT_DATA to a folder that can be written"
    )
