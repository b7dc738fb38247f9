"""Prefetches the lines of a long output row while functions are computed, before the loop that writes them.

    for j in 0..50240 by 64:                    for j in 0..50240 by 64:
      {                                           prefetch y[i, j] to L2, to be written
        for lane in 0..16, vector:                …
          acc_d_lanes[lane] += exp(…              prefetch y[i, j + 48] to L2, to be written
      …                                     ->    {
    for j in 0..50256 by 16:                      …
      for lane in 0..16, vector:                for j in 0..50256 by 16:
        y[i, j + lane] = …                      …

A store needs its line in L1, with no copy in another core. The loop that stores does little else, so it waits for each
line. A loop of exponentials before it waits for no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cpu.passes.program.lanes.split_lanes import SIMPLE
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import LINE, Address, Apply, Body, For, If, Prefetch, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk, with_blocks
from tiling.program.dtypes import WIDTH

# The least elements of a row. One thread of a Zen 5: from 8192 columns on a softmax takes 7 % less, a log-softmax 8 to
# 13 %; with 1024 to 4096 columns, which L1 holds, they take 1 % more to 4 % less.
LEAST = 8192
LEVEL = 2  # the cache that such a row may stay in


def claim_lines(kernel: Kernel) -> Kernel:
    """The kernel that prefetches lines of its outputs."""
    outputs = {array.name: array for array in kernel.arrays}
    return replace(kernel, body=_claimed(kernel.body, outputs))


@dataclass(frozen=True)
class _Row:
    """Neighbouring elements that a loop stores: at `at`, where its variable is `name`."""

    buffer: Buffer
    at: tuple[Index, ...]
    name: str


def _claimed(body: Body, outputs: Mapping[str, Buffer]) -> Body:
    """The block, in which a loop over a row prefetches the lines that a later one stores."""
    found = [with_blocks(statement, lambda block: _claimed(block, outputs)) for statement in body]
    for number, later in enumerate(body):
        for row in _rows(later, outputs):
            before = (place for place in range(number) if _computes(body[place], later))
            place = max(before, default=None)
            if place is not None:
                loop = found[place]
                assert isinstance(loop, For)
                found[place] = replace(loop, body=(*_lines(row, loop), *loop.body))
    return tuple(found)


def _rows(loop: Statement, outputs: Mapping[str, Buffer]) -> Iterator[_Row]:
    """The long rows of outputs that a loop over vectors stores."""
    if not isinstance(loop, For) or loop.kind != "serial" or not (loop.start.is_constant and loop.stop.is_constant):
        return
    if loop.stop.offset - loop.start.offset < LEAST:
        return
    for vector in loop.body:
        for store in vector.body if isinstance(vector, For) and vector.kind == "vector" else ():
            if not isinstance(store, Store) or store.buffer not in outputs:
                continue
            *outer, along = (index.replaced({"lane": constant(0)}) for index in store.at)
            if along == variable(loop.name) and all(loop.name not in index.names() for index in outer):
                yield _Row(outputs[store.buffer], (*outer, along), loop.name)


def _computes(loop: Statement, later: Statement) -> bool:
    """Whether a loop walks the row of a later one and computes functions, without a loop or a choice inside."""
    assert isinstance(later, For)
    if not isinstance(loop, For) or loop.kind != "serial" or loop.start != later.start:
        return False
    if not loop.stop.is_constant or loop.stop.offset > later.stop.offset:
        return False
    inside = list(walk(loop.body))
    if any(isinstance(s, If) or (isinstance(s, For) and s.kind != "vector") for s in inside):
        return False
    parts = (part for s in inside for operand in operands_of(s) for part in parts_of(operand))
    return any(isinstance(part, Apply) and _is_long(part.function) for part in parts)


def _is_long(function: str) -> bool:
    return function not in SIMPLE and not function.startswith("as_")


def _lines(row: _Row, loop: For) -> Iterator[Prefetch]:
    """The lines of the points of an iteration of a loop."""
    apart = LINE // WIDTH[row.buffer.dtype]
    for first in range(0, loop.step, apart):
        at = tuple(index.replaced({row.name: variable(loop.name) + first}) for index in row.at)
        yield Prefetch(Address(row.buffer.name, at), LEVEL, write=True)
