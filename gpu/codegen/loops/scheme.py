"""The CUDA text of a scheme: the file, its launch, and what the launch needs.

emit_scheme(scheme) -> Source
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from cpu.runtime.version import VERSION
from gpu.codegen.copies.tensor_map import check_windows
from gpu.codegen.loops.emit import emit_launch
from gpu.codegen.loops.maps import tensor_maps
from gpu.codegen.program import CudaSource
from gpu.passes.facts.reading import elements
from gpu.passes.facts.registers import blocks_of
from gpu.passes.facts.workers import LAUNCHED, cluster_of, launches
from gpu.passes.matrices.share_sums import COUNTS
from gpu.passes.memory.allocate_shared import shared_bytes, step_bytes
from gpu.passes.order import scheme_forms
from gpu.passes.warpgroups.kinds import as_read, copied, loads_points
from tiling.loops.language import Alloc
from tiling.loops.lowering.show import show
from tiling.loops.machines import CopyBox
from tiling.loops.walk import walk
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, SchemeError
from tiling.text.symbol import symbol_of

MOST_SHARED = 227 << 10  # bytes that a block of the largest GPU may have


@lru_cache(512)  # the model asks for a text to price it, a search then compiles it
def emit_scheme(scheme: Scheme) -> CudaSource:
    """The text and its launch. Raises SchemeError for a scheme that is no kernel of a GPU's blocks and threads."""
    *_, (_, kernel) = scheme_forms(scheme)
    x, w, y, *others = kernel.arrays
    counts = [buffer for buffer in others if buffer.name == COUNTS]
    others = [buffer for buffer in others if buffer not in counts]
    kernel = replace(kernel, arrays=(x, w, *others, y, *counts))  # the output last
    (loop,) = launches(kernel)
    problem, symbol = scheme.problem, symbol_of(scheme.problem)
    matrices = isinstance(scheme.specifiers[-1], Matrix)
    blocks = blocks_of(loop, shared_bytes(loop), loads_points(scheme)) if matrices else 1
    if (needed := shared_bytes(loop)) > MOST_SHARED:
        raise SchemeError(
            f"{scheme.text}: a block would have {needed} bytes of shared memory, more than {MOST_SHARED}: "
            f"make what S(…) stages smaller"
        )
    launch, lines = emit_launch(kernel, loop, symbol, blocks)
    text = "\n".join([*_heading(scheme, symbol), *lines, ""])
    grid = dict(kernel.numbers).get(LAUNCHED, launch.grid.offset)
    sizes = (grid, launch.threads, launch.shared_bytes, 3 + len(others))
    source = CudaSource(symbol, text, *sizes, scheme, elements=True, step_bytes=step_bytes(loop))
    if kernel.numbers:
        source = replace(source, cluster=cluster_of(kernel), persistent=blocks, copied=copied(scheme))
    left = sum(elements(s.buffer) for s in kernel.body if isinstance(s, Alloc))
    if any(isinstance(s, CopyBox) and s.windows for s in walk(loop.body)):
        check_windows(as_read(scheme).problem)
    overlapping = {"XW"[copy.array]: copy.overlapping for copy in source.copied if copy.overlapping}
    maps = tensor_maps(kernel, problem.dtype, overlapping)
    return replace(source, semaphores=sum(map(elements, counts)), partial_sums=left, maps=maps)


def _heading(scheme: Scheme, symbol: str) -> list[str]:
    """The comment at the head of the text."""
    problem = scheme.problem
    named = list(zip("XW", problem.tensors)) + [(f"E_{a.name}", a) for a in problem.epilogue_arrays]
    named += [("Y", problem.output)]
    arrays = [
        f"{name} is {t.called}[{', '.join(map(str, t.indices))}] of {' x '.join(map(str, t.shape))}"
        for name, t in named
    ]
    for copy in copied(scheme):
        arrays.append(f"{'XW'[copy.array]} is read from {copy.called}: see {symbol}_rows")
    return [
        f"/* {problem}, {problem.dtype}: written by Tilewright {VERSION}.",
        " *",
        f" * {scheme.text}",
        " *",
        *(f" *     {line}" for line in show(scheme).splitlines()),
        " *",
        *(f" * {line}" for line in arrays),
        " */",
    ]
