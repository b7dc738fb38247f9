"""The pixels of x that the next tile of a depthwise convolution is first to read, into L1 (docs/decisions/060)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.arrays.access import access_of
from tiling.loops.lowering.nest import Around, Loop, tiles
from tiling.loops.lowering.prefetch import limits
from tiling.problem import Problem


@dataclass(frozen=True)
class NextPixels:
    """The pixels that the next iteration of `loop`, a tile of unrolled taps, is first to read."""

    loop: Loop


def next_pixels(problem: Problem, tile: Around) -> NextPixels | None:
    """What a tile prefetches for the one with other pixels.

    None where L1 holds x, or L2 does not, and where a line serves more FMAs than `MOST_A_LINE_OF_LANES`. None where the
    next tile has the channels beside these: `apart` is for them.
    """
    x, extents, access = problem.tensors[0], tile.register.extents, access_of(problem)
    if not access.lanewise or not limits.LARGEST_L1 < x.elements * access.bytes_of(x) <= limits.LARGEST_L2:
        return None
    loops = [loop for loop in tile.outer if loop.written]
    if not loops or any(loop.written for loop in tile.inner):
        return None
    loop = loops[-1]
    if loop.worker or loop.dim not in x.dims or loop.dim == problem.vector_dim or len([*tiles(loop.body)]) > 1:
        return None
    products = prod(extents.values()) // tile.register.lanes
    if products > limits.MOST_A_LINE_OF_LANES * len(limits.lines_of(problem, x, extents, True)):
        return None
    return NextPixels(loop)
