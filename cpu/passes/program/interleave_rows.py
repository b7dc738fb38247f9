"""Computes several short rows in step, so that one row computes while another waits for a result.

    for i in 0..1536:                   for i in 0..1536 by 4:
      …                           ->      …
      e[128] in its own memory            e[128] in its own memory
      …                                   e_i1[128] in its own memory
      acc_m[0] = -inf                     …
                                          acc_m[0] = -inf
                                          acc_m_i1[0] = -inf

A row's sum waits until the lanes of a vector are combined, and a CPU does not look far enough ahead to begin
the next row by itself. Sums of a large array go by two rows whatever their length, for the prefetchers' sake. Source:
unroll-and-jam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from cpu.passes.program.bind_tasks import work
from cpu.passes.program.jam import in_runs, is_known, jammed
from tiling.loops.conditions import conditions_of
from tiling.loops.facts.lanes import crosses_lanes
from tiling.loops.facts.nests import independent
from tiling.loops.index import LANE, ZERO, Range
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Apply, Block, Body, For, Invoke, Let, Load, Number, Read, Statement, Store
from tiling.loops.meaning.functions import REDUCTIONS
from tiling.loops.rewrite import operands_of, parts_of, with_buffers
from tiling.loops.walk import walk, with_blocks

# Rows at once: the first of these numbers that divides the rows. Combining the lanes of a vector takes some 30 cycles,
# and a CPU looks a few hundred instructions ahead. Softmax of 1536 rows of 128 on a Zen 5: 61.1 µs one by one, 51.1 by
# two, 46.6 by four. With the 16 registers of AVX2, whose constants then come from memory, 137, 119 and 113 on a Zen 3.
ROWS = (4, 2)
# The most accesses to elements in a row. In longer rows waiting is a small part, and several rows at once are several
# streams from memory: layer norm of 768 columns gained 7 %, softmax of 512 lost 1 to 20 %, RMS norm 6 to 19 %.
MOST_ELEMENTS = 4096
# The same for rows in which two sums across lanes wait for each other, and which hold no array: these wait longer.
# Layer norm by four rows on a Zen 5: 7.7 µs for 9.0 with 128 rows of 768, 37.1 for 40.3 with 512, 142 for 155 with
# 2048; but with 8192 rows of 1024, which no cache holds, 2382 for 1679, and 21.3 for 19.0 where a row has 3136.
MOST_CHAINED = 16384
# The most elements of an array whose rows lie between the two limits: several streams from memory take longer than one.
MOST_IN_CACHE = 1 << 21
# Rows at once where each is only summed, out of one array that is larger than that: two streams that a CPU reads ahead.
# Sums of all on one thread of a Zen 5: 143 µs for 166 with 16 MiB, 237 for 287 with 24. Maxima of rows lose 3 to 15 %,
# sums over two arrays up to 2 %, and sums of rows of 768 that L2 holds 9 to 47 %.
STREAMS = 2
# The share of the registers for sums of rows in step; what would not fit goes to memory and back at each step. With two
# sums a row in place of four, a Zen 3 with AVX2 takes 0.96 of the time for a softmax of 1536 x 128, 1.02 and 1.00 for
# layer norms of 128 and 512 x 768 (0.96 and 0.95 in a quieter hour). With one an addition waits for the one before it.
OF_SUMS = 0.5


def interleave_rows(kernel: Kernel, registers: int) -> Kernel:
    """The kernel with short rows that are reduced in step. registers: how many vector registers there are."""
    largest = max((prod(array.shape) for array in kernel.arrays), default=0)
    sums = int(registers * OF_SUMS)
    return replace(kernel, body=_interleaved(kernel.body, kernel.ranges, largest <= MOST_IN_CACHE, sums))


def _interleaved(body: Body, ranges: Mapping[str, Range], cached: bool, sums: int) -> Body:
    found: list[Statement] = []
    for statement in body:
        loops = _loop(statement, ranges, cached, sums) if isinstance(statement, For) else None
        found += loops or (with_blocks(statement, lambda block: _interleaved(block, ranges, cached, sums)),)
    return tuple(found)


def _loop(loop: For, ranges: Mapping[str, Range], cached: bool, sums: int) -> Body | None:
    """The loop over several rows; None where there is nothing to gain, or where some rows would be left over.

    cached: whether a cache holds the largest array. sums: the most registers that are summed to at once.
    """
    if loop.kind != "serial" or loop.step != 1 or not is_known(loop, ranges) or not independent(loop):
        return None
    passes = [s for s in loop.body if isinstance(s, For) and s.kind == "serial"]
    streams = not cached and len(passes) == 1 and _is_sum(passes[0])
    trips = loop.stop - loop.start
    rows = next((rows for rows in ((STREAMS,) if streams else ROWS) if trips % rows == ZERO), 1)
    waits = _waits(loop.body)
    if rows == 1 or any(conditions_of(loop.body)) or not waits:
        return None
    inside = list(walk(loop.body))
    if not all(isinstance(s, (Alloc, Block, For, Store, Let, Read)) for s in inside):
        return None
    if any(_is_nested(each) or not is_known(each, ranges) for each in passes):
        return None
    if not streams:
        holds = any(isinstance(s, Alloc) and s.buffer.memory != "registers" for s in inside)
        most = MOST_CHAINED if cached and waits > 1 and not holds else MOST_ELEMENTS
        if len(passes) < 2 or work(replace(loop, stop=loop.start + 1)).within(ranges)[1] > most:
            return None
    row = _with_fewer_sums(loop.body, sums // rows)
    return in_runs(loop, jammed(loop, rows, row), rows)


def _with_fewer_sums(row: Body, most: int) -> Body:
    """A row in which vectors that would be added in the end are summed to one register, where a loop sums to many."""
    loops = [s for s in row if isinstance(s, For) and s.kind == "serial"]
    registers = {s.buffer.name for s in row if isinstance(s, Alloc) and s.buffer.memory == "registers"}
    sums = (registers & {s.buffer for s in walk(loop.body) if isinstance(s, Store)} for loop in loops)
    pairs = _pairs(row)
    if not pairs or max(map(len, sums), default=0) <= most:
        return tuple(
            with_blocks(s, lambda block: _with_fewer_sums(block, most)) if isinstance(s, Block) else s for s in row
        )
    left = (s for s in row if not _begins(s, pairs) and _added(s) not in [(one, other) for other, one in pairs.items()])
    return _with_fewer_sums(tuple(_renamed(statement, pairs) for statement in left), most)


def _renamed(statement: Statement, pairs: Mapping[str, str]) -> Statement:
    """The statement with one register of each pair. Those that a block has anew have pairs of their own."""
    own = {s.buffer.name for s in walk((statement,)) if isinstance(s, Alloc)} if isinstance(statement, Block) else set()
    return with_buffers(statement, {name: one for name, one in pairs.items() if name not in own})


def _pairs(row: Body) -> dict[str, str]:
    """The registers that are added to others in the end, each with the other one; sums of these are no part of it.

    Both begin with a number in the row, so they hold nothing but their sum.
    """
    found: dict[str, str] = {}
    for one, other in filter(None, map(_added, row)):
        begun = all(any(isinstance(s, For) and _begins(s, {name: ""}) for s in row) for name in (one, other))
        if begun and one not in found.values() and other not in found.values():
            found[other] = one
    return found


def _added(statement: Statement) -> tuple[str, str] | None:
    """The two registers of vectors that a statement adds, and stores to the first one; None for any other statement."""
    match statement:
        case For(kind="vector", body=(Store(one, at, Apply(function, (Load(first), Load(other)))),)) if one == first:
            return (one, other) if at == (LANE,) and function in REDUCTIONS else None
        case _:
            return None


def _begins(statement: Statement, names: Mapping[str, str]) -> bool:
    """Whether a register of these names begins, or gets its first value."""
    match statement:
        case Alloc(buffer):
            return buffer.name in names
        case For(kind="vector", body=(Store(buffer=name, value=Number()),)):
            return name in names
        case _:
            return False


def _is_sum(loop: For) -> bool:
    """Whether a loop over vectors does nothing but add what it reads from one array."""
    arrays = set()
    for store in (s for s in walk(loop.body) if isinstance(s, Store)):
        value = store.value
        if (
            not isinstance(value, Apply)
            or value.function != "add"
            or Load(store.buffer, store.at) not in value.arguments
        ):
            return False
        parts = (part for operand in operands_of(store) for part in parts_of(operand))
        arrays |= {part.buffer for part in parts if isinstance(part, Load)} - {store.buffer}
    return len(arrays) == 1


def _waits(body: Body) -> int:
    """How often the lanes of a vector are combined, between the loops over a row."""
    parts = (part for s in body for operand in operands_of(s) for part in parts_of(operand))
    return sum(isinstance(part, Invoke) and crosses_lanes(part) for part in parts)


def _is_nested(loop: For) -> bool:
    return any(isinstance(s, For) and s.kind == "serial" for s in walk(loop.body))
