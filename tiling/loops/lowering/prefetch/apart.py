"""The lines of x that a register tile prefetches into L1 because they lie far apart.

The hardware's prefetchers tell loads apart by the addresses of instructions, and each follows one stride. So they
do not follow an x whose channels come first. Nor do they follow a depthwise convolution with a loop over taps to its
next tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.arrays.access import access_of
from tiling.loops.language import LINE
from tiling.loops.lowering.nest import Around, Loop
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


@dataclass(frozen=True)
class Apart:
    """The lines of x that a tile prefetches in each step, one for each of its places.

    Their places count from the first x that the step `PREFETCH_DISTANCE` further along `dim` reads. Where `dim` is "",
    they count from the first x of this step, and reach into the next tile.
    """

    dim: str
    lines: limits.Places


def apart(problem: Problem, tile: Around) -> Apart | None:
    """What a tile prefetches: x of a later step where x is broadcast, x of the next tile where it is read by vectors.

    None where L1 holds x, or where the tile has one step: then its own loads run far enough ahead.
    """
    x, steps = problem.tensors[0], [loop for loop in tile.inner if loop.trips > 1]
    access = access_of(problem)
    if access.by_matrix or not steps or x.elements * access.bytes_of(x) <= limits.LARGEST_L1:
        return None
    return _of_next_lanes(problem, tile) if access.lanewise else _of_later_step(problem, tile, steps[-1])


def _of_later_step(problem: Problem, tile: Around, loop: Loop) -> Apart | None:
    """What the step `PREFETCH_DISTANCE` further reads, where the next one reads at least a line further.

    None where steps are few.
    """
    x, extents, access = problem.tensors[0], tile.register.extents, access_of(problem)
    size = access.bytes_of(x)
    if loop.trips < 2 * limits.PREFETCH_DISTANCE or x.stride(loop.dim) * size < LINE or extents[loop.dim] > 1:
        return None
    whole = tile.register.lanes * size % LINE == 0 and x.shape[-1] * size % LINE == 0
    return Apart(loop.dim, limits.lines_of(problem, x, extents, access.weights_broadcast and whole))


def _of_next_lanes(problem: Problem, tile: Around) -> Apart | None:
    """What the same step of the next tile reads: the channels beside these, of the same pixels.

    None where no such tile is next, where its lines are not its own, or where a line serves more FMAs than
    `MOST_A_LINE_OF_LANES`.
    """
    x, extents, access = problem.tensors[0], tile.register.extents, access_of(problem)
    moving = [at for at, loop in enumerate(tile.outer) if limits.moves(problem, tile, at, (loop.dim,))]
    if not moving or tile.outer[moving[-1]].dim != problem.vector_dim:
        return None
    loop, size = tile.outer[moving[-1]], access.bytes_of(x)
    if extents[loop.dim] * size % LINE or x.shape[-1] * size % LINE:
        return None
    if loop.trips == 1 and loop.start + loop.step == limits.covered_at(problem, tile, moving[-1] - 1)[loop.dim]:
        return None  # the last branch of a λ, and no loop
    whole = limits.covered_at(problem, tile, moving[-1])  # with all taps: several of them read the same lines
    products = prod(whole.values()) // tile.register.lanes
    if products > limits.MOST_A_LINE_OF_LANES * len(limits.lines_of(problem, x, whole, True)):
        return None
    return Apart("", tuple((start, at + loop.step) for start, at in limits.lines_of(problem, x, extents, True)))
