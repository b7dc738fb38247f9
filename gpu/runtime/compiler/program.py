"""The CUDA file of a program and its machine code, by NVRTC, which needs neither a GPU nor a driver."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gpu.codegen.loops.launches import ProgramText
from gpu.runtime.compiler.compile import compiled_once
from gpu.runtime.compiler.device_layer import layer

_LAYER = ("ptx.cuh", "elements.cuh", "values.cuh")
_FUNCTION = re.compile(
    r"Function properties for (\w+)\n[^\n]*?(\d+) bytes spill stores, (\d+) bytes spill loads\n"
    r"[^\n]*?Used (\d+) registers"
)


@dataclass(frozen=True)
class CompiledProgram:
    """Machine code of all launches. registers: how many a thread has, by launch. spilled: bytes that a thread spills,
    by launch.
    """

    code: bytes
    registers: dict[str, int]
    spilled: dict[str, int]


def program_cuda_text(program: ProgramText) -> str:
    """The whole CUDA file: what the kernels use of the device layer, then the kernels."""
    return f"{layer(_LAYER, program.text)}\n{program.text}"


def compile_program(program: ProgramText, architecture: str) -> CompiledProgram:
    """Compiles for an architecture such as "sm_90a", once for each text.

    Raises CompileError, CacheError, and CompilerMissing without NVRTC.
    """
    code, facts = compiled_once(program_cuda_text(program), architecture, _facts, _FUNCTION.pattern)
    return CompiledProgram(code, **facts)


def _facts(log: str) -> dict[str, Any]:
    """The fields of `CompiledProgram` beside the code, by the log of ptxas."""
    found = _FUNCTION.findall(log)
    spilled = {symbol: int(out) + int(into) for symbol, out, into, _ in found}
    return {"registers": {symbol: int(used) for symbol, _, _, used in found}, "spilled": spilled}
