"""The pixels of an image as one dim, hw: tile registers run on over the ends of its rows.

A matrix instruction takes two thirds as long for 7 rows of x as for 16 (`python -m bench.tiles`), so images of 7, 17 or
34 columns leave much of it unused. Where a pixel's taps lie equally far from it, wherever it is, the image may as well
be one long row:

    x, padded by 1      0 0 0 0 0 0 0     `lead`: zeros above, and before the first pixel
                        x x x x x 0
                        x x x x x 0       `pitch`: the zero after a row is also the one before the next
                        x x x x x 0 …
    y                   y y y y y .       computed for all points, the first `columns` of each pitch are stored

    tap (r, s) of point hw:   hw + r·dilation·pitch + s·dilation

Padded images are copied so, the channels of a block in a plane of their own. Others are such a row as they lie, and
with 1 x 1 taps it has no points that are no pixels of y.

What flows in: a convolution. Out: its plane, and its tensors with the points of hw as the dim w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tiling.problem import LARGEST_EXTENT, LARGEST_TENSOR, Affine, Problem

PIXELS = "hw"
# Rows of the four tile registers of x that one vector of weights is multiplied with: so far, if not as far as the last
# turn of its outermost loop, a scheme may compute beyond the last pixel of a padded image.
FOUR_TILES = 64


@dataclass(frozen=True)
class Plane:
    """One image: `height` x `width` pixels of x from point `lead` on, `rows` x `columns` of y, in rows of `pitch`
    points. reach: how far beyond a point its last tap is; padded: whether x has zeros there that are not its own;
    strip: of how many points x is copied at a time, 0 for all.
    """

    height: int
    width: int
    rows: int
    columns: int
    pitch: int
    lead: int
    reach: int
    padded: bool
    strip: int = 0

    @property
    def points(self) -> int:
        """From the first pixel of y to the last."""
        return (self.rows - 1) * self.pitch + self.columns

    @property
    def pixels(self) -> int:
        """Those of y."""
        return self.rows * self.columns


def refusal(problem: Problem) -> str | None:
    """Why the pixels of a problem's images are no one dim, as a sentence; None where they may be."""
    if len([dim for dim in problem.row_dims if dim in PIXELS]) < 2 or problem.lanewise:
        return "only convolutions whose weights all pixels share have their pixels as one dim"
    if problem.as_read is not problem or problem.crosswise:
        return "only images with channels last have their pixels as one dim"
    if any(window.stride > 1 for window in problem.windows):
        return "only convolutions of stride 1 have their pixels as one dim"
    if any(len(set(PIXELS) & set(array.axes)) == 1 for array in (problem.epilogue.arrays if problem.epilogue else ())):
        return "an array of its epilogue is indexed by rows or columns alone, so its pixels are not one dim"
    plane, x = plane_of(problem), problem.broadcast
    points = plane.points + FOUR_TILES
    if points > LARGEST_EXTENT or x.shape[0] * x.shape[-1] * (points + plane.reach + plane.lead) > LARGEST_TENSOR:
        return "the plane of an image has too many points for one dim"
    return None


def plane_of(problem: Problem) -> Plane:
    """The plane of each image of a problem that `refusal` has nothing against.

    Zeros between rows serve as padding after the one and before the other.
    """
    down, along = (next(window for window in problem.windows if window.dim == dim) for dim in PIXELS)
    rows, columns = (problem.extents[dim] for dim in PIXELS)
    last_row, last_column = ((problem.extents[w.tap] - 1) * w.dilation for w in (down, along))
    after = columns - 1 + last_column - along.before - (along.extent - 1)
    pitch = max(along.extent + max(along.before, after, 0), columns)
    lead, reach = down.before * pitch + along.before, last_row * pitch + last_column
    padded = bool(problem.padded_dims)
    return Plane(down.extent, along.extent, rows, columns, pitch, lead, reach, padded)


def flattened(problem: Problem, points: int, strip: int = 0) -> Problem:
    """The problem with its pixels as the dim w, of so many points of the plane; of padded images x is their copy, where
    channels come before pixels; or that of a `strip` of so many points, and what their windows reach. h has one point.
    """
    plane, (down, along) = plane_of(problem), (next(w for w in problem.windows if w.dim == dim) for dim in PIXELS)
    taps = ((down.tap, down.dilation * plane.pitch), (along.tap, along.dilation))
    pixel, x, y = Affine((("w", 1), *taps)), problem.broadcast, problem.output
    image, *_, channels = x.indices
    size, *_, numbers = x.shape
    if strip:
        plane, x = (
            replace(plane, strip=strip),
            replace(x, indices=(channels, pixel), shape=(numbers, strip + plane.reach)),
        )
    elif plane.padded:
        x = replace(x, indices=(image, channels, pixel), shape=(size, numbers, points + plane.reach))
    else:
        x = replace(x, indices=(image, pixel, channels), shape=(size, plane.height * plane.width, numbers))
    y = replace(
        y, indices=(y.indices[0], Affine((("w", 1),)), y.indices[-1]), shape=(y.shape[0], plane.pixels, y.shape[-1])
    )
    tensors = tuple({"broadcast": x, "output": y}.get(tensor.role, tensor) for tensor in problem.tensors)
    one = {"h": 1, "w": points}
    return replace(
        problem, dims=tuple((d, one.get(d, extent)) for d, extent in problem.dims), tensors=tensors, plane=plane
    )
