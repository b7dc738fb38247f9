"""A register tile as plain loops over scalars: its accumulators, the sums, and the stores.

The part of `tiling.loops.lowering.lower` for what lies inside S(output).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tiling.arrays.access import access_of
from tiling.arrays.bias import bias_of, stored
from tiling.dtypes.products import LANE_BYTES, OUTPUT_BYTES
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, Index, constant, variable
from tiling.loops.language import (
    Alloc,
    Along,
    Apply,
    Block,
    Body,
    Condition,
    Decide,
    Flag,
    For,
    If,
    Inside,
    Load,
    Number,
    StagedPart,
    Statement,
    Store,
    Value,
)
from tiling.loops.lowering import nest
from tiling.loops.lowering.arrays import WORD_AXIS, words_per_group
from tiling.loops.lowering.epilogue import epilogue_of
from tiling.loops.lowering.point import Point
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.value import Sum
from tiling.value import Value as EpilogueValue

ACCUMULATORS = "acc"
FIRST, LAST = "first", "last"  # flags: this visit to a tile's outputs is the first, the last


@dataclass(frozen=True)
class TileLowering:
    """A register tile at a position, with the loops over summed dims inside S(output).

    at: where the tile begins along each dim. sums: the loops over summed dims outside it. node: the nest from S(output)
    inwards. Where a scheme has no S(output), every point of its innermost loop keeps its partial sum in Y. team: the
    part of each dim that is covered together by the workers that hold such tiles side by side.
    """

    scheme: Scheme
    at: dict[str, Index]
    sums: dict[str, nest.Loop]
    node: nest.Node
    team: dict[str, Along]

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    @cached_property
    def register(self) -> nest.RegisterTile:
        """The tile's size, innermost in the nest."""
        node = self.node
        while not isinstance(node, nest.RegisterTile):
            node = node.body[0]
        return node

    @cached_property
    def point(self) -> Point:
        """The point that the unrolled loops stand at."""
        return Point(self.scheme, self.register, self.at)

    @cached_property
    def vector(self) -> str:
        """The dim of this scheme that vectors run along."""
        return next(dim for dim in self.register.extents if self.problem.vector_dim in dim)

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The output dims other than the vectorised one."""
        dims = [d for d in self.register.extents if not self._is_summed(d) and d != self.vector]
        order = list(self.problem.extents)
        return tuple(sorted(dims, key=lambda dim: (dim not in self.problem.row_dims, order.index(dim[0]))))

    @cached_property
    def summed(self) -> tuple[str, ...]:
        """The summed dims, widest stride in X first, so that unrolled points walk X in order."""
        x, dims = self.problem.broadcast, [d for d in self.register.extents if self._is_summed(d)]
        return tuple(sorted(dims, key=lambda dim: -x.stride(dim[-1])))

    def _is_summed(self, dims: str) -> bool:
        return all(dim in self.problem.reductions for dim in dims)

    def statements(self) -> Body:
        """The accumulators, what they begin with, the sums, and the stores."""
        lanes, extents = self.register.lanes, self.register.extents
        rows = prod(extents[dim] for dim in self.rows)
        shape = (rows, extents[self.vector] // lanes, lanes)
        buffer = Buffer(ACCUMULATORS, shape, ("row", "vector", "lane"), self.problem.sum_dtype, "registers")
        body = (Alloc(buffer), *self.begin(), *self.reduce(self.node), *self.finish())
        return (*self.decisions(), Block(self.name, body))

    @property
    def name(self) -> str:
        """The size of the tile, such as `14wx32kx3s`."""
        order = (*self.rows, self.vector, *self.summed)
        extents = self.register.extents
        return "x".join(f"{extents[d]}{d}" for d in order if extents[d] > 1) or "1"

    def reduce(self, node: nest.Node) -> Body:
        """The loops over summed dims, and the sum of one point inside them."""
        if isinstance(node, nest.Staged):
            body = self.reduce(node.body[0])
            return body if node.sums else (staged_part(self.problem, node, self.team, body),)
        if isinstance(node, nest.Loop):
            along = self.team[node.dim]
            if node.trips == 1:
                return replace(self, team={**self.team, node.dim: replace(along, points=node.step)}).reduce(
                    node.body[0]
                )
            name = nest.position(node)
            part = Along(node.dim, along.start + variable(name), node.step)
            at = {**self.at, node.dim: self.at[node.dim] + variable(name)}
            inner = replace(self, at=at, team={**self.team, node.dim: part})
            body = inner.reduce(node.body[0])
            return (For(name, ZERO, constant(node.points), node.step, body, "serial", node.dim),)
        body = self.each_output(_guarded(self.point.padding() + self.point.edges(), (self.product(),)), self.words)
        for dim in reversed(self.summed):
            body = _unrolled(dim, self.register.extents[dim], body)
        return body

    def outputs(self, statement: Statement) -> Body:
        """The statement for every output of the tile that exists."""
        return self.each_output(_guarded(self.point.output_edges(), (statement,)))

    @property
    def words(self) -> int:
        """The words of a dot group, 0 where it fills a lane or a product is of single numbers."""
        return words_per_group(self.problem, self.problem.broadcast)

    def each_output(self, body: Body, words: int = 0) -> Body:
        """Loops over the outputs of the tile: rows, vectors, lanes. words: a product of so many words each."""
        if self.register.lanes > 1:
            body = (For("lane", ZERO, constant(self.register.lanes), 1, body, "vector"),)
        if words:
            body = (For(WORD_AXIS, ZERO, constant(words), 1, body, "unrolled"),)
        body = _unrolled(self.vector, self.register.extents[self.vector] // self.register.lanes, body)
        for dim in reversed(self.rows):
            body = _unrolled(dim, self.register.extents[dim], body)
        return body

    def product(self) -> Statement:
        """One multiplication, added to its sum."""
        x, w = (Load(name, self.point.element(tensor)) for name, tensor in zip("XW", self.problem.tensors))
        in_groups, access = bool(self.problem.dot_group), access_of(self.problem)
        of_group: Value = Apply("alone", (x,)) if in_groups and access.lanewise else x
        if access.exchange_dim:
            of_group = self.of_group(access.exchange_dim)
        product = Apply(f"dot_{self.problem.dtype}" if in_groups else "mul", (of_group, w))
        return self.kept(Apply("add", (self.sum, product)))

    def of_group(self, dim: str) -> Value:
        """The x of a lane in grouped2d: the channel of its group that `dim` counts, or the word of such channels."""
        numbers, at = self.problem.dot_group or 1, self.point.place[self.problem.vector_dim]
        block = self.problem.extents[dim] * numbers
        first = at - LANE + LANE // block * block + self.point.place[dim] * numbers
        channels = ({self.problem.vector_dim: first + number} for number in range(numbers))
        loads = tuple(Load("X", self.point.element(self.problem.broadcast, channel)) for channel in channels)
        return Apply("word", loads) if numbers > 1 else loads[0]

    def begin(self) -> Body:
        """What a sum begins with: 0, a bias, or what an earlier visit to the same outputs has stored."""
        bias = bias_of(self.problem)
        first = self.begun(Load(f"E_{bias.name}", self.point.element(bias)) if bias else Number(0))
        if not self.visit(0):
            return first
        return (If((Flag(FIRST),), first, self.begun(Load("Y", self.point.element(self.problem.output)))),)

    def begun(self, value: Value) -> Body:
        """Every sum begins with the value. Points beyond the edge are not outputs and begin with 0."""
        if value == Number(0) or not self.point.output_edges():
            return self.each_output((self.kept(value),))
        return self.each_output((If(self.point.output_edges(), (self.kept(value),), (self.kept(Number(0)),)),))

    def finish(self) -> Body:
        """The store of a sum. The last visit to the same outputs applies the epilogue."""
        left, y = stored(self.problem), self.point.element(self.problem.output)
        whole = self.outputs(Store("Y", y, self.rounded(self.epilogue(left.value if left else Sum()))))
        if not (left and self.visit(-1)):
            return whole
        return (If((Flag(LAST),), whole, self.outputs(Store("Y", y, self.sum))),)

    def decisions(self) -> Body:
        """The flags that tell the first and the last of several visits to the same outputs."""
        found = [(FIRST, self.visit(0))] + ([(LAST, self.visit(-1))] if stored(self.problem) else [])
        return tuple(Decide(name, tests) for name, tests in found if tests)

    def visit(self, which: int) -> tuple[Condition, ...]:
        """The test for the first (0) or the last (-1) of all visits to the same outputs; () if there is only one."""
        dims = dict.fromkeys(loop.dim for loop in self.sums.values())
        tests = []
        for dim in dims:
            places = nest.starts(tuple(loop for loop in self.sums.values() if loop.dim == dim), dim)
            tests.append(Inside(self.at[dim], places[which], places[which] + 1))
        return tuple(tests)

    def epilogue(self, value: EpilogueValue) -> Value:
        """An epilogue's expression over the sum of this output."""
        floats = self.problem.sum_dtype == "s32" and not self.problem.keeps_sums
        found = Apply("to_f32", (self.sum,)) if floats else self.sum
        arrays = {a.name: Load(f"E_{a.name}", self.point.element(a)) for a in self.problem.epilogue_arrays}
        return epilogue_of(value, found, arrays)

    def rounded(self, value: Value) -> Value:
        """The value rounded to the dtype of the output, where that has fewer bits."""
        dtype = self.problem.output_dtype
        return Apply(f"to_{dtype}", (value,)) if OUTPUT_BYTES[dtype] < LANE_BYTES else value

    @cached_property
    def accumulator(self) -> tuple[Index, ...]:
        """The place of this output's sum among the accumulators."""
        row = ZERO
        for dim in self.rows:
            extent = self.register.extents[dim]
            row = row * extent + (variable(nest.counter(dim)) if extent > 1 else ZERO)
        lanes = self.register.lanes
        vectors = self.register.extents[self.vector] // lanes
        return row, variable(nest.counter(self.vector)) if vectors > 1 else ZERO, LANE if lanes > 1 else ZERO

    @property
    def sum(self) -> Value:
        """The sum of this output."""
        return Load(ACCUMULATORS, self.accumulator)

    def kept(self, value: Value) -> Statement:
        """Stores a value as the sum of this output."""
        return Store(ACCUMULATORS, self.accumulator, value)


def staged_part(problem: Problem, staged: nest.Staged, at: Mapping[str, Along], body: Body) -> StagedPart:
    """The statement that stages the part of an input that `body` reads. Passes decide the layout of the copy, and which
    workers make it.
    """
    name, tensor = next(pair for pair in zip("XWY", problem.tensors) if pair[1].name == staged.tensor)
    moving = (along for dims, along in at.items() if any(dim in tensor.dims for dim in dims))
    return StagedPart(name, tuple(moving), body)


def _unrolled(dim: str, extent: int, body: Body) -> Body:
    if extent == 1:
        return body
    return (For(nest.counter(dim), ZERO, constant(extent), 1, body, "unrolled", dim),)


def _guarded(tests: tuple[Condition, ...], body: Body) -> Body:
    return (If(tests, body),) if tests else body
