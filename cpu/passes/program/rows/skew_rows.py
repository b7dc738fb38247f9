"""Stores a long row while the next one is computed: the last loop over a row becomes part of the loop before it.

                                        v_before[1] in registers
                                        {
                                          …
                                          v_before[0] = v[0]
                                        }
    for i in 0..2048:                   for i in 1..2048:
      v[1] in registers                   v[1] in registers
      …                                   …
      for j in 0..768 by 32:              for j in 0..768 by 32:
        {                                   {
          …                          ->       for lane in 0..8, vector:
          …                                     y[i - 1, j + lane] = …v_before[0]…
        }                                     …
        …                                   }
      v[0] = acc_v[0] / 768                 …
      for j in 0..768 by 8:               v[0] = acc_v[0] / 768
        for lane in 0..8, vector:         v_before[0] = v[0]
          y[i, j + lane] = …v[0]…       {
                                          for j in 0..768 by 8:
                                            for lane in 0..8, vector:
                                              y[2047, j + lane] = …v_before[0]…
                                        }

A loop that stores a row does little but wait for memory, and the one before it computes. So a core has something to do
while lines are on their way, and these come at an even pace. Source: software pipelining.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import lcm

from cpu.passes.program.jam import jammed
from cpu.passes.program.rows.long_rows import large_arrays, long_rows
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import independent
from tiling.loops.index import ZERO, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Block, Body, For, If, Inside, Load, Statement, Store
from tiling.loops.rewrite import places, substituted, with_buffers
from tiling.loops.walk import buffers_of, walk, with_blocks

BEFORE = "_before"  # behind the name of a register: its value in the row before


def skew_rows(kernel: Kernel) -> Kernel:
    """The kernel whose loops over long rows of large arrays store a row while they compute the next one."""
    inputs, outputs = large_arrays(kernel)
    if not (inputs and outputs):
        return kernel
    buffers = buffers_of(kernel)

    def skewed(body: Body) -> Body:
        found: list[Statement] = []
        for statement in body:
            inside = with_blocks(statement, skewed)
            loops = _skewed(inside, inputs, outputs, buffers) if isinstance(inside, For) else None
            found += loops or (inside,)
        return tuple(found)

    return replace(kernel, body=skewed(kernel.body))


def _skewed(
    rows: For, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer], buffers: Mapping[str, Buffer]
) -> Body | None:
    """The rows, each with the stores of the one before; None where nothing is gained, or those cannot wait."""
    found = long_rows(rows, inputs, outputs)
    own = (Alloc(buffer) for buffer in buffers.values() if buffer.memory != "global")
    if found is None or found.before is found.last or not independent(replace(rows, body=(*own, *rows.body))):
        return None
    at, end = (next(n for n, s in enumerate(rows.body) if s is loop) for loop in (found.before, found.last))
    step = lcm(found.before.step, found.last.step)
    if (found.last.stop.offset - found.last.start.offset) % step or not _can_wait(rows, at, end, buffers):
        return None
    needed = sorted({place.buffer for place in places(rows.body[end:])})
    registers = [buffers[name] for name in needed if buffers[name].memory == "registers"]
    names = {register.name: register.name + BEFORE for register in registers}
    keep = [Store(new, (ZERO,), Load(old, (ZERO,))) for old, new in names.items()]
    late = tuple(with_buffers(statement, names) for statement in rows.body[end:])
    stores, *rest = substituted(late, {rows.name: variable(rows.name) - 1})
    assert isinstance(stores, For)
    along = substituted(_wide(stores, step), {stores.name: variable(found.before.name)})
    both = replace(found.before, step=step, body=(Block("", along), *_wide(found.before, step)))
    loops: Body = (
        *(Alloc(replace(register, name=names[register.name])) for register in registers),
        Block("", substituted((*rows.body[:end], *keep), {rows.name: rows.start})),
        replace(rows, start=rows.start + 1, body=(*rows.body[:at], both, *rest, *rows.body[at + 1 : end], *keep)),
        Block("", substituted(late, {rows.name: rows.stop - 1})),
    )
    trips = rows.stop - rows.start
    return loops if trips.is_constant and trips.offset > 0 else (If((Inside(trips, 1, None),), loops),)


def _wide(loop: For, step: int) -> Body:
    """The body of a loop over vectors for all vectors of a longer step."""
    return jammed(loop, step // loop.step)


def _can_wait(rows: For, at: int, end: int, buffers: Mapping[str, Buffer]) -> bool:
    """Whether what stands from place `end` on in a row may run beside the loop at place `at` of the next row.

    It stores to arrays alone. It may need registers, which are kept for it, and rows that the loop writes: each step
    reads its part before it writes it.
    """
    before, last, late = rows.body[at], rows.body[end], rows.body[end:]
    assert isinstance(before, For) and isinstance(last, For)
    if before.limit or last.limit or any(isinstance(s, Alloc) for s in walk(late)):
        return False
    if any(isinstance(s, Alloc) and s.buffer.memory != "registers" for s in walk(rows.body)):
        return False
    used = {place.buffer: buffers[place.buffer] for place in places(late)}
    if any(buffers[s.buffer].memory != "global" for s in walk(late) if isinstance(s, Store)):
        return False
    if any(buffer.memory == "registers" and buffer.shape != (1,) for buffer in used.values()):
        return False
    own = {name for name, buffer in used.items() if buffer.memory not in ("registers", "global")}
    early = {s.buffer for s in walk(rows.body[:at]) if isinstance(s, Store)}
    read = (place for place in places((last,)) if isinstance(place, Load) and place.buffer in own)
    written = (s for s in walk((before,)) if isinstance(s, Store) and s.buffer in own)
    return not own & early and _in_step(last, read) and _in_step(before, written)


def _in_step(loop: For, accesses: Iterable[Load | Store]) -> bool:
    """Whether each step of a loop has its own part of a row: that from its variable on to the next step."""
    for access in accesses:
        (along, *more) = (index.replaced({"lane": ZERO}) - variable(loop.name) for index in access.at)
        if more or not along.is_constant or not 0 <= along.offset < loop.step:
            return False
    return True
