"""Transposes tiles in shared memory, where neighbours of what is stored to are no neighbours in what is read.

    for i in 0..76:                         for block in 0..12, block:
      for j in 0..100:                        i_first = 32*(block / 4)
        y[i, j] = 2 * x[j, i]                 j_first = 32*(block % 4)
                                              x_transposed[32, 33] in shared memory
                                              for thread in 0..256, thread:
                                        ->      for element in thread..1024 by 256:
                                                  i = i_first + element % 32
                                                  j = j_first + element / 32
                                                  if i < 76 and j < 100:
                                                    x_transposed[element / 32, element % 32] = x[j, i]
                                              for thread in 0..256, thread:
                                                for element in thread..1024 by 256:
                                                  i = i_first + element / 32
                                                  j = j_first + element % 32
                                                  if i < 76 and j < 100:
                                                    y[i, j] = 2 * x_transposed[element % 32, element / 32]

A warp reads and writes whole lines of memory. Rows of a tile have an element more, so that rows and columns of it use
all banks of shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from gpu.passes.facts.neighbours import ELEMENT
from gpu.passes.facts.reading import flat, moves_by, touched
from gpu.passes.facts.workers import BLOCK, BLOCK_THREADS, THREAD, RowTeam, over
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import chain
from tiling.loops.index import Index, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Choose, Define, For, If, Inside, Load, Operand, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of, with_own_values
from tiling.loops.walk import buffers_of, free_name

SIDE = 32  # of a tile, and threads of a warp


def transpose_tiles(kernel: Kernel) -> Kernel:
    """The kernel, whose transposing maps go through shared memory."""
    buffers = buffers_of(kernel)

    def transposed(statement: Statement) -> Statement:
        if not isinstance(statement, For) or statement.kind != "serial":
            return statement
        loops, body = chain(statement)
        found = _transposition(loops, body, buffers)
        return found.launch(touched(kernel.body)) if found else statement

    return replace(kernel, body=tuple(map(transposed, kernel.body)))


@dataclass(frozen=True)
class _Transposition:
    """A map of loops. row, column: those along neighbours of what is read, and of what is stored to. read: by tiles."""

    loops: list[For]
    row: For
    column: For
    store: Store
    read: tuple[Load | Choose, ...]
    buffers: Mapping[str, Buffer]

    def launch(self, taken: set[str]) -> For:
        """The launch: a block for each tile."""
        name = free_name(ELEMENT, taken)
        element, team = variable(name), RowTeam(THREAD, BLOCK_THREADS)
        tiles: dict[Load | Choose, Buffer] = {}
        for part in self.read:
            array = self.buffers[_load_of(part).buffer]
            called = free_name(f"{array.name}_transposed", {*taken, *(tile.name for tile in tiles.values())})
            tiles[part] = Buffer(called, (SIDE, SIDE + 1), (self.column.name, self.row.name), array.dtype, "shared")
        high, wide = element // SIDE, element % SIDE
        filling = tuple(Store(tile.name, (high, wide), part) for part, tile in tiles.items())

        def near(operand: Operand) -> Operand | None:
            known = isinstance(operand, (Load, Choose)) and operand in tiles
            return Load(tiles[operand].name, (wide, high)) if known else None  # type: ignore[index]

        stored = with_own_values(self.store, near)
        every = {loop.name: -(-_extent(loop) // self.side(loop)) for loop in self.loops}
        places = self.places(every)
        steps = (
            self.each(team, name, {self.row.name: wide, self.column.name: high}, filling),
            self.each(team, name, {self.row.name: high, self.column.name: wide}, (stored,)),
        )
        return over(BLOCK, prod(every.values()), (*places, *map(Alloc, tiles.values()), *steps))

    def side(self, loop: For) -> int:
        """Points of a loop that a block has."""
        return SIDE if loop in (self.row, self.column) else 1

    def places(self, every: Mapping[str, int]) -> tuple[Define, ...]:
        """Where a block's tile begins. every: how many tiles there are along each loop."""
        found = []
        for number, loop in enumerate(self.loops):
            behind = prod(every[later.name] for later in self.loops[number + 1 :])
            at = applied("/", variable(BLOCK), constant(behind))
            at = applied("%", at, constant(every[loop.name])) if number else at
            found.append(Define(self.first(loop), at * self.side(loop)))
        return tuple(found)

    def first(self, loop: For) -> str:
        return f"{loop.name}_first" if self.side(loop) > 1 else loop.name

    def each(self, team: RowTeam, name: str, places: Mapping[str, Index], body: Body) -> For:
        """Each thread at its elements of a tile. name: the variable that numbers them. places: along both sides."""
        loops = [loop for loop in self.loops if loop.name in places]
        tests = tuple(Inside(variable(s.name), None, _extent(s)) for s in loops if _extent(s) % SIDE)
        inside: Body = (If(tests, body),) if tests else body
        at = tuple(Define(loop.name, variable(self.first(loop)) + places[loop.name]) for loop in loops)
        return team.each((For(name, team.number, constant(SIDE * SIDE), team.size, (*at, *inside)),))


def _transposition(loops: list[For], body: Body, buffers: Mapping[str, Buffer]) -> _Transposition | None:
    """How a map transposes; None where it does not, or where tiles would be mostly empty."""
    fixed = all(loop.start == constant(0) and loop.stop.is_constant and loop.step == 1 for loop in loops)
    store = body[0]
    if not fixed or len(body) != 1 or not isinstance(store, Store):
        return None
    *others, column = loops
    if moves_by(flat(buffers[store.buffer], store.at), column.name) != 1 or _extent(column) < SIDE:
        return None
    for row in others:
        read = _read_across(store, row.name, column.name, buffers)
        if read and _extent(row) >= SIDE:
            return _Transposition(loops, row, column, store, read, buffers)
    return None


def _read_across(store: Store, row: str, column: str, buffers: Mapping[str, Buffer]) -> tuple[Load | Choose, ...]:
    """What is read of arrays that lie along rows, with its tests; nothing where tests stand around more."""

    def across(load: Load) -> bool:
        place, memory = flat(buffers[load.buffer], load.at), buffers[load.buffer].memory
        return memory == "global" and moves_by(place, row) == 1 and moves_by(place, column) != 1

    parts = [part for operand in operands_of(store) for part in parts_of(operand)]
    loads = {part for part in parts if isinstance(part, Load) and across(part)}
    chosen = [part for part in parts if isinstance(part, Choose)]
    tested = {part.value: part for part in chosen if isinstance(part.value, Load)}
    inside = {load for part in chosen for load in parts_of(part) if isinstance(load, Load)}
    if any(load in inside and load not in tested for load in loads):
        return ()
    return tuple(tested.get(load, load) for load in loads)


def _load_of(part: Load | Choose) -> Load:
    load = part.value if isinstance(part, Choose) else part
    assert isinstance(load, Load)
    return load


def _extent(loop: For) -> int:
    return loop.stop.offset
