"""Inputs whose rows are not multiples of 16 bytes apart, which no tensor map describes: copied to rows that are.

A kernel of its own does that before the bulk pipeline, both inputs in one launch. It moves their bytes twice, once for
a whole product, where the gathering pipeline shifts every tile that it copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

from gpu.instructions import CHUNK
from gpu.operand import Operand

# Bytes that rows of a copy are a multiple of: a sector of the L2, of which a row then needs no more than it fills.
_ROW = 32
_CHUNK = 8  # elements of 16 bits, which a thread copies
THREADS = 256


@dataclass(frozen=True)
class AlignedRows:
    """A copy of input number `array`: so many `rows` of `elements` of 16 bits, `pitch` elements apart."""

    array: int
    name: str
    rows: int
    elements: int
    pitch: int

    @property
    def size(self) -> int:
        """Elements of the copy, zeros behind its rows among them."""
        return self.rows * self.pitch


def aligned_rows(inputs: tuple[Operand, Operand]) -> tuple[AlignedRows, ...]:
    """The copies that a bulk pipeline needs of its inputs."""
    return tuple(_copy(operand) for operand in inputs if pitch(operand) != operand.tensor.shape[-1])


def pitch(operand: Operand) -> int:
    """Elements from one row of an input to the next, as the pipeline sees it: the row's own where that is aligned."""
    element, columns = operand.pipeline.element_bytes, operand.tensor.shape[-1]
    return -(-columns * element // _ROW) * _ROW // element if columns * element % CHUNK else columns


def _copy(operand: Operand) -> AlignedRows:
    tensor = operand.tensor
    return AlignedRows(operand.side, tensor.name, prod(tensor.shape[:-1]), tensor.shape[-1], pitch(operand))


def blocks(copies: tuple[AlignedRows, ...]) -> int:
    """Of THREADS threads each, for a chunk each."""
    return -(-sum(copy.size for copy in copies) // (_CHUNK * THREADS))


def copying_lines(copies: tuple[AlignedRows, ...]) -> list[str]:
    """The text by which a thread copies its chunk, to memory in which one copy lies behind the other."""
    lines, start = [], 0
    for copy in copies:
        end, number = start + copy.size // _CHUNK, f"chunk - {start}" if start else "chunk"
        each = copy.pitch // _CHUNK
        lines.append(f"{'else ' if start else ''}if (chunk < {end})")
        lines.append(f"    copy_chunk(aligned + {_CHUNK} * chunk, {copy.name}, {number}, {copy.elements}, {each});")
        start = end
    return lines


def slices(copies: tuple[AlignedRows, ...]) -> list[slice]:
    """Where in that memory each copy lies, in elements."""
    ends = list(accumulate(copy.size for copy in copies))
    return [slice(end - copy.size, end) for copy, end in zip(copies, ends)]
