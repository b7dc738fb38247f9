"""The blocks of pixels worth trying, where an image of few channels is copied anyway."""

from __future__ import annotations

from gpu.limits.hopper import ROW_BYTES
from tiling.arrays.pixel_blocks import COPIED_BYTES, pixel_blocks_of, unsupported_reason
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.scheme.specifiers import PixelBlock


def pixel_blocks(problem: Problem) -> tuple[PixelBlock, ...]:
    """The blocks, the one of fewest steps first: as wide as the window, and as high as a stride or as the window.

    In the first case memory has each pixel once, in the second a window is one block.
    """
    if not problem.windows or problem.extents["c"] * DTYPE_BYTES[problem.dtype] >= COPIED_BYTES:
        return ()
    down, along = problem.windows[0], problem.windows[-1]
    whole_high, wide = (-(-problem.extents[window.tap] // window.stride) * window.stride for window in (down, along))
    found = {}
    for high in (down.stride, whole_high):
        if unsupported_reason(problem, high, wide):
            continue
        blocks = pixel_blocks_of(problem, high, wide)
        steps = blocks.taps[0] * -(-blocks.channels * DTYPE_BYTES[problem.dtype] // ROW_BYTES)
        found[PixelBlock(high, wide)] = steps, high
    return tuple(sorted(found, key=lambda block: found[block]))
