"""The one SQLite file that keeps all measurements.

Every statement is its own transaction, so a killed process loses at most the measurement in flight. A file that cannot
be used is set aside under another name: measurements are never overwritten or deleted. An invalid record is ignored,
with a warning, as if it had never been measured.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path

import filelock
import platformdirs

from tilewright_entry import TilewrightWarning
from tiling.machine import Timing, is_rate

FILE_NAME = "tilewright.sqlite"

# The version of the whole file, with the tables of all packages. SQLite gives 0 to a new file.
SCHEMA_VERSION = 1
SAY_VERSION = f"PRAGMA user_version = {SCHEMA_VERSION}"

# Longer than any write or opening takes, but short enough for a user to wait.
BUSY_SECONDS = 30.0

_SQLITE_ERROR = 1  # the primary result code; Python names it from 3.11 on
# SQLite's message for a write to a file that `read_only` opened. It hides the system's reason.
_READ_ONLY = "attempt to write a readonly database"
_ROOM_BYTES = 1 << 16  # more than SQLite needs to begin with

# The files that this process found undamaged. Checking a large file takes long, so each is checked once.
_sound: set[Path] = set()
# The files, each with a schema whose tables this process found there.
_fitting: set[tuple[Path, str]] = set()


class StoreError(RuntimeError):
    """The data folder cannot be used. The message says which, why, and what to do."""


class RecordError(ValueError):
    """A stored record is invalid. The message says why."""


class _Unusable(Exception):
    """A file must be set aside. The message says why."""


def data_folder() -> Path:
    """The folder of data that is worth keeping: `TILEWRIGHT_DATA`, else the user's data folder."""
    chosen = os.environ.get("TILEWRIGHT_DATA")
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_data_dir("tilewright"))


def stored_json(text: object) -> object:
    """The value of a JSON text. Raises RecordError."""
    try:
        if not isinstance(text, (str, bytes)):
            raise TypeError
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{str(text)[:40]!r} is not JSON: {type(error).__name__}") from None


def stored_timing(samples: object, peak_gflops: object) -> Timing:
    """The timing of two columns, a JSON list of seconds and a number. Raises RecordError."""
    return timing_of(stored_json(samples), peak_gflops)


def timing_of(samples: object, peak_gflops: object, disturbed: str = "") -> Timing:
    """The timing of values of any type. Raises RecordError."""
    if not isinstance(samples, list):
        raise RecordError(f"{str(samples)[:40]!r} is not a list of samples")
    if not is_rate(peak_gflops):
        raise RecordError(f"{peak_gflops!r:.40} is not a time or rate")
    try:
        return Timing(tuple(samples), peak_gflops, disturbed)
    except ValueError as error:
        raise RecordError(str(error)) from None


def ignore(wrong: list[str]) -> None:
    """Warns of invalid records that were ignored. Each text has the name of a record and the reason."""
    if wrong:
        count = "a record" if len(wrong) == 1 else f"{len(wrong)} records"
        first = "" if len(wrong) == 1 else "the first "
        warnings.warn(
            f"{count} in {data_folder() / FILE_NAME} cannot be Tilewright's and will be measured anew: "
            f"{first}{wrong[0]}",
            TilewrightWarning,
            stacklevel=3,
        )


@contextmanager
def connect(schema: str) -> Iterator[sqlite3.Connection]:
    """A connection with the tables of `schema`, a text of `CREATE TABLE IF NOT EXISTS …;`, closed on leaving.

    The connection commits each statement by itself, and several processes may use the file at once. A file of another
    schema version, with other tables, or one that is corrupt when a process first connects is renamed to
    `tilewright.sqlite.set-aside-TIME` with a RuntimeWarning, and a new file is begun. Reading needs no write: it does
    not wait for a writer, and works on a full disk and in a folder that cannot be written. Raises StoreError where a
    write fails, where the file turns out corrupt later, or where another process holds it for longer than BUSY_SECONDS.
    """
    path = data_folder() / FILE_NAME
    try:
        with closing(_open(path, schema)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        if _is_corruption(error):
            _sound.discard(path)  # the next connection checks the file, and sets it aside
        if not _is_environment(error):
            raise
        raise _store_error(path, _why_read_only(path.parent, error)) from error


def _open(path: Path, schema: str) -> sqlite3.Connection:
    """Opens the file under a lock, so that one of several processes prepares a new or an unusable file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{path}.lock", timeout=BUSY_SECONDS):
            try:
                return _prepared(path, schema)
            except _Unusable as wrong:
                aside = _set_aside(path)
                warnings.warn(
                    f"{path} {wrong}: it was set aside as {aside.name}, and a new one begun",
                    TilewrightWarning,
                    # The warning names the line of the `with`, outside connect and the context manager.
                    stacklevel=4,
                )
                return _prepared(path, schema)
    except filelock.Timeout as error:
        raise _store_error(path, error) from error
    except (OSError, sqlite3.OperationalError) as error:
        readable_only = read_only(path, schema)
        if readable_only is None:
            raise _store_error(path, error) from error
        return readable_only


def read_only(path: Path, schema: str) -> sqlite3.Connection | None:
    """A connection to a file where nothing can be written, not even SQLite's own files beside it.

    None where the file has a log, since then somebody may be writing, or where its tables are not ours.
    """
    log = Path(f"{path}-wal")
    if not os.access(path, os.R_OK) or (log.exists() and log.stat().st_size):
        return None
    connection = _connected(f"{path.as_uri()}?immutable=1")
    try:
        _check(connection, path)
        _check_tables(connection, schema)
    except (_Unusable, sqlite3.DatabaseError):
        connection.close()
        return None
    return connection


def _why_read_only(folder: Path, error: sqlite3.DatabaseError) -> Exception:
    """The system's error for a write into the folder, where SQLite only says that it may not write; else `error`."""
    if str(error) != _READ_ONLY:
        return error
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ROOM_BYTES))
            file.flush()
    except OSError as reason:
        return reason
    return error


def _connected(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
    # The precautions for a file that others may have written: https://sqlite.org/security.html.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    # Invalid UTF-8 makes a record that is ignored, and not an error of the file.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _prepared(path: Path, schema: str) -> sqlite3.Connection:
    connection = _connected(path.as_uri())
    try:
        version = _check(connection, path)
        # Readers do not wait for the writer. NORMAL: a killed process loses nothing, a power cut the last records.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        # Tables are created only where they are missing: readers need neither the write lock nor room on the disk.
        if not _has_tables(connection, schema):
            connection.executescript(schema)
        if (path, schema) not in _fitting:
            _check_tables(connection, schema)
            _fitting.add((path, schema))
        if version != SCHEMA_VERSION:
            connection.execute(SAY_VERSION)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.DatabaseError) and _is_corruption(error):
            raise _Unusable(f"is damaged ({error})") from error
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> int:
    """The schema version, 0 for a new file. It only reads, so that a file of another program stays as it is."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
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
    return _tables_of(schema) <= set(connection.execute(_TABLES))


@lru_cache
def _tables_of(schema: str) -> frozenset[tuple[str]]:
    """The tables of a schema, as `_TABLES` gives them."""
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(schema)
        return frozenset(ours.execute(_TABLES))


def _check_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Checks that our names stand for tables, and that these have our columns. Raises _Unusable."""
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
    """Renames the file and those that SQLite keeps beside it, so that the renamed files still belong together.

    The file itself comes last. If the process is killed before, the next one sets the file aside again; the other way
    round, SQLite would delete a log that it finds beside a new file.
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
    """Whether the file is damaged. Python raises SQLITE_CORRUPT and SQLITE_NOTADB as DatabaseError itself."""
    return type(error) is sqlite3.DatabaseError


def _is_environment(error: sqlite3.DatabaseError) -> bool:
    """Whether the error is no fault of the statement but a full disk, a missing permission, a lock, or damage.

    SQLITE_ERROR is a fault of the statement: a syntax error, an unknown column. Python 3.10 does not tell the code.
    """
    if isinstance(error, sqlite3.OperationalError):
        code: int | None = getattr(error, "sqlite_errorcode", None)
        return code is None or code & 0xFF != _SQLITE_ERROR
    return _is_corruption(error)


def _store_error(path: Path, error: Exception) -> StoreError:
    if isinstance(error, filelock.Timeout):
        reason = f"another process held it for {BUSY_SECONDS:.0f} s"
    else:
        reason = getattr(error, "strerror", None) or str(error)
    return StoreError(
        f"measurements cannot be kept in {path} ({reason}): set TILEWRIGHT_DATA to a folder that can be written"
    )
