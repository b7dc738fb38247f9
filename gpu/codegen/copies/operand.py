"""One input of a pipeline: how its tile lies in shared memory, and where its elements lie in global memory.

A tile is a matrix of rows and columns; its columns lie contiguously in global and in shared memory. The tensor's index
expressions say where an element lies in global memory, so a convolution's input is not a special case.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu.codegen.pipeline.instructions import CHUNK
from gpu.codegen.pipeline.stages import Pipeline
from tiling.problem import Problem
from tiling.scheme.taskmap import spatial
from tiling.tensor import Affine, Tensor

BANK_CHUNKS = 8  # chunks of 16 bytes that the 32 banks serve at once


@dataclass(frozen=True)
class Operand:
    """One input of a pipeline: `side` 0 is a or x, `side` 1 is b or w."""

    pipeline: Pipeline
    side: int

    @property
    def tensor(self) -> Tensor:
        """The input as the pipeline reads it."""
        return self.pipeline.read(self.side)

    @property
    def axis(self) -> str:
        """The axis of the product that this input shares with the output: rows for a, columns for b."""
        return self.pipeline.axes[self.side]

    @property
    def reduction(self) -> str:
        return self.pipeline.axes[2]

    @property
    def transposed(self) -> bool:
        """Whether the reduction runs down the tile's rows."""
        return self.pipeline.lies_along(self.side) != self.reduction

    @property
    def axes(self) -> tuple[str, str]:
        """The axes of the product along the tile's rows and columns."""
        return (self.reduction, self.axis) if self.transposed else (self.axis, self.reduction)

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the tile, in elements."""
        sizes = dict(zip(self.pipeline.axes, self.pipeline.block_tile))
        rows, columns = self.axes
        return sizes[rows], sizes[columns]

    @property
    def in_blocks(self) -> bool:
        """Whether the tile lies in blocks, each of 128 bytes of every row, as wgmma reads an input across the depth."""
        return self.transposed

    @property
    def block_bytes(self) -> int:
        """Bytes of one of these blocks."""
        return self.tile[0] * CHUNK * BANK_CHUNKS

    def descriptor(self, tile: str, first: str) -> str:
        """wgmma's descriptor, as C, of the matrix that begins at point `first` of `axis` and at depth `part`.

        `first` is a multiple of 64.
        """
        depth, row_bytes = self.pipeline.instruction.depth, CHUNK * BANK_CHUNKS
        if self.in_blocks:
            start = f"{tile} + {first} / 64 * {self.block_bytes} + {depth * row_bytes} * part"
            return f"wgmma_descriptor_across({start}, {self.block_bytes})"
        return f"wgmma_descriptor({tile} + {first} * {row_bytes} + {depth * self.pipeline.element_bytes} * part)"


def global_offset(problem: Problem, tensor: Tensor, axes: tuple[str, str]) -> tuple[list[str], str]:
    """Where the point that the variables `axes` name lies in `tensor`: the lines that find its dims, and its offset in
    elements. The pointer already points to the matrix of the batch.
    """
    lines, terms = [], []
    indices: list[tuple[Affine, int] | None] = list(zip(tensor.indices, tensor.strides))
    for axis in axes:
        together = _together(tensor, axis)
        if together is not None:
            # The tensor has these dims side by side too, so one index is enough.
            last = together + len(axis) - 1
            terms.append((axis, tensor.strides[last]))
            indices[together : last + 1] = [None] * len(axis)
        else:
            digits = spatial(*(problem.extents[dim] for dim in axis))
            lines += [f"const int {d} = {digits.index(i, axis)};" for i, d in enumerate(axis) if d in tensor.dims]
    for index, stride in filter(None, indices):
        if tuple(dim for dim, _ in index.terms) != ("l",):
            terms.append((_affine(index), stride))
    wide = "(long)" if tensor.elements >= 1 << 31 else ""
    return lines, " + ".join(wide + text + (f" * {stride}" if stride > 1 else "") for text, stride in terms)


def _together(tensor: Tensor, axis: str) -> int | None:
    """The first of the tensor's axes that are the dims fused into `axis`, in the same order; None if there are none."""
    wanted = [Affine(((dim, 1),)) for dim in axis]
    for first in range(len(tensor.indices)):
        if list(tensor.indices[first : first + len(wanted)]) == wanted:
            return first
    return None


def _affine(index: Affine) -> str:
    text = " + ".join(dim if c == 1 else f"{dim} * {c}" for dim, c in index.terms)
    return text if not index.offset else f"{text} {'-' if index.offset < 0 else '+'} {abs(index.offset)}"
