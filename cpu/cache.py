"""Compiled kernels kept on disk, so that each is compiled once per machine.

No lock is taken anywhere. An entry's name is a hash of everything that decides
its content, each process builds in a folder of its own, and ``os.replace`` puts
the finished file in place in one step: two processes that build the same entry
at once both publish the same thing, and a reader sees all of it or none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
from pathlib import Path

import platformdirs

from cpu.toolchain import BASE_FLAGS, Compiler, compile_shared, find_compiler

LIMIT_BYTES = 512 << 20
# A process that was handed an entry opens it soon after; none that was used
# within this time goes, nor does the build folder of a process still at work.
_IN_USE_SECONDS = 3600
_BUILD_PREFIX = "build-"


class CacheError(RuntimeError):
    """The cache folder cannot be used."""


def cache_folder() -> Path:
    """The folder that holds Tilewright's files: ``TILEWRIGHT_CACHE``, else the user's cache."""
    chosen = os.environ.get("TILEWRIGHT_CACHE")
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("tilewright"))


def shared_object(source: str, flags: tuple[str, ...], openmp: bool = False) -> Path:
    """The path of C ``source`` compiled with ``flags``, compiled now if it never was.

    The source lies beside it, with the suffix ``.c``. Raises ToolchainError if there
    is no compiler or it fails, CacheError if the cache folder cannot be written.
    """
    compiler = find_compiler()
    folder = cache_folder() / "kernels"
    entry = folder / f"{_key(compiler, source, flags, openmp)}.so"
    if _usable(entry):
        # The time of last use, for _trim; a read-only cache does not need it.
        with contextlib.suppress(OSError):
            os.utime(entry)
        return entry
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_BUILD_PREFIX, dir=folder) as private:
            built = Path(private) / entry.name
            compile_shared(compiler, source, built, flags, openmp)
            built.with_suffix(".c").write_text(source, encoding="utf-8")
            os.replace(built.with_suffix(".c"), entry.with_suffix(".c"))
            os.replace(built, entry)
        _trim(folder, LIMIT_BYTES, time.time())
    except OSError as error:
        raise CacheError(
            f"compiled kernels cannot be kept in {folder} ({error.strerror or error}): "
            "set TILEWRIGHT_CACHE to a folder that can be written"
        ) from error
    return entry


def _key(compiler: Compiler, source: str, flags: tuple[str, ...], openmp: bool) -> str:
    identity = [platform.machine(), compiler.command, compiler.version, BASE_FLAGS, flags, openmp and compiler.openmp]
    return hashlib.sha256(json.dumps([identity, source]).encode()).hexdigest()


def _usable(entry: Path) -> bool:
    """A file of no bytes is what a full disk or a power cut can leave: build it again."""
    try:
        return entry.stat().st_size > 0
    except OSError:
        return False


def _trim(folder: Path, limit: int, now: float) -> None:
    """Delete the entries used longest ago until the rest is within ``limit`` bytes.

    Other processes may trim at the same time, so any file may already be gone.
    """
    entries = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            if path.suffix == ".so":
                source = path.with_suffix(".c")
                size = status.st_size + (source.stat().st_size if source.exists() else 0)
                entries.append((status.st_mtime, size, path))
            elif path.name.startswith(_BUILD_PREFIX) and _old(status.st_mtime, now):
                shutil.rmtree(path, ignore_errors=True)  # its process was killed
    total = sum(size for _, size, _ in entries)
    for used, size, path in sorted(entries):
        if total <= limit or not _old(used, now):
            return
        path.unlink(missing_ok=True)
        path.with_suffix(".c").unlink(missing_ok=True)
        total -= size


def _old(used: float, now: float) -> bool:
    return now - used > _IN_USE_SECONDS
