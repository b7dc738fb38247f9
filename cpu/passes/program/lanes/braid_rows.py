"""Stores a few rows side by side at once, where nothing is computed of them.

    for w in 0..224:                     for w in 0..224 by 16:
      for c in 0..3:              ->       braided_3(to: y + [h, w, 0], p: x + [0, h, w], apart: 50176)
        y[h, w, c] = x[c, h, w]

So an image gets its channels last. A last block that would not be whole begins earlier, and stores some numbers again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cpu.passes.program.lanes.instructions import braided
from cpu.passes.program.lanes.split_lanes import step_of
from cpu.passes.program.lanes.transpose_reads import DTYPE
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Body, Do, For, Immediate, Invoke, Load, Statement, Store
from tiling.loops.walk import buffers_of, with_blocks


def braid_rows(kernel: Kernel, lanes: int) -> Kernel:
    """The kernel with blocks in place of single numbers."""
    return replace(kernel, body=_Braiding(lanes, buffers_of(kernel)).body(kernel.body))


@dataclass(frozen=True)
class _Braiding:
    lanes: int
    buffers: Mapping[str, Buffer]

    def body(self, body: Body) -> Body:
        found: list[Statement] = []
        for statement in body:
            found += self.blocks(statement) or (with_blocks(statement, self.body),)
        return tuple(found)

    def blocks(self, along: Statement) -> Body:
        """Blocks for a loop along rows around one from row to row; none for any other statement."""
        match along:
            case For(kind="serial", step=1, body=(For(kind="serial", step=1) as rows,)):
                count = rows.stop - rows.start
            case _:
                return ()
        match rows.body:
            # More rows take more shuffles for a vector than half of the stores of its numbers.
            case (Store(value=Load() as load) as store,) if count.is_constant and 1 < count.offset <= self.lanes // 2:
                apart = self.apart(along, rows, store, load)
            case _:
                return ()
        points = along.stop - along.start
        if apart is None or (points.is_constant and points.offset < self.lanes):
            return ()

        def block(first: Index) -> Statement:
            at = {along.name: first, rows.name: rows.start}
            to, p = (Address(one.buffer, tuple(index.replaced(at) for index in one.at)) for one in (store, load))
            given = (("to", to), ("p", p), ("apart", Immediate(apart)))
            return Do(Invoke(braided(count.offset, self.lanes), given))

        end = along.stop - points % self.lanes
        whole = replace(along, stop=end, step=self.lanes, body=(block(variable(along.name)),))
        if end == along.stop:
            return (whole,)
        return whole, block(along.stop - self.lanes) if points.is_constant else replace(along, start=end)

    def apart(self, along: For, rows: For, store: Store, load: Load) -> Index | None:
        """How far the rows that are read lie apart, if they are stored side by side; else None."""
        to, of = self.buffers[store.buffer], self.buffers[load.buffer]
        if to is of or any(each.dtype != DTYPE or each.memory == "registers" for each in (to, of)):
            return None
        stored, read = (
            [step_of(buffer, at, name, frozenset((name,))) for name in (along.name, rows.name)]
            for buffer, at in ((to, store.at), (of, load.at))
        )
        fits = stored == [rows.stop - rows.start, constant(1)] and read[0] == constant(1)
        return read[1] if fits else None
