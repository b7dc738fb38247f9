"""What a microkernel is timed on: itself inside one reduction loop, fed as a whole kernel feeds it.

TTile times `T(c,512)` around the register tile. So do we, but x stays in L1, where one tile after the other reads it,
and the weights, of which a visit reads each once, come from L2. On Sapphire Rapids rows of 7, 10 and 14 of 2 vectors
and 7 of 4 reach 81, 84, 86 and 86 % of peak there, 94, 100, 90 and 98 % on data in L1, which would order them otherwise
(f32; `python -m microkernels show`). What the caches cost beyond that is the model's concern, not the ranking's. Where
one panel would stay in L1 beside x, as of one vector, taps of s loop around it, if x stays there too. Tiles that read x
by vectors have few weights: there everything lies in L1.
"""

from __future__ import annotations

from math import ceil

from microkernels.isa import isa_named
from microkernels.microkernel import OPERATOR_DIMS, Microkernel
from tiling.footprint import footprint
from tiling.grouped import grouped2d
from tiling.operators import conv2d
from tiling.problem import DTYPE_BYTES, Problem
from tiling.scheme import BLOCK_BYTES, Dot, Scheme, Stage, Tile, Unroll, Vector
from tiling.words import dot_of, in_words, is_narrow

# TTile's 512, less a line of f32: rows of x then lie an odd number of lines apart, at stride 1, and spread over all
# sets.
LONGEST_TRIP = 512 - 16
# Of L1 for x, past which the weights stream; of tiles that read x by vectors for all arrays. The rest is left to the
# stack, the harness, and to sets that separately placed arrays overfill: a working set of exactly L1 would miss on
# every cache that is not fully associative.
X_OF_L1, ALL_OF_L1 = 3 / 5, 3 / 4

# Blocks and taps that matrix instructions are timed on, where neighbouring taps read the same rows of x: fewer steps
# would measure how sums leave. An odd number of blocks, again, spreads the rows of x over all sets.
BLOCKS, BLOCK_TAPS = 7, 9
# Of narrow vectors: more widen x by as many columns.
MOST_TAPS = 9


def benchmark_scheme(kernel: Microkernel, l1_bytes: int) -> Scheme:
    """The scheme to time, such as `S(y) T(c,248) U(h,2) U(w,7) U(s,3) U(k,2) V(k,16)`, on its own problem.

    The problem is exactly the tile, unpadded, with LONGEST_TRIP reduction points, or half or a quarter … of those, so
    that x (or all arrays) stays within its share of the L1 data cache of `l1_bytes`; at least 1, however small that
    cache; and with as many taps of s as make the weights as large as L1, if x stays there. Of matrix instructions
    BLOCKS and BLOCK_TAPS.
    """
    matrix = isa_named(kernel.isa).matrix
    trip, taps = (BLOCKS, BLOCK_TAPS) if matrix else (LONGEST_TRIP, 1)
    while not matrix and trip > 1 and not _stays(_problem(kernel, trip, taps), kernel, l1_bytes):
        trip //= 2
    if not matrix:
        fitting = (
            t
            for t in range(_taps(kernel, trip, l1_bytes), 1, -1)
            if _stays(_problem(kernel, trip, t), kernel, l1_bytes)
        )
        taps = next(fitting, 1)
    problem = _problem(kernel, trip, taps)
    unrolled = [Unroll(dim, extent) for dim, extent in (*kernel.rows, *kernel.unrolled)]
    if kernel.vectors > 1:
        unrolled.append(Unroll(problem.vector_dim, kernel.vectors))
    dot = [Dot("c", BLOCK_BYTES // problem.bytes_per_element)] if matrix else []
    return Scheme(
        problem,
        (
            Stage(problem.output.name),
            *([Tile("s", taps)] if taps > 1 else []),
            Tile(_loop_dim(kernel), trip),
            *unrolled,
            *dot,
            Vector(problem.vector_dim, isa_named(kernel.isa).lanes),
        ),
    )


def _loop_dim(kernel: Microkernel) -> str:
    """The reduction dim that the benchmark loops over, around what a tile unrolls of it: the operator's first."""
    return OPERATOR_DIMS[kernel.op][2][0]


def _taps(kernel: Microkernel, trip: int, l1_bytes: int) -> int:
    """Taps of s around `trip` reduction points: so many that no weights stay in L1 till they are read again."""
    isa = isa_named(kernel.isa)
    if kernel.lanewise:
        return 1
    panel = trip * kernel.steps * kernel.vectors * isa.lanes * DTYPE_BYTES["f32"]
    return min(MOST_TAPS, ceil(l1_bytes / panel))


def _problem(kernel: Microkernel, trip: int, taps: int) -> Problem:
    tile = dict(kernel.rows) | dict(kernel.unrolled)
    across = kernel.vectors * isa_named(kernel.isa).lanes
    summed = {"c": 1, "r": 1, "s": 1} | tile
    summed[_loop_dim(kernel)] *= trip
    summed["s"] *= taps
    r, s = summed["r"], summed["s"]
    isa = isa_named(kernel.isa)
    if isa.matrix:
        summed["c"] *= BLOCK_BYTES // DTYPE_BYTES[isa.dtype]
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
        dtype=isa.dtype if isa.matrix else "f32",
    )
    return grouped2d(problem) if kernel.op == "grouped2d" else problem


def vector_flops(scheme: Scheme) -> int:
    """What a score counts: two for each lane, row and step, however many numbers an instruction multiplies there."""
    return in_words(scheme.problem, dot_of(scheme) if is_narrow(scheme.problem) else None).flops


def _stays(problem: Problem, kernel: Microkernel, l1_bytes: int) -> bool:
    kept, share = (problem.tensors, ALL_OF_L1) if kernel.lanewise else ((problem.broadcast,), X_OF_L1)
    return sum(footprint(problem, tensor, problem.extents) for tensor in kept) <= share * l1_bytes
