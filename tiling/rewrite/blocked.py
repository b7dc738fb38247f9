"""A convolution whose image is read in blocks of pixels, and the copies that are made for it.

    y[n,h,w,k] = Σ x[n, 2h + r - 3, 2w + s - 3, c] · w[k,c,r,s]       r, s < 7, c < 3
    ->
    y[n,h,w,k] = Σ x'[n, h + r, w, c] · w'[k,r,s,c]                   r < 4, s < 1, c < 64, for P(2x8)

In memory x' has overlapping points (`tiling.arrays.pixel_blocks`), which tensor maps alone say.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tiling.arrays.pixel_blocks import PixelBlocks, blocked_extents, pixel_blocks_of
from tiling.dtypes.products import DTYPE_BYTES
from tiling.loops.index import Index, applied, constant, variable
from tiling.loops.language import Inside
from tiling.problem import Problem
from tiling.rewrite.copied import Copied
from tiling.tensor import Affine

_FILTERS = ("k", "r", "s", "c")  # axes of the copy of the weights


@lru_cache(maxsize=256)
def blocked(problem: Problem, high: int, wide: int) -> Problem:
    """The problem that reads blocks. Padding is zeros of the image's copy."""
    blocks, extents = pixel_blocks_of(problem, high, wide), blocked_extents(problem, high, wide)
    image, *_, channel = problem.broadcast.indices
    moved = (Affine(((w.dim, 1), (w.tap, apart))) for w, apart in zip(blocks.windows, blocks.apart))
    tensors = {
        "broadcast": ((image, *moved, channel), (problem.broadcast.shape[0], *blocks.shape, blocks.channels)),
        "vector": (tuple(Affine(((dim, 1),)) for dim in _FILTERS), tuple(extents[dim] for dim in _FILTERS)),
    }
    read = (
        replace(t, indices=tensors[t.role][0], shape=tensors[t.role][1]) if t.role in tensors else t
        for t in problem.tensors
    )
    return replace(problem, dims=tuple((dim, extents[dim]) for dim, _ in problem.dims), tensors=tuple(read))


@lru_cache(maxsize=256)
def block_copies(problem: Problem, high: int, wide: int) -> tuple[Copied, Copied]:
    """The copies of the image and of the weights."""
    blocks, number = pixel_blocks_of(problem, high, wide), DTYPE_BYTES[problem.dtype]
    return _image(problem, blocks, number), _weights(problem, blocks, number)


def _image(problem: Problem, blocks: PixelBlocks, element_bytes: int) -> Copied:
    """Rows of columns, each column with all its pixels."""
    images, height, width, channels = problem.broadcast.shape
    down, along = blocks.windows
    inside, channel, tests = _of_column(blocks, problem)
    row = variable("row") * down.stride + inside - down.before
    column = variable("column") - along.before
    axes = (("image", images), ("row", blocks.shape[0]), ("column", blocks.columns), ("number", blocks.column))
    step = along.stride * blocks.column
    line = blocks.columns * blocks.column
    return Copied(
        array=0,
        name=problem.broadcast.name,
        given=(("image", images), ("pixel_row", height), ("pixel_column", width), ("channel", channels)),
        axes=axes,
        at=(variable("image"), row, column, channel),
        within=(*tests, Inside(row, 0, height), Inside(column, 0, width)),
        element_bytes=element_bytes,
        called=f"a copy in blocks of {blocks.high} x {blocks.wide} pixels, {step} elements apart",
        overlapping=(blocks.shape[0] * line, line, step, 1),
    )


def _weights(problem: Problem, blocks: PixelBlocks, element_bytes: int) -> Copied:
    """The weights in the order of the numbers of blocks."""
    extents, seen = problem.extents, blocked_extents(problem, blocks.high, blocks.wide)
    inside, channel, tests = _of_column(blocks, problem, blocks.column)
    r = variable("r") * blocks.high + inside
    s = variable("s") * blocks.wide + applied("/", variable("number"), constant(blocks.column))
    places = {"k": variable("k"), "r": r, "s": s, "c": channel}
    dims = [index.terms[0][0] for index in problem.vector.indices]
    axes = (*((dim, seen[dim]) for dim in _FILTERS[:-1]), ("number", blocks.channels))
    return Copied(
        array=1,
        name=problem.vector.name,
        given=tuple(zip((f"given_{dim}" for dim in dims), problem.vector.shape)),
        axes=axes,
        at=tuple(places[dim] for dim in dims),
        within=(*tests, Inside(r, None, extents["r"]), Inside(s, None, extents["s"])),
        element_bytes=element_bytes,
        called=f"a copy in the order of blocks of {blocks.high} x {blocks.wide} pixels",
    )


def _of_column(blocks: PixelBlocks, problem: Problem, size: int = 0) -> tuple[Index, Index, tuple[Inside, ...]]:
    """The row within a block of a number of a column, its channel, and the conditions that it is one.

    size: numbers of a column, where `number` counts those of a whole block.
    """
    number = variable("number")
    number = applied("%", number, constant(size)) if size else number
    inside, channel = applied("/", number, constant(blocks.pixel)), applied("%", number, constant(blocks.pixel))
    tests = [Inside(channel, None, problem.extents["c"])] if blocks.pixel > problem.extents["c"] else []
    if blocks.column > blocks.high * blocks.pixel:
        tests.append(Inside(inside, None, blocks.high))
    return inside, channel, tuple(tests)
