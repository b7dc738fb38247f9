"""Stores columns where they belong at once, where nothing is computed of them.

    x_columns_0[16, 16] in memory of the function
    transposed(to: x_columns_0, p: x + [i, j_block], apart: 1024)
    for j in j_block..(j_block + 16):
      for lane in 0..16, vector:
        y[j, i + lane] = x_columns_0[j - j_block, lane]
    ->
    transposed_to(to: y + [j_block, i], to_apart: 512, p: x + [i, j_block], apart: 1024)

A block then goes to memory once: a transposition of an array takes less time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cpu.passes.program.lanes.instructions import transposed, transposed_to
from cpu.passes.program.lanes.split_lanes import step_of
from cpu.passes.program.lanes.transpose_reads import DTYPE
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, Do, For, Immediate, Invoke, Load, Statement, Store
from tiling.loops.walk import buffers_of, with_blocks


def store_columns(kernel: Kernel, lanes: int) -> Kernel:
    """The kernel without blocks that are only copied."""
    return replace(kernel, body=_Storing(lanes, buffers_of(kernel)).body(kernel.body))


@dataclass(frozen=True)
class _Storing:
    lanes: int
    buffers: Mapping[str, Buffer]

    def body(self, body: Body) -> Body:
        """The block with its copies of columns joined. Each is three statements."""
        found: list[Statement] = []
        rest = list(body)
        while rest:
            stored = self.stored(rest[:3])
            found.append(stored or with_blocks(rest[0], self.body))
            del rest[: 3 if stored else 1]
        return tuple(found)

    def stored(self, run: list[Statement]) -> Do | None:
        """One instruction for a block, its columns, and the loop that copies them; else None."""
        match run:
            case [Alloc(block), Do(Invoke(instruction, operands)), For(kind="serial", step=1) as along]:
                store = self.copy(along, block) if instruction == transposed(self.lanes) else None
            case _:
                return None
        if store is None or along.stop != along.start + self.lanes:
            return None
        to = self.buffers[store.buffer]
        neighbours, apart = (step_of(to, store.at, name, frozenset((name,))) for name in ("lane", along.name))
        if neighbours != constant(1) or apart is None or to.dtype != DTYPE or to.memory == "registers":
            return None
        first = {"lane": ZERO, along.name: along.start}
        place = Address(store.buffer, tuple(index.replaced(first) for index in store.at))
        given = tuple(operand for operand in operands if operand[0] != "to")
        return Do(Invoke(transposed_to(self.lanes), (("to", place), ("to_apart", Immediate(apart)), *given)))

    def copy(self, along: For, block: Buffer) -> Store | None:
        """The only statement of the loop, if it stores a column of the block as a vector; else None."""
        copied = Load(block.name, (variable(along.name) - along.start, LANE))
        match along.body:
            case (For(kind="vector", body=(Store() as store,)) as vector,):
                whole = vector.start == ZERO and vector.stop == constant(self.lanes)
                return store if whole and store.value == copied else None
        return None
