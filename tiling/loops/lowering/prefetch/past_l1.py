"""The weights, or the panel of x, that stream past L1 in one register tile: vectors of a later step come to L1."""

from __future__ import annotations

from math import prod

from tiling.arrays.access import access_of
from tiling.loops.lowering.nest import Around
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


def streams_past_l1(problem: Problem, tile: Around) -> str:
    """The array, w or x, whose packed vectors are too many for L1 in one register tile; "" where there is none.

    Packed vectors are weights, or a panel of x. The tile prefetches the vectors of a later step. There is no array
    where a step unrolls several points: then its own loads run far enough ahead.
    """
    # A panel of x: yolo9000:Y19 gains 2 % in tiles of 9 x 3 and 14 x 2, 8 % in 6 x 4, beside what prefetches into L2
    # bring (`python -m bench.prefetch --layout nchw --scheme …`).
    access, steps = access_of(problem), prod(loop.trips for loop in tile.inner)
    points = prod(tile.register.extents[d] for d in problem.reductions)
    size = steps * tile.register.extents[problem.vector_dim] * access.bytes_of(problem.vector)
    packed = tile.shared is not None or not access.weights_broadcast
    past = points == 1 and size > limits.LARGEST_L1 and not access.by_matrix and packed
    return ("x" if access.weights_broadcast else "w") if past else ""
