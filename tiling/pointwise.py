"""Pointwise convolutions of channels-first images as products of the weights with each image: the operator pointwise2d.

Where channels come before pixels, neighbours in memory are pixels: a vector of one channel's is a plain load of x, and
a vector of one output channel's a plain store of y. So vectors run over the pixels of a plane, as if its rows were one,
and what is read number by number are the weights:

    y (N,K,H·W) = w (K,C) · x (N,C,H·W)           rows of a register tile: k        vectors: w, H·W pixels

The weights come packed, in micropanels of as many k as a register tile has rows; x is read where it lies. A conv2d,
whose vectors run over k, reads such an x a number of each channel at a time, from as many lines as there are channels,
and turns every register tile as it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tiling.nest import Loop, lower, tiles
from tiling.problem import LARGEST_EXTENT, Affine, Problem, ProblemError, Tensor
from tiling.scheme import Scheme, Tile

# Of the lanes of all vectors over a plane, those that pixels fill at least: 49 pixels fill 49 of 64. A conv2d turns the
# tiles of a smaller plane, or a 1 x 1 one, where neighbours are channels anyway.
FILLED = 3 / 4


# Bytes. No core with AVX-512 has a larger L2, and from further out a panel comes no faster than x does.
LARGEST_PANEL = 4 << 20


def along_pixels(problem: Problem, lanes: int) -> Problem:
    """The problem with vectors of `lanes` along its pixels, if it is such a convolution and pixels fill them; else
    itself.
    """
    if _refusal(problem):
        return problem
    pixels = prod(problem.output.shape[2:])
    return pointwise2d(problem) if pixels >= FILLED * lanes * -(-pixels // lanes) else problem


def pointwise2d(problem: Problem) -> Problem:
    """The conv2d as pointwise2d: w counts all pixels of a plane, and h is no more. Raises ProblemError for others."""
    refused = _refusal(problem)
    if refused:
        raise ProblemError(f"pointwise2d: {refused}")
    x, weights, y = problem.broadcast, problem.vector, problem.output
    pixels = prod(y.shape[2:])
    tensors = (_planes(x, "vector", pixels), _matrix(weights), _planes(y, "output", pixels))
    extents = {"n": y.shape[0], "k": y.shape[1], "c": x.shape[1], "w": pixels}
    return replace(
        problem,
        op="pointwise2d",
        dims=tuple(extents.items()),
        reductions=("c",),
        tensors=tensors,
        vector_dim="w",
        origin=problem,
    )


def panel_extents(problem: Problem, lanes: int, around: tuple[Loop, ...]) -> dict[str, int]:
    """Points per dim that a packed panel of x, S(x) inside the loops `around`, holds: of the pixels whole vectors."""
    pixels = problem.vector_dim
    whole = problem.extents | {pixels: -(-problem.extents[pixels] // lanes) * lanes}
    inside = whole | {loop.dim: loop.step for loop in around}
    return {dim: points for dim, points in inside.items() if dim in problem.vector.dims}


def panel_elements(scheme: Scheme) -> int:
    """Elements of the largest panel that a scheme stages; 0 where it stages its output alone."""
    staged = [tile for tile in tiles(lower(scheme)) if tile.shared is not None]
    panels = (panel_extents(scheme.problem, scheme.lanes, tile.outer[: tile.shared]) for tile in staged)
    return max((prod(extents.values()) for extents in panels), default=0)


def same_pixels(problem: Problem, around: Sequence[Loop | Tile]) -> bool:
    """Whether these are core loops over rows alone, whose tasks all read the same pixels."""
    return all(isinstance(one, (Loop, Tile)) and one.worker and one.dim in problem.row_dims for one in around)


def _planes(tensor: Tensor, role: str, pixels: int) -> Tensor:
    """x or y with the rows of each plane as one."""
    return Tensor(tensor.name, role, (*tensor.indices[:2], Affine((("w", 1),))), (*tensor.shape[:2], pixels))


def _matrix(weights: Tensor) -> Tensor:
    """The weights without taps, of which there is one."""
    axes = [axis for axis, index in enumerate(weights.indices) if str(index) in ("k", "c")]
    indices, shape = ([of[axis] for axis in axes] for of in (weights.indices, weights.shape))
    return Tensor(weights.name, "broadcast", tuple(indices), tuple(shape))


def _refusal(problem: Problem) -> str | None:
    """Why this is no pointwise convolution of f32 images, channels first, as a sentence; None where it is."""
    if problem.op != "conv2d" or problem.looped_dims or problem.dtype != "f32":
        return "only convolutions of f32 without groups have vectors along their pixels"
    if problem.layout != "nchw" or problem.vector.elements != problem.extents["k"] * problem.extents["c"]:
        return "only 1 x 1 convolutions, channels first, have vectors along their pixels"
    moved = any(window.stride > 1 or window.before for window in problem.windows)
    if moved or problem.broadcast.shape[2:] != problem.output.shape[2:]:
        return "only convolutions of stride 1 without padding have vectors along their pixels"
    if prod(problem.output.shape[2:]) > LARGEST_EXTENT:
        return f"a plane has more than {LARGEST_EXTENT} pixels"
    if any(len({"h", "w"} & set(array.axes)) == 1 for array in (problem.epilogue.arrays if problem.epilogue else ())):
        return "an array of its epilogue is indexed by rows or columns alone"
    return None
