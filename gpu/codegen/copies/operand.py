"""How the tile of one input lies in shared memory, and the text of the function that copies it there.

A tile is a matrix of rows and columns; its columns lie contiguously in global and in shared memory. Task maps say which
thread copies what. The tensor's index expressions say where an element lies in global memory, so a convolution's input
is not a special case.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from gpu.codegen.pipeline.instructions import CHUNK
from gpu.codegen.pipeline.stages import MOST_UNROLLED, SMALLEST_COPY, Pipeline
from tiling.expression import times
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError
from tiling.scheme.taskmap import TaskMap, repeat, spatial
from tiling.tensor import Affine, Tensor, Window

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
    def row_chunks(self) -> int:
        return self.tile[1] * self.pipeline.element_bytes // CHUNK

    @property
    def swizzle(self) -> str:
        """The value, as C, that a chunk's place is XORed with, so that rows read together lie in different banks."""
        pattern = gcd(self.row_chunks, BANK_CHUNKS)
        if pattern == 1:
            return "0"
        every = BANK_CHUNKS // pattern
        return f"row % {pattern}" if every == 1 else f"row / {every} % {pattern}"

    @property
    def in_blocks(self) -> bool:
        """Whether the tile lies in blocks, each of 128 bytes of every row, as wgmma reads an input across the depth."""
        return self.transposed and self.pipeline.asynchronous

    @property
    def block_bytes(self) -> int:
        """Bytes of one of these blocks."""
        return self.tile[0] * CHUNK * BANK_CHUNKS

    @property
    def place(self) -> str:
        """The byte of the tile at which the 16-byte chunk `chunk` of row `row` lies, as C."""
        if self.in_blocks:
            swizzled = f"(chunk % {BANK_CHUNKS} ^ row % {BANK_CHUNKS}) * {CHUNK}"
            return f"chunk / {BANK_CHUNKS} * {self.block_bytes} + row * {CHUNK * BANK_CHUNKS} + {swizzled}"
        return f"row * {self.tile[1] * self.pipeline.element_bytes} + (chunk ^ ({self.swizzle})) * {CHUNK}"

    def descriptor(self, tile: str, first: str) -> str:
        """wgmma's descriptor, as C, of the matrix that begins at point `first` of `axis` and at depth `part`.

        `first` is a multiple of 64.
        """
        depth, row_bytes = self.pipeline.instruction.depth, CHUNK * BANK_CHUNKS
        if self.in_blocks:
            start = f"{tile} + {first} / 64 * {self.block_bytes} + {depth * row_bytes} * part"
            return f"wgmma_descriptor_across({start}, {self.block_bytes})"
        return f"wgmma_descriptor({tile} + {first} * {row_bytes} + {depth * self.pipeline.element_bytes} * part)"

    @property
    def gathered(self) -> bool:
        """Whether the input is not aligned enough for cp.async, so that `gpu.codegen.copies.gather` copies the tile."""
        return self.pipeline.alignment(self.side) < SMALLEST_COPY

    @property
    def unit_bytes(self) -> int:
        """Bytes of one unit: what a thread copies at once."""
        return CHUNK if self.gathered else self.pipeline.alignment(self.side)

    @property
    def units_each(self) -> int:
        """Units that one thread copies in a step."""
        return prod(self.copy_map.loops)

    @property
    def copy_map(self) -> TaskMap:
        """Maps a thread to the units of the tile that it copies. Neighbouring threads copy neighbouring units of a row.

        The map may have fewer workers than the block has threads; the other threads then copy nothing.
        """
        rows, units = self.tile[0], self.tile[1] * self.pipeline.element_bytes // self.unit_bytes
        across = _largest_divisor(units, self.pipeline.threads)
        down = _largest_divisor(rows, self.pipeline.threads // across)
        return repeat(rows // down, units // across) @ spatial(down, across)

    def unit_counters(self, unit: str) -> tuple[str, ...]:
        """The counters of `copy_map`'s loops, as C, for the thread's unit number `unit`."""
        loops = spatial(*self.copy_map.loops)
        return tuple(loops.index(axis, unit) for axis in range(len(self.copy_map.loops)))


def _largest_divisor(number: int, most: int) -> int:
    return max(d for d in range(1, min(number, most) + 1) if number % d == 0)


def copy_lines(operand: Operand) -> list[str]:
    """The body of the function that copies the tile of one step by cp.async.

    In it, `first` is the first point of the tile along `operand.axis`.
    """
    pipeline, tensor, copies = operand.pipeline, operand.tensor, operand.copy_map
    elements = operand.unit_bytes // pipeline.element_bytes
    rows, columns = operand.axes
    lines = ["const unsigned thread = threadIdx.x;"]
    if copies.workers < pipeline.threads:
        lines += [f"if (thread >= {copies.workers})", "    return;"]
    counters = operand.unit_counters("unit")
    along = copies.index(1, "thread", counters)
    body = [
        f"const unsigned row = {copies.index(0, 'thread', counters)};",
        f"const unsigned column = {times(along, elements)};",
    ]
    starts = {operand.axis: "first", operand.reduction: f"step * {pipeline.block_tile[2]}"}
    body += [f"const unsigned {axis} = {starts[axis]} + {name};" for axis, name in ((rows, "row"), (columns, "column"))]
    inside = [f"{axis} < {pipeline.scheme.extents[axis]}" for axis in (rows, columns) if pipeline.over_the_edge(axis)]
    windows = pipeline.problem.windows if operand.side == 0 else ()
    found, checks, offset = global_offset(pipeline.problem, tensor, operand.axes, windows)
    body += found
    condition = " && ".join(inside + checks) or "1"
    place = f"{tensor.name}_at(row, {_quotient('column', CHUNK // pipeline.element_bytes)})"
    if operand.unit_bytes < CHUNK:
        place += f" + column % {CHUNK // pipeline.element_bytes} * {pipeline.element_bytes}"
    body.append(f"cp_async_{operand.unit_bytes}(tile + {place}, {tensor.name} + ({offset}), {condition});")
    return lines + _each_unit(operand, body)


def _each_unit(operand: Operand, body: list[str]) -> list[str]:
    """`body` in a loop over the units of the thread."""
    count = operand.units_each
    if count == 1:
        return body
    # Small units need many copies. If all were unrolled, their addresses would take all registers.
    unroll = "#pragma unroll" if count <= MOST_UNROLLED else f"#pragma unroll {MOST_UNROLLED}"
    head = f"for (unsigned unit = 0; unit < {count}; ++unit) {{"
    return [unroll, head, *(f"    {line}" for line in body), "}"]


def global_offset(
    problem: Problem, tensor: Tensor, axes: tuple[str, str], windows: tuple[Window, ...] = ()
) -> tuple[list[str], list[str], str]:
    """Where the point that the variables `axes` name lies in `tensor`.

    Returns the lines that find its dims and indices, the conditions that it lies on the tensor, and its offset in
    elements. The pointer already points to the matrix of the batch.
    """
    lines, checks, terms = [], [], []
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
    windowed = {(w.dim, w.tap): w for w in windows}
    for index, stride in filter(None, indices):
        dims = tuple(dim for dim, _ in index.terms)
        if dims == ("l",):
            continue
        text = _affine(index)
        if dims in windowed:
            name = f"{tensor.name}_{dims[0]}"
            lines.append(f"const int {name} = {text};")
            if _leaves(problem, windowed[dims]):
                checks.append(f"(unsigned){name} < {windowed[dims].extent}")
            text = name
        terms.append((text, stride))
    wide = "(long)" if tensor.elements >= 1 << 31 else ""
    return lines, checks, " + ".join(wide + text + (f" * {stride}" if stride > 1 else "") for text, stride in terms)


def _together(tensor: Tensor, axis: str) -> int | None:
    """The first of the tensor's axes that are the dims fused into `axis`, in the same order; None if there are none."""
    wanted = [Affine(((dim, 1),)) for dim in axis]
    for first in range(len(tensor.indices)):
        if list(tensor.indices[first : first + len(wanted)]) == wanted:
            return first
    return None


def _leaves(problem: Problem, window: Window) -> bool:
    """Whether any tap of the window reads padding."""
    last = (problem.extents[window.dim] - 1) * window.stride + (problem.extents[window.tap] - 1) * window.dilation
    return window.before > 0 or last - window.before >= window.extent


def check_operand(operand: Operand) -> None:
    """Raises SchemeError where dims are fused otherwise than rows lie that threads gather, or an input has others."""
    name = operand.tensor.name
    order = "".join(dim for index in operand.tensor.indices for dim, _ in index.terms if dim in operand.axes[1])
    if operand.pipeline.asynchronous and operand.gathered and order != operand.axes[1]:
        raise SchemeError(
            f"S({name}, {operand.pipeline.depth}): rows of {name} are not aligned to 4 bytes and are gathered as they "
            f"lie: fuse {order}, not {operand.axes[1]}"
        )
    unnamed = operand.tensor.dims - set("".join(operand.axes)) - {"l"}
    if unnamed:
        matrix = operand.pipeline.scheme.specifiers[-1]
        raise SchemeError(
            f"{matrix}: does not name {' '.join(sorted(unnamed))}, on which {name} depends: fuse, as in nhw or rsc"
        )


def _affine(index: Affine) -> str:
    text = " + ".join(dim if c == 1 else f"{dim} * {c}" for dim, c in index.terms)
    return text if not index.offset else f"{text} {'-' if index.offset < 0 else '+'} {abs(index.offset)}"


def _quotient(text: str, divisor: int) -> str:
    return text if divisor == 1 else f"{text} / {divisor}"
