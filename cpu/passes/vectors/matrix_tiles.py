"""Multiplies the dot groups of a step by matrix instructions, whose sums lie in tile registers.

    acc[14, 1, 16] in registers                                  acc[14, 1, 16] in memory of the function
    …                                                            tmm0[14, 16] in a tile register
      acc[w_u, 0, lane] = 0                                      …
    …                                                            tile_zero(tmm0)
    for word in 0..16, unrolled:                                 …
      for lane in 0..16, vector:                           ->    tile_load(t: tmm1, p: x + […], step: …)
        acc[w_u, 0, lane] += dot_bf16(x[…, word], w[…])          tile_load(t: tmm2, p: w + [256*c], step: w by [16])
                                                                 tile_dot(acc: tmm0, x: tmm1, w: tmm2)
                                                                 …
                                                                 tile_store(t: tmm0, p: acc, step: acc by [1, 0, 0])

A tile register of x holds a run: rows that lie equally far apart in x. A tap reaches all of them or none. The finished
sums go to the array `acc` in L1. Stores read vectors there, so epilogues work on vectors. The next pass, `shape_tiles`,
gives the registers their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

from cpu.passes.control.unroll import decided
from microkernels.tile.matrix import Registers, RowRun, registers_of, runs_of
from microkernels.tile.matrix_instructions import MatrixInstructions
from tiling.arrays.access import access_of
from tiling.dtypes.products import LANE_BYTES
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Block,
    Body,
    Do,
    Flag,
    For,
    If,
    Inside,
    Instruction,
    Invoke,
    Load,
    Number,
    Operand,
    Statement,
    Store,
    Stride,
)
from tiling.loops.lowering.tile import ACCUMULATORS, FIRST
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import buffers, walk, with_blocks
from tiling.problem import Problem
from tiling.rewrite.copies.laid_out import STRIP


def matrix_tiles(kernel: Kernel, problem: Problem, instructions: MatrixInstructions) -> Kernel:
    """The kernel with matrix instructions in its functions. Its tile registers have no shapes yet."""

    def multiplied(function: Function) -> Function:
        return _Tiler(kernel, function, problem, instructions).whole() if _is_tile(function) else function

    return replace(kernel, functions=tuple(map(multiplied, kernel.functions)))


def _is_tile(function: Function) -> bool:
    """Whether a function is a register tile."""
    return any(isinstance(statement, Alloc) for statement in function.body)


@dataclass(frozen=True)
class _Step:
    """The products of one point of the summed dims: where its weights begin, and the runs that its tap reaches.

    runs: for each, where its first row begins, and how far the next one is.
    """

    weights: Load
    runs: Mapping[int, tuple[Load, Stride]]


class _Tiler:
    def __init__(self, kernel: Kernel, function: Function, problem: Problem, instructions: MatrixInstructions):
        self.function, self.problem, self.instructions = function, problem, instructions
        arrays = {buffer.name: buffer for buffer in buffers(kernel)}
        self.arrays = {view: arrays[array] for view, array in function.views}
        (self.sums,) = [s.buffer for s in function.body if isinstance(s, Alloc)]
        self.words = access_of(problem).element_bytes // LANE_BYTES
        loops = [s for s in walk(function.body) if isinstance(s, For) and s.kind == "unrolled"]
        self.extents = {loop.dim: len(_counts(loop)) for loop in loops if loop.dim in problem.row_dims}
        self.x, self.w = arrays.get(STRIP, arrays["X"]), arrays["W"]  # as tiles read them

    # --- the registers ------------------------------------------------------------------------------------------------

    @cached_property
    def runs(self) -> tuple[RowRun, ...]:
        return runs_of(self.problem, self.extents, self.instructions.forms.rows)

    @cached_property
    def registers(self) -> Registers:
        found = registers_of(self.instructions.forms, tuple(run.count for run in self.runs), self.vectors)
        assert found is not None, "a register tile has more sums than there are tile registers"
        return found

    @property
    def vectors(self) -> int:
        return self.sums.shape[1]

    @cached_property
    def tiles(self) -> tuple[Buffer, ...]:
        """The tile registers: those of sums, of x and of the weights."""
        of_sums, lanes = len(self.runs) * self.vectors, self.instructions.lanes
        found = []
        for number, rows in enumerate(self.registers.rows):
            width, dtype = (lanes, self.sums.dtype) if number < of_sums else (self.words, self.x.dtype)
            found.append(_register(number, rows, width, dtype))
        return (*found, *(_register(n, self.words, lanes, self.w.dtype) for n in self.registers.weights))

    # --- the function -------------------------------------------------------------------------------------------------

    def whole(self) -> Function:
        """The function, whose sums go to memory before its first store of an output."""
        tiles = tuple(map(Alloc, self.tiles))
        in_memory = Alloc(replace(self.sums, memory="stack"))
        body = self.body(tuple(s for s in self.function.body if not isinstance(s, Alloc)))
        # A tile without an output stores nothing.
        stores = next((place for place, s in enumerate(body) if self.stores_outputs(s)), len(body))
        body = (*body[:stores], *self.moved(self.instructions.store), *body[stores:])
        return replace(self.function, body=(in_memory, *tiles, *body))

    def body(self, body: Body) -> Body:
        """The block with matrix instructions in place of its products, and of what their sums begin with."""
        found: list[Statement] = []
        for statement in body:
            store = _innermost(statement)
            if isinstance(statement, If) and statement.conditions == (Flag(FIRST),) and statement.otherwise:
                # Sums that an earlier visit has stored are loaded as vectors, and go to tile registers through memory.
                resumed = (*statement.otherwise, *self.moved(self.instructions.load))
                found.append(replace(statement, body=self.body(statement.body), otherwise=resumed))
            elif store and store.buffer == ACCUMULATORS and store.value == Number(0):
                found += self.zeroed()
            elif store and store.buffer == ACCUMULATORS:
                for step in self.steps(statement):
                    found += self.multiplied(step)
            else:
                found.append(with_blocks(statement, self.body))
        return tuple(found)

    def stores_outputs(self, statement: Statement) -> bool:
        stores = (s for s in walk((statement,)) if isinstance(s, Store) and s.buffer in self.arrays)
        return any(self.arrays[store.buffer].name == "Y" for store in stores)

    def zeroed(self) -> Body:
        """The statements that set all sums to 0."""
        registers = (self.tiles[self.registers.sums(n, v)] for n in range(len(self.runs)) for v in range(self.vectors))
        return tuple(_do(self.instructions.zero(tile.shape[0]), t=_whole(tile)) for tile in registers)

    def moved(self, move: Callable[[tuple[int, int], int], Instruction]) -> Body:
        """The statements that store the sums to the array, or load them from it."""
        found: list[Statement] = []
        for number, run in enumerate(self.runs):
            for v in range(self.vectors):
                tile = self.tiles[self.registers.sums(number, v)]
                place = Address(ACCUMULATORS, (constant(run.first), constant(v), ZERO))
                instruction = move(_shape(tile), prod(self.sums.shape[1:]))
                row = Stride(ACCUMULATORS, (constant(1), ZERO, ZERO))
                found.append(_do(instruction, t=_whole(tile), p=place, step=row))
        return tuple(found)

    # --- a step -------------------------------------------------------------------------------------------------------

    def steps(self, nest: Statement) -> Iterator[_Step]:
        """The points of a step, one after the other; those that reach no row are left out."""
        loops, tests, store = _unnested(nest)
        first = {loop.name: 0 for loop in loops}
        loads = [part for part in parts_of(store.value) if isinstance(part, Load) and part.buffer in self.arrays]
        (x,), (w,) = ([load for load in loads if (self.arrays[load.buffer].name == "W") == is_w] for is_w in (0, 1))
        rows = list(_values([loop for loop in loops if loop.dim in self.problem.row_dims]))
        for point in _values([loop for loop in loops if loop.dim and set(loop.dim) <= set(self.problem.reductions)]):
            reached = {}
            for number, run in enumerate(self.runs):
                members = rows[run.first : run.first + run.count]
                holds = {all(_decided(test, {**point, **row}) for test in tests) for row in members}
                assert len(holds) == 1, "a tap reaches a run of rows as a whole or not at all"
                if holds == {True}:
                    begin, *others = (_at(x, {**first, **point, **row}) for row in members)
                    second = others[0] if others else begin
                    apart = tuple(there - here for here, there in zip(begin.at, second.at))
                    reached[number] = (begin, Stride(x.buffer, apart))
            if reached:
                yield _Step(_at(w, {**first, **point}), reached)

    def multiplied(self, step: _Step) -> Body:
        """The instructions of one point. Each run is loaded once; the weights stay in registers where they fit."""
        found: list[Statement] = []
        weights, lanes = self.registers.weights, self.instructions.lanes
        held: dict[int, int] = {}
        turn = 0
        for number, (load, apart) in step.runs.items():
            run, x = self.runs[number], self.tiles[self.registers.x_of[number]]
            elements = sum(index.offset * one for index, one in zip(apart.at, self.arrays[load.buffer].strides))
            place = Address(load.buffer, load.at)
            line = [_do(self.instructions.load(_shape(x), elements), t=_whole(x), p=place, step=apart)]
            for v in range(self.vectors):
                if v not in held or len(weights) < self.vectors:
                    held[v] = weights[turn % len(weights)]
                    turn += 1
                    w, (at,) = self.tiles[held[v]], step.weights.at
                    place = Address(step.weights.buffer, (at + v * self.words * lanes,))
                    row = Stride(place.buffer, (constant(lanes),))
                    line.append(_do(self.instructions.load(_shape(w), lanes), t=_whole(w), p=place, step=row))
                sums = self.tiles[self.registers.sums(number, v)]
                operands = {"acc": _whole(sums), "x": _whole(x), "w": _whole(self.tiles[held[v]])}
                line.append(_do(self.instructions.multiply(run.count, self.words), **operands))
            found.append(Block("", tuple(line)))
        return (*found, _do(self.instructions.awake))


def _register(number: int, rows: int, width: int, dtype: str) -> Buffer:
    return Buffer(f"tmm{number}", (rows, width), ("row", "at"), dtype, "tile")


def _whole(tile: Buffer) -> Address:
    return Address(tile.name, (ZERO, ZERO))


def _shape(tile: Buffer) -> tuple[int, int]:
    rows, width = tile.shape
    return rows, width


def _do(instruction: Instruction, **operands: Operand) -> Do:
    return Do(Invoke(instruction, tuple(operands.items())))


def _innermost(statement: Statement) -> Store | None:
    """The one store inside loops that will be unrolled; None for any other statement."""
    while not isinstance(statement, Store):
        if isinstance(statement, For):
            unrolled = statement.kind in ("unrolled", "vector")
        elif isinstance(statement, If):
            unrolled = all(isinstance(c, Inside) for c in statement.conditions)
        else:
            return None
        if not unrolled or len(statement.body) != 1:
            return None
        (statement,) = statement.body
    return statement


def _unnested(statement: Statement) -> tuple[list[For], list[Inside], Store]:
    """The loops and tests around the one store of a nest."""
    loops: list[For] = []
    tests: list[Inside] = []
    while not isinstance(statement, Store):
        assert isinstance(statement, (For, If))
        if isinstance(statement, For):
            loops.append(statement)
        else:
            tests += [test for test in statement.conditions if isinstance(test, Inside)]
        (statement,) = statement.body
    return loops, tests, statement


def _counts(loop: For) -> range:
    return range(loop.start.offset, loop.stop.offset, loop.step)


def _values(loops: list[For]) -> Iterator[dict[str, int]]:
    """The values of the variables of these loops, the first loop outermost."""
    names = [loop.name for loop in loops]
    return (dict(zip(names, at)) for at in product(*map(_counts, loops)))


def _at(load: Load, values: Mapping[str, int]) -> Load:
    """The load where loops have these values."""
    by = {name: constant(value) for name, value in values.items()}
    return Load(load.buffer, tuple(index.replaced(by) for index in load.at))


def _decided(test: Inside, values: Mapping[str, int]) -> bool:
    holds = decided(replace(test, index=test.index.replaced({n: constant(v) for n, v in values.items()})))
    assert isinstance(holds, bool), f"{test.index} is not known in a step"
    return holds
