"""What a microkernel is timed on: itself inside one reduction loop, on data that stays in L1.

TTile times `T(c,512)` around the register tile. The score must be the register tile's own, so here the loop is
shortened until everything it touches lies in L1: what the outer caches cost is the model's concern, not the ranking's.
"""

from __future__ import annotations

from microkernels.isa import isa_named
from microkernels.microkernel import OPERATOR_DIMS, Microkernel
from tiling.footprint import footprint
from tiling.grouped import grouped2d
from tiling.operators import conv2d
from tiling.problem import Problem
from tiling.scheme import Scheme, Stage, Tile, Unroll, Vector

LONGEST_TRIP = 512  # TTile's

# The last quarter is left to the stack, the harness, and to sets that three separately placed arrays overfill: a
# working set of exactly L1 would miss on every cache that is not fully associative.
SHARE_OF_L1 = 3 / 4


def benchmark_scheme(kernel: Microkernel, l1_bytes: int) -> Scheme:
    """The scheme to time, such as `S(y) T(c,256) U(h,2) U(w,7) U(s,3) U(k,2) V(k,16)`, on its own problem.

    The problem is exactly the tile, unpadded, with the longest power of two ≤ 512 of reduction points whose
    footprint stays within 3/4 of the L1 data cache of `l1_bytes`; at least 1, however small that cache.
    """
    trip = LONGEST_TRIP
    while trip > 1 and _footprint(_problem(kernel, trip)) > SHARE_OF_L1 * l1_bytes:
        trip //= 2
    problem = _problem(kernel, trip)
    unrolled = [Unroll(dim, extent) for dim, extent in (*kernel.rows, *kernel.unrolled)]
    if kernel.vectors > 1:
        unrolled.append(Unroll(problem.vector_dim, kernel.vectors))
    return Scheme(
        problem,
        (
            Stage(problem.output.name),
            Tile(_loop_dim(kernel), trip),
            *unrolled,
            Vector(problem.vector_dim, isa_named(kernel.isa).lanes),
        ),
    )


def _loop_dim(kernel: Microkernel) -> str:
    """The reduction dim that the benchmark loops over, around what a tile unrolls of it: the operator's first."""
    return OPERATOR_DIMS[kernel.op][2][0]


def _problem(kernel: Microkernel, trip: int) -> Problem:
    tile = dict(kernel.rows) | dict(kernel.unrolled)
    across = kernel.vectors * isa_named(kernel.isa).lanes
    summed = {"c": 1, "r": 1, "s": 1} | tile
    summed[_loop_dim(kernel)] *= trip
    r, s = summed["r"], summed["s"]
    channels = {"c": across, "groups": across // summed["c"]} if kernel.lanewise else {"c": summed["c"]}
    problem = conv2d(
        n=tile.get("n", 1),
        **channels,
        h=(tile.get("h", 1) - 1) * kernel.stride + r,
        w=(tile.get("w", 1) - 1) * kernel.stride + s,
        k=across,
        r=r,
        s=s,
        stride=kernel.stride,
    )
    return grouped2d(problem) if kernel.op == "grouped2d" else problem


def _footprint(problem: Problem) -> int:
    return sum(footprint(problem, tensor, problem.extents) for tensor in problem.tensors)
