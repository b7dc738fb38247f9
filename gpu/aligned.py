"""Inputs that a bulk pipeline cannot take as they lie: copied first, by a kernel of its own, both in one launch.

Rows that are not multiples of 16 bytes apart are described by no tensor map: the copy's are. Elements of 32 bits that
lie across the reduction are read by no wgmma: the copy is turned. It moves their bytes twice, once for a whole product,
where the gathering pipeline shifts every tile that it copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

from gpu.instructions import CHUNK
from gpu.operand import Operand
from tiling.expression import times
from tiling.taskmap import TaskMap, looped, repeat, spatial

# Bytes that rows of a copy are a multiple of: a sector of the L2, of which a row then needs no more than it fills.
_ROW = 32
THREADS = 256
_WRITTEN = 4  # elements of 32 bits that a thread writes at once
# A block turns a tile of so many rows and columns, four elements a thread: a warp reads a whole line of memory, and
# writes four. Its rows in shared memory have a word more, so that rows and columns of the tile meet every bank.
TILE = 32
SHARED_BYTES = 4 * TILE * (TILE + 1)
# From the thread to the elements that it reads of a tile, along the copy's elements and rows, and to those it writes.
_READ = repeat(TILE * TILE // THREADS, 1) @ spatial(THREADS // TILE, TILE)
_TURNED = spatial(TILE, TILE // _WRITTEN) @ repeat(1, _WRITTEN)


@dataclass(frozen=True)
class AlignedRows:
    """A copy of input number `array`: of each of its `matrices` so many `rows` of `elements`, `pitch` elements apart.

    Where it is `turned` its rows are the columns of the input, whose elements then have 4 bytes.
    """

    array: int
    name: str
    matrices: int
    rows: int
    elements: int
    pitch: int
    element_bytes: int
    turned: bool

    @property
    def size(self) -> int:
        """Elements of the copy, zeros behind its rows among them."""
        return self.matrices * self.rows * self.pitch

    @property
    def moved(self) -> int:
        """Bytes that are read and written."""
        return self.matrices * self.rows * (self.elements + self.pitch) * self.element_bytes

    @property
    def chunk(self) -> int:
        """Elements of the 16 bytes that a thread writes."""
        return CHUNK // self.element_bytes

    @property
    def tiles(self) -> TaskMap:
        """From the block to its matrix, and its tile along rows and elements of the copy."""
        return spatial(self.matrices, -(-self.rows // TILE), -(-self.pitch // TILE))

    @property
    def chunks(self) -> TaskMap:
        """From the number of a chunk of the copy to its row, and its place there."""
        return spatial(self.matrices * self.rows, self.pitch // self.chunk)

    @property
    def blocks(self) -> int:
        """Of THREADS threads each."""
        return self.tiles.workers if self.turned else -(-self.chunks.workers // THREADS)


def aligned_rows(inputs: tuple[Operand, Operand]) -> tuple[AlignedRows, ...]:
    """The copies that a bulk pipeline needs of its inputs."""
    return tuple(_copy(operand) for operand in inputs if is_copied(operand))


def is_copied(operand: Operand) -> bool:
    """Whether a bulk pipeline reads a copy of this input."""
    row_bytes = operand.tensor.shape[-1] * operand.pipeline.element_bytes
    return operand.pipeline.turned(operand.side) or row_bytes % CHUNK != 0


def pitch(operand: Operand) -> int:
    """Elements from one row of an input to the next, as the pipeline sees it: the row's own where it is not copied."""
    element, columns = operand.pipeline.element_bytes, operand.tensor.shape[-1]
    return -(-columns * element // _ROW) * _ROW // element if is_copied(operand) else columns


def _copy(operand: Operand) -> AlignedRows:
    tensor, pipeline = operand.tensor, operand.pipeline
    *matrices, rows, elements = tensor.shape
    sizes = (prod(matrices), rows, elements, pitch(operand), pipeline.element_bytes)
    return AlignedRows(operand.side, tensor.name, *sizes, pipeline.turned(operand.side))


def blocks(copies: tuple[AlignedRows, ...]) -> int:
    """Of THREADS threads each, for all copies."""
    return sum(copy.blocks for copy in copies)


def copying_lines(copies: tuple[AlignedRows, ...]) -> list[str]:
    """The text by which a block copies its part, to memory in which one copy lies behind the other."""
    lines, first, start = [], 0, 0
    for copy in copies:
        end = first + copy.blocks
        lines.append(f"{'} else ' if first else ''}if (blockIdx.x < {end}) {{")
        block = f"blockIdx.x - {first}" if first else "blockIdx.x"
        lines.append(f"    const unsigned block = {block};")
        to = f"copied + {start}" if start else "copied"
        lines += [f"    {line}" for line in (_turning_lines if copy.turned else _row_lines)(copy, to)]
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


def _turning_lines(copy: AlignedRows, to: str) -> list[str]:
    matrix, row, element = (copy.tiles.index(axis, "block") for axis in range(3))
    lines = [f"const unsigned row = ({row}) * {TILE}, element = ({element}) * {TILE};"]
    name = copy.name
    if copy.matrices > 1:
        lines.append(f"const long matrix = {matrix};")
        to, name = f"{to} + matrix * {copy.rows * copy.pitch}", f"{name} + matrix * {copy.rows * copy.elements}"
    return [*lines, f"turn_tile({to}, {name}, row, element, {copy.rows}, {copy.elements}, {copy.pitch});"]


def turning_context() -> dict[str, dict]:
    """What of a tile a thread reads, in so many turns `i`, and the first element of those that it writes."""
    count = TILE * TILE // THREADS
    read = (_READ.index(axis, "threadIdx.x", ("i",)) for axis in (0, 1))
    written = (_TURNED.index(axis, "threadIdx.x", ("0",)) for axis in (1, 0))
    return {
        "read": dict(zip(("element", "row"), read)) | {"count": count},
        "written": dict(zip(("element", "row"), written)),
    }


def slices(copies: tuple[AlignedRows, ...]) -> list[slice]:
    """Where in that memory each copy lies, in bytes."""
    sizes = [copy.size * copy.element_bytes for copy in copies]
    return [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes))]


def copied_bytes(copies: tuple[AlignedRows, ...]) -> int:
    """Of all that memory."""
    return sum(copy.size * copy.element_bytes for copy in copies)
