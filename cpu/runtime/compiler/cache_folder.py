"""The folder of compiled kernels: what lies there, how large it may become, and the builds under way in it.

One folder, under one limit, holds libraries and objects of a CPU (`cpu.runtime.compiler.library`) and cubins of a GPU
(`gpu.runtime.compiler.compile`). Beside them lie gcc's precompiled header (`cpu.runtime.compiler.headers`),
and what other libraries' searches found (`bench.peers.compilers.tvm_library`).
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

DEFAULT_LIMIT_BYTES = 512 << 20
# A build folder is locked while it is in use, and the lock ends with its process. A file system may have no locks:
# there age decides. No compilation takes an hour, so a killed process left any folder that is older.
_BUILD_SECONDS = 3600
# Listing the folder takes 20 µs an entry: with 6,000 kernels as long as compiling one. So a process lists it again when
# it has published a 16th of the room that was left. If other processes fill the folder meanwhile, each process may
# exceed the limit by a 16th of it, until one of them lists the folder again.
_SHARES = 16
# A build folder that was made just now may not be locked yet.
_NEW_SECONDS = 60
_BUILD_PREFIX = "build-"
HEADER = ".gch"
# The suffix of an entry, and the suffix of its source, which lies beside it.
SOURCES = {".so": ".c", ".o": ".c", ".cubin": ".cu", HEADER: ".h"}
_FILE_NAME = re.compile(r"[0-9a-f]{64}\.(so|o|cubin|gch|cu?|h)")
_LIMIT = re.compile("[0-9]{1,40}|none")  # the largest size that the command line takes has fewer digits
# For each folder: the limit when this process last listed it, and how many bytes it may publish before it lists again.
_unseen: dict[Path, tuple[int | float, float]] = {}


class CacheError(RuntimeError):
    """The cache folder cannot be used."""


@dataclass(frozen=True)
class CacheEntry:
    """A compiled kernel on disk, or a precompiled header.

    bytes: size of the entry and its source. used: when it was last used, in seconds since 1970. If a process was killed
    while it stored or deleted the entry, only the source may be there.
    """

    path: Path
    bytes: int
    used: float

    @property
    def is_kernel(self) -> bool:
        """Whether this is a kernel and no header."""
        return self.path.suffix != HEADER


def cache_folder() -> Path:
    """The folder that holds Tilewright's files: ``TILEWRIGHT_CACHE``, else the user's cache."""
    chosen = os.environ.get("TILEWRIGHT_CACHE")
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("tilewright"))


def kernel_folder() -> Path:
    """Where the compiled kernels lie."""
    return cache_folder() / "kernels"


def entries() -> list[CacheEntry]:
    """All compiled kernels, the one used longest ago first. Raises CacheError."""
    with _errors(kernel_folder()):
        return _entries(kernel_folder())


def clear() -> list[CacheEntry]:
    """Deletes every compiled kernel and the build folders of killed processes. Returns the kernels it deleted.

    A program that has a kernel loaded keeps it. Raises CacheError.
    """
    with _errors(kernel_folder()):
        _sweep(kernel_folder(), time.time(), _NEW_SECONDS)
        return trim(kernel_folder(), 0)


def limit_bytes() -> int | float:
    """How many bytes all compiled kernels may take: what ``keep_limit`` was told last, else 512 MiB. It may be
    infinite.
    """
    try:
        kept = _limit_file().read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return DEFAULT_LIMIT_BYTES
    if not _LIMIT.fullmatch(kept):
        return DEFAULT_LIMIT_BYTES
    return math.inf if kept == "none" else int(kept)


def keep_limit(limit: int | float) -> list[CacheEntry]:
    """Holds the compiled kernels within ``limit`` bytes from now on. Infinity removes the limit.

    Returns the kernels that it deleted to get there. Raises CacheError.
    """
    with a_build_folder(kernel_folder()) as private:
        written = private / "limit"
        written.write_text("none\n" if limit == math.inf else f"{limit}\n", encoding="ascii")
        os.replace(written, _limit_file())
        return trim(kernel_folder(), limit)


def _limit_file() -> Path:
    return cache_folder() / "limit"


@contextlib.contextmanager
def a_build_folder(folder: Path) -> Iterator[Path]:
    """A folder to build in. A file error while it is in use becomes a CacheError."""
    with _errors(folder):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_BUILD_PREFIX, dir=folder) as private, _locked(private):
            yield Path(private)


def trim(folder: Path, limit: int | float, spared: Path | None = None) -> list[CacheEntry]:
    """Deletes the entries used longest ago until the rest is within ``limit`` bytes. Returns the deleted entries.

    Other processes may trim at the same time, so any file may already be gone. A process that has an entry loaded keeps
    it: the file lives on without a name.
    """
    _sweep(folder, time.time(), _BUILD_SECONDS)
    deleted, found = [], _entries(folder)
    total = sum(entry.bytes for entry in found)
    for entry in found:
        if total <= limit:
            break
        if entry.path != spared:
            entry.path.unlink(missing_ok=True)
            entry.path.with_suffix(SOURCES[entry.path.suffix]).unlink(missing_ok=True)
            deleted.append(entry)
            total -= entry.bytes
    _unseen[folder] = limit, (limit - total) / _SHARES
    return deleted


def trim_after(entry: Path, size: int) -> None:
    """Holds the folder of an entry within its limit; to be called once `size` bytes were published as that entry."""
    folder, limit = entry.parent, limit_bytes()
    known, left = _unseen.get(folder, (None, 0))
    if limit == known and size <= left:
        _unseen[folder] = limit, left - size
    else:
        trim(folder, limit, spared=entry)


def _entries(folder: Path) -> list[CacheEntry]:
    kept_as = {beside: suffix for suffix, beside in SOURCES.items()}
    files: dict[str, dict[str, os.stat_result]] = {}
    for path in folder.glob("*"):
        if _FILE_NAME.fullmatch(path.name):  # any other file is not ours to count or delete
            with contextlib.suppress(FileNotFoundError):
                files.setdefault(path.stem, {})[path.suffix] = path.stat()
    found = []
    for name, status in files.items():
        suffix = next((each for each in status if each in SOURCES), None)
        # `_touch` marks the entry, not its source. Where only a source is left, any entry with such a source stands
        # for it.
        used = status[suffix] if suffix else next(iter(status.values()))
        entry = folder / f"{name}{suffix or kept_as[next(iter(status))]}"
        found.append(CacheEntry(entry, sum(one.st_size for one in status.values()), used.st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.path.name))


def _sweep(folder: Path, now: float, seconds: float) -> None:
    """Deletes the build folders that are older than ``seconds`` and not in use: their processes were killed.

    Where there are no locks, a folder may be in use for ``_BUILD_SECONDS``.
    """
    for path in folder.glob(f"{_BUILD_PREFIX}*"):
        with contextlib.suppress(OSError):
            age = now - path.stat().st_mtime
            if age > seconds:
                with _locked(path) as held:
                    if held or age > _BUILD_SECONDS:
                        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: str | Path) -> Iterator[bool]:
    """Holds a folder's lock, which ends with the process. Gives whether the file system has locks.

    Raises BlockingIOError if another process holds the lock.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            raise
        except OSError:
            held = False
        yield held
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CacheError(
            f"compiled kernels cannot be kept in {folder} ({error.strerror or error}): set TILEWRIGHT_CACHE to a "
            "folder that can be written"
        ) from error
