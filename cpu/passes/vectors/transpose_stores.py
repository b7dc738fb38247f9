"""Transposes blocks of a tile where the output's neighbours are rows of the tile and not lanes, as with NCHW.

    for w_u in 0..4, unrolled:                          t[4, 4] in registers
      for lane in 0..4, vector:                   ->    transpose_4(t: t, r0: acc[0, 0, lane], …, r3: acc[3, 0, lane])
        y[0, lane, 0, w_u] = acc[w_u, 0, lane]          for place in 0..4, unrolled:
                                                          for lane in 0..4, vector:
                                                            y[0, place, 0, lane] = t[place, lane]

A block is a run of rows that are neighbours in memory (`microkernels.tile.transpose`). Its vectors of channels become
vectors of rows, one for each channel. Arrays of an epilogue are read at the same places. Sums that wait in Y for
another pass are loaded by vectors of rows, and transposed back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from microkernels.tile.instructions import transpose_instruction
from microkernels.tile.transpose import Rows, blocks
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import LANE, ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Block,
    Body,
    Do,
    For,
    If,
    Inside,
    Invoke,
    Load,
    Number,
    Operand,
    Statement,
    Store,
)
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import parts_of, substituted, with_operands
from tiling.loops.walk import with_blocks
from tiling.problem import Problem

TRANSPOSED = "t"  # a block after it is transposed
PLACE = variable("place")  # counts the vectors of a block, one for each point of the vectorised dim
_ROW = variable("row")  # counts the rows of a block, until these are lanes


def transpose_stores(kernel: Kernel, problem: Problem, lanes: int) -> Kernel:
    """The kernel, whose output is transposed, with stores and loads of Y by vectors of rows."""

    def of_tile(loops: tuple[For, ...]) -> tuple[Rows, ...]:
        extents = dict.fromkeys(problem.extents, 1) | {loop.dim: steps_of(loop) for loop in loops}
        return blocks(problem, extents, lanes)

    return _transposed(kernel, "Y", _Transposer(of_tile, problem.sum_dtype, lanes, ACCUMULATORS, frozenset()))


def transpose_copy(kernel: Kernel, array: str, registers: str, lanes: int) -> Kernel:
    """A kernel that copies blocks to `array`, with stores by vectors of rows. registers: the buffer of a block.

    Here all rows of a block are neighbours in memory.
    """
    dtype = next(buffer.dtype for buffer in kernel.arrays if buffer.name == array)

    def of_tile(loops: tuple[For, ...]) -> tuple[Rows, ...]:
        return (Rows(0, prod(map(steps_of, loops))),)

    return _transposed(kernel, array, _Transposer(of_tile, dtype, lanes, registers, frozenset()))


def _transposed(kernel: Kernel, array: str, transposer: _Transposer) -> Kernel:
    """The kernel with stores to `array`, and loads of it, transposed in its functions."""

    def whole(body: Body, views: Mapping[str, str]) -> Body:
        outputs = frozenset(view for view, shown in views.items() if shown == array)
        return replace(transposer, outputs=outputs).body(body)

    functions = tuple(replace(f, body=whole(f.body, dict(f.views))) for f in kernel.functions)
    return replace(kernel, functions=functions)


@dataclass(frozen=True)
class _Nest:
    """The loops around one store for each output of a tile, and the tests that the output exists."""

    loops: tuple[For, ...]
    tests: tuple[Inside, ...]
    store: Store

    def along(self, axis: int, registers: str) -> tuple[For, ...]:
        """The loops that move an axis of the registers: 0 for those over rows, 1 for the one over vectors."""
        places = (self.store, *parts_of(self.store.value))
        sums = next(p for p in places if isinstance(p, (Store, Load)) and p.buffer == registers)
        moving = set(sums.at[axis].names())
        return tuple(loop for loop in self.loops if loop.name in moving)


@dataclass(frozen=True)
class _Transposer:
    """of_tile: the blocks of a tile with these loops over rows. registers: the buffer that holds the rows. dtype: its
    dtype. outputs: the views of the array that is stored to.
    """

    of_tile: Callable[[tuple[For, ...]], tuple[Rows, ...]]
    dtype: str
    lanes: int
    registers: str
    outputs: frozenset[str]

    def body(self, body: Body) -> Body:
        """The block with blocks in place of stores to the array, and of loads of it."""
        found: list[Statement] = []
        for statement in body:
            nest = _nest(statement)
            if nest and nest.store.buffer in self.outputs:
                found += (self.stored(nest, v, rows) for v, rows in self.blocks(nest))
            elif nest and isinstance(nest.store.value, Load) and nest.store.value.buffer in self.outputs:
                found += (self.loaded(nest, v, rows) for v, rows in self.blocks(nest))
            else:
                found.append(with_blocks(statement, self.body))
        return tuple(found)

    def blocks(self, nest: _Nest) -> list[tuple[int, Rows]]:
        """(vector, rows) of every block of a tile."""
        vectors = prod(steps_of(loop) for loop in nest.along(1, self.registers))
        return [(v, rows) for v in range(vectors) for rows in self.of_tile(nest.along(0, self.registers))]

    def stored(self, nest: _Nest, v: int, rows: Rows) -> Block:
        """A block whose accumulators are transposed and then stored."""

        def change(part: Operand) -> Operand | None:
            return _element() if isinstance(part, Load) and part.buffer == self.registers else None

        store = replace(nest.store, value=with_operands(nest.store.value, change))
        sums = [Load(self.registers, (constant(rows.first + row), constant(v), LANE)) for row in range(rows.count)]
        return self.transposed((), sums, (self.points(nest, v, rows, store),))

    def loaded(self, nest: _Nest, v: int, rows: Rows) -> Block:
        """A block of sums that are loaded by vectors of rows and transposed back."""
        to, nothing = Store(TRANSPOSED, _element().at, nest.store.value), Store(TRANSPOSED, _element().at, Number(0))
        load = self.points(nest, v, rows, to, nothing)
        vectors = [Load(TRANSPOSED, (constant(place), LANE)) for place in range(self.lanes)]
        sums = Store(self.registers, (_ROW + rows.first, constant(v), LANE), Load(TRANSPOSED, (_ROW, LANE)))
        back = For("row", ZERO, constant(rows.count), 1, (self.each_lane(sums),), "unrolled")
        return self.transposed((load,), vectors, (back,))

    def transposed(self, before: Body, vectors: list[Load], after: Body) -> Block:
        """The transposition of these vectors, between the statements before and after it."""
        axes = ("place", "lane")
        block = Alloc(Buffer(TRANSPOSED, (self.lanes, self.lanes), axes, self.dtype, "registers"))
        operands: list[tuple[str, Operand]] = [
            (TRANSPOSED, Address(TRANSPOSED, (ZERO, ZERO))),
            *((f"r{row}", each) for row, each in enumerate(vectors)),
        ]
        transpose = Do(Invoke(transpose_instruction(len(vectors), self.lanes), tuple(operands)))
        return Block("", (block, *before, transpose, *after))

    def points(self, nest: _Nest, v: int, rows: Rows, store: Store, beyond: Store | None = None) -> For:
        """The loop over the vectors of a block, around `store` for each row. beyond: the store where no output is."""
        here = {"lane": PLACE, "row": LANE} | _of_rows(nest.along(0, self.registers), rows)
        here |= {loop.name: constant(v) for loop in nest.along(1, self.registers)}
        (kept,) = substituted((store,), here)
        others = substituted((beyond,), here) if beyond else ()
        test = Inside(LANE, None, rows.count)
        body: Body = (self.each_lane(kept if rows.count == self.lanes else If((test,), (kept,), others)),)
        tests = tuple(replace(test, index=test.index.replaced(here)) for test in nest.tests)
        if tests:
            body = (If(tests, body, tuple(map(self.each_lane, others))),)
        return For("place", ZERO, constant(self.lanes), 1, body, "unrolled")

    def each_lane(self, statement: Statement) -> For:
        return For("lane", ZERO, constant(self.lanes), 1, (statement,), "vector")


def _element() -> Load:
    """The element of a transposed block for a row, and a point of the vectorised dim, which is still a lane."""
    return Load(TRANSPOSED, (LANE, _ROW))


def _nest(statement: Statement) -> _Nest | None:
    """The loops over the outputs of a tile; None where a statement is something else."""
    loops: list[For] = []
    tests: list[Inside] = []
    while isinstance(statement, For) and statement.kind != "serial":
        loops.append(statement)
        (statement,) = statement.body
    if loops and isinstance(statement, If):
        tests += (test for test in statement.conditions if isinstance(test, Inside))
        (statement,) = statement.body
    return _Nest(tuple(loops), tuple(tests), statement) if loops and isinstance(statement, Store) else None


def _of_rows(loops: tuple[For, ...], rows: Rows) -> dict[str, Index]:
    """The variable of each loop over rows in the rows of a block, which are the lanes."""
    found: dict[str, Index] = {}
    first, last, row = rows.first, rows.first + rows.count - 1, LANE + rows.first
    for loop in reversed(loops):
        trips = steps_of(loop)
        if first // trips == last // trips:  # the row is the same along the loops outside
            found[loop.name] = constant(first % trips) if first == last else row - first // trips * trips
            row = constant(first // trips)
        else:
            found[loop.name], row = row % trips, row // trips
        first, last = first // trips, last // trips
    return found
