"""Compiled kernels kept on disk, so that each is compiled once per machine. `python -m cpu.cache` looks after them.

Libraries of a CPU (`cpu.library`), cubins of a GPU (`gpu.compile`) and what other libraries' searches found
(`bench.peers.tvm_library`) lie in one folder, under one limit. No lock is taken anywhere. An entry's name is a hash of
everything that decides its content, each process builds in a folder of its own, and `os.replace` puts the finished file
in place in one step: two processes that build the same entry at once both publish the same thing, and a reader sees all
of it or none. An entry ends with a hash of its name and of what precedes it, so that one that a full disk, a power cut
or a stray hand damaged or renamed is built again and never loaded: code cut off in the middle would load, and crash
when it is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

DEFAULT_LIMIT_BYTES = 512 << 20
# No compilation takes as long: a build folder that old was left by a process that was killed.
_BUILD_SECONDS = 3600
_BUILD_PREFIX = "build-"
# What an entry holds, and beside it the text that it was made of.
_SOURCES = {".so": ".c", ".cubin": ".cu"}
_FILE_NAME = re.compile(r"[0-9a-f]{64}\.(so|cubin|cu?)")
_LIMIT = re.compile("[0-9]{1,40}|none")  # more than the largest size of the command line has
_SEAL = hashlib.sha256
_SEAL_BYTES = _SEAL().digest_size


class CacheError(RuntimeError):
    """The cache folder cannot be used."""


@dataclass(frozen=True)
class Entry:
    """A compiled kernel on disk: bytes together with its source, and when it was last used, in seconds since 1970.

    Of one that a process was killed over, storing or deleting it, only the source may be there.
    """

    path: Path
    bytes: int
    used: float


def cache_folder() -> Path:
    """The folder that holds Tilewright's files: ``TILEWRIGHT_CACHE``, else the user's cache."""
    chosen = os.environ.get("TILEWRIGHT_CACHE")
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("tilewright"))


def kernel_folder() -> Path:
    """Where the compiled kernels lie."""
    return cache_folder() / "kernels"


def kept(name: str, source: str, make: Callable[[Path], bytes]) -> bytes:
    """What is kept under `name`, made now if it never was: found whole, else what `make(path)` gives.

    name: a hash of all that decides the content, ending with .so or .cubin. `source`, the text it is made of, is kept
    beside. `make` may build at `path`, a file of that name in a folder of this call's own. Raises CacheError if the
    folder cannot be written, and what `make` raises.
    """
    entry = entry_path(name)
    content = _unsealed(entry)
    if content is None:
        with _private(entry.parent) as private:
            content = make(private / name)
            _publish(private / name, entry, source, content)
    else:
        _touch(entry)
    return content


def with_facts(content: bytes, facts: dict) -> bytes:
    """A library or cubin with a last line of what is known of it, which whatever loads an ELF file passes over."""
    return content + b"\n" + json.dumps(facts).encode()


def without_facts(content: bytes) -> tuple[bytes, dict]:
    """What `with_facts` put together."""
    content, _, facts = content.rpartition(b"\n")
    return content, json.loads(facts)


def entry_path(name: str) -> Path:
    """Where the entry of that name lies, until the cache is full."""
    return kernel_folder() / name


def entries() -> list[Entry]:
    """The compiled kernels there are, the one used longest ago first. Raises CacheError."""
    with _errors(kernel_folder()):
        return _entries(kernel_folder())


def clear() -> list[Entry]:
    """Deletes every compiled kernel; those it deleted. Programs that have one loaded keep it. Raises CacheError."""
    with _errors(kernel_folder()):
        return _trim(kernel_folder(), 0)


def limit_bytes() -> int | float:
    """How large the compiled kernels may become together: what ``keep_limit`` was told last, else 512 MiB;
    or infinite.
    """
    try:
        kept = _limit_file().read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return DEFAULT_LIMIT_BYTES
    if not _LIMIT.fullmatch(kept):
        return DEFAULT_LIMIT_BYTES
    return math.inf if kept == "none" else int(kept)


def keep_limit(limit: int | float) -> list[Entry]:
    """Holds the compiled kernels within ``limit`` bytes from now on, without a limit where that is infinite.

    Returns those it deleted for it. Raises CacheError.
    """
    with _private(kernel_folder()) as private:
        written = private / "limit"
        written.write_text("none\n" if limit == math.inf else f"{limit}\n", encoding="ascii")
        os.replace(written, _limit_file())
        return _trim(kernel_folder(), limit)


def _limit_file() -> Path:
    return cache_folder() / "limit"


def _unsealed(entry: Path) -> bytes | None:
    """An entry's content; none where there is no entry or it is not what its builder sealed under this name."""
    try:
        content = entry.read_bytes()
    except OSError:
        return None
    content, seal = content[:-_SEAL_BYTES], content[-_SEAL_BYTES:]
    return content if content and seal == _seal(entry, content) else None


def _seal(entry: Path, content: bytes) -> bytes:
    return _SEAL(entry.name.encode() + content).digest()


def _touch(entry: Path) -> None:
    """Notes the time of use, for ``_trim``; a read-only cache does not need it."""
    with contextlib.suppress(OSError):
        os.utime(entry)


@contextlib.contextmanager
def _private(folder: Path) -> Iterator[Path]:
    """A folder to build in; what goes wrong with files while it is in use is a CacheError."""
    with _errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_BUILD_PREFIX, dir=folder) as private:
            yield Path(private)


def _publish(built: Path, entry: Path, source: str, content: bytes) -> None:
    """Seals what was built. Loaders read what its header speaks of and ignore what follows it."""
    beside = _SOURCES[entry.suffix]
    built.with_suffix(beside).write_text(source, encoding="utf-8")
    built.write_bytes(content + _seal(entry, content))
    os.replace(built.with_suffix(beside), entry.with_suffix(beside))
    os.replace(built, entry)
    _trim(entry.parent, limit_bytes(), spared=entry)


def _trim(folder: Path, limit: int | float, spared: Path | None = None) -> list[Entry]:
    """Deletes the entries used longest ago until the rest is within ``limit`` bytes; those it deleted.

    Others may trim at the same time, so any file may already be gone. A process that has an entry loaded keeps it:
    its file lives on without a name.
    """
    _sweep(folder, time.time())
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
    files: dict[Path, dict[str, os.stat_result]] = {}
    for path in folder.glob("*"):
        if _FILE_NAME.fullmatch(path.name):  # else none of ours to count or delete
            with contextlib.suppress(FileNotFoundError):
                entry = path.with_suffix(kept_as.get(path.suffix, path.suffix))
                files.setdefault(entry, {})[path.suffix] = path.stat()
    found = []
    for entry, status in files.items():
        used = status.get(entry.suffix) or status[_SOURCES[entry.suffix]]  # use is noted on what is kept
        found.append(Entry(entry, sum(one.st_size for one in status.values()), used.st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.path.name))


def _sweep(folder: Path, now: float) -> None:
    """Deletes the build folders of processes that were killed."""
    for path in folder.glob(f"{_BUILD_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):
            if now - path.stat().st_mtime > _BUILD_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CacheError(
            f"compiled kernels cannot be kept in {folder} ({error.strerror or error}): set TILEWRIGHT_CACHE to a "
            "folder that can be written"
        ) from error


if __name__ == "__main__":
    import sys

    from cpu.cache_command import main

    sys.exit(main())
