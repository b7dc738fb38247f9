"""The passes of a program on a GPU, in order: from plain loops to the statements that are printed.

    stages(program) -> (name, kernel), …          the kernel after each pass

A new optimisation is a file of this room and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpu.passes.allocate_shared import allocate_shared
from gpu.passes.bind_points import bind_points
from gpu.passes.bind_rows import bind_rows
from gpu.passes.combine_lanes import combine_lanes
from gpu.passes.elect_threads import elect_threads
from gpu.passes.guard_gathers import guard_gathers
from gpu.passes.place_barriers import place_barriers
from gpu.passes.place_rows import place_rows
from gpu.passes.share_rows import share_rows
from gpu.passes.split_launches import split_launches
from gpu.passes.widen import widen
from tiling.loops.language import Kernel
from tiling.program.infer import Sized
from tiling.program.lowering.lower import lower
from tiling.program.rewrite.factor_sums import factored_sums
from tiling.program.rewrite.inline import inlined
from tiling.program.rewrite.split_sums import split_sums

PASSES: tuple[tuple[str, Callable[[Kernel], Kernel]], ...] = (
    ("split launches", split_launches),
    ("guard gathers", guard_gathers),
    ("bind points", bind_points),
    ("widen", widen),
    ("bind rows", bind_rows),
    ("share rows", share_rows),
    ("place rows", place_rows),
    ("combine lanes", combine_lanes),
    ("elect threads", elect_threads),
    ("allocate shared", allocate_shared),
    ("place barriers", place_barriers),
)
LOWER = "lower"
PASS_NAMES = (LOWER, *(name for name, _ in PASSES))


def stages(program: Sized) -> Iterator[tuple[str, Kernel]]:
    """The plain loops of a program, with cheap maps where they are read and long sums in parts; then of each pass."""
    kernel = lower(split_sums(factored_sums(inlined(program))))
    yield LOWER, kernel
    for name, run in PASSES:
        kernel = run(kernel)
        yield name, kernel
