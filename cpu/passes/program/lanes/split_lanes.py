"""Chooses the loops whose neighbouring points become the lanes of vectors, and splits them.

    for j in 0..100:               for j in 0..100 by 16:
      acc_y[0] += x[i, j]    ->      if j < 85:
                                       for lane in 0..16, vector:
                                         acc_y_lanes[lane] += x[i, j + lane]
                                     else:
                                       for lane in 0..4, vector:
                                         acc_y_lanes[lane] += x[i, j + lane]
                                   acc_y_lanes[lane] = across_add(acc_y_lanes[lane])
                                   acc_y[0] += acc_y_lanes[0]

A sum over the lanes' own dim takes two steps: each lane has a sum, and these are added at the end, in a fixed order.
It chooses the loops that need the fewest vector operations. Numbers that do not lie side by side count one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from cpu.passes.program.lanes.loop_as_lanes import LoopAsLanes
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import most_trips
from tiling.loops.index import ZERO, Index, Operation, Range, constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Apply, Block, Body, Choose, For, Inside, Load, Operand, Read, Statement, Store
from tiling.loops.rewrite import operands_of
from tiling.loops.walk import buffers_of, with_blocks

# Costs in vector operations. An exponential takes some fifteen, and most functions contain one.
FUNCTION = 15.0
SIMPLE = frozenset({"add", "sub", "mul", "min", "max", "neg", "abs", "and", "or", "not", "where", "from_bf16"})
ONE_BY_ONE = 2.0  # an element that is loaded into its lane by itself
STORED = 3.0  # an element that is stored by itself: there is no pass like `transpose_reads` for stores
ACROSS = 12.0  # the lanes of a vector added up


def split_lanes(kernel: Kernel, lanes: int) -> Kernel:
    """The kernel with loops over lanes. Loops begin at 0, as `tiling.program.lowering.lower` writes them."""
    splitting = _Splitting(lanes, buffers_of(kernel), kernel.ranges)
    return replace(kernel, body=splitting.body(kernel.body))


@dataclass(frozen=True)
class _Splitting:
    lanes: int
    buffers: Mapping[str, Buffer]
    ranges: Mapping[str, Range]

    def body(self, body: Body) -> Body:
        """The block with the best loops split."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For) and self.split_is_best(statement):
                loops = LoopAsLanes(statement, self.lanes, self.buffers, self.ranges).loops()
                # A loop that was cut in two sums to one register twice: the second sums of lanes have their own block.
                again = any(isinstance(one, Alloc) and one in found for one in loops)
                found += (Block("", loops),) if again else loops
            else:
                found.append(with_blocks(statement, self.body))
        return tuple(found)

    def split_is_best(self, loop: For) -> bool:
        return self.as_lanes(loop) < self.as_loop(loop)

    def best(self, statement: Statement) -> float:
        """The vector operations of a statement with the best lanes in it."""
        if isinstance(statement, For):
            return min(self.as_lanes(statement), self.as_loop(statement))
        return _Cost(self, None).of((statement,))

    def as_loop(self, loop: For) -> float:
        return most_trips(loop, self.ranges) * sum(self.best(inner) for inner in loop.body)

    def as_lanes(self, loop: For) -> float:
        split = LoopAsLanes(loop, self.lanes, self.buffers, self.ranges)
        if not split.legal:
            return inf
        vectors = -(-most_trips(loop, self.ranges) // self.lanes)
        return vectors * _Cost(self, split).of(loop.body) + ACROSS * len(split.reduced)


@dataclass(frozen=True)
class _Cost:
    """Counts the vector operations of statements. split: the loop that becomes lanes; None: all lanes do the same."""

    splitting: _Splitting
    split: LoopAsLanes | None

    def of(self, body: Body) -> float:
        return sum(map(self.statement, body))

    def statement(self, statement: Statement) -> float:
        if isinstance(statement, For):
            return most_trips(statement, self.splitting.ranges) * self.of(statement.body)
        cost = 1 + sum(map(self.value, operands_of(statement)))  # 1: the loop around it
        if isinstance(statement, Store):
            cost += self.access(statement.buffer, statement.at, STORED)
        if isinstance(statement, Read) and self.split:
            cost += ONE_BY_ONE * self.splitting.lanes
        return cost

    def value(self, value: Operand) -> float:
        if isinstance(value, Load):
            return self.access(value.buffer, value.at)
        if isinstance(value, Choose):
            tests = (c.index for c in value.conditions if isinstance(c, Inside))
            moves = self.split is not None and any(map(self.split.moves, tests))
            return self.value(value.value) + self.value(value.otherwise) + 2 * moves
        if isinstance(value, Apply):
            own = 1.0 if value.function in SIMPLE or value.function.startswith("as_") else FUNCTION
            return own + sum(map(self.value, value.arguments))
        return 0.0

    def access(self, buffer: str, at: tuple[Index, ...], one_by_one: float = ONE_BY_ONE) -> float:
        found = self.splitting.buffers[buffer]
        if found.memory == "registers":
            return 0.0
        if self.split is None or buffer in self.split.own or not any(map(self.split.moves, at)):
            return 1.0
        step = step_of(found, at, self.split.loop.name, self.split.moving)
        return 1.0 if step == constant(1) else one_by_one * self.splitting.lanes


def step_of(buffer: Buffer, at: tuple[Index, ...], name: str, moving: frozenset[str]) -> Index | None:
    """The distance in elements to the next point of a loop; None where that is not always the same."""
    step = ZERO
    for index, stride in zip(at, buffer.steps, strict=True):
        inside = {n for term, _ in index.terms if isinstance(term, Operation) for n in term.names()}
        if not moving.isdisjoint(inside | (set(index.names()) - {name})):
            return None
        step = step + stride * index.coefficient(name)
    return step
