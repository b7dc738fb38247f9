"""Compiled kernels kept on disk, so that each is compiled once per machine. `python -m cpu.cache` looks after them.

No lock is taken anywhere. An entry's name is a hash of everything that decides its content, each process builds in a
folder of its own, and `os.replace` puts the finished file in place in one step: two processes that build the same
entry at once both publish the same thing, and a reader sees all of it or none. An entry ends with a hash of its name
and of what precedes it, so that one that a full disk, a power cut or a stray hand damaged or renamed is built again and
never loaded: code cut off in the middle would load, and crash when it is run. What was checked is itself what is loaded
(`cpu.library`), not the file once more.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from cpu.library import Opened, load_bytes
from cpu.toolchain import BASE_FLAGS, Compiler, compile_shared, find_compiler

DEFAULT_LIMIT_BYTES = 512 << 20
# No compilation takes as long: a build folder that old was left by a process that was killed.
_BUILD_SECONDS = 3600
_BUILD_PREFIX = "build-"
_ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.(so|c)")
_LIMIT = re.compile("[0-9]{1,40}")  # more than the largest size of the command line has
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


def load(source: str, flags: tuple[str, ...], opened: Callable[[str], Opened], openmp: bool = False) -> Opened:
    """What ``opened(path)`` makes of C ``source`` compiled with ``flags``, compiled now if it never was.

    ``opened`` is a way to load a shared object and raises OSError where it cannot; the path is valid during the call
    only. Raises ToolchainError if there is no compiler or it fails, CacheError if the cache folder cannot be written or
    programs can be loaded neither from memory nor from the folder for temporary files.
    """
    content = compiled(source, flags, openmp)
    try:
        return load_bytes(content, opened)
    except OSError as error:
        raise CacheError(
            f"a compiled kernel cannot be loaded ({error}): set TMPDIR to a folder that programs may be loaded from"
        ) from error


def compiled(source: str, flags: tuple[str, ...], openmp: bool = False) -> bytes:
    """The shared object that C ``source`` is with ``flags``, compiled now if it never was. Raises as ``load`` does."""
    return _found(source, flags, openmp)[1]


def shared_object(source: str, flags: tuple[str, ...], openmp: bool = False) -> Path:
    """The path of C ``source`` compiled with ``flags``, compiled now if it never was; its source lies beside it.

    The file stays until the cache is full: to load it, use ``load``. Raises as ``load`` does.
    """
    return _found(source, flags, openmp)[0]


def _found(source: str, flags: tuple[str, ...], openmp: bool) -> tuple[Path, bytes]:
    compiler = find_compiler()
    entry = _entry(compiler, source, flags, openmp)
    content = _unsealed(entry)
    if content is None:
        with _private(entry.parent) as private:
            content = _build(compiler, source, private / entry.name, flags, openmp)
            _publish(private / entry.name, entry)
    else:
        _touch(entry)
    return entry, content


def entries() -> list[Entry]:
    """The compiled kernels there are, the one used longest ago first. Raises CacheError."""
    with _errors(kernel_folder()):
        return _entries(kernel_folder())


def clear() -> list[Entry]:
    """Deletes every compiled kernel; those it deleted. Programs that have one loaded keep it. Raises CacheError."""
    with _errors(kernel_folder()):
        return _trim(kernel_folder(), 0)


def limit_bytes() -> int:
    """How large the compiled kernels may become together: what ``keep_limit`` was told last, else 512 MiB."""
    try:
        kept = _limit_file().read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return DEFAULT_LIMIT_BYTES
    return int(kept) if _LIMIT.fullmatch(kept) else DEFAULT_LIMIT_BYTES


def keep_limit(limit: int) -> list[Entry]:
    """Holds the compiled kernels within ``limit`` bytes from now on; those it deleted for it. Raises CacheError."""
    with _private(kernel_folder()) as private:
        written = private / "limit"
        written.write_text(f"{limit}\n", encoding="ascii")
        os.replace(written, _limit_file())
        return _trim(kernel_folder(), limit)


def _limit_file() -> Path:
    return cache_folder() / "limit"


def _entry(compiler: Compiler, source: str, flags: tuple[str, ...], openmp: bool) -> Path:
    identity = [platform.machine(), compiler.command, compiler.banner, BASE_FLAGS, flags, openmp and compiler.openmp]
    key = hashlib.sha256(json.dumps([identity, source]).encode()).hexdigest()
    return kernel_folder() / f"{key}.so"


def _unsealed(entry: Path) -> bytes | None:
    """An entry's shared object; none where there is no entry or it is not what its builder sealed under this name."""
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


def _build(compiler: Compiler, source: str, output: Path, flags: tuple[str, ...], openmp: bool) -> bytes:
    """Compiles and seals; the shared object. Loaders read what its header speaks of and ignore what follows it."""
    compile_shared(compiler, source, output, flags, openmp)
    output.with_suffix(".c").write_text(source, encoding="utf-8")
    content = output.read_bytes()
    with output.open("ab") as file:
        file.write(_seal(output, content))
    return content


def _publish(built: Path, entry: Path) -> None:
    os.replace(built.with_suffix(".c"), entry.with_suffix(".c"))
    os.replace(built, entry)
    _trim(entry.parent, limit_bytes(), spared=entry)


def _trim(folder: Path, limit: int, spared: Path | None = None) -> list[Entry]:
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
            entry.path.with_suffix(".c").unlink(missing_ok=True)
            deleted.append(entry)
            total -= entry.bytes
    return deleted


def _entries(folder: Path) -> list[Entry]:
    files: dict[str, dict[str, os.stat_result]] = {}
    for path in folder.glob("*"):
        if _ENTRY_NAME.fullmatch(path.name):  # else none of ours to count or delete
            with contextlib.suppress(FileNotFoundError):
                files.setdefault(path.stem, {})[path.suffix] = path.stat()
    found = []
    for stem, status in files.items():
        used = status.get(".so", status.get(".c"))  # use is noted on the library
        found.append(Entry(folder / f"{stem}.so", sum(one.st_size for one in status.values()), used.st_mtime))
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
            f"compiled kernels cannot be kept in {folder} ({error.strerror or error}): "
            "set TILEWRIGHT_CACHE to a folder that can be written"
        ) from error


if __name__ == "__main__":
    import sys

    from cpu.cache_command import main

    sys.exit(main())
