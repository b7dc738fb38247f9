"""Writes a kernel for programs without Python: CUDA text, machine code, and a header and a C file to launch it.

The C file needs cuda.h and calls the CUDA driver (libcuda), which every machine with a GPU has.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

from cpu.runtime.frames import frames
from cpu.runtime.version import VERSION
from gpu.codegen.copies.aligned import copied_bytes, slices
from gpu.codegen.copies.tensor_map import MAP_TYPES, WRONG_BIT, WRONG_DRIVER, WRONG_WORD
from gpu.codegen.loops.copier import with_copier
from gpu.codegen.program import CudaSource
from gpu.runtime.compiler.compile import Cubin, compile_cubin, cuda_text

LAUNCHERS = frames(Path(__file__).with_name("templates"))
_ALIGNMENT = 256  # bytes, of each part of a kernel's own memory; cuMemAlloc aligns the whole so


def save(source: CudaSource, cubin: Cubin | None, folder: Path) -> tuple[Path, ...]:
    """Writes a kernel's files and returns their paths.

    SYMBOL.cu is the whole CUDA file. Where `cubin` is given there are also SYMBOL.cubin, SYMBOL.h and SYMBOL_launch.c.
    The kernel that copies inputs first, if there is one, has a .cu and a .cubin too. Raises OSError, and what
    `compile_cubin` raises.
    """
    written = []
    for program in with_copier(source):
        text, code = folder / f"{program.symbol}.cu", folder / f"{program.symbol}.cubin"
        text.write_text(cuda_text(program), encoding="utf-8")
        code.unlink(missing_ok=True)  # an old file would be of another kernel
        written.append(text)
        if cubin:
            code.write_bytes(compile_cubin(program, cubin.architecture).code)
            written.append(code)
    if cubin:
        for name, content in launcher(source, cubin.architecture).items():
            (folder / name).write_text(content, encoding="utf-8")
            written.append(folder / name)
    return tuple(written)


def launcher(source: CudaSource, architecture: str) -> dict[str, str]:
    """The header and the C file that load and launch a kernel, by file name."""
    context = _context(source) | {"architecture": architecture}
    return {
        f"{source.symbol}{end}": LAUNCHERS.get_template(template).render(context)
        for end, template in ((".h", "launch.h.j2"), ("_launch.c", "launch.c.j2"))
    }


def _context(source: CudaSource) -> dict[str, object]:
    problem = source.scheme.problem
    tensors = [problem.broadcast, problem.vector, *problem.epilogue_arrays, problem.output]
    dtypes = [problem.dtype] * 2 + [problem.output_dtype] * (len(tensors) - 2)
    # The prefix tells b of an epilogue from b of the product.
    names = [f"e_{t.name}" if t.role == "epilogue" else t.name for t in tensors]
    at = [place.start for place in slices(source.copied)]
    copied = {copy.array: {"name": names[copy.array], "at": start} for copy, start in zip(source.copied, at)}
    maps = {each.array: each for each in source.maps}
    memory, semaphores = _memory(source)
    programs = with_copier(source)
    arguments = [f"&{name}_map" if i in maps else _pointer(i, names, copied) for i, name in enumerate(names)]
    return {
        "symbol": source.symbol,
        "version": VERSION,
        "problem": problem,
        "dtypes": dtypes,
        "arrays": [
            {"name": name, "shape": t.shape, "elements": t.elements, "dtype": dtype}
            for name, t, dtype in zip(names, tensors, dtypes)
        ],
        "parameters": [f"CUdeviceptr {name}" for name in names],
        "cubins": [f"{program.symbol}.cubin" for program in programs],
        "programs": [
            {"quoted": f'"{p.symbol}"', "shared_bytes": p.shared_bytes, "grid": p.grid, "threads": p.threads}
            for p in programs
        ],
        "maps": [
            asdict(m) | {"small": m.small, "name": names[i], "of": _pointer(i, names, copied)[1:]}
            for i, m in maps.items()
        ],
        "wrong": {"driver": WRONG_DRIVER, "word": WRONG_WORD, "bit": WRONG_BIT},
        "types": {dtype: f"CU_TENSOR_MAP_DATA_TYPE_{name}" for dtype, (_, name) in MAP_TYPES.items()},
        "copies": [each | {"pointer": f"&{each['name']}"} for each in copied.values()],
        "grid": source.grid,
        "threads": source.threads,
        "persistent": source.persistent,
        "cluster": source.cluster,
        "memory": memory,
        "semaphores": semaphores,
        "arguments": arguments + (["&semaphores", "&partial_sums"] if semaphores else []),
    }


def _pointer(array: int, names: list[str], copied: Collection[int]) -> str:
    """The address that the kernel reads for an array: that of the caller's array, or of the copy of it."""
    return f"&copied_{names[array]}" if array in copied else f"&{names[array]}"


def _memory(source: CudaSource) -> tuple[int, dict[str, int]]:
    """Bytes of a kernel's own memory, and where semaphores and partial sums begin in it, behind the copies."""
    semaphores_at = -(-copied_bytes(source.copied) // _ALIGNMENT) * _ALIGNMENT
    if not source.shares_sums:
        return semaphores_at, {}
    sums_at = semaphores_at + -(-4 * source.semaphores // _ALIGNMENT) * _ALIGNMENT
    return sums_at + 4 * source.partial_sums, {"at": semaphores_at, "count": source.semaphores, "sums": sums_at}
