"""Precompiles once what many kernels begin with: the header of intrinsics, or a text before their own.

gcc takes `immintrin.h.gch` in place of `immintrin.h` if it was made by the same compiler with the same flags, and
otherwise reads the header itself. So the text of a kernel and its machine code stay as they are.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from cpu.runtime.compiler.cache import entry_path, kept
from cpu.runtime.compiler.cache_folder import HEADER, CacheError, kernel_folder, limit_bytes
from cpu.runtime.compiler.toolchain import CompileError, Compiler, compile_header

_FIRST_INCLUDE = re.compile(r"^#include <(.+)>", re.MULTILINE)
# A precompiled header takes some 25 MB. It is not made where few of its size fit: it would push out the kernels.
_ROOM_BYTES = 256 << 20
# Making the header takes longer than compiling one kernel, so only the second kernel of a process makes it.
_ASKED: set[str] = set()
_MAKING = threading.Lock()  # threads that compile side by side wait for one header, and do not make it each


@dataclass(frozen=True)
class Header:
    """A text that many sources begin with. flags: those by which gcc reads it, if it lies in a folder on its path."""

    name: str
    text: str
    flags: tuple[str, ...] = ()


# gcc 12 on a Zen 4 reads immintrin.h for 0.22 s of the 0.26 s that a small kernel takes. Precompiled it costs 0.02 s,
# and 0.55 s once for each set of flags. gcc maps and looks through all of it. With the parts alone that a kernel for
# AVX2 may use, a Zen 3 takes 22 ms for a file without code, not 42: they are 6 MB, not 25.
INTRINSICS = "immintrin.h"
# Its parts by the flags that allow them, in its order. The vectors of AVX2 are allowed to all kernels that include it.
_ALWAYS = ("xmm", "emm", "pmm", "tmm", "smm", "avx", "avx2")
_PARTS = (
    ("avx512f", ("-mavx512f",)),
    ("avx512vl", ("-mavx512vl",)),
    ("avx512bw", ("-mavx512bw",)),
    ("avx512vlbw", ("-mavx512vl", "-mavx512bw")),
    ("avx512vnni", ("-mavx512vnni",)),
    ("avx512vnnivl", ("-mavx512vnni", "-mavx512vl")),
    ("fma", ("-mfma",)),
    ("avx512bf16vl", ("-mavx512bf16", "-mavx512vl")),
    ("avx512bf16", ("-mavx512bf16",)),
)


def header_of(source: str, flags: tuple[str, ...]) -> Header | None:
    """The header that a source begins with, if it is slow to read."""
    first = _FIRST_INCLUDE.search(source)
    # gcc takes one such header, and only before the first declaration.
    return Header(INTRINSICS, intrinsics(flags)) if first and first[1] == INTRINSICS else None


def intrinsics(flags: tuple[str, ...]) -> str:
    """What gcc reads in place of `immintrin.h`: those of its parts whose intrinsics the flags allow.

    A kernel that uses others is compiled with the header itself.
    """
    parts = (*_ALWAYS, *(part for part, needs in _PARTS if set(needs) <= set(flags)))
    return "#define _IMMINTRIN_H_INCLUDED\n" + "".join(f"#include <{part}intrin.h>\n" for part in parts)


def precompiled(
    compiler: Compiler, header: Header | None, flags: tuple[str, ...], openmp: bool, folder: Path
) -> tuple[str, ...]:
    """The flags with which `compiler` uses a precompiled header; none where that saves no time.

    folder: a folder of this compilation's own; the header is linked into it.
    """
    if compiler.kind != "gcc" or header is None:
        return ()
    own = tuple(flag for flag in flags if flag not in ("-S", "-c"))
    try:
        if min(limit_bytes(), shutil.disk_usage(folder).free) < _ROOM_BYTES:
            return ()
        with _MAKING:
            name = _name(compiler, header, own, openmp)
            if name not in _ASKED and not entry_path(name).exists():
                _ASKED.add(name)
                return ()
            ready = _header(compiler, header, own, openmp, kernel_folder())
        if ready is None:
            return ()
        os.link(ready, folder / f"{header.name}.gch")
    except FileNotFoundError:  # a full cache has deleted it; the next time it is made again
        _header.cache_clear()
        return ()
    except OSError:  # no links here: the kernel's compilation reads the header itself
        return ()
    return ("-I", str(folder), *header.flags)


@functools.cache
def _header(compiler: Compiler, header: Header, flags: tuple[str, ...], openmp: bool, _: Path) -> Path | None:
    """Where the header lies in the cache; None where it cannot be made, which is tried once in a process.

    Checking that it is whole takes as long as a compilation, so that is done once as well.
    """

    def make(path: Path) -> bytes:
        compile_header(compiler, header.text, path, flags, openmp)
        return path.read_bytes()

    name = _name(compiler, header, flags, openmp)
    try:
        kept(name, header.text, make)
    except (CacheError, CompileError, OSError):
        return None  # the kernel's own compilation says what is wrong
    return entry_path(name)


def _name(compiler: Compiler, header: Header, flags: tuple[str, ...], openmp: bool) -> str:
    """The header's name in the cache."""
    every = (*compiler.flags, *flags)
    identity = [platform.machine(), compiler.command, compiler.banner, every, openmp and compiler.openmp]
    return hashlib.sha256(json.dumps([identity, header.text]).encode()).hexdigest() + HEADER
