"""The CUDA text of a program.

emit_program(program) -> ProgramText
"""

from __future__ import annotations

import hashlib

from gpu.codegen.loops.functions import STORED
from gpu.codegen.loops.launches import Launch, ProgramText
from gpu.codegen.loops.maps import boxed
from gpu.codegen.loops.names import with_cuda_names
from gpu.codegen.loops.print import GpuPrinter
from gpu.passes.facts.reading import elements, touched
from gpu.passes.facts.workers import (
    BLOCK,
    LAUNCHED,
    MEMBER,
    THREAD,
    WARP,
    WARPGROUP,
    WARPS_OF_GROUP,
    cluster_of,
    launches,
    threads_of,
)
from gpu.passes.memory.allocate_shared import shared_bytes
from gpu.passes.memory.prefetch_maps import map_of
from gpu.passes.order import program_forms
from gpu.passes.values.guard_gathers import REPORT
from tiling.loops.buffer import Buffer
from tiling.loops.facts.values import dtypes_of
from tiling.loops.facts.writes import stored_to
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Do, For
from tiling.loops.listing import listing
from tiling.loops.walk import buffers_of, walk
from tiling.program.infer import Sized

_NUMBER_OF = {BLOCK: "block_number()", WARP: "warp_number()", THREAD: "thread_number()", MEMBER: "member_number()"}
_NUMBER_OF |= {WARPGROUP: f"warp_number() / {WARPS_OF_GROUP}", LAUNCHED: "block_count()"}
_LARGEST_INT = 2**31 - 1


def emit_program(program: Sized) -> ProgramText:
    """The text of a program and its launches."""
    forms = dict(program_forms(with_cuda_names(program)))
    plain, kernel = next(iter(forms.values())), list(forms.values())[-1]
    symbol = symbol_of(program)
    between = tuple(s.buffer for s in kernel.body if isinstance(s, Alloc))
    found = [emit_launch(kernel, loop, f"{symbol}_{number}") for number, loop in enumerate(launches(kernel))]
    text = "\n".join([*_heading(program, kernel, plain), *(line for _, lines in found for line in ("", *lines)), ""])
    rows = frozenset(buffer.name for buffer in between if BLOCK in buffer.axes[:1])
    every = tuple(launch for launch, _ in found)
    return ProgramText(symbol, text, kernel.arrays, between, rows, kernel.numbers, every)


def symbol_of(program: Sized) -> str:
    """The beginning of the names of a program's functions: its output arrays, and a hash of the rest."""
    what = f"{program.program} {program.dims} {program.inputs} {program.outputs} {program.runtime}"
    return f"program_{'_'.join(program.outputs)[:40]}_{hashlib.sha256(what.encode()).hexdigest()[:12]}"


def emit_launch(kernel: Kernel, loop: For, symbol: str, blocks: int = 1) -> tuple[Launch, list[str]]:
    """A launch and the lines of its function. blocks: how many a multiprocessor must have registers for at once."""
    names = touched(loop.body)
    memory = {b.name: b for b in buffers_of(kernel).values() if b.memory == "global" and b.name in names}
    written = set(stored_to(loop.body))
    reports = any(s.invoke.instruction == REPORT for s in walk(loop.body) if isinstance(s, Do))
    launch = Launch(
        symbol=symbol,
        grid=loop.stop,
        threads=threads_of(loop),
        shared_bytes=shared_bytes(loop),
        arrays=tuple(memory),
        written=tuple(name for name in memory if name in written),
        reports=reports,
    )
    # Loops over several dims as one may be longer than the arrays that they index.
    spans = [elements(buffer) for buffer in memory.values()]
    spans += [s.stop.offset for s in walk(loop.body) if isinstance(s, For) and not s.stop.terms]
    large = any(span > _LARGEST_INT // 2 for span in spans)
    printer = GpuPrinter(buffers_of(kernel), dtypes_of(kernel), "long long" if large else "int")
    boxes = boxed(loop.body)
    parameters = [
        f"TENSOR_MAP {map_of(name)}" if name in boxes else _parameter(buffer, name in written)
        for name, buffer in memory.items()
    ]
    parameters += [f"long long {name}" for name, _ in kernel.numbers if name != LAUNCHED] + ["int *outside"] * reports
    names |= {MEMBER} if "lane" in names else set()
    workers = [f"{name} = {_NUMBER_OF[name]}" for name in _NUMBER_OF if name in names]
    cluster = cluster_of(kernel)
    kind = (
        f"CLUSTER_KERNEL({launch.threads}, {blocks}, {cluster})"
        if cluster > 1
        else f"KERNEL({launch.threads}, {blocks})"
    )
    lines = [f"{kind} {symbol}({', '.join(parameters)})", "{"]
    lines += [f"    const {printer.integer} {', '.join(workers)};"] * bool(workers)
    return launch, [*lines, *(f"    {line}" for line in printer.lines(loop.body)), "}"]


def _parameter(buffer: Buffer, written: bool) -> str:
    return f"{'' if written else 'const '}{STORED[buffer.dtype]} *__restrict__ {buffer.name}"


def _heading(program: Sized, kernel: Kernel, plain: Kernel) -> list[str]:
    """The comment at the head of the file."""
    lines = listing(plain).splitlines()
    between = [s.buffer for s in kernel.body if isinstance(s, Alloc)]
    arrays = [f"{b.name}: {b.dtype}[{', '.join(map(str, b.sizes))}]" for b in kernel.arrays]
    arrays += [f"{b.name}: {b.dtype}[{', '.join(map(str, b.sizes))}], between launches or blocks" for b in between]
    arrays += [f"{name}: an extent of this call, from 1 to {most}" for name, most in kernel.numbers]
    return [
        "/*",
        *(f" * {line}" for line in str(program.program).split("; ")),
        " *",
        " * What it computes, as plain loops:",
        " *",
        *(f" *     {line}".rstrip() for line in lines[lines.index("") + 1 :]),
        " *",
        " * Arrays, row-major:",
        *(f" *     {line}" for line in arrays),
        " */",
    ]
