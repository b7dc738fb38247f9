"""Joins stores of vectors of narrow numbers that together fill a cache line.

    store(p: y, v: acc_0_0)                    store_line(p: y, v_0: acc_0_0, v_1: acc_0_1)
    store(p: y + [0, 16], v: acc_0_1)    ->    store(p: y + [0, 32], v: acc_0_2)
    store(p: y + [0, 32], v: acc_0_2)

A vector of narrow numbers fills only part of a line, and a CPU takes as long for a store of that part.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.instructions import Instructions, NarrowStores
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Body, Do, Instruction, Invoke, Statement
from tiling.loops.walk import with_blocks


def store_lines(kernel: Kernel, instructions: Instructions, lanes: int) -> Kernel:
    """The kernel with one store for each line of narrow numbers."""
    joined = _Joiner({stores.store: stores for stores in instructions.narrow.values()}, lanes)
    return replace(kernel, functions=tuple(replace(f, body=joined.body(f.body)) for f in kernel.functions))


class _Joiner:
    def __init__(self, narrow: dict[Instruction, NarrowStores], lanes: int):
        self.narrow, self.lanes = narrow, lanes

    def body(self, body: Body) -> Body:
        """The block with its stores joined."""
        found: list[Statement] = []
        at = 0
        while at < len(body):
            line = self.line(body[at:])
            found.append(line or with_blocks(body[at], self.body))
            at += len(line.invoke.operands) - 1 if line else 1
        return tuple(found)

    def line(self, body: Body) -> Do | None:
        """One store in place of the first ones of a block; None where these do not fill a line."""
        stores = self.of(body[0])
        if stores is None:
            return None
        run = [s.invoke for s in body[: stores.in_line] if isinstance(s, Do) and self.of(s) is stores]
        first = _place(run[0])
        if len(run) < stores.in_line or any(_place(s) != _moved(first, n * self.lanes) for n, s in enumerate(run)):
            return None
        values = tuple((f"v_{number}", dict(store.operands)["v"]) for number, store in enumerate(run))
        return Do(Invoke(stores.line, (("p", first), *values)))

    def of(self, statement: Statement) -> NarrowStores | None:
        """The stores to which this one belongs, if it stores a whole vector of narrow numbers."""
        return self.narrow.get(statement.invoke.instruction) if isinstance(statement, Do) else None


def _place(store: Invoke) -> Address:
    place = dict(store.operands)["p"]
    assert isinstance(place, Address)
    return place


def _moved(place: Address, elements: int) -> Address:
    """The place so many elements further along the last axis."""
    *outer, last = place.at
    return Address(place.buffer, (*outer, last + elements))
