"""Copies of inputs that a TMA pipeline cannot read where they lie. A kernel of its own makes them before the product.

A tensor map needs rows a multiple of 16 bytes apart, so the copy pads its rows. wgmma reads 32-bit elements only along
the reduction, so the copy of an input that lies across it is transposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

from gpu.codegen.copies.operand import Operand
from gpu.codegen.pipeline.instructions import CHUNK

# Bytes; the rows of a copy are a multiple of it. It is a sector of the L2, so a row touches only sectors that it fills.
_ROW = 32


@dataclass(frozen=True)
class AlignedRows:
    """A copy of input number `array`: `matrices` of `rows` x `elements`, with rows `pitch` elements apart.

    `transposed`: the copy's rows are the input's columns. Then elements have 4 bytes.
    """

    array: int
    name: str
    matrices: int
    rows: int
    elements: int
    pitch: int
    element_bytes: int
    transposed: bool

    @property
    def size(self) -> int:
        """Elements of the copy, including the zeros behind its rows."""
        return self.matrices * self.rows * self.pitch

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.matrices * self.rows * (self.elements + self.pitch) * self.element_bytes


def aligned_rows(inputs: tuple[Operand, Operand]) -> tuple[AlignedRows, ...]:
    """The copies that a TMA pipeline needs of its inputs."""
    return tuple(_copy(operand) for operand in inputs if is_copied(operand))


def is_copied(operand: Operand) -> bool:
    """Whether a TMA pipeline reads a copy of this input."""
    row_bytes = operand.tensor.shape[-1] * operand.pipeline.element_bytes
    return operand.pipeline.transposed(operand.side) or row_bytes % CHUNK != 0


def pitch(operand: Operand) -> int:
    """Elements from one row to the next in the array that the pipeline reads: the copy, or else the input."""
    element, columns = operand.pipeline.element_bytes, operand.tensor.shape[-1]
    return -(-columns * element // _ROW) * _ROW // element if is_copied(operand) else columns


def _copy(operand: Operand) -> AlignedRows:
    tensor, pipeline = operand.tensor, operand.pipeline
    *matrices, rows, elements = tensor.shape
    sizes = (prod(matrices), rows, elements, pitch(operand), pipeline.element_bytes)
    return AlignedRows(operand.side, tensor.name, *sizes, pipeline.transposed(operand.side))


def slices(copies: tuple[AlignedRows, ...]) -> list[slice]:
    """The bytes at which each copy lies in the memory of all copies."""
    sizes = [copy.size * copy.element_bytes for copy in copies]
    return [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes))]


def copied_bytes(copies: tuple[AlignedRows, ...]) -> int:
    """Bytes of memory for all copies."""
    return sum(copy.size * copy.element_bytes for copy in copies)
