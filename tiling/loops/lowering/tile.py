"""A register tile as plain loops over scalars: its accumulators, the sums, and the stores.

    S(c) T(k,60) U(m,10) V(n,16)     ->      tile 10mx16n:
                                               acc[10, 1, 16] in registers
                                               for m_u in 0..10, unrolled:  …  acc[m_u, 0, lane] = 0
                                               for k in 0..60:  …  acc[…] += X[m + m_u, k] * W[k, lane]
                                               for m_u in 0..10, unrolled:  …  Y[m + m_u, lane] = acc[…]

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
    """A register tile at a position. `statements` is the whole of it.

    at: where the tile begins along each dim. node: the nest from S(output) inwards. Where a scheme has no S(output),
    every point of its innermost loop keeps its partial sum in Y. outer_sums: the loops over summed dims outside of it,
    by variable: each of their iterations visits the same outputs again. covered: the part of each dim that the workers
    with such tiles side by side cover together, for which an S inside stages its input.
    """

    scheme: Scheme
    at: dict[str, Index]
    outer_sums: dict[str, nest.Loop]
    node: nest.Node
    covered: dict[str, Along]

    def statements(self) -> Body:
        """The accumulators, what they begin with, the sums, and the stores."""
        lanes, extents = self.register.lanes, self.register.extents
        rows = prod(extents[dim] for dim in self.rows)
        shape = (rows, extents[self.vector] // lanes, lanes)
        buffer = Buffer(ACCUMULATORS, shape, ("row", "vector", "lane"), self.problem.sum_dtype, "registers")
        body = (Alloc(buffer), *self.begin_sums(), *self.sum_up(self.node), *self.store_outputs())
        return (*self.decisions(), Block(self.name, body))

    # --- the first and the last of several visits to the same outputs

    def decisions(self) -> Body:
        """The flags that tell the first and the last visit. Only an epilogue has to know of the last."""
        found = [(FIRST, self.visit(0))] + ([(LAST, self.visit(-1))] if stored(self.problem) else [])
        return tuple(Decide(name, tests) for name, tests in found if tests)

    def visit(self, which: int) -> tuple[Condition, ...]:
        """The tests for the first (0) or the last (-1) of all visits to the same outputs; () if there is only one."""
        loops = tuple(self.outer_sums.values())
        tests = []
        for dim in dict.fromkeys(loop.dim for loop in loops):
            places = nest.starts(tuple(loop for loop in loops if loop.dim == dim), dim)
            tests.append(Inside(self.at[dim], places[which], places[which] + 1))
        return tuple(tests)

    # --- what sums begin with

    def begin_sums(self) -> Body:
        """Sums begin with 0 or a bias, or with what an earlier visit to the same outputs has stored."""
        bias = bias_of(self.problem)
        first = self.begin_with(Load(f"E_{bias.name}", self.point.element(bias)) if bias else Number(0))
        if not self.visit(0):
            return first
        return (If((Flag(FIRST),), first, self.begin_with(Load("Y", self.point.element(self.problem.output)))),)

    def begin_with(self, value: Value) -> Body:
        """Every sum begins with the value. Points beyond the edge are not outputs and begin with 0."""
        if value == Number(0) or not self.point.output_edges():
            return self.each_output((self.set_sum(value),))
        return self.each_output((If(self.point.output_edges(), (self.set_sum(value),), (self.set_sum(Number(0)),)),))

    # --- sums

    def sum_up(self, node: nest.Node) -> Body:
        """The loops over summed dims from this node inwards, and one step inside them."""
        if isinstance(node, nest.RegisterTile):
            return self.step()
        (inner,) = node.body
        if isinstance(node, nest.Staged):
            body = self.sum_up(inner)
            return body if node.holds_sums else (staged_part(self.problem, node, self.covered, body),)
        along = self.covered[node.dim]
        if node.trips == 1:
            return self.within(replace(along, points=node.step), self.at[node.dim]).sum_up(inner)
        name = nest.position(node)
        part = Along(node.dim, along.start + variable(name), node.step)
        body = self.within(part, self.at[node.dim] + variable(name)).sum_up(inner)
        return (For(name, ZERO, constant(node.points), node.step, body, "serial", node.dim),)

    def within(self, part: Along, at: Index) -> TileLowering:
        """The same tile inside an iteration that covers this part of a dim, and in which the tile begins here."""
        return replace(self, at={**self.at, part.dim: at}, covered={**self.covered, part.dim: part})

    def step(self) -> Body:
        """One step: the unrolled points of the summed dims, each added to every sum of the tile."""
        guarded = _guarded(self.point.padding() + self.point.edges(), (self.add_product(),))
        body = self.each_output(guarded, words_per_group(self.problem, self.problem.broadcast))
        for dim in reversed(self.summed):
            body = _unrolled(dim, self.register.extents[dim], body)
        return body

    def add_product(self) -> Statement:
        """One multiplication, added to its sum."""
        x, w = (Load(name, self.point.element(tensor)) for name, tensor in zip("XW", self.problem.tensors))
        in_groups, access = bool(self.problem.dot_group), access_of(self.problem)
        factor: Value = Apply("alone", (x,)) if in_groups and access.lanewise else x
        if access.exchange_dim:
            factor = self.x_of_group(access.exchange_dim)
        product = Apply(f"dot_{self.problem.dtype}" if in_groups else "mul", (factor, w))
        return self.set_sum(Apply("add", (self.sum, product)))

    def x_of_group(self, dim: str) -> Value:
        """The x of a lane in grouped2d: the channel of its group that `dim` counts, or the word of such channels."""
        numbers, at = self.problem.dot_group or 1, self.point.place[self.problem.vector_dim]
        block = self.problem.extents[dim] * numbers
        first = at - LANE + LANE // block * block + self.point.place[dim] * numbers
        channels = ({self.problem.vector_dim: first + number} for number in range(numbers))
        loads = tuple(Load("X", self.point.element(self.problem.broadcast, channel)) for channel in channels)
        return Apply("word", loads) if numbers > 1 else loads[0]

    # --- stores

    def store_outputs(self) -> Body:
        """The stores of all sums. The last visit to the same outputs applies the epilogue."""
        epilogue, y = stored(self.problem), self.point.element(self.problem.output)
        finished = self.each_existing(Store("Y", y, self.rounded(self.applied(epilogue.value if epilogue else Sum()))))
        if not (epilogue and self.visit(-1)):
            return finished
        return (If((Flag(LAST),), finished, self.each_existing(Store("Y", y, self.sum))),)

    def applied(self, epilogue: EpilogueValue) -> Value:
        """An epilogue's expression over the sum of this output."""
        floats = self.problem.sum_dtype == "s32" and not self.problem.keeps_sums
        found = Apply("to_f32", (self.sum,)) if floats else self.sum
        arrays = {a.name: Load(f"E_{a.name}", self.point.element(a)) for a in self.problem.epilogue_arrays}
        return epilogue_of(epilogue, found, arrays)

    def rounded(self, value: Value) -> Value:
        """The value rounded to the dtype of the output, where that has fewer bits."""
        dtype = self.problem.output_dtype
        return Apply(f"to_{dtype}", (value,)) if OUTPUT_BYTES[dtype] < LANE_BYTES else value

    # --- the outputs of the tile, and one of them

    def each_existing(self, statement: Statement) -> Body:
        """The statement for every output of the tile that exists."""
        return self.each_output(_guarded(self.point.output_edges(), (statement,)))

    def each_output(self, body: Body, words: int = 0) -> Body:
        """Loops over the outputs of the tile: rows, vectors, lanes.

        words: how many words the dot group of each product has, over which it is a loop; 0 where it is one product.
        """
        if self.register.lanes > 1:
            body = (For("lane", ZERO, constant(self.register.lanes), 1, body, "vector"),)
        if words:
            body = (For(WORD_AXIS, ZERO, constant(words), 1, body, "unrolled"),)
        body = _unrolled(self.vector, self.register.extents[self.vector] // self.register.lanes, body)
        for dim in reversed(self.rows):
            body = _unrolled(dim, self.register.extents[dim], body)
        return body

    @property
    def sum(self) -> Value:
        """The sum of this output."""
        return Load(ACCUMULATORS, self.accumulator)

    def set_sum(self, value: Value) -> Statement:
        """Stores a value as the sum of this output."""
        return Store(ACCUMULATORS, self.accumulator, value)

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

    @cached_property
    def point(self) -> Point:
        """The point that the unrolled loops stand at."""
        return Point(self.scheme, self.register, self.at)

    # --- the dims of the tile

    @property
    def name(self) -> str:
        """The size of the tile, such as `14wx32kx3s`."""
        order = (*self.rows, self.vector, *self.summed)
        extents = self.register.extents
        return "x".join(f"{extents[d]}{d}" for d in order if extents[d] > 1) or "1"

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


def staged_part(problem: Problem, staged: nest.Staged, covered: Mapping[str, Along], body: Body) -> StagedPart:
    """The statement that stages the part of an input that `body` reads. covered: the part of each dim that it visits.

    Passes decide the layout of the copy, and which workers make it.
    """
    name, tensor = next(pair for pair in zip("XWY", problem.tensors) if pair[1].name == staged.tensor)
    moving = (along for dims, along in covered.items() if any(dim in tensor.dims for dim in dims))
    return StagedPart(name, tuple(moving), body)


def _unrolled(dim: str, extent: int, body: Body) -> Body:
    if extent == 1:
        return body
    return (For(nest.counter(dim), ZERO, constant(extent), 1, body, "unrolled", dim),)


def _guarded(tests: tuple[Condition, ...], body: Body) -> Body:
    return (If(tests, body),) if tests else body
