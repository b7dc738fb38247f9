"""Keeps compiled kernels on disk, so that each is compiled once per machine. `python -m cpu.cache` looks after them.

One folder, under one limit, holds the libraries and objects of a CPU (`cpu.runtime.library`), the header that gcc has
read ahead (`cpu.runtime.headers`), the cubins of a GPU (`gpu.runtime.compile`) and the results of other libraries'
searches (`bench.peers.compilers.tvm_library`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

# No process waits for another. An entry's name is a hash of everything that decides its content. Each process builds in
# a folder of its own, and `os.replace` puts the finished file in place in one step. So two processes that build the
# same entry at once publish the same bytes, and a reader sees the whole entry or none.

DEFAULT_LIMIT_BYTES = 512 << 20
# A build folder is locked while it is in use, and the lock ends with its process. A file system may have no locks:
# there age decides. No compilation takes an hour, so a killed process left any folder that is older.
_BUILD_SECONDS = 3600
# A build folder that was made just now may not be locked yet.
_NEW_SECONDS = 60
_BUILD_PREFIX = "build-"
HEADER = ".gch"
# The suffix of an entry, and the suffix of its source, which lies beside it.
_SOURCES = {".so": ".c", ".o": ".c", ".cubin": ".cu", HEADER: ".h"}
_FILE_NAME = re.compile(r"[0-9a-f]{64}\.(so|o|cubin|gch|cu?|h)")
_LIMIT = re.compile("[0-9]{1,40}|none")  # the largest size that the command line takes has fewer digits
# An entry ends with a hash of its name and its content. A full disk, a power cut or a stray hand may damage or rename
# it: then it is built again and never loaded. Code that is cut off in the middle would load, and crash when it runs.
_SEAL = hashlib.sha256
_SEAL_BYTES = _SEAL().digest_size


class CacheError(RuntimeError):
    """The cache folder cannot be used."""


@dataclass(frozen=True)
class Entry:
    """A compiled kernel on disk, or a header that the compiler has read ahead.

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


def kept(name: str, source: str, make: Callable[[Path], bytes]) -> bytes:
    """The content that the cache keeps under `name`. If there is none, or it is damaged, `make(path)` makes it now.

    name: a hash of all that decides the content, ending with .so, .o or .cubin. source: the text that the content is
    made from; it is kept beside the entry. path: a file of that name in a folder that only this call uses; `make` may
    build there. Raises CacheError if the folder cannot be written, and what `make` raises.
    """
    entry = entry_path(name)
    require_ours(entry.parent)
    content = _unsealed(entry)
    if content is None:
        with _private(entry.parent) as private:
            content = make(private / name)
            _publish(private / name, entry, source, content)
    else:
        _touch(entry)
    return content


def require_ours(folder: Path) -> None:
    """Raises CacheError if another user could have put programs into the folder: they would run as this user.

    A folder that root owns counts as the user's own. If root finds another owner, it only warns: in a container the
    folder usually belongs to the user outside.
    """
    try:
        status = folder.stat()
    except OSError:
        return  # the folder does not exist or cannot be read: nothing is loaded from it
    if status.st_mode & stat.S_IWOTH:
        raise CacheError(
            f"no program is loaded from {folder}, into which everybody may write: take that right away with chmod o-w, "
            "or set TILEWRIGHT_CACHE to a folder of your own"
        )
    if status.st_uid in (os.geteuid(), 0):
        return
    if os.geteuid():
        raise CacheError(
            f"no program is loaded from {folder}, which belongs to another user (number {status.st_uid}): set "
            "TILEWRIGHT_CACHE to a folder of your own"
        )
    warnings.warn(
        f"root loads programs from {folder}, which belongs to user number {status.st_uid}: trust that user, or set "
        "TILEWRIGHT_CACHE to a folder of your own",
        RuntimeWarning,
        stacklevel=3,
    )


def with_facts(content: bytes, facts: Mapping[str, Any]) -> bytes:
    """A library or cubin followed by a line of facts about it. Programs that load an ELF file ignore that line."""
    return content + b"\n" + json.dumps(facts).encode()


def without_facts(content: bytes) -> tuple[bytes, dict[str, Any]]:
    """The content and the facts that `with_facts` joined."""
    content, _, facts = content.rpartition(b"\n")
    return content, json.loads(facts)


def entry_path(name: str) -> Path:
    """Where the entry of that name lies. A full cache may delete it."""
    return kernel_folder() / name


def entries() -> list[Entry]:
    """All compiled kernels, the one used longest ago first. Raises CacheError."""
    with _errors(kernel_folder()):
        return _entries(kernel_folder())


def clear() -> list[Entry]:
    """Deletes every compiled kernel and the build folders of killed processes. Returns the kernels it deleted.

    A program that has a kernel loaded keeps it. Raises CacheError.
    """
    with _errors(kernel_folder()):
        _sweep(kernel_folder(), time.time(), _NEW_SECONDS)
        return _trim(kernel_folder(), 0)


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


def keep_limit(limit: int | float) -> list[Entry]:
    """Holds the compiled kernels within ``limit`` bytes from now on. Infinity removes the limit.

    Returns the kernels that it deleted to get there. Raises CacheError.
    """
    with _private(kernel_folder()) as private:
        written = private / "limit"
        written.write_text("none\n" if limit == math.inf else f"{limit}\n", encoding="ascii")
        os.replace(written, _limit_file())
        return _trim(kernel_folder(), limit)


def _limit_file() -> Path:
    return cache_folder() / "limit"


def _unsealed(entry: Path) -> bytes | None:
    """An entry's content. None if there is no entry, or if its seal does not match its name and content."""
    try:
        content = entry.read_bytes()
    except OSError:
        return None
    content, seal = content[:-_SEAL_BYTES], content[-_SEAL_BYTES:]
    return content if content and seal == _seal(entry, content) else None


def _seal(entry: Path, content: bytes) -> bytes:
    return _SEAL(entry.name.encode() + content).digest()


def _touch(entry: Path) -> None:
    """Records the time of use, for ``_trim``. A read-only cache is never trimmed, so a failure does not matter."""
    with contextlib.suppress(OSError):
        os.utime(entry)


@contextlib.contextmanager
def _private(folder: Path) -> Iterator[Path]:
    """A folder to build in. A file error while it is in use becomes a CacheError."""
    with _errors(folder):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_BUILD_PREFIX, dir=folder) as private, _locked(private):
            yield Path(private)


def _publish(built: Path, entry: Path, source: str, content: bytes) -> None:
    """Seals what was built and puts it in place. A loader reads what the file's header describes and ignores the
    seal.
    """
    beside = _SOURCES[entry.suffix]
    built.with_suffix(beside).write_text(source, encoding="utf-8")
    built.write_bytes(content + _seal(entry, content))
    os.replace(built.with_suffix(beside), entry.with_suffix(beside))
    os.replace(built, entry)
    _trim(entry.parent, limit_bytes(), spared=entry)


def _trim(folder: Path, limit: int | float, spared: Path | None = None) -> list[Entry]:
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
            entry.path.with_suffix(_SOURCES[entry.path.suffix]).unlink(missing_ok=True)
            deleted.append(entry)
            total -= entry.bytes
    return deleted


def _entries(folder: Path) -> list[Entry]:
    kept_as = {beside: suffix for suffix, beside in _SOURCES.items()}
    files: dict[str, dict[str, os.stat_result]] = {}
    for path in folder.glob("*"):
        if _FILE_NAME.fullmatch(path.name):  # any other file is not ours to count or delete
            with contextlib.suppress(FileNotFoundError):
                files.setdefault(path.stem, {})[path.suffix] = path.stat()
    found = []
    for name, status in files.items():
        suffix = next((each for each in status if each in _SOURCES), None)
        # `_touch` marks the entry, not its source. Where only a source is left, any entry with such a source stands
        # for it.
        used = status[suffix] if suffix else next(iter(status.values()))
        entry = folder / f"{name}{suffix or kept_as[next(iter(status))]}"
        found.append(Entry(entry, sum(one.st_size for one in status.values()), used.st_mtime))
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
