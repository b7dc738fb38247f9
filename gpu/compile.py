"""An emitted kernel compiled to a cubin by NVRTC, which needs neither a GPU nor a driver; kept on disk by its content.

NVRTC comes with CuPy's and NVIDIA's wheels, the extra `gpu`. The device layer is raw PTX, so no CUDA header is needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from cpu.cache import CacheError, cache_folder
from gpu.emit import Program

OPTIONS = ("--std=c++17", "-default-device", "--ptxas-options=-v", "--diag-suppress=177")
LEAST_ARCHITECTURE = 80  # cp.async, and mma.sync for bf16 and tf32

_SERIALIZED = "C7510"  # ptxas's advice that it cannot keep wgmma asynchronous
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_ARCHITECTURE = re.compile(r"sm_(\d+)a?\Z")


class CompileError(RuntimeError):
    """NVRTC is missing, does not know the architecture, or refuses the text."""


class CompilerMissing(CompileError):
    """NVRTC is not installed or cannot be loaded: what to install."""


@dataclass(frozen=True)
class Cubin:
    """Machine code of one kernel. `registers` are a thread's; `spilled` bytes are its stores and loads of those it lacks."""

    symbol: str
    architecture: str
    code: bytes
    registers: int
    spilled: int
    compiler: str


def compile_cubin(program: Program, architecture: str) -> Cubin:
    """Compiles for an architecture such as "sm_90a", once for each text. Raises CompileError, CacheError."""
    found = _ARCHITECTURE.match(architecture)
    if not found or int(found[1]) < LEAST_ARCHITECTURE:
        raise CompileError(
            f"architecture {architecture!r} is not supported: give one from sm_{LEAST_ARCHITECTURE} on, such as sm_90a"
        )
    nvrtc = _nvrtc()
    text = cuda_text(program)
    compiler = "NVRTC " + ".".join(map(str, nvrtc.getVersion()))
    key = hashlib.sha256(json.dumps([compiler, architecture, OPTIONS, text]).encode()).hexdigest()
    entry = cache_folder() / "cubins" / f"{key}.cubin"
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Cubin(code=entry.read_bytes(), **json.loads(entry.with_suffix(".json").read_text()))
    code, log = _compile(nvrtc, text, architecture)
    if _SERIALIZED in log:
        raise CompileError(f"ptxas would run the wgmma of {program.symbol} one after the other: {log.strip()[-400:]}")
    spills = _SPILLS.search(log)
    registers = _REGISTERS.search(log)
    if not spills or not registers:
        raise CompileError(f"{compiler} did not say how many registers {program.symbol} takes: {log.strip()[-400:]}")
    cubin = Cubin(program.symbol, architecture, code, int(registers[1]), int(spills[1]) + int(spills[2]), compiler)
    _keep(entry, cubin)
    return cubin


def cuda_text(program: Program) -> str:
    """The whole CUDA file: the device layer, then the kernel."""
    parts = ("ptx.cuh", "wgmma.cuh") if program.uses_wgmma else ("ptx.cuh",)
    return "\n".join(
        [*(files("gpu").joinpath("device", part).read_text(encoding="utf-8") for part in parts), program.text]
    )


def _nvrtc():
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except (ImportError, RuntimeError) as error:
        # CuPy's own class for a library it cannot load is no part of its interface; it is a RuntimeError.
        what = "CuPy is not installed" if isinstance(error, ImportError) else "NVRTC cannot be loaded"
        raise CompilerMissing(f"{what}, which compiles CUDA kernels: pip install 'tilewright[gpu]'") from error
    return nvrtc


def _compile(nvrtc, text: str, architecture: str) -> tuple[bytes, str]:
    known = nvrtc.getSupportedArchs()
    if int(_ARCHITECTURE.match(architecture)[1]) not in known:
        raise CompileError(
            f"this NVRTC does not compile for {architecture}; it does for {' '.join(f'sm_{a}' for a in known)}"
        )
    handle = nvrtc.createProgram(text, "kernel.cu", (), ())
    try:
        nvrtc.compileProgram(handle, (f"-arch={architecture}", *OPTIONS))
        return nvrtc.getCUBIN(handle), nvrtc.getProgramLog(handle)
    except nvrtc.NVRTCError as error:
        last = nvrtc.getProgramLog(handle).strip()[-1000:]
        raise CompileError(f"NVRTC refused the kernel ({error}): {last}") from error
    finally:
        nvrtc.destroyProgram(handle)


def _keep(entry: Path, cubin: Cubin) -> None:
    """Each file is put in place in one step, the code first: whoever finds the facts finds the code they are of."""
    facts = {name: value for name, value in asdict(cubin).items() if name != "code"}
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=entry.parent) as private:
            code, described = Path(private) / "code", Path(private) / "facts"
            code.write_bytes(cubin.code)
            described.write_text(json.dumps(facts))
            os.replace(code, entry)
            os.replace(described, entry.with_suffix(".json"))
    except OSError as error:
        raise CacheError(
            f"compiled kernels cannot be kept in {entry.parent} ({error.strerror or error}): "
            "set TILEWRIGHT_CACHE to a folder that can be written"
        ) from error
