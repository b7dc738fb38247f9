"""The passes of a program's kernel, in order: from plain loops to the statements that are printed.

    stages(program, isa, threads) -> (name, kernel), …          the kernel after each pass

A new optimisation is a file of this room and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cpu.passes.control.share_threads import share_threads
from cpu.passes.program.bind_tasks import bind_tasks
from cpu.passes.program.bound_loops import bound_loops
from cpu.passes.program.jam_rows import jam_rows
from cpu.passes.program.jam_vectors import jam_vectors
from cpu.passes.program.peel_tails import peel_tails
from cpu.passes.program.place_rows import place_rows
from cpu.passes.program.share_loops import share_loops
from cpu.passes.program.split_lanes import split_lanes
from cpu.passes.program.split_ranges import split_ranges
from cpu.passes.program.transpose_reads import transpose_reads
from cpu.passes.program.vectors import vectors
from microkernels.tile.forms import Isa
from tiling.loops.language import For, Kernel
from tiling.loops.walk import walk
from tiling.program.dtypes import WIDTH
from tiling.program.infer import Sized
from tiling.program.lowering.lower import lower
from tiling.program.rewrite.factor_sums import factored_sums
from tiling.program.rewrite.inline import inlined
from tiling.program.rewrite.split_sums import split_sums
from tiling.program.rewrite.transpose_operands import transposed_operands

VECTORS = "vectors"  # the last pass whose loops say how many workers share them

PASSES: tuple[tuple[str, Callable[[Kernel, Isa, int], Kernel]], ...] = (
    ("share loops", lambda kernel, isa, threads: share_loops(kernel)),
    ("split ranges", lambda kernel, isa, threads: split_ranges(kernel)),
    ("split lanes", lambda kernel, isa, threads: split_lanes(kernel, isa.lanes)),
    ("transpose reads", lambda kernel, isa, threads: transpose_reads(kernel, isa.lanes)),
    ("jam vectors", lambda kernel, isa, threads: jam_vectors(kernel, isa.lanes)),
    ("jam rows", lambda kernel, isa, threads: jam_rows(kernel, isa.registers)),
    ("bind tasks", lambda kernel, isa, threads: bind_tasks(kernel, threads)),
    ("bound loops", lambda kernel, isa, threads: bound_loops(kernel, isa.lanes)),
    ("peel tails", lambda kernel, isa, threads: peel_tails(kernel)),
    ("place rows", lambda kernel, isa, threads: place_rows(kernel)),
    (VECTORS, lambda kernel, isa, threads: vectors(kernel, isa)),
    (
        "share threads",
        lambda kernel, isa, threads: share_threads(kernel, _has_team(kernel), lambda buffer: WIDTH[buffer.dtype]),
    ),
)
LOWER = "lower"
PASS_NAMES = (LOWER, *(name for name, _ in PASSES))


def stages(program: Sized, isa: Isa, threads: int) -> Iterator[tuple[str, Kernel]]:
    """The plain loops of a program, with cheap maps where they are read and long sums in parts; then of each pass."""
    kernel = lower(split_sums(transposed_operands(factored_sums(inlined(program)))))
    yield LOWER, kernel
    for name, run in PASSES:
        kernel = run(kernel, isa, threads)
        yield name, kernel


def _has_team(kernel: Kernel) -> bool:
    """Whether a loop is shared by several workers."""
    return any(isinstance(statement, For) and statement.kind == "core" for statement in walk(kernel.body))
