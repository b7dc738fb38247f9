"""Where several loops walk a row: the one that stores prefetches the next row, an earlier one the lines of the output.

    for i in 0..2048:                              for i in 0..2048:
      …                                              …
      for j in 0..768 by 32:                         for j in 0..768 by 32:
        {                                              prefetch y[i, j] to L1, to be written
          for lane in 0..8, vector:                    prefetch y[i, j + 16] to L1, to be written
            … x[i, j + lane] …                  ->     …
      …                                              …
      for j in 0..768 by 8:                          for j in 0..768 by 16:
        for lane in 0..8, vector:                      prefetch x[i + 1, j] to L1
          y[i, j + lane] = …                           for lane in 0..8, vector:
                                                         y[i, j + lane] = …
                                                       …

The first loop over a row waits for its lines, and those behind it find them in L1. Where these take more instructions
than a CPU looks ahead, no line comes meanwhile, and the loop that stores waits for its own. Kernels with more than 16
vector registers are left alone: their rows have half as many instructions, and a softmax loses by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import lcm, prod

from cpu.passes.program.jam_vectors import Jammed, in_runs, names_inside, together
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    LINE,
    Address,
    Apply,
    Block,
    Body,
    For,
    Let,
    Load,
    Prefetch,
    Register,
    Statement,
    Store,
)
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk, with_blocks
from tiling.program.dtypes import WIDTH

# The least bytes of an array; smaller ones stay in L2. A Zen 3, one thread and two, the time with prefetches over that
# without, medians of fifteen turns: RMS norm of 2048 x 768 0.71 and 0.97, residual and layer norm of 512 x 768 0.81 and
# 1.03 (0.84 of the least), softmax of 6144 x 512 0.89 and 0.88, a chain over 2048 x 1024 0.62 and 0.85.
LEAST = 1 << 20
# The instructions that a CPU with 16 vector registers looks ahead: 256 on a Zen 3.
AHEAD = 256
LOOP = 2  # instructions of an iteration beside those of its vectors
# The most bytes of rows in L1, and in L2: this one, the next one and what is stored.
MOST_IN_L1, MOST_IN_L2 = 32 << 10, 256 << 10


def prefetch_next_rows(kernel: Kernel) -> Kernel:
    """The kernel that prefetches rows of its inputs and outputs."""
    stored = {s.buffer for s in walk(kernel.body) if isinstance(s, Store)}
    large = [a for a in kernel.arrays if not a.extents and prod(a.shape) * WIDTH[a.dtype] >= LEAST]
    inputs = {array.name: array for array in large if array.name not in stored}
    outputs = {array.name: array for array in large if array.name in stored}
    return replace(kernel, body=_prefetched(kernel.body, inputs, outputs)) if inputs and outputs else kernel


def _prefetched(body: Body, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> Body:
    found: list[Statement] = []
    for statement in body:
        inside = with_blocks(statement, lambda block: _prefetched(block, inputs, outputs))
        found.append(_rows(inside, inputs, outputs) if isinstance(inside, For) else inside)
    return tuple(found)


def _rows(rows: For, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> For:
    """A loop over rows with the prefetches in its last loops over a row; the loop itself where it is none."""
    places = [number for number, s in enumerate(rows.body) if isinstance(s, For) and s.kind == "serial"]
    passes = [s for s in rows.body if isinstance(s, For) and s.kind == "serial"]
    if rows.kind != "serial" or rows.step != 1 or len(passes) < 2 or not all(map(_is_plain, passes)):
        return rows  # rows in step are several streams
    first, before, last = passes[0], passes[-2], passes[-1]
    read = tuple(_along(rows, first, (load for s in walk(first.body) for load in _loads(s)), inputs))
    written = tuple(
        _along(rows, last, (Load(s.buffer, s.at) for s in walk(last.body) if isinstance(s, Store)), outputs)
    )
    alike = all((each.start, each.stop) == (first.start, first.stop) for each in (before, last))
    if not (read and written and alike) or sum(map(_instructions, passes[1:])) <= AHEAD:
        return rows
    width = 2 * sum(WIDTH[inputs[load.buffer].dtype] for load in read)
    width += sum(WIDTH[outputs[load.buffer].dtype] for load in written)
    held = width * (last.stop.offset - last.start.offset)
    if held > MOST_IN_L2:
        return rows
    level = 1 if held <= MOST_IN_L1 else 2
    body: list[Body] = [(statement,) for statement in rows.body]
    body[places[-2]] = _by_lines(before, written, {last.name: variable(before.name)}, outputs, level, write=True)
    ahead = {rows.name: variable(rows.name) + 1, first.name: variable(last.name)}
    body[places[-1]] = _by_lines(last, read, ahead, inputs, level, write=False)
    return replace(rows, body=tuple(statement for each in body for statement in each))


def _by_lines(
    loop: For, rows: Sequence[Load], at: Mapping[str, Index], arrays: Mapping[str, Buffer], level: int, write: bool
) -> Body:
    """A loop over vectors, whole lines at a time, that prefetches lines of these rows. at: where, for their indices.

    Vectors of such a loop depend on each other by sums alone, which keep their order.
    """
    apart = {load: LINE // WIDTH[arrays[load.buffer].dtype] for load in rows}
    step = lcm(loop.step, *apart.values())
    copies = [Jammed(loop.name, number, loop.step, names_inside(loop.body)) for number in range(step // loop.step)]
    lines: list[Statement] = []
    for load in rows:
        for place in range(0, step, apart[load]):
            *outer, along = (index.replaced(at) for index in load.at)
            lines.append(Prefetch(Address(load.buffer, (*outer, along + place)), level, write))
    return in_runs(loop, (*lines, *together(loop.body, copies)), loop.body, step)


def _is_plain(loop: For) -> bool:
    """Whether a loop walks vectors alone."""
    vectors = (
        isinstance(s, (Block, Let, Store)) or (isinstance(s, For) and s.kind == "vector") for s in walk(loop.body)
    )
    return loop.start.is_constant and loop.stop.is_constant and all(vectors)


def _loads(statement: Statement) -> Iterator[Load]:
    parts = (part for operand in operands_of(statement) for part in parts_of(operand))
    return (part for part in parts if isinstance(part, Load))


def _along(rows: For, loop: For, places: Iterable[Load], arrays: Mapping[str, Buffer]) -> Iterator[Load]:
    """Where the vectors of a loop begin in these arrays, if their row depends on the iteration of `rows`."""
    for load in dict.fromkeys(place for place in places if place.buffer in arrays):
        *outer, along = (index.replaced({"lane": ZERO}) for index in load.at)
        if along == variable(loop.name) and any(rows.name in index.names() for index in outer):
            yield Load(load.buffer, (*outer, along))


def _instructions(loop: For) -> int:
    """About how many instructions a loop over a row takes: what differs from vector to vector."""
    each = LOOP
    for statement in (s for s in walk(loop.body) if isinstance(s, (Let, Store))):
        applied = (p for operand in operands_of(statement) for p in parts_of(operand) if isinstance(p, Apply))
        each += len({load for load in _loads(statement) if _moves(load, loop.name)})
        each += sum(_differs(part, loop.name) for part in applied) + isinstance(statement, Store)
    return each * ((loop.stop.offset - loop.start.offset) // loop.step)


def _differs(value: Apply, name: str) -> bool:
    """Whether a value may differ along a loop over vectors."""
    parts = list(parts_of(value))
    return any(isinstance(part, Register) or (isinstance(part, Load) and _moves(part, name)) for part in parts)


def _moves(load: Load, name: str) -> bool:
    return bool({name, "lane"} & {each for index in load.at for each in index.names()})
