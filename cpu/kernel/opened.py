"""Opens the library of an emitted kernel, and asks it whether this CPU runs it."""

from __future__ import annotations

import os
from typing import Any, Protocol

import cffi

from cpu.runtime.compiler.library import load
from cpu.runtime.compiler.loading import load_bytes
from cpu.runtime.compiler.toolchain import ToolchainError, find_compiler
from cpu.runtime.machine.host import supports, tiles_given, tiles_refused
from microkernels.tile.isa import isa_named


class CpuError(RuntimeError):
    """This CPU lacks the instruction set that a kernel was compiled for."""


class Emitted(Protocol):
    """The C text of a kernel whose functions begin with `symbol`, and what it is compiled with."""

    @property
    def symbol(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def isa(self) -> str: ...

    @property
    def compiler_flags(self) -> tuple[str, ...]: ...

    @property
    def openmp(self) -> bool: ...


def opened(emitted: Emitted, functions: str, saved: bytes | None = None) -> tuple[cffi.FFI, Any]:
    """The library with its C functions, and the FFI that knows them.

    functions: their declarations, besides `SYMBOL_supported`. saved: the bytes of a shared object; without them the
    compile cache has it, or compiles it now. Raises CpuError, OSError if `saved` cannot be loaded, and what
    `cpu.runtime.compiler.library.load` raises.
    """
    ffi = cffi.FFI()
    ffi.cdef(f"{functions}int {emitted.symbol}_supported(void);")
    # OpenMP's threads keep running code of the library: unloading it with the last kernel would crash them.
    how = os.RTLD_NOW | (os.RTLD_NODELETE if emitted.openmp else 0)

    def loaded(path: str) -> Any:  # cffi has no types of its own
        return ffi.dlopen(path, how)

    library = (
        load(emitted.text, emitted.compiler_flags, loaded, emitted.openmp)
        if saved is None
        else load_bytes(saved, loaded)
    )
    # The kernel itself asks the CPU. An emulator may show the /proc/cpuinfo of its host.
    if not getattr(library, emitted.symbol + "_supported")():
        isa = isa_named(emitted.isa)
        if isa.matrix and supports(isa.cpu_flags) and not tiles_given():
            raise CpuError(f"{tiles_refused(isa.name)}, which {emitted.symbol} was compiled for")
        raise CpuError(
            f"this CPU does not run {emitted.isa}, which {emitted.symbol} was compiled for: generate the kernel on "
            "this machine"
        )
    return ffi, library


def check_openmp(threads: int) -> None:
    """Raises ToolchainError where the compiler makes no kernels of several threads."""
    if not find_compiler().openmp:
        raise ToolchainError(
            f"{find_compiler().path} has no OpenMP, so threads={threads} cannot be had: use gcc, install clang's "
            "OpenMP (Debian/Ubuntu: apt install libomp-dev), or ask for threads=1"
        )
