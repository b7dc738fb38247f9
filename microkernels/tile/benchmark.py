"""The benchmark of a microkernel: the tile inside one reduction loop, which reads data as in a whole kernel.

x stays in L1, where one tile after the other reads it. The weights come from L2, since a kernel reads each once a tile.
Tiles that read x by vectors have few weights, so all their data stay in L1.
"""

# TTile times `T(c,512)` around the register tile, and so does this. On Sapphire Rapids 7, 10 and 14 rows of 2 vectors
# and 7 rows of 4 reach 81, 84, 86 and 86 % of peak with weights from L2. On data in L1 they reach 94, 100, 90 and 98 %,
# which would order them otherwise (f32; `python -m microkernels show`). The model adds what the caches cost beyond. A
# panel that would stay in L1 beside x, such as one of one vector, is made longer by taps of s, if x still fits.

from __future__ import annotations

from math import ceil

from microkernels.tile.isa import isa_named
from microkernels.tile.microkernel import Microkernel
from tiling.arrays.footprint import footprint
from tiling.dtypes.products import DTYPE_BYTES
from tiling.operators import conv2d
from tiling.problem import Problem
from tiling.rewrite.dot_groups import dot_group_of, in_dot_groups, is_narrow
from tiling.rewrite.grouped import grouped2d
from tiling.scheme.rules import MATRIX_ROW_BYTES
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import DotGroup, Stage, Tile, Unroll, Vector

# Changes whenever emitted tiles, or their benchmark, change so much that old scores no longer describe them.
EMITTER_VERSION = 4

# TTile's 512, less a line of f32: then rows of x lie an odd number of lines apart, at stride 1, and use all sets of the
# cache.
LONGEST_TRIP = 512 - 16
# The fraction of L1 for x where weights stream past it, and for all arrays where tiles read x by vectors. The rest is
# left to the stack, the harness, and cache conflicts between separate arrays: a working set of exactly L1 would miss in
# every cache that is not fully associative.
X_OF_L1, ALL_OF_L1 = 3 / 5, 3 / 4

# Blocks and taps that matrix instructions are timed on; neighbouring taps read the same rows of x. Fewer steps would
# measure the stores of the sums. An odd number of blocks, again, lets the rows of x use all sets.
BLOCKS, BLOCK_TAPS = 7, 9
# The most taps of s around a narrow tile: each widens x by a column.
MOST_TAPS = 9


def benchmark_scheme(kernel: Microkernel, l1_bytes: int) -> Scheme:
    """The scheme to time, such as `S(y) T(c,248) U(h,2) U(w,7) U(s,3) U(k,2) V(k,16)`, on its own problem.

    The problem is exactly the tile, unpadded. It has LONGEST_TRIP reduction points, halved as often as needed, so
    that x (or all arrays) stays within its share of the L1 data cache of `l1_bytes`. Taps of s make the
    weights as large as L1, if x still fits. Matrix instructions have BLOCKS and BLOCK_TAPS.
    """
    matrix = isa_named(kernel.isa).matrix
    trip, taps = (BLOCKS, BLOCK_TAPS) if matrix else (LONGEST_TRIP, 1)
    problem = _problem(kernel, trip, taps)
    while not matrix and trip > 1 and not _stays(problem, kernel, l1_bytes):
        trip //= 2
        problem = _problem(kernel, trip, taps)
    if not matrix:
        wider = ((t, _problem(kernel, trip, t)) for t in range(_taps(kernel, trip, l1_bytes), 1, -1))
        fitting = ((t, wide) for t, wide in wider if _stays(wide, kernel, l1_bytes))
        taps, problem = next(fitting, (1, problem))
    unrolled = [Unroll(dim, extent) for dim, extent in (*kernel.rows, *kernel.unrolled)]
    if kernel.vectors > 1:
        unrolled.append(Unroll(problem.vector_dim, kernel.vectors))
    dot = [DotGroup("c", MATRIX_ROW_BYTES // DTYPE_BYTES[problem.dtype])] if matrix else []
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
    """The reduction dim that the benchmark loops over: the operator's first. A tile may unroll part of it."""
    return kernel.operator.reductions[0]


def _taps(kernel: Microkernel, trip: int, l1_bytes: int) -> int:
    """Taps of s around `trip` reduction points: enough that the weights do not stay in L1 until they are read again."""
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
        summed["c"] *= MATRIX_ROW_BYTES // DTYPE_BYTES[isa.dtype]
    problem = conv2d(
        n=tile.get("n", 1),
        c=across if kernel.lanewise else summed["c"],
        groups=across // summed["c"] if kernel.lanewise else 1,
        h=(tile.get("h", 1) - 1) * kernel.stride + r,
        w=(tile.get("w", 1) - 1) * kernel.stride + s,
        k=across,
        r=r,
        s=s,
        stride=kernel.stride,
        dtype=isa.dtype if isa.matrix else "f32",
    )
    return grouped2d(problem) if kernel.exchanges else problem


def vector_flops(scheme: Scheme) -> int:
    """The FLOPs that a score counts: two for each lane, row and step, however many numbers a dot group holds."""
    return in_dot_groups(scheme.problem, dot_group_of(scheme) if is_narrow(scheme.problem) else None).flops


def _stays(problem: Problem, kernel: Microkernel, l1_bytes: int) -> bool:
    kept, share = (problem.tensors, ALL_OF_L1) if kernel.lanewise else ((problem.broadcast,), X_OF_L1)
    return sum(footprint(problem, tensor, problem.extents) for tensor in kept) <= share * l1_bytes
