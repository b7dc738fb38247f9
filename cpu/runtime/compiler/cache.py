"""Keeps compiled kernels on disk, so that each is compiled once per machine. `python -m cpu.cache` looks after them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cpu.runtime.compiler.cache_folder import SOURCES, CacheError, a_build_folder, kernel_folder, trim_after
from tilewright_entry import TilewrightWarning

# No process waits for another. An entry's name is a hash of everything that decides its content. Each process builds in
# a folder of its own, and `os.replace` puts the finished file in place in one step. So two processes that build the
# same entry at once publish the same bytes, and a reader sees the whole entry or none.

# An entry ends with a hash of its name and its content. A full disk, a power cut or a user may damage or rename it:
# then it is built again and never loaded. Code that is cut off in the middle would load, and crash when it runs.
_SEAL = hashlib.sha256
_SEAL_BYTES = _SEAL().digest_size


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
        with a_build_folder(entry.parent) as private:
            content = make(private / name)
            _publish(private / name, entry, source, content)
    else:
        _touch(entry)
    return content


def require_ours(folder: Path) -> None:
    """Raises CacheError if another user could have put programs into the folder: they would run as this user.

    That user may also have put the whole folder into the one above. A folder that root owns counts as the user's own.
    If root finds another owner, it only warns: in a container the folder usually belongs to the user outside.
    """
    # The sticky bit: nobody replaces the folders of others.
    owners = {folder: _owner(folder, allowed=0), folder.parent: _owner(folder.parent, allowed=stat.S_ISVTX)}
    strange = [each for each, owner in owners.items() if owner not in (None, os.geteuid(), 0)]
    if not strange:
        return
    if os.geteuid():
        raise CacheError(
            f"no program is loaded from {strange[0]}, which belongs to another user (number {owners[strange[0]]}): set "
            "TILEWRIGHT_CACHE to a folder of your own"
        )
    warnings.warn(
        f"root loads programs from {strange[0]}, which belongs to user number {owners[strange[0]]}: trust that user, "
        "or set TILEWRIGHT_CACHE to a folder of your own",
        TilewrightWarning,
        stacklevel=3,
    )


def _owner(folder: Path, allowed: int) -> int | None:
    """The number of the user whose folder it is; None if it cannot be read. Raises CacheError if all may write into it.

    allowed: the bit of a mode by which a folder is safe although everybody may write into it; 0 for none.
    """
    try:
        status = folder.stat()
    except OSError:
        return None  # nothing is loaded from it
    if status.st_mode & stat.S_IWOTH and not status.st_mode & allowed:
        raise CacheError(
            f"no program is loaded from {folder}, into which everybody may write: take that right away with chmod o-w, "
            "or set TILEWRIGHT_CACHE to a folder of your own"
        )
    return status.st_uid


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
    """Records the time of use, for ``trim``. A read-only cache is never trimmed, so a failure does not matter."""
    with contextlib.suppress(OSError):
        os.utime(entry)


def _publish(built: Path, entry: Path, source: str, content: bytes) -> None:
    """Seals what was built and puts it in place. A loader reads what the file's header describes and ignores the
    seal.
    """
    beside = SOURCES[entry.suffix]
    built.with_suffix(beside).write_text(source, encoding="utf-8")
    built.write_bytes(content + _seal(entry, content))
    os.replace(built.with_suffix(beside), entry.with_suffix(beside))
    os.replace(built, entry)
    trim_after(entry, len(source.encode()) + len(content) + _SEAL_BYTES)
