"""The flattened pixels of an image: h and w as one dim, hw. A register tile runs on over the ends of image rows.

The functions give the flattened pixels of a convolution, or say why it has none. `tiling.rewrite.flattened` makes hw
the problem's dim w.
"""

# A matrix instruction takes two thirds as long for 7 rows of x as for 16 (`python -m bench.tiles`), so images of 7, 17
# or 34 columns leave much of it unused. At stride 1 a tap lies equally far from every pixel, so the image may be one
# long row:
#
#     x, padded by 1      0 0 0 0 0 0 0     `lead`: zeros above, and before the first pixel
#                         x x x x x 0
#                         x x x x x 0       `pitch`: the zero after a row is also the one before the next
#                         x x x x x 0 …
#     y                   y y y y y .       computed for all points; the first `columns` of each pitch are stored
#
#     tap (r, s) of point hw:   hw + r·dilation·pitch + s·dilation
#
# A padded image is copied to this form, each block of channels to points of its own. An unpadded image has it already.
# With 1 x 1 taps every point is a pixel of y, so vectors of f32 run on over the ends of rows too.

from __future__ import annotations

from tiling.arrays.access import access_of
from tiling.problem import LARGEST_EXTENT, LARGEST_TENSOR, Problem
from tiling.tensor import FlatPixels

PIXELS = "hw"
# Rows of the four tile registers of x that one vector of weights is multiplied with. A scheme may compute so far beyond
# the last pixel of a padded image, or as far as the last iteration of its outermost loop reaches.
FOUR_TILES = 64


def unsupported_reason(problem: Problem) -> str | None:
    """Why the pixels of a problem's images cannot be one dim, as a sentence; None where they can."""
    access = access_of(problem)
    if len([dim for dim in problem.row_dims if dim in PIXELS]) < 2 or access.lanewise:
        return "only convolutions whose weights all pixels share have their pixels as one dim"
    if len(problem.windows) > len(PIXELS):
        return "only images of two axes have their pixels as one dim"
    if access.transposes_x or access.transposed_output:
        return "only images with channels last have their pixels as one dim"
    if any(window.stride > 1 for window in problem.windows):
        return "only convolutions of stride 1 have their pixels as one dim"
    if any(len(set(PIXELS) & set(array.axes)) == 1 for array in (problem.epilogue.arrays if problem.epilogue else ())):
        return "an array of its epilogue is indexed by rows or columns alone, so its pixels are not one dim"
    flat, x = flat_pixels_of(problem), problem.broadcast
    points = flat.points + FOUR_TILES
    if points > LARGEST_EXTENT or x.shape[0] * x.shape[-1] * (points + flat.reach + flat.lead) > LARGEST_TENSOR:
        return "the pixels of an image and the zeros between them are too many for one dim"
    return None


def lies_flat(problem: Problem) -> bool:
    """Whether the points of an image are its pixels as they lie: kernels of 1 x 1 without padding.

    For a problem whose `unsupported_reason` is None.
    """
    flat = flat_pixels_of(problem)
    return not flat.padded and flat.points == flat.pixels == flat.height * flat.width


def passes_gaps(problem: Problem) -> bool:
    """Whether a dim counts flattened pixels, some of which are not pixels of y."""
    return problem.flat_pixels is not None and problem.extents[problem.flat_pixels.dim] > problem.flat_pixels.pixels


def flat_pixels_of(problem: Problem) -> FlatPixels:
    """The flattened pixels of each image, for a problem whose `unsupported_reason` is None.

    The zeros between two rows are the padding after the first and before the second.
    """
    down, along = (next(window for window in problem.windows if window.dim == dim) for dim in PIXELS)
    rows, columns = (problem.extents[dim] for dim in PIXELS)
    last_row, last_column = ((problem.extents[w.tap] - 1) * w.dilation for w in (down, along))
    after = columns - 1 + last_column - along.before - (along.extent - 1)
    pitch = max(along.extent + max(along.before, after, 0), columns)
    lead, reach = down.before * pitch + along.before, last_row * pitch + last_column
    padded = bool(problem.padded_dims)
    return FlatPixels(down.extent, along.extent, rows, columns, pitch, lead, reach, padded, dim=along.dim)
