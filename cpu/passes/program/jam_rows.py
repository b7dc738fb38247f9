"""Computes several rows in one pass over the vectors that all of them read, so that a product loads each vector once.

    for i in 0..512:                                         for i in 0..512 by 4:
      for j in 0..512 by 64:                                   for j in 0..512 by 64:
        acc_y[16] in registers                                   acc_y[16] in registers
        …                                                        acc_y_i1[16] in registers
        for c in 0..64:                                ->        …
          …                                                      for c in 0..64:
            acc_y[lane] += q[i, c] * k[c, j + lane]                …
                                                                     acc_y[lane] += q[i, c] * k[c, j + lane]
                                                                   …
                                                                     acc_y_i1[lane] += q[i + 1, c] * k[c, j + lane]

Each row has its own copy of a row's buffers. Source: unroll-and-jam, as in the register tiles of products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cpu.passes.program.jam import in_runs, is_known, jammed, names_inside
from cpu.passes.program.jam_vectors import MOST
from tiling.loops.buffer import Buffer
from tiling.loops.conditions import conditions_of
from tiling.loops.facts.nests import independent, most_trips
from tiling.loops.index import Range
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Block, Body, For, If, Let, Load, Read, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import buffers_of, walk, with_blocks

# Rows at once, at most: their 16 sums are twice as many FMAs as are under way. More were not measured.
MOST_ROWS = 4


def jam_rows(kernel: Kernel, registers: int, fused: bool) -> Kernel:
    """The kernel with several rows at once wherever products read the same for each.

    registers: how many vector registers there are. fused: whether a product and its sum are one instruction; else the
    product takes a register too.
    """
    rows = min(MOST_ROWS, (registers - 1 - (not fused)) // (MOST + 1))  # sums and a factor of each row, and a vector
    return (
        replace(kernel, body=_jammed(kernel.body, buffers_of(kernel), rows, kernel.ranges)[0]) if rows > 1 else kernel
    )


def _jammed(body: Body, buffers: Mapping[str, Buffer], rows: int, ranges: Mapping[str, Range]) -> tuple[Body, bool]:
    """The block with loops over rows jammed, the innermost ones that gain; and whether there was one."""
    found: list[Statement] = []
    any_inside = False
    for statement in body:
        below = False

        def inner(block: Body) -> Body:
            nonlocal below
            changed, jammed = _jammed(block, buffers, rows, ranges)
            below = below or jammed
            return changed

        changed = with_blocks(statement, inner)
        loops = _loops(changed, buffers, rows, ranges) if isinstance(changed, For) and not below else None
        found += loops or (changed,)
        any_inside = any_inside or below or loops is not None
    return tuple(found), any_inside


def _loops(loop: For, buffers: Mapping[str, Buffer], rows: int, ranges: Mapping[str, Range]) -> Body | None:
    """The loop over several rows, and one over what is left; None where there is nothing to gain."""
    if loop.kind != "serial" or loop.step != 1 or not is_known(loop, ranges) or not independent(loop):
        return None
    allowed = (Alloc, Block, For, If, Store, Let, Read)
    if not all(isinstance(s, allowed) for s in walk(loop.body)) or not any(_shared(loop, buffers)):
        return None
    own = names_inside(loop.body)
    if not own.isdisjoint(name for c in conditions_of(loop.body) for name in c.index.names()):
        return None
    if any(loop.name in c.index.names() for c in conditions_of(loop.body)):
        return None
    count = min(rows, most_trips(loop, ranges))
    if count < 2:
        return None
    left = (loop.stop - loop.start) % count
    if loop.limit is not None or not left.is_constant or left.offset < 2:  # an early end counts in whole runs from 0
        return in_runs(loop, jammed(loop, count), count)
    main = replace(loop, stop=loop.stop - left, step=count, body=jammed(loop, count))
    rest = replace(loop, start=loop.stop - left, step=left.offset, body=jammed(loop, left.offset))
    return main, rest


def _shared(loop: For, buffers: Mapping[str, Buffer]) -> Iterator[Load]:
    """The vectors that products of every row multiply."""
    for reduction in walk(loop.body):
        if not isinstance(reduction, For) or reduction.kind != "serial":
            continue
        lanes = [s for s in reduction.body if isinstance(s, For) and s.kind == "vector"]
        stores = [s for each in lanes for s in each.body if isinstance(s, Store)]
        if not stores or any(buffers[s.buffer].memory != "registers" for s in stores):
            continue
        for store in stores:
            loads = [p for o in operands_of(store) for p in parts_of(o) if isinstance(p, Load)]
            far = [load for load in loads if buffers[load.buffer].memory != "registers"]
            same = [load for load in far if all(loop.name not in index.names() for index in load.at)]
            same = [load for load in same if buffers[load.buffer].memory == "global"]
            if len(far) > 1 and len(same) < len(far):
                yield from (load for load in same if any("lane" in index.names() for index in load.at))
