"""Another data folder, for as long as a command runs, where nothing can be written into the user's."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from microkernels.scores.database import FILE_NAME, SAY_VERSION, StoreError, connect, data_folder, read_only
from tilewright_entry import TilewrightWarning

# What takes long where nothing is kept.
_RANKS = "If this CPU has no ranking yet, making one takes minutes, and it is lost afterwards"


@contextmanager
def instead(folder: str) -> Iterator[None]:
    """Has another data folder for as long as this lasts. Processes that are started meanwhile have it too."""
    before = os.environ.get("TILEWRIGHT_DATA")
    os.environ["TILEWRIGHT_DATA"] = folder
    try:
        yield
    finally:
        os.environ.pop("TILEWRIGHT_DATA")
        if before is not None:
            os.environ["TILEWRIGHT_DATA"] = before


@contextmanager
def kept_if_possible() -> Iterator[None]:
    """Where nothing can be written into the data folder, warns, and has another one for as long as this lasts: a copy,
    where the file can be read, else an empty one.

    Processes that are started meanwhile have it too. Raises StoreError where that one cannot be made either.
    """
    try:
        with connect("") as connection:
            connection.execute(SAY_VERSION)  # a file that is only read is opened, too
    except StoreError as error:
        wrong = error
    else:
        yield
        return
    path = data_folder() / FILE_NAME
    with _temporary_folder(wrong) as folder:
        known = "" if _copied(path, Path(folder) / FILE_NAME) else ", and nothing is known from before"
        warnings.warn(f"{wrong}; now nothing is kept{known}. {_RANKS}", TilewrightWarning, stacklevel=3)
        with instead(folder):
            yield


@contextmanager
def _temporary_folder(wrong: StoreError) -> Iterator[str]:
    """A folder for as long as this lasts. wrong: why there is none that stays. Raises StoreError."""
    try:
        made = tempfile.TemporaryDirectory(prefix="tilewright-")
    except OSError as error:
        raise StoreError(f"{wrong}, or TMPDIR ({error.strerror or error})") from error
    with made as folder:
        yield folder


def _copied(path: Path, copy: Path) -> bool:
    """Copies a file of measurements that can be read. Returns whether it is one."""
    try:
        source = read_only(path, "")
        if source is None:
            return False
        with closing(source), closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    except (OSError, sqlite3.DatabaseError):
        copy.unlink(missing_ok=True)
        return False
    return True
