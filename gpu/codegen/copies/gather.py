"""How threads copy a tile to shared memory where its rows are not aligned to 4 bytes, as cp.async needs.

Rows with an odd number of 16-bit elements are not, as in an a of (m, 2039) or an image of 3 channels. A thread reads
the aligned 16 bytes that hold a chunk's elements, shifts them into place in registers, and writes the chunk at once.
"""

from __future__ import annotations

from gpu.codegen.copies.operand import Operand, global_offset
from gpu.codegen.pipeline.instructions import CHUNK
from tiling.expression import added, times
from tiling.scheme.taskmap import spatial
from tiling.tensor import Window

# A run is a series of elements that lie side by side: a row of a matrix, or the channels of one tap of a convolution's
# input. Where taps of a row of the window are neighbours in the image, their channels are one run. Padding needs no
# case of its own, since a run is cut where it leaves the image. A chunk may lie in several runs; each turn gathers the
# elements of one of them.

# Loads that a thread has under way at once, each of the part of a chunk that lies in one run. Each takes eight
# registers until it is shifted.
MOST_STAGED = 4


def run_points(operand: Operand) -> int:
    """Elements in one run."""
    if not _windowed(operand):
        return operand.pipeline.scheme.extents[operand.axes[1]]
    _, horizontal = operand.pipeline.problem.windows
    channels = operand.tensor.shape[-1]
    return channels * operand.pipeline.problem.extents[horizontal.tap] if horizontal.dilation == 1 else channels


def turns(operand: Operand) -> int:
    """The most runs that a chunk lies in."""
    run, extent = run_points(operand), operand.pipeline.scheme.extents[operand.axes[1]]
    return min(extent // run, 1 + -(-(_chunk_points(operand) - 1) // run))


def staged(operand: Operand) -> int:
    """Chunks that a thread loads at once."""
    most = max(1, MOST_STAGED // turns(operand))
    return max(n for n in range(1, most + 1) if operand.units_each % n == 0)


def gather_lines(operand: Operand) -> list[str]:
    """The body of the function that copies the tile of one step.

    In it, `first` is the first point of the tile along `operand.axis`.
    """
    copies, together, count = operand.copy_map, staged(operand), operand.units_each
    lines = ["const unsigned thread = threadIdx.x;"]
    if copies.workers < operand.pipeline.threads:
        lines += [f"if (thread >= {copies.workers})", "    return;"]
    chunk = f"{operand.tensor.name}_at(row, column / {_chunk_points(operand)})"
    body = [
        f"unsigned chunks[{together}][4];",
        *_loop("e", together, [*_place(operand), *_gather(operand)]),
        *_loop("e", together, [*_place(operand), f"store_shared_16(tile + {chunk}, chunks[e]);"]),
    ]
    if count == together:
        return [*lines, *body]
    head = f"for (unsigned begin = 0; begin < {count}; begin += {together}) {{"
    return [*lines, "#pragma unroll 1", head, *_indented(body), "}"]


def _place(operand: Operand) -> list[str]:
    """The lines that find the place in the tile of a thread's chunk number `begin + e`."""
    whole = staged(operand) == operand.units_each
    counters = operand.unit_counters("e" if whole else "(begin + e)")
    row, unit = (operand.copy_map.index(axis, "thread", counters) for axis in (0, 1))
    return [f"const unsigned row = {row};", f"const unsigned column = {times(unit, _chunk_points(operand))};"]


def _gather(operand: Operand) -> list[str]:
    pipeline, (rows, columns) = operand.pipeline, operand.axes
    starts = {operand.axis: "first", operand.reduction: f"step * {pipeline.block_tile[2]}"}
    lines = [f"const unsigned {axis} = {starts[axis]} + {name};" for axis, name in ((rows, "row"), (columns, "column"))]
    lines.append("chunks[e][0] = chunks[e][1] = chunks[e][2] = chunks[e][3] = 0;")
    extents = pipeline.scheme.extents
    inside = [f"{rows} < {extents[rows]}"] if pipeline.over_the_edge(rows) else []
    if _windowed(operand):
        return lines + _window_lines(operand, inside)
    found, _, offset = global_offset(pipeline.problem, operand.tensor, operand.axes)
    end = _where(inside, f"{extents[columns]} - (int){columns}")
    return [*lines, *found, f"gather_16(chunks[e], {operand.tensor.name} + ({offset}), 0, {end});"]


def _window_lines(operand: Operand, inside: list[str]) -> list[str]:
    """The lines that gather a convolution's input run by run, each cut to its own elements and to the image's row."""
    problem, tensor, (rows, columns) = operand.pipeline.problem, operand.tensor, operand.axes
    vertical, horizontal = problem.windows
    name, channels, run, count = tensor.name, tensor.shape[-1], run_points(operand), turns(operand)
    across = problem.extents[horizontal.tap] if run == channels else 1  # runs of a row of the window
    digits = spatial(*(problem.extents[dim] for dim in rows))
    wide, integer = ("(long)", "long") if tensor.elements >= 1 << 31 else ("", "int")
    line, image = tensor.strides[1], tensor.strides[0]
    taps = spatial(operand.pipeline.scheme.extents[columns] // run // across, across)
    tap_h, tap_w = (taps.index(axis, "run") for axis in (0, 1))
    turn, shift = ("", "") if count == 1 else (" + turn", f" - (int)turn * {run}")
    body = [
        f"const int run = {columns} / {run}{turn}, before = (int)({columns} % {run}){shift};",
        f"const int {name}_h = {_point(vertical, tap_h)};",
        f"const {integer} {name}_w = {wide}({_point(horizontal, tap_w)}) * {channels} + before;",
        f"const int left = {run} - before;",
        f"const {integer} {name}_left = {line} - {name}_w;",
        f"gather_16(chunks[e], {name} + ({wide}n * {image} + {wide}{name}_h * {line} + {name}_w), before < {name}_w ? "
        f"-before : -{name}_w,",
        "    "
        + _where(
            [
                *inside,
                f"run < {operand.pipeline.scheme.extents[columns] // run}",
                f"(unsigned){name}_h < {vertical.extent}",
            ],
            f"left < {name}_left ? left : {name}_left",
        )
        + ");",
    ]
    lines = [f"const int {dim} = {digits.index(i, rows)};" for i, dim in enumerate(rows)]
    return lines + (body if count == 1 else _loop("turn", count, body))


def _point(window: Window, tap: str) -> str:
    """The point of the image that a tap of the window reads, as C."""
    found = added(times(window.dim, window.stride), times(tap, window.dilation))
    return found + (f" - {window.before}" if window.before else "")


def _where(conditions: list[str], end: str) -> str:
    """`end` as C, or 0 where a condition does not hold."""
    return f"{' && '.join(conditions)} ? {f'({end})' if '?' in end else end} : 0" if conditions else end


def _loop(counter: str, count: int, body: list[str]) -> list[str]:
    head = f"for (unsigned {counter} = 0; {counter} < {count}; ++{counter}) {{"
    return ["#pragma unroll", head, *_indented(body), "}"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _windowed(operand: Operand) -> bool:
    return operand.side == 0 and bool(operand.pipeline.problem.windows)


def _chunk_points(operand: Operand) -> int:
    return CHUNK // operand.pipeline.element_bytes
