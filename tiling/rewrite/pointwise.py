"""Pointwise convolutions, channels first, as products of the weights with each image: the operator pointwise2d.

    y (N,K,H·W) = w (K,C) · x (N,C,H·W)           rows of a register tile: k        vectors: w, H·W pixels

The points of a volume are pixels too, D·H·W of them.

The weights are broadcast. They come packed, in micropanels of as many k as a register tile has rows. Vectors of x are
read where they lie, unless S(x) packs them (`panels`).
"""

# Where channels come before pixels, neighbours in memory are pixels. So a plain load of x gives a vector of pixels, and
# a plain store of y takes one. A conv2d has vectors along k: it reads such an x a number of each channel at a time,
# from as many lines as there are channels, and transposes every register tile it stores.

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.problem import LARGEST_EXTENT, Problem, ProblemError
from tiling.tensor import Affine, Tensor

# The fraction of the lanes of all vectors over an image that pixels must fill: 49 pixels fill 49 of 64. Smaller images
# stay conv2d, which transposes its tiles. So do those of 1 x 1 pixels, where neighbours are channels anyway.
FILLED = 3 / 4


def along_pixels(problem: Problem, lanes: int) -> Problem:
    """The problem as pointwise2d, if it is such a convolution and its pixels fill vectors of `lanes`; else itself."""
    if _unsupported_reason(problem):
        return problem
    pixels = prod(problem.output.shape[2:])
    return pointwise2d(problem) if pixels >= FILLED * lanes * -(-pixels // lanes) else problem


def pointwise2d(problem: Problem) -> Problem:
    """The convolution as pointwise2d, where w counts all pixels of an image or volume, and no other axis is left.

    Raises ProblemError for other problems.
    """
    refused = _unsupported_reason(problem)
    if refused:
        raise ProblemError(f"pointwise2d: {refused}")
    x, weights, y = problem.broadcast, problem.vector, problem.output
    pixels = prod(y.shape[2:])
    tensors = (_flattened(x, "vector", pixels), _matrix(weights), _flattened(y, "output", pixels))
    extents = {"n": y.shape[0], "k": y.shape[1], "c": x.shape[1], "w": pixels}
    return replace(
        problem,
        op="pointwise2d",
        dims=tuple(extents.items()),
        reductions=("c",),
        tensors=tensors,
        origin=problem,
    )


def _flattened(tensor: Tensor, role: str, pixels: int) -> Tensor:
    """x or y with all pixels of an image as one axis."""
    return Tensor(tensor.name, role, (*tensor.indices[:2], Affine((("w", 1),))), (*tensor.shape[:2], pixels))


def _matrix(weights: Tensor) -> Tensor:
    """The weights as a matrix, without the one tap."""
    axes = [axis for axis, index in enumerate(weights.indices) if str(index) in ("k", "c")]
    indices = tuple(weights.indices[axis] for axis in axes)
    return Tensor(weights.name, "broadcast", indices, tuple(weights.shape[axis] for axis in axes))


def _unsupported_reason(problem: Problem) -> str | None:
    """Why pointwise2d cannot compute this problem, as a sentence; None where it can."""
    if problem.op not in ("conv2d", "conv3d") or problem.looped_dims or problem.dtype != "f32":
        return "only convolutions of f32 without groups have vectors along their pixels"
    if problem.layout != "nchw" or problem.vector.elements != problem.extents["k"] * problem.extents["c"]:
        return "only 1 x 1 and 1 x 1 x 1 convolutions, channels first, have vectors along their pixels"
    moved = any(window.stride > 1 or window.before for window in problem.windows)
    if moved or problem.broadcast.shape[2:] != problem.output.shape[2:]:
        return "only convolutions of stride 1 without padding have vectors along their pixels"
    if prod(problem.output.shape[2:]) > LARGEST_EXTENT:
        return f"an image has more than {LARGEST_EXTENT} pixels"
    pixels, arrays = {window.dim for window in problem.windows}, problem.epilogue.arrays if problem.epilogue else ()
    if any(0 < len(pixels & set(array.axes)) < len(pixels) for array in arrays):
        return "an array of its epilogue is indexed by slices, rows or columns alone"
    return None
