"""NVRTC, NVIDIA's compiler of CUDA text: it needs neither a GPU, a driver nor CUDA's headers.

The extra `nvrtc` brings it and NVIDIA's bindings of it, which look for the library in its wheel, then in the system.
"""

from __future__ import annotations

from collections.abc import Sequence


class CompileError(RuntimeError):
    """NVRTC is missing, does not know the architecture, or refuses the text."""


class CompilerMissing(CompileError):
    """NVRTC is not installed or cannot be loaded: what to install."""


def version() -> tuple[int, int]:
    """Major and minor. Raises CompilerMissing."""
    return _given(_bindings().nvrtcVersion())


def architectures() -> tuple[int, ...]:
    """The numbers of the architectures it compiles for, 90 for sm_90 and sm_90a. Raises CompilerMissing."""
    (numbers,) = _given(_bindings().nvrtcGetSupportedArchs())
    return tuple(numbers)


def compiled(text: str, options: Sequence[str]) -> tuple[bytes, str]:
    """The cubin, and what compiler and ptxas said. May be called from several threads at once. Raises CompileError."""
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


def _bindings():
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        # A library that is not found is a RuntimeError of theirs.
        what = (
            "The package cuda-bindings is not installed" if isinstance(error, ImportError) else "NVRTC cannot be loaded"
        )
        raise CompilerMissing(f"{what}, which compiles CUDA kernels: pip install 'tilewright[nvrtc]'") from error
    return nvrtc


def _given(answer: tuple) -> tuple:
    """What follows the result of a call that cannot fail but for want of memory."""
    result, *given = answer
    if result:
        raise CompileError(f"NVRTC failed: {result.name}")
    return tuple(given)


def _filled(size_of, fill, program) -> bytes:
    """What `fill` writes into as many bytes as `size_of` says."""
    (size,) = _given(size_of(program))
    room = bytearray(size)
    _given(fill(program, room))
    return bytes(room)
