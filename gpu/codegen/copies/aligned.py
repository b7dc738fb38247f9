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
from tiling.expression import times
from tiling.scheme.taskmap import TaskMap, looped, repeat, spatial

# Bytes; the rows of a copy are a multiple of it. It is a sector of the L2, so a row touches only sectors that it fills.
_ROW = 32
THREADS = 256
_WRITTEN = 4  # elements of 32 bits that a thread writes at once
# Rows and columns of the tile that a block transposes, four elements a thread. A warp reads a whole line of memory and
# writes four. Each row in shared memory has an extra word, so that rows and columns of the tile both use all banks.
TILE = 32
SHARED_BYTES = 4 * TILE * (TILE + 1)
# The elements of a tile that a thread reads, along the copy's elements and rows, and those that it writes.
_READ = repeat(TILE * TILE // THREADS, 1) @ spatial(THREADS // TILE, TILE)
_TRANSPOSED = spatial(TILE, TILE // _WRITTEN) @ repeat(1, _WRITTEN)


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

    @property
    def chunk(self) -> int:
        """Elements in the 16 bytes that a thread writes."""
        return CHUNK // self.element_bytes

    @property
    def tiles(self) -> TaskMap:
        """Maps a block to its matrix, and to its tile along the rows and elements of the copy."""
        return spatial(self.matrices, -(-self.rows // TILE), -(-self.pitch // TILE))

    @property
    def chunks(self) -> TaskMap:
        """Maps the number of a 16-byte chunk of the copy to its row and its place in the row."""
        return spatial(self.matrices * self.rows, self.pitch // self.chunk)

    @property
    def blocks(self) -> int:
        """Blocks of THREADS threads that make this copy."""
        return self.tiles.workers if self.transposed else -(-self.chunks.workers // THREADS)


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


def blocks(copies: tuple[AlignedRows, ...]) -> int:
    """Blocks of THREADS threads that make all copies."""
    return sum(copy.blocks for copy in copies)


def copying_lines(copies: tuple[AlignedRows, ...]) -> list[str]:
    """The text by which a block makes its part of the copies, which lie one behind the other in memory."""
    lines, first, start = [], 0, 0
    for copy in copies:
        end = first + copy.blocks
        lines.append(f"{'} else ' if first else ''}if (blockIdx.x < {end}) {{")
        block = f"blockIdx.x - {first}" if first else "blockIdx.x"
        lines.append(f"    const unsigned block = {block};")
        to = f"copied + {start}" if start else "copied"
        lines += [f"    {line}" for line in (_transposing_lines if copy.transposed else _row_lines)(copy, to)]
        first, start = end, start + copy.size
    return [*lines, "}"]


def _row_lines(copy: AlignedRows, to: str) -> list[str]:
    numbers = repeat(copy.blocks) @ spatial(THREADS)
    row, place = (copy.chunks.index(axis, "chunk") for axis in (0, 1))
    source = f"{copy.name} + row * {copy.elements} + first"
    return [
        f"const long chunk = {numbers.index(0, 'threadIdx.x', looped(('(long)block', copy.blocks)))};",
        f"if (chunk >= {copy.chunks.workers})",
        "    return;",
        f"const long row = {row};",
        f"const int first = {times(place, copy.chunk)};",
        f"copy_chunk({to} + chunk * {copy.chunk}, {source}, {copy.elements} - first);",
    ]


def _transposing_lines(copy: AlignedRows, to: str) -> list[str]:
    matrix, row, element = (copy.tiles.index(axis, "block") for axis in range(3))
    lines = [f"const unsigned row = ({row}) * {TILE}, element = ({element}) * {TILE};"]
    name = copy.name
    if copy.matrices > 1:
        lines.append(f"const long matrix = {matrix};")
        to, name = f"{to} + matrix * {copy.rows * copy.pitch}", f"{name} + matrix * {copy.rows * copy.elements}"
    return [*lines, f"turn_tile({to}, {name}, row, element, {copy.rows}, {copy.elements}, {copy.pitch});"]


def transposing_context() -> dict[str, dict[str, str | int]]:
    """C expressions for `turn_tile`: the elements a thread reads in each turn `i`, and the first one it writes."""
    count = TILE * TILE // THREADS
    read = (_READ.index(axis, "threadIdx.x", ("i",)) for axis in (0, 1))
    written = (_TRANSPOSED.index(axis, "threadIdx.x", ("0",)) for axis in (1, 0))
    return {
        "read": dict(zip(("element", "row"), read)) | {"count": count},
        "written": dict(zip(("element", "row"), written)),
    }


def slices(copies: tuple[AlignedRows, ...]) -> list[slice]:
    """The bytes at which each copy lies in the memory of all copies."""
    sizes = [copy.size * copy.element_bytes for copy in copies]
    return [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes))]


def copied_bytes(copies: tuple[AlignedRows, ...]) -> int:
    """Bytes of memory for all copies."""
    return sum(copy.size * copy.element_bytes for copy in copies)
