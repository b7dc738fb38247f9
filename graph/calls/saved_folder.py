"""The folder that a compiled model is saved in: its files are placed all or none, and its record is sealed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cpu.runtime.saved_files import regular
from graph.model.errors import ModelError

RECORD = "model.json"


def seal(record: Mapping[str, Any]) -> str:
    """A digest of a record. A damaged record could make a call write anywhere."""
    told = json.dumps({key: value for key, value in record.items() if key != "sha256"}, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def folder_of(place: object, why: str) -> Path:
    """A folder that a user names. why: what cannot be done where none can have that name. Raises ModelError."""
    name = os.fspath(place) if isinstance(place, (str, os.PathLike)) else None
    if not isinstance(name, str):
        raise ModelError(f"{place!r:.60} is not the name of a folder")
    if not name or "\0" in name:
        raise ModelError(f"{name!r:.60} {why}: no folder has such a name; give . for the current folder")
    return Path(name)


def placed(place: str | os.PathLike[str], files: Mapping[str, bytes | memoryview]) -> tuple[Path, ...]:
    """Writes a model's files, all or none. A run that is killed meanwhile leaves no record. Raises ModelError."""
    folder = folder_of(place, "cannot be written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=folder) as private:
            for name, content in files.items():
                (Path(private) / name).write_bytes(content)
            with alone(folder, writes=True):
                (folder / RECORD).unlink(missing_ok=True)
                for name in sorted(files, key=lambda name: name == RECORD):
                    os.replace(Path(private) / name, folder / name)
    except (OSError, TypeError, ValueError) as error:
        raise ModelError(f"{place} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    return tuple(folder / name for name in files)


@contextlib.contextmanager
def alone(folder: Path, writes: bool = False) -> Iterator[None]:
    """Keeps other processes from placing files in a folder, where the file system has locks."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX if writes else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def mapped(path: Path) -> np.ndarray:
    """The bytes of a file, read as they are needed."""
    with regular(path) as file:
        return np.memmap(file, np.uint8, "r")
