"""A program for a GPU as files for C and C++: CUDA text, machine code, and a header and a C file to launch it.

The C file needs cuda.h and calls the CUDA driver (libcuda), which every machine with a GPU has. No Python runs.
"""

from __future__ import annotations

from math import prod

from cpu.runtime.version import VERSION
from gpu.codegen.loops.launches import Launch, ProgramText
from gpu.runtime.compiler.nvrtc import CompilerMissing
from gpu.runtime.compiler.program import compile_program, program_cuda_text
from gpu.runtime.export import LAUNCHERS
from tiling.loops.buffer import Buffer
from tiling.loops.c_text import number
from tiling.program.dtypes import WIDTH

_ALIGNMENT = 256  # bytes, of each part of a kernel's own memory; cuMemAlloc aligns the whole so


def program_files(program: ProgramText, about: str, architecture: str) -> dict[str, bytes]:
    """The files by name: SYMBOL.cu, and where NVRTC is here SYMBOL.cubin, SYMBOL.h and SYMBOL_launch.c.

    about: what the program computes, a line. Raises CompileError.
    """
    files = {f"{program.symbol}.cu": program_cuda_text(program).encode()}
    try:
        files[f"{program.symbol}.cubin"] = compile_program(program, architecture).code
    except CompilerMissing:
        return files
    context = _context(program) | {"about": about, "architecture": architecture}
    for end, template in ((".h", "program.h.j2"), ("_launch.c", "program.c.j2")):
        files[f"{program.symbol}{end}"] = LAUNCHERS.get_template(template).render(context).encode()
    return files


def _context(program: ProgramText) -> dict[str, object]:
    reports = any(launch.reports for launch in program.launches)
    at, places = _ALIGNMENT if reports else 0, {}
    for buffer in program.between:
        places[buffer.name] = at
        at += -(-_bytes(buffer) // _ALIGNMENT) * _ALIGNMENT
    extents = [name for name, _ in program.numbers]
    parameters = [f"CUdeviceptr {array.name}" for array in program.arrays] + [f"long long {name}" for name in extents]
    return {
        "symbol": program.symbol,
        "version": VERSION,
        "arrays": [
            {"name": a.name, "sizes": " x ".join(map(str, a.sizes)) or "one number", "dtype": a.dtype}
            for a in program.arrays
        ],
        "extents": [{"name": name, "most": most} for name, most in program.numbers],
        "parameters": parameters,
        "memory": at,
        "places": [{"name": name, "at": place} for name, place in places.items()],
        "reports": reports,
        "launches": [_launch(launch, extents) for launch in program.launches],
    }


def _bytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * WIDTH[buffer.dtype]


def _launch(launch: Launch, extents: list[str]) -> dict[str, object]:
    arguments = [*launch.arrays, *extents, *["outside"] * launch.reports]
    return {
        "symbol": launch.symbol,
        "grid": number(launch.grid),
        "threads": launch.threads,
        "shared_bytes": launch.shared_bytes,
        "arguments": ", ".join(f"&{name}" for name in arguments),
    }
