"""Sums rows to a row of sums: four rows at once, each from end to end, in place of a few columns of all rows.

    for j in 0..1024:                   acc_y[1024] in its own memory
      acc_y[1] in registers             for j in 0..1024:
      acc_y[0] = 0                        acc_y[j] = 0
      for i in 0..64:            ->     for i in 0..64 by 4:
        acc_y[0] += x[i, j]               for j in 0..1024:
      y[j] = acc_y[0]                       acc_y[j] = acc_y[j] + x[i, j] + x[i + 1, j] + x[i + 2, j] + x[i + 3, j]
                                        for j in 0..1024:
                                          y[j] = acc_y[j]

A CPU reads ahead along a row, not from row to row. Each sum has the same terms in the same order as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Apply, Body, For, Load, Number, Operand, Position, Statement, Store, Value
from tiling.loops.rewrite import parts_of, substituted, with_values
from tiling.loops.walk import buffers_of, with_blocks
from tiling.program.dtypes import WIDTH

# Rows at once. By 1, 2, 3, 4, 6 and 8 rows the sums of 49 x 2048 take 0.97, 0.91, 0.85, 0.85, 1.15 and 1.57 of the
# time of a few columns, by hand on a Zen 3. Rows that are pages apart share one set of L1, which keeps 8 lines.
ROWS = 4
# The most bytes of the sums, which stay in L1 beside the lines of these rows.
MOST_SUMS = 16 << 10
# The least bytes of a part of rows: of a shorter one a CPU reads what follows in vain. With half of every row on each
# of two threads, 512 x 768 take 1.2 of that time, 49 x 2048 take 1.04 to 1.09, and 64 x 4096 take 0.93.
LEAST_PART = 8192
# The least bytes of whole rows, and of those of narrow numbers, which are converted. Rows of 64 f32 take 0.86 to 1.06,
# and rows of 768 bf16 take 1.06.
LEAST_ROW, LEAST_NARROW = 512, 4096
# The least rows, and the least bytes of all. 18 rows take 1.03, and an array of 32 KiB takes 1.35.
LEAST_ROWS, LEAST = 24, 96 << 10
SUMMED = frozenset({"add", "max", "min"})


def sum_rows(kernel: Kernel, lanes: int, threads: int) -> Kernel:
    """The kernel whose sums of long columns walk rows.

    lanes: how many a vector has. threads: the most that share the kernel.
    """
    return replace(kernel, body=_Summing(buffers_of(kernel), lanes, threads).body(kernel.body, ()))


@dataclass(frozen=True)
class _Columns:
    """The sums of columns that a loop computes, one an iteration, each in a register.

    around: the loops around it. over: those that sum by `function` what they `read`, outermost first. term: what is
    added. end: what is made of a sum.
    """

    loop: For
    around: tuple[For, ...]
    sum: Buffer
    begin: Number
    over: tuple[For, ...]
    function: str
    term: Value
    read: Load
    end: Body


@dataclass(frozen=True)
class _Summing:
    """lanes, threads: as in `sum_rows`."""

    buffers: Mapping[str, Buffer]
    lanes: int
    threads: int

    def body(self, body: Body, around: tuple[For, ...]) -> Body:
        """The block inside these loops."""
        found: list[Statement] = []
        for statement in body:
            inside = (*around, statement) if isinstance(statement, For) else around
            columns = _columns(statement, around) if isinstance(statement, For) else None
            if columns and (part := self.part(columns)):
                found += _by_rows(columns, part)
            else:
                found.append(with_blocks(statement, partial(self.body, around=inside)))
        return tuple(found)

    def part(self, columns: _Columns) -> int:
        """How many columns to sum at once, so that threads share the parts evenly; 0 to leave them as they are."""
        count, array = columns.loop.stop.offset, self.buffers[columns.read.buffer]
        width, rows = WIDTH[array.dtype], prod(steps_of(loop) for loop in columns.over)
        row = count * width
        if _apart(columns.read, columns.loop, array) != 1 or rows < LEAST_ROWS or rows * row < LEAST:
            return 0
        end_to_end = _apart(columns.read, columns.over[-1], array) == count
        least = (LEAST_ROW if width >= WIDTH["f32"] else LEAST_NARROW) if end_to_end else LEAST_PART
        outer = prod(steps_of(loop) for loop in columns.around)
        for parts in range(1, max(1, row // LEAST_PART) + 1):
            part = count // parts
            long = row >= (least if parts == 1 else parts * LEAST_PART)
            whole = parts == 1 or count % (parts * self.lanes) == 0
            even = outer * parts % self.threads == 0
            if long and whole and even and part * WIDTH[columns.sum.dtype] <= MOST_SUMS:
                return part
        return 0


def _apart(read: Load, loop: For, array: Buffer) -> int:
    """Elements between what two neighbouring iterations of a loop read."""
    return sum(index.coefficient(loop.name) * stride for index, stride in zip(read.at, array.strides, strict=True))


def _columns(loop: For, around: tuple[For, ...]) -> _Columns | None:
    """The sums of columns that a loop computes; None where it does anything else."""
    match loop.body:
        case (Alloc(register), Store(name, value=Number() as begin), For() as outer, *end) if name == register.name:
            over, innermost = _nest(outer)
        case _:
            return None
    here = Load(register.name, (ZERO,))
    match innermost:
        case (Store(name, at, Apply(function, (first, term))),) if Load(name, at) == first == here:
            parts = list(parts_of(term))
        case _:
            return None
    loops = (*around, loop, *over)
    reads = {part for part in parts if isinstance(part, Load)}
    if len(reads) != 1 or here in reads or function not in SUMMED or not all(map(_is_known, loops)):
        return None
    (read,) = reads
    # An array that other iterations read again, as in a product, is for other passes.
    each_once = {name for index in read.at for name in index.names()} == {each.name for each in loops}
    places = any(isinstance(part, Position) for part in parts) or any(list(index.operations()) for index in read.at)
    if not each_once or places or not all(isinstance(s, Store) for s in end):
        return None
    return _Columns(loop, around, register, begin, over, function, term, read, tuple(end))


def _is_known(loop: For) -> bool:
    return loop.kind == "serial" and loop.step == 1 and loop.start == ZERO and loop.stop.is_constant


def _nest(loop: For) -> tuple[tuple[For, ...], Body]:
    """Nested loops from the outermost on, and the block of the innermost."""
    match loop.body:
        case (For() as inner,):
            loops, body = _nest(inner)
            return (loop, *loops), body
        case _:
            return (loop,), loop.body


def _by_rows(columns: _Columns, part: int) -> Body:
    """The sums, so many at once, row by row."""
    loop, sums, here = columns.loop, columns.sum.name, (variable(columns.loop.name),)
    parts = replace(loop, name=f"{loop.name}_part", step=part)
    by = {loop.name: variable(parts.name) + variable(loop.name)} if part < loop.stop.offset else {}
    count = prod(steps_of(each) for each in columns.over)
    names = [each.name for each in columns.over]
    name = names[0] if len(names) == 1 else "_".join([*names, "walked"])
    rows = For(name, ZERO, constant(count - count % ROWS), ROWS, ())

    def across(body: Body) -> For:
        return replace(loop, stop=constant(part), body=body)

    def added(first: Index, rows: int) -> For:
        total: Value = Load(sums, here)
        for row in range(rows):
            (term,) = substituted((Store(sums, here, columns.term),), by | _places(columns.over, first + row))
            assert isinstance(term, Store)
            total = Apply(columns.function, (total, term.value))
        return across((Store(sums, here, total),))

    def own(part: Operand) -> Operand | None:
        return Load(sums, here) if part == Load(sums, (ZERO,)) else None

    memory = Alloc(replace(columns.sum, shape=(part,), axes=(loop.name,), memory="own"))
    begun = across((Store(sums, here, columns.begin),))
    runs = replace(rows, body=(added(variable(rows.name), ROWS),))
    rest = (added(rows.stop, count % ROWS),) if count % ROWS else ()
    end = across(tuple(with_values(statement, own) for statement in substituted(columns.end, by)))
    body = (memory, begun, runs, *rest, end)
    return (replace(parts, body=body),) if by else body


def _places(loops: tuple[For, ...], row: Index) -> dict[str, Index]:
    """Where nested loops are when they have taken so many steps as one loop."""
    places = {}
    for loop in reversed(loops[1:]):
        places[loop.name] = row % steps_of(loop)
        row = row // steps_of(loop)
    return places | {loops[0].name: row}
