"""Blocks of pixels: neighbouring pixels of an image, in several rows, as the channels of one.

    x of 3 channels, 7 x 7 taps, stride 2, as P(2x8)     ->      64 channels, 4 x 1 taps, stride 1

`tiling.rewrite.blocked` makes the problem and the copy of the image.
"""

# A block has `wide` columns of `high` pixels. Blocks begin a stride apart, so neighbours along a row overlap:
#
#     row of the copy    |column|column|column|column|column|column|column|column|column|column| …
#     block 0             -------------------------------------------------------
#     block 1                            -------------------------------------------------------
#
# A column has the numbers of its pixels, from the top down, and zeros up to a size by which blocks begin at multiples
# of 16 bytes. So the copy engine reads a block as a row of channels, and memory has each pixel once, if blocks are no
# higher than a stride. The taps of a row of the window are one sum without gaps, however few the channels are.

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import LARGEST_EXTENT, LARGEST_TENSOR, Problem
from tiling.tensor import Affine, Window

COPIED_BYTES = 16  # Hopper's copy engine finds rows and blocks that are a multiple of so many bytes apart
_AT_ONCE = 4  # numbers of a pixel that a thread copies together


@dataclass(frozen=True)
class PixelBlocks:
    """The blocks of an image. windows: those of the problem, along rows and columns.

    pixel, column: numbers of each in a block, zeros included. taps: blocks of a window along both axes, `apart` from
    each other. shape: blocks along both axes.
    """

    high: int
    wide: int
    windows: tuple[Window, Window]
    pixel: int
    column: int
    taps: tuple[int, int]
    apart: tuple[int, int]
    shape: tuple[int, int]

    @property
    def channels(self) -> int:
        """Numbers of a block."""
        return self.wide * self.column

    @property
    def columns(self) -> int:
        """Columns in a row of blocks."""
        return (self.shape[1] - 1) * self.windows[1].stride + self.wide


def unsupported_reason(problem: Problem, high: int, wide: int) -> str | None:
    """Why the pixels of a problem cannot be read in blocks of this size, as a sentence; None where they can."""
    windows, sizes = problem.windows, (high, wide)
    if problem.op != "conv2d" or "g" in problem.extents or problem.layout != "nhwc" or len(windows) != len(sizes):
        return "only convolutions of images with channels last and without groups read blocks of pixels"
    if not all(Affine(((dim, 1),)) in problem.vector.indices for dim in ("k", "r", "s", "c")):
        return "only weights of plain indices are laid out for blocks of pixels"
    for window, size in zip(windows, sizes):
        if size < 1 or size % window.stride:
            return f"a block is a multiple of the stride {window.stride} along {window.dim}"
        if window.dilation > 1 and problem.extents[window.tap] > 1:
            return f"taps of a dilated window are no neighbours along {window.dim}"
    blocks = pixel_blocks_of(problem, high, wide)
    count = max(problem.broadcast.shape[0] * prod(blocks.shape), problem.extents["k"] * prod(blocks.taps))
    if blocks.channels > LARGEST_EXTENT or count * blocks.channels > LARGEST_TENSOR:
        return f"{count} blocks of {blocks.channels} numbers are more than kernels count"
    return None


def pixel_blocks_of(problem: Problem, high: int, wide: int) -> PixelBlocks:
    """The blocks of a problem of images, where `high` and `wide` are multiples of its strides."""
    down, along = problem.windows
    numbers, bytes_ = problem.extents["c"], DTYPE_BYTES[problem.dtype]
    pixel = next(size for size in (1, 2, -(-numbers // _AT_ONCE) * _AT_ONCE) if size >= numbers)
    multiple = COPIED_BYTES // gcd(COPIED_BYTES, along.stride * bytes_)
    column = -(-high * pixel // multiple) * multiple
    taps, apart, shape = [], [], []
    for window, size in zip((down, along), (high, wide)):
        taps.append(-(-problem.extents[window.tap] // size))
        apart.append(size // window.stride)
        shape.append(problem.extents[window.dim] + (taps[-1] - 1) * apart[-1])
    return PixelBlocks(
        high, wide, (down, along), pixel, column, (taps[0], taps[1]), (apart[0], apart[1]), (shape[0], shape[1])
    )


def blocked_extents(problem: Problem, high: int, wide: int) -> dict[str, int]:
    """The extents of the dims of a problem whose image is read in blocks."""
    blocks = pixel_blocks_of(problem, high, wide)
    taps = {window.tap: count for window, count in zip(blocks.windows, blocks.taps)}
    return problem.extents | taps | {"c": blocks.channels}
