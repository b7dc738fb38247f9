"""Loads a shared object from bytes: the bytes that were checked are the bytes that run.

A file would not do. It may be replaced between the check and the load. And the dynamic loader knows a library by its
path: for a path that it has open already, it returns the library that lay there first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Opened = TypeVar("Opened")
_ELF_HEADER = 64  # bytes
_CUT_SHORT = "the shared object is cut short"
# What the dynamic loader says of a damaged file, and of one that lies where no program may be loaded from.
_DAMAGED = _CUT_SHORT, "file too short", "invalid ELF header"
_NOT_FROM_THERE = "failed to map segment"


def _check_whole(content: bytes) -> None:
    """Raises OSError for a shared object that is cut short: the dynamic loader would end the process over it."""
    if content[:5] != b"\x7fELF\x02":  # not a 64-bit ELF file: the loader refuses it by itself
        return
    if len(content) >= _ELF_HEADER:
        (sections,) = struct.unpack_from("<Q", content, 0x28)  # where the table of sections begins: at the end
        size, count = struct.unpack_from("<HH", content, 0x3A)
        if len(content) >= sections + size * count:
            return
    raise OSError(_CUT_SHORT)


def load_bytes(content: bytes, opened: Callable[[str], Opened]) -> Opened:
    """Loads the bytes of a shared object: returns what ``opened(path)`` makes of them.

    opened: loads a shared object; raises OSError if it cannot. The path is valid during that call only.
    The bytes lie in memory. If the system loads no program from there, they lie in the folder for temporary files.
    Raises OSError. Where it comes from the loader, it names what is missing, and not the path of these bytes.
    """
    _check_whole(content)

    def tried(path: str) -> Opened:
        try:
            return opened(path)
        except OSError as error:
            raise OSError(_reason(str(error), path)) from error

    with contextlib.suppress(OSError), os.fdopen(os.memfd_create("tilewright"), "wb") as file:
        file.write(content)
        file.flush()
        return tried(_path(file.fileno(), content))
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        path = Path(folder) / "kernel.so"
        path.write_bytes(content)
        return tried(str(path))


def _reason(text: str, path: str) -> str:
    """What the loader says of the file at `path`, without the path and without what cffi adds before and behind."""
    own, more, _ = text.partition("  Additionally, ctypes.util.find_library()")
    own = own.removesuffix(".") if more else own
    own = own.removeprefix(f"cannot load library '{path}': ").removeprefix(f"{path}: ")
    return own.replace(f" (required by {path})", "")


def is_damage(error: OSError) -> bool:
    """Whether `load_bytes` did not load a library because it is damaged."""
    return any(said in str(error) for said in _DAMAGED)


def why_not_loaded(error: OSError, again: str, here: str) -> str:
    """Why `load_bytes` did not load a library, and what to do: `(REASON): ADVICE`.

    again: the advice where the library is damaged. here: how to have another one that this system loads.
    """
    if is_damage(error):
        advice = again
    elif error.errno or _NOT_FROM_THERE in str(error):
        advice = "set TMPDIR to a folder that programs may be loaded from"
    else:
        advice = f"install what it lacks, or {here}"
    return f"({error.strerror or error}): {advice}"


def _path(descriptor: int, content: bytes) -> str:
    """A path to the open file, spelled differently for each content.

    The system reuses descriptors, and for the path of one that it knows the loader would return the older library. `/`
    and `./` change nothing in a path, so here they stand for the bits of a hash. The same bytes give the same library.
    """
    bits = f"{int.from_bytes(hashlib.sha256(content).digest()[:16], 'big'):0128b}"
    return f"/proc/self/fd/{bits.replace('0', '/').replace('1', './')}{descriptor}"
