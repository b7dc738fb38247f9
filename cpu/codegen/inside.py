"""What stands inside the frame of a C file: the tile functions and the loops around them, written in one of two ways.

Kernels whose vectors run along the last axis of y come from loops and passes (`cpu.passes`). The others come from the
emitter of whole nests (`cpu.codegen.nest`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from cpu.codegen.epilogue import compares_with_zero
from cpu.codegen.nest import Nest
from cpu.codegen.print import PrintedFunction, Printer, strides
from cpu.codegen.tile import TileFunction
from cpu.passes.order import Facts, stages
from cpu.passes.prefetch import NEXT
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import Isa
from tiling.bias import stored
from tiling.loops.language import Cursors, buffers, walk
from tiling.loops.nest import lower
from tiling.rewrite.words import packed_lanes
from tiling.scheme import LANE_BYTES, Scheme


@dataclass(frozen=True)
class Inside:
    """The functions and the body of a kernel, and what they need of the file around them.

    axes: (name, elements) of the strides that its addresses name. masked: it uses the mask TAIL. cursors: it prefetches
    by cursors. transposed: the numbers of rows that it transposes together.
    """

    functions: Sequence[TileFunction | PrintedFunction]
    body: list[str]
    masked: bool
    cursors: bool
    axes: list[tuple[str, int]] = field(default_factory=list)
    panels: list[int] = field(default_factory=list)
    panel: int = 0
    shapes: Mapping[tuple[tuple[int, int], ...], str] = field(default_factory=dict)
    transposed: frozenset[int] = frozenset()
    prefetch_distance: int = 0
    next_panel: bool = False


def on_loops(scheme: Scheme, isa: Isa) -> bool:
    """Whether passes over loops write the kernel of a scheme of dot groups (`tiling.rewrite.dot_groups`)."""
    problem = scheme.problem
    plain = all(len(dim) == 1 for dim in scheme.extents) and not problem.flat_pixels
    by_vectors = isa.matrix is None and not problem.transposed_output
    return plain and by_vectors and problem.exchange_dim is None


def facts_of(scheme: Scheme, isa: Isa, stream: bool) -> Facts:
    """What the passes need to know of a kernel."""
    left = stored(scheme.problem)
    return Facts(scheme, isa, packed_lanes(scheme), stream, bool(left and compares_with_zero(left)))


def loops_of(scheme: Scheme, isa: Isa, threads: int, stream: bool) -> Inside:
    """A kernel written by passes over loops."""
    *_, (_, kernel) = stages(facts_of(scheme, isa, stream))
    used = scheme.problem.extents[scheme.problem.vector_dim] % isa.lanes
    types = {buffer.name: "float" for buffer in buffers(kernel)}
    types |= {"X": isa.x_type(scheme.problem), "W": isa.word, "Y": ELEMENTS[scheme.problem.output_dtype].c}
    printer = Printer(kernel, types, isa.vector_type, {used: "TAIL"}, threads)
    cursors = any(isinstance(statement, Cursors) for statement in walk(kernel.body))
    inside = Inside(printer.functions(), printer.body(), used > 0, cursors, strides(kernel))
    own = (buffer for buffer in buffers(kernel) if buffer.memory == "own")
    following = any(view == NEXT for function in kernel.functions for view, _ in function.views)
    return replace(inside, panel=sum(LANE_BYTES * prod(buffer.shape) for buffer in own), next_panel=following)


def nest_of(scheme: Scheme, isa: Isa, threads: int, stream: bool) -> Inside:
    """A kernel written by the emitter of whole nests."""
    nest = Nest(scheme, isa, threads, stream)
    body, problem = nest.whole(lower(scheme)), scheme.problem
    # A tile that continues stored sums transposes vectors of rows, one for each point of the vectorised dim.
    rows = {block.count for site in nest.sites for block in site.blocks} if problem.transposed_output else set()
    whole = set() if all(site.single_pass for site in nest.sites) else {isa.lanes}
    return Inside(
        nest.functions,
        body,
        nest.masked,
        nest.has_prefetches,
        panels=sorted({site.vectors for site in nest.sites}),
        panel=nest.panel,
        shapes=nest.shapes,
        transposed=frozenset(rows | whole if rows else rows),
        prefetch_distance=nest.prefetch_distance,
    )
