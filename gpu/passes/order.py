"""The passes of a kernel on a GPU, in order: from plain loops to the statements that are printed.

    stages(program) -> (name, kernel), …             the kernel of a program after each pass
    scheme_stages(scheme) -> (name, kernel), …       that of a scheme without a matrix instruction

A new optimisation is a file of this room and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpu.passes.add_zeros import add_zeros
from gpu.passes.allocate_shared import allocate_shared
from gpu.passes.bind_blocks import bind_blocks
from gpu.passes.bind_points import bind_points
from gpu.passes.bind_rows import bind_rows
from gpu.passes.bind_threads import bind_threads
from gpu.passes.check_scheme import check_scheme
from gpu.passes.combine_lanes import combine_lanes
from gpu.passes.compute_in_f32 import compute_in_f32
from gpu.passes.elect_threads import elect_threads
from gpu.passes.guard_gathers import guard_gathers
from gpu.passes.place_barriers import place_barriers
from gpu.passes.place_rows import place_rows
from gpu.passes.share_rows import share_rows
from gpu.passes.split_launches import split_launches
from gpu.passes.stage_tiles import stage_tiles
from gpu.passes.widen import widen
from gpu.passes.widen_copies import widen_copies
from tiling.loops.language import Kernel
from tiling.loops.lowering.lower import lower as lower_scheme
from tiling.program.infer import Sized
from tiling.program.lowering.lower import lower
from tiling.program.rewrite.factor_sums import factored_sums
from tiling.program.rewrite.inline import inlined
from tiling.program.rewrite.split_sums import split_sums
from tiling.scheme.scheme import Scheme

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
SCHEME_PASSES: tuple[tuple[str, Callable[[Kernel, Scheme], Kernel]], ...] = (
    ("compute in f32", compute_in_f32),
    ("bind blocks", lambda kernel, _: bind_blocks(kernel)),
    ("bind threads", lambda kernel, _: bind_threads(kernel)),
    ("stage tiles", stage_tiles),
    ("widen copies", lambda kernel, _: widen_copies(kernel)),
    ("add zeros", lambda kernel, _: add_zeros(kernel)),
    ("allocate shared", lambda kernel, _: allocate_shared(kernel)),
    ("place barriers", lambda kernel, _: place_barriers(kernel)),
)
LOWER = "lower"
PASS_NAMES = (LOWER, *(name for name, _ in PASSES))
SCHEME_PASS_NAMES = (LOWER, *(name for name, _ in SCHEME_PASSES))


def stages(program: Sized) -> Iterator[tuple[str, Kernel]]:
    """The plain loops of a program, with cheap maps where they are read and long sums in parts; then of each pass."""
    kernel = lower(split_sums(factored_sums(inlined(program))))
    yield LOWER, kernel
    for name, run in PASSES:
        kernel = run(kernel)
        yield name, kernel


def scheme_stages(scheme: Scheme) -> Iterator[tuple[str, Kernel]]:
    """The plain loops of a scheme without a matrix instruction, then after each pass. Raises SchemeError."""
    check_scheme(scheme)
    kernel = lower_scheme(scheme)
    yield LOWER, kernel
    for name, run in SCHEME_PASSES:
        kernel = run(kernel, scheme)
        yield name, kernel
