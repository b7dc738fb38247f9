"""A convolution with its pixels as one dim: flattened pixels index its tensors (`tiling.arrays.flat_pixels`)."""

from __future__ import annotations

from dataclasses import replace

from tiling.arrays.flat_pixels import PIXELS, flat_pixels_of
from tiling.problem import Problem
from tiling.tensor import Affine


def flattened(problem: Problem, points: int) -> Problem:
    """The problem with its pixels as the dim w, of so many `points`; h has one point.

    The x of padded images is their copy, where channels come before pixels.
    """
    flat, (down, along) = flat_pixels_of(problem), (next(w for w in problem.windows if w.dim == dim) for dim in PIXELS)
    taps = ((down.tap, down.dilation * flat.pitch), (along.tap, along.dilation))
    pixel, x, y = Affine(((flat.dim, 1), *taps)), problem.broadcast, problem.output
    image, *_, channels = x.indices
    size, *_, numbers = x.shape
    if flat.padded:
        x = replace(x, indices=(image, channels, pixel), shape=(size, numbers, points + flat.reach))
    else:
        x = replace(x, indices=(image, pixel, channels), shape=(size, flat.height * flat.width, numbers))
    y = replace(
        y, indices=(y.indices[0], Affine(((flat.dim, 1),)), y.indices[-1]), shape=(y.shape[0], flat.pixels, y.shape[-1])
    )
    tensors = tuple({"broadcast": x, "output": y}.get(tensor.role, tensor) for tensor in problem.tensors)
    one = {down.dim: 1, along.dim: points}
    return replace(
        problem, dims=tuple((d, one.get(d, extent)) for d, extent in problem.dims), tensors=tensors, flat_pixels=flat
    )
