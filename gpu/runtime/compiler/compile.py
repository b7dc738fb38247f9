"""Compiles an emitted kernel to a cubin by NVRTC, which needs neither a GPU nor a driver.

The result is kept on disk, by its content. The device layer is plain PTX, so no CUDA header is needed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from cpu.runtime.compiler.cache import kept, with_facts, without_facts
from cpu.runtime.compiler.toolchain import CompileError
from gpu.codegen.loops.copier import with_copier
from gpu.codegen.program import CudaProgram
from gpu.runtime.compiler import nvrtc
from gpu.runtime.compiler.device_layer import layer

# Two warnings are off: 177, that a kernel does not call a function, since the functions for its dtype are defined
# together; and 186, that an unsigned v < 0 is never true, since some functions are for every dtype.
# Without --no-cache, an NVRTC of a machine with a driver keeps what it compiled in a cache of its own, and says nothing
# of registers the second time.
OPTIONS = (
    *("--std=c++17", "-default-device", "--ptxas-options=-v", "--no-cache"),
    *("--diag-suppress=177", "--diag-suppress=186"),
)
LEAST_ARCHITECTURE = 80  # cp.async, and mma.sync for bf16 and tf32
HOPPER = "sm_90a"  # for wgmma; no other architecture has it, not even a newer one

# Words of ptxas's advice, which we take as errors, and what ptxas would do. The number before the words, C7510 to
# C7520, only says why.
_ADVICE = {
    "wgmma.mma_async instructions are serialized": "run the wgmma of {} one after the other",
    "wgmma.wait_group is injected": "wait for the wgmma of {} where its text does not",
    "warpgroup.wait is injected": "wait for the wgmma of {} where its text does not",  # the same in NVRTC 13.0
}
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_ARCHITECTURE = re.compile(r"sm_(\d+)a?\Z")


@dataclass(frozen=True)
class Cubin:
    """The machine code of one kernel.

    `registers` counts those of a thread; `spilled` counts the bytes that it stores and loads because it lacks
    registers.
    """

    symbol: str
    architecture: str
    code: bytes
    registers: int
    spilled: int
    compiler: str


_FACTS = [field.name for field in fields(Cubin) if field.name != "code"]


def compile_cubin(program: CudaProgram, architecture: str) -> Cubin:
    """Compiles for an architecture such as "sm_90a", once for each text. Raises CompileError, CacheError."""
    found = _ARCHITECTURE.match(architecture)
    if not found or int(found[1]) < LEAST_ARCHITECTURE:
        raise CompileError(
            f"architecture {architecture!r} is not supported: give one from sm_{LEAST_ARCHITECTURE} on, such as sm_90a"
        )
    if program.uses_wgmma and architecture != HOPPER:
        raise CompileError(
            f"{program.symbol} uses instructions that only Hopper has: it needs the architecture {HOPPER} and cannot "
            f"be compiled for {architecture}"
        )

    def described(log: str) -> dict[str, Any]:
        cubin = asdict(_described(program, architecture, compiler_name(), b"", log))
        return {name: cubin[name] for name in _FACTS}

    # The list of advice is part of the key, since it decides what is kept.
    code, facts = compiled_once(cuda_text(program), architecture, described, [_FACTS, list(_ADVICE)])
    return Cubin(code=code, **facts)


def compiled_once(
    text: str, architecture: str, described: Callable[[str], dict[str, Any]], decisive: object
) -> tuple[bytes, dict[str, Any]]:
    """The machine code of a whole CUDA file, and facts about it, from the cache or compiled now.

    described: gives the facts by the log of compiler and ptxas. decisive: what they depend on beside the text. Raises
    CompileError, CacheError.
    """
    content = [compiler_name(), architecture, OPTIONS, decisive, text]
    key = hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def make(_: object) -> bytes:
        code, log = _compile(text, architecture)
        return with_facts(code, described(log))

    return without_facts(kept(f"{key}.cubin", text, make))


def compile_afresh(program: CudaProgram, architecture: str) -> None:
    """Compiles without the cache, so that NVRTC is loaded in this process. Raises CompileError."""
    _compile(cuda_text(program), architecture)


def spilled(program: CudaProgram, architecture: str) -> int:
    """Bytes that a program spills, and the program that copies its inputs. Raises as `compile_cubin` does."""
    return sum(compile_cubin(part, architecture).spilled for part in with_copier(program))


def _described(program: CudaProgram, architecture: str, compiler: str, code: bytes, log: str) -> Cubin:
    for words, consequence in _ADVICE.items():
        said = next((line.strip() for line in log.splitlines() if words in line), None)
        if said:
            raise CompileError(f"ptxas would {consequence.format(program.symbol)}: {said}")
    spills = _SPILLS.search(log)
    registers = _REGISTERS.search(log)
    if not spills or not registers:
        raise CompileError(f"{compiler} did not say how many registers {program.symbol} takes: {log.strip()[-400:]}")
    return Cubin(program.symbol, architecture, code, int(registers[1]), int(spills[1]) + int(spills[2]), compiler)


def compiler_name() -> str:
    """NVRTC's name and version. Raises CompilerMissing."""
    return "NVRTC " + ".".join(map(str, nvrtc.version()))


def cuda_text(program: CudaProgram) -> str:
    """The whole CUDA file: what the kernel uses of the device layer, then the kernel."""
    parts = ["ptx.cuh", *["wgmma.cuh"] * program.uses_wgmma, *["tma.cuh"] * program.uses_tma]
    parts += ["split_k.cuh"] * program.shares_sums + ["elements.cuh", "values.cuh"] * program.elements
    return f"{layer(parts, program.text)}\n{program.text}"


def _compile(text: str, architecture: str) -> tuple[bytes, str]:
    known = nvrtc.architectures()
    found = _ARCHITECTURE.match(architecture)
    if not found or int(found[1]) not in known:
        raise CompileError(
            f"this NVRTC does not compile for {architecture}; it does for {' '.join(f'sm_{a}' for a in known)}"
        )
    return nvrtc.compiled(text, (f"-arch={architecture}", *OPTIONS))
