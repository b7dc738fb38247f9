"""Compiles C text once per machine."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Callable
from pathlib import Path

from cpu.runtime.compiler.cache import kept
from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.headers import Header, header_of, precompiled
from cpu.runtime.compiler.loading import Opened, load_bytes
from cpu.runtime.compiler.toolchain import CompileError, Compiler, compile_shared, find_compiler

# The name by which gcc finds a text before the source, precompiled: 0.075 s for a kernel of the GPU's twin on a Zen 3
# (gcc 12), 0.1 s where gcc reads the text of the twin's layer.
_BEFORE = "before.h"
# A source with these headers alone seldom calls a library: gcc itself has the functions of math.h that take an
# instruction or two.
_INCLUDE = re.compile(r"^#include (.*)$", re.MULTILINE)
_NO_CALLS = frozenset({"<immintrin.h>", "<math.h>", "<stddef.h>", "<stdint.h>"})


def load(
    source: str, flags: tuple[str, ...], opened: Callable[[str], Opened], openmp: bool = False, before: str = ""
) -> Opened:
    """Compiles C ``source`` with ``flags``, unless the cache has it, and returns what ``opened(path)`` makes of it.

    opened: loads a shared object; raises OSError if it cannot. The path is valid during that call only. before: a text
    before the source, which many sources share, so that gcc reads it once for all of them.
    Raises ToolchainError if there is no compiler or it fails. Raises CacheError if the cache folder cannot be written,
    or if programs can be loaded neither from memory nor from the folder for temporary files.
    """
    content = compiled(source, flags, openmp, before)
    try:
        return load_bytes(content, opened)
    except OSError as error:
        raise CacheError(
            f"a compiled kernel cannot be loaded ({error}): set TMPDIR to a folder that programs may be loaded from"
        ) from error


def compiled(source: str, flags: tuple[str, ...], openmp: bool = False, before: str = "") -> bytes:
    """The bytes of C ``source`` compiled with ``flags``, from the cache or compiled now. Raises as ``load`` does."""
    return _compiled(source, flags, openmp, ".so", before)


def compiled_object(source: str, flags: tuple[str, ...], openmp: bool = False) -> bytes:
    """As ``compiled``, for an object file, which is later linked into a larger library."""
    return _compiled(source, (*flags, "-c"), openmp, ".o")


def _compiled(own: str, flags: tuple[str, ...], openmp: bool, suffix: str, before: str = "") -> bytes:
    compiler, source = find_compiler(), before + own
    alone = suffix == ".so" and not openmp and set(_INCLUDE.findall(source)) <= _NO_CALLS
    shared = Header(_BEFORE, before, ("-include", _BEFORE)) if before else header_of(source, flags)

    def make(path: Path) -> bytes:
        header = precompiled(compiler, shared, flags, openmp, path.parent)
        try:
            compile_shared(compiler, own if header else source, path, (*flags, *header), openmp, alone)
        except CompileError as error:
            if not header or "took longer" in str(error):
                raise
            # The precompiled header may be the reason: it is damaged, or gcc cannot map it at its address.
            compile_shared(compiler, source, path, flags, openmp, alone)
        return path.read_bytes()

    return kept(_name(compiler, source, flags, openmp, suffix), source, make)


def _name(compiler: Compiler, source: str, flags: tuple[str, ...], openmp: bool, suffix: str = ".so") -> str:
    every = (*compiler.flags, *flags)
    identity = [platform.machine(), compiler.command, compiler.banner, every, openmp and compiler.openmp]
    return hashlib.sha256(json.dumps([identity, source]).encode()).hexdigest() + suffix
