"""C text compiled once per machine, and loaded from bytes: what was checked is what runs, whatever becomes of its file.

The dynamic loader knows a library by its path: asked once more for a path that it has open it returns what lay there
first. And a file may be replaced between a look into it and its loading.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cpu.cache import CacheError, entry_path, kept
from cpu.toolchain import BASE_FLAGS, Compiler, compile_shared, find_compiler

Opened = TypeVar("Opened")


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
    compiler = find_compiler()

    def make(path: Path) -> bytes:
        compile_shared(compiler, source, path, flags, openmp)
        return path.read_bytes()

    return kept(_name(compiler, source, flags, openmp), source, make)


def shared_object(source: str, flags: tuple[str, ...], openmp: bool = False) -> Path:
    """The path of C ``source`` compiled with ``flags``, compiled now if it never was; its source lies beside it.

    The file stays until the cache is full: to load it, use ``load``. Raises as ``load`` does.
    """
    compiled(source, flags, openmp)
    return entry_path(_name(find_compiler(), source, flags, openmp))


def _name(compiler: Compiler, source: str, flags: tuple[str, ...], openmp: bool) -> str:
    identity = [platform.machine(), compiler.command, compiler.banner, BASE_FLAGS, flags, openmp and compiler.openmp]
    return hashlib.sha256(json.dumps([identity, source]).encode()).hexdigest() + ".so"


def load_bytes(content: bytes, opened: Callable[[str], Opened]) -> Opened:
    """What ``opened(path)`` makes of the bytes of a shared object; ``opened`` raises OSError where it cannot load one.

    The path is valid during the call only. The bytes lie in memory, or where a system lets no program be loaded from
    there, in the folder for temporary files. Raises OSError.
    """
    with contextlib.suppress(OSError), os.fdopen(os.memfd_create("tilewright"), "wb") as file:
        file.write(content)
        file.flush()
        return opened(_path(file.fileno(), content))
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        path = Path(folder) / "kernel.so"
        path.write_bytes(content)
        return opened(str(path))


def _path(descriptor: int, content: bytes) -> str:
    """A path to the file that is spelled by what is in it: descriptors are used again, and so would be the library.

    `/` and `./` change nothing in a path and stand for the bits of a hash. The same bytes give the same library again.
    """
    bits = f"{int.from_bytes(hashlib.sha256(content).digest()[:16], 'big'):0128b}"
    return f"/proc/self/fd/{bits.replace('0', '/').replace('1', './')}{descriptor}"
