"""Calls NVRTC, NVIDIA's compiler of CUDA text, which needs neither a GPU, nor a driver, nor CUDA's headers.

The extra `nvrtc` installs it and NVIDIA's Python bindings, which look for the library in its wheel, then in the system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cpu.runtime.compiler.toolchain import CompileError


class CompilerMissing(CompileError):
    """NVRTC is not installed or cannot be loaded. The message says what to install."""


def version() -> tuple[int, int]:
    """The major and the minor version. Raises CompilerMissing."""
    major, minor = _given(_bindings().nvrtcVersion())
    return major, minor


def architectures() -> tuple[int, ...]:
    """The numbers of the architectures that it compiles for: 90 for sm_90 and sm_90a. Raises CompilerMissing."""
    (numbers,) = _given(_bindings().nvrtcGetSupportedArchs())
    return tuple(numbers)


def compiled(text: str, options: Sequence[str]) -> tuple[bytes, str]:
    """The cubin, and the log of compiler and ptxas. Threads may call this at the same time. Raises CompileError."""
    nvrtc = _bindings()
    (program,) = _given(nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], []))
    try:
        result, *_ = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        log = (
            _filled(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            .rstrip(b"\0")
            .decode(errors="replace")
        )
        if result:
            raise CompileError(f"NVRTC refused the kernel ({result.name}): {log.strip()[-1000:]}")
        return _filled(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), log
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _bindings() -> Any:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        # The bindings raise RuntimeError where they do not find the library.
        what = (
            "The package cuda-bindings is not installed" if isinstance(error, ImportError) else "NVRTC cannot be loaded"
        )
        raise CompilerMissing(f"{what}, which compiles CUDA kernels: pip install 'tilewright[nvrtc]'") from error
    return nvrtc


def _given(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call returns after its result code. Raises CompileError where the code is an error."""
    result, *given = answer
    if result:
        raise CompileError(f"NVRTC failed: {result.name}")
    return tuple(given)


def _filled(size_of: Callable[..., Any], fill: Callable[..., Any], program: object) -> bytes:
    """The bytes that `fill` writes, as many as `size_of` says."""
    (size,) = _given(size_of(program))
    room = bytearray(size)
    _given(fill(program, room))
    return bytes(room)
