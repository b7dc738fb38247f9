"""Small entries of a compile cache."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

from cpu.runtime.compiler import library
from cpu.runtime.compiler.cache import entry_path
from cpu.runtime.compiler.library import load

ANSWER = "int answer(void) { return 42; }\n"


def answer(text: str = ANSWER) -> int:
    return load(text, (), ctypes.CDLL).answer()


def shared_object(source: str, flags: tuple[str, ...], openmp: bool = False) -> Path:
    """The path of C `source` compiled with `flags`, in the cache. Its source lies beside it."""
    library.compiled(source, flags, openmp)
    return entry_path(library._name(library.find_compiler(), source, flags, openmp))


def filled(kernels: Path, ages: dict[str, int], size: int = 50) -> float:
    """Entries of 2 x `size` bytes, used that many seconds ago; the present time."""
    now = time.time()
    kernels.mkdir(parents=True, exist_ok=True)
    for name, age in ages.items():
        for suffix in (".so", ".c"):
            path = kernels / (name * 64 + suffix)
            path.write_bytes(b"x" * size)
            os.utime(path, (now - age, now - age))
    return now


def names(kernels: Path) -> str:
    return "".join(sorted(path.name[0] for path in kernels.glob("*.so")))
