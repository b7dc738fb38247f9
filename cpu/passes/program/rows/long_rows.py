"""Which loops walk long rows of large arrays, several times each: what passes that know of the next row ask for.

    for i in 0..2048:
      …
      for j in 0..768 by 32:      `first`, which waits for the lines of x; `before` too, the loop before the last one
        …  x[i, j + lane] …
      …
      for j in 0..768 by 8:       `last`: it stores the row
        …  y[i, j + lane] = …

Behind `skew rows` the last loop stores the row before: `behind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Apply, Block, For, Let, Load, Register, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk
from tiling.program.dtypes import WIDTH

# The least bytes of an array; smaller ones stay in L2.
LEAST = 1 << 20
# The instructions that a CPU with 16 vector registers looks ahead: 256 on a Zen 3. Where the loops behind the first one
# take more, no line of the next row comes meanwhile.
AHEAD = 256
LOOP = 2  # instructions of an iteration beside those of its vectors
# The most bytes of rows in L1, and in L2: this one, the next one and what is stored.
MOST_IN_L1, MOST_IN_L2 = 32 << 10, 256 << 10


@dataclass(frozen=True)
class LongRows:
    """The loops of a row, and where its vectors begin in large arrays that are read in the first loop, and stored.

    level: the cache that holds two rows. behind: whether the last loop stores the row before.
    """

    first: For
    before: For
    last: For
    read: tuple[Load, ...]
    written: tuple[Load, ...]
    level: int
    behind: bool


def large_arrays(kernel: Kernel) -> tuple[dict[str, Buffer], dict[str, Buffer]]:
    """The large arrays that a kernel only reads, and those that it stores to."""
    stored = {s.buffer for s in walk(kernel.body) if isinstance(s, Store)}
    large = [a for a in kernel.arrays if not a.extents and prod(a.shape) * WIDTH[a.dtype] >= LEAST]
    inputs = {array.name: array for array in large if array.name not in stored}
    return inputs, {array.name: array for array in large if array.name in stored}


def passes_of(rows: For) -> list[For]:
    """The loops over a row, in order."""
    return [s for s in rows.body if isinstance(s, For) and s.kind == "serial"]


def long_rows(rows: For, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> LongRows | None:
    """What a loop over rows is; None where its rows are short, or walked once, or more than vectors of a row."""
    passes = passes_of(rows)
    if rows.kind != "serial" or rows.step != 1 or not passes or not all(map(_is_plain, passes)):
        return None  # rows in step are several streams
    first, before, last = passes[0], passes[-2] if len(passes) > 1 else passes[-1], passes[-1]
    stores = (Load(s.buffer, s.at) for s in walk(last.body) if isinstance(s, Store))
    written = tuple(_along(rows, last, stores, outputs))
    behind = any(_is_before(rows, load) for load in written)
    read = tuple(_along(rows, first, (load for s in walk(first.body) for load in _loads(s)), inputs))
    read = tuple(load for load in read if not _is_before(rows, load))
    alike = all((each.start, each.stop) == (first.start, first.stop) for each in (before, last))
    if not (read and written and alike) or not (behind or sum(map(_instructions, passes[1:])) > AHEAD):
        return None
    width = 2 * sum(WIDTH[inputs[load.buffer].dtype] for load in read)
    width += sum(WIDTH[outputs[load.buffer].dtype] for load in written)
    held = width * (last.stop.offset - last.start.offset)
    if held > MOST_IN_L2:
        return None
    return LongRows(first, before, last, read, written, 1 if held <= MOST_IN_L1 else 2, behind)


def _is_before(rows: For, load: Load) -> bool:
    """Whether a place lies in the row before that of the iteration."""
    return any(index == variable(rows.name) - 1 for index in load.at)


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
