"""Shared objects loaded from bytes: what was checked is what runs, whatever becomes of the file that held it.

The dynamic loader knows a library by its path: asked once more for a path that it has open it returns what lay there
first. And a file may be replaced between a look into it and its loading.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Opened = TypeVar("Opened")


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
