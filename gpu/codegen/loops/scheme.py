"""The CUDA text of a scheme, and who makes it.

maker_of(scheme) -> str              PASSES, or PIPELINE
emit_scheme(scheme) -> Source        of any scheme for a GPU
emit_loops(scheme) -> Source         of one that passes make
"""

from __future__ import annotations

from dataclasses import replace

from gpu.codegen.emit import VERSION, emit
from gpu.codegen.loops.emit import emit_launch
from gpu.codegen.loops.maps import tensor_maps
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.codegen.program import Source
from gpu.passes.check_scheme import check_scheme
from gpu.passes.facts.reading import elements
from gpu.passes.facts.registers import blocks_of
from gpu.passes.facts.workers import LAUNCHED, cluster_of, launches
from gpu.passes.matrices.check_matrix import is_staged_once
from gpu.passes.matrices.share_sums import COUNTS
from gpu.passes.memory.allocate_shared import shared_bytes, step_bytes
from gpu.passes.order import scheme_forms
from gpu.passes.warpgroups.check_warpgroup import is_of_warpgroups
from tiling.loops.language import Alloc
from tiling.loops.lowering.show import show
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, SchemeError, Tile
from tiling.text.symbol import symbol_of

PASSES, PIPELINE = "passes", "a pipeline"
MOST_SHARED = 227 << 10  # bytes that a block of the largest GPU may have


def maker_of(scheme: Scheme) -> str:
    """Who makes the kernel of a scheme: PASSES wherever they can, else a PIPELINE of `gpu.codegen.emit`.

    Raises SchemeError for a scheme that neither takes, with their reasons.
    """
    try:
        check_scheme(scheme)
    except SchemeError as unmade:
        try:
            pipeline = pipeline_of(scheme)
        except SchemeError as unread:
            raise SchemeError(_unsupported_reason(scheme, unread, unmade)) from None
        if not pipeline.tma:
            raise
        return PIPELINE
    return PASSES


def _unsupported_reason(scheme: Scheme, unread: SchemeError, unmade: SchemeError) -> str:
    """Why no pipeline reads a scheme, or why passes do not make it: both where the scheme may be meant for either."""
    if not isinstance(scheme.specifiers[-1], Matrix) or is_staged_once(scheme):
        return str(unmade)
    clusters = any(isinstance(s, Tile) and s.worker == "cluster" for s in scheme.specifiers)
    if is_of_warpgroups(scheme) and not clusters:
        return f"{unread}; passes do not make it either: {unmade}"
    return str(unread)


def emit_scheme(scheme: Scheme) -> Source:
    """The CUDA text of a scheme. Passes make it, or a pipeline of `gpu.codegen.emit`.

    Raises SchemeError for a scheme that is neither.
    """
    return emit_loops(scheme) if maker_of(scheme) == PASSES else emit(scheme)


def emit_loops(scheme: Scheme) -> Source:
    """The text and its launch. Raises SchemeError for a scheme that is no kernel of a GPU's blocks and threads."""
    *_, (_, kernel) = scheme_forms(scheme)
    x, w, y, *others = kernel.arrays
    counts = [buffer for buffer in others if buffer.name == COUNTS]
    others = [buffer for buffer in others if buffer not in counts]
    kernel = replace(kernel, arrays=(x, w, *others, y, *counts))  # the output last
    (loop,) = launches(kernel)
    problem, symbol = scheme.problem, symbol_of(scheme.problem)
    matrices = isinstance(scheme.specifiers[-1], Matrix)
    blocks = blocks_of(loop, shared_bytes(loop)) if matrices else 1
    launch, lines = emit_launch(kernel, loop, symbol, blocks)
    if launch.shared_bytes > MOST_SHARED:
        raise SchemeError(
            f"{scheme.text}: a block would have {launch.shared_bytes} bytes of shared memory, more than {MOST_SHARED}: "
            f"make what S(…) stages smaller"
        )
    text = "\n".join([*_heading(scheme), *lines, ""])
    grid = dict(kernel.numbers).get(LAUNCHED, launch.grid.offset)
    sizes = (grid, launch.threads, launch.shared_bytes, 3 + len(others))
    source = Source(symbol, text, *sizes, scheme, elements=True, step_bytes=step_bytes(loop))
    if kernel.numbers:
        source = replace(source, cluster=cluster_of(kernel), persistent=blocks)
    left = sum(elements(s.buffer) for s in kernel.body if isinstance(s, Alloc))
    maps = tensor_maps(kernel, problem.dtype)
    return replace(source, semaphores=sum(map(elements, counts)), partial_sums=left, maps=maps)


def _heading(scheme: Scheme) -> list[str]:
    """The comment at the head of the text."""
    problem = scheme.problem
    named = list(zip("XW", problem.tensors)) + [(f"E_{a.name}", a) for a in problem.epilogue_arrays]
    named += [("Y", problem.output)]
    arrays = [
        f"{name} is {t.called}[{', '.join(map(str, t.indices))}] of {' x '.join(map(str, t.shape))}"
        for name, t in named
    ]
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
