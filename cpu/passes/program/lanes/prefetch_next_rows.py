"""Prefetches the next row of large arrays: what is read, and the lines of what is stored.

    for i in 1..2048:                               for i in 1..2048:
      …                                               …
      for j in 0..768 by 32:                          for j in 0..768 by 32:
        {                                               prefetch x[i + 1, j] to L1
          for lane in 0..8, vector:                     prefetch x[i + 1, j + 16] to L1
            y[i - 1, j + lane] = …            ->        prefetch y[i, j] to L1, to be written
          …                                             prefetch y[i, j + 16] to L1, to be written
        }                                               …
        … x[i, j + lane] …
      …

The first loop over a row waits for its lines, and so does the one that stores. A loop that stores the row before
(`skew rows`) prefetches both. Else the last loop prefetches what is read, and the one before it the lines of the
output. Kernels with more than 16 vector registers are left alone: their rows have half as many instructions, and a
softmax loses by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm

from cpu.passes.program.jam import in_runs, jammed
from cpu.passes.program.rows.long_rows import large_arrays, long_rows
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import LINE, Address, Body, For, Load, Prefetch, Statement
from tiling.loops.walk import with_blocks
from tiling.program.dtypes import WIDTH


def prefetch_next_rows(kernel: Kernel) -> Kernel:
    """The kernel that prefetches rows of its inputs and outputs."""
    inputs, outputs = large_arrays(kernel)
    return replace(kernel, body=_prefetched(kernel.body, inputs, outputs)) if inputs and outputs else kernel


def _prefetched(body: Body, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> Body:
    inside = (with_blocks(statement, lambda block: _prefetched(block, inputs, outputs)) for statement in body)
    return tuple(_rows(s, inputs, outputs) if isinstance(s, For) else s for s in inside)


def _rows(rows: For, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> For:
    """A loop over rows with the prefetches in its last loops over a row; the loop itself where rows are not long."""
    found = long_rows(rows, inputs, outputs)
    if found is None:
        return rows
    last, before = found.last, found.last if found.behind else found.before
    later = {rows.name: variable(rows.name) + 1}
    read = _Lines(found.read, later | {found.first.name: variable(last.name)}, inputs, found.level)
    row = later if found.behind else {last.name: variable(before.name)}
    written = _Lines(found.written, row, outputs, found.level, write=True)
    body: list[Statement] = []
    for statement in rows.body:
        lines = [each for each, loop in ((read, last), (written, before)) if statement is loop]
        body += _by_lines(statement, lines) if isinstance(statement, For) and lines else (statement,)
    return replace(rows, body=tuple(body))


@dataclass(frozen=True)
class _Lines:
    """The lines of some rows, each from where a vector begins. at: where that is, for the indices of `rows`."""

    rows: tuple[Load, ...]
    at: Mapping[str, Index]
    arrays: Mapping[str, Buffer]
    level: int
    write: bool = False

    @property
    def apart(self) -> list[int]:
        """How many elements a line has, of each row."""
        return [LINE // WIDTH[self.arrays[row.buffer].dtype] for row in self.rows]

    def prefetches(self, step: int) -> Iterator[Prefetch]:
        """Those of so many elements."""
        for row, apart in zip(self.rows, self.apart):
            *outer, along = (index.replaced(self.at) for index in row.at)
            for place in range(0, step, apart):
                yield Prefetch(Address(row.buffer, (*outer, along + place)), self.level, self.write)


def _by_lines(loop: For, lines: Sequence[_Lines]) -> Body:
    """A loop over vectors, whole lines at a time, that prefetches these.

    Vectors of such a loop depend on each other by sums alone, which keep their order.
    """
    step = lcm(loop.step, *(apart for each in lines for apart in each.apart))
    prefetches = (prefetch for each in lines for prefetch in each.prefetches(step))
    return in_runs(loop, (*prefetches, *jammed(loop, step // loop.step)), step)
