"""One loop of a program as a loop over vectors, whose lanes are its points, with a sum for each lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from cpu.passes.program.bound_loops import reaching
from cpu.passes.program.lanes.instructions import across
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import most_trips
from tiling.loops.index import LANE, ZERO, Index, Range, constant, variable
from tiling.loops.language import (
    Alloc,
    Apply,
    Block,
    Body,
    For,
    If,
    Inside,
    Invoke,
    Let,
    Load,
    Number,
    Operand,
    Position,
    Read,
    Statement,
    Store,
)
from tiling.loops.meaning.functions import REDUCTIONS, neutral
from tiling.loops.rewrite import operands_of, parts_of, substituted, with_values
from tiling.loops.walk import walk, with_blocks

# Vectors that are summed side by side, as an addition waits for the one before it. On a Zen 4 a maximum of 512 rows of
# 768 floats takes 34 µs with one, 25 with two, 23 with four, 24 with eight.
SUMS = 4


@dataclass(frozen=True)
class LoopAsLanes:
    """One loop as lanes."""

    loop: For
    lanes: int
    buffers: Mapping[str, Buffer]
    ranges: Mapping[str, Range]

    @cached_property
    def moving(self) -> frozenset[str]:
        """The variables that differ from lane to lane."""
        found = {self.loop.name}
        own = self.own
        for statement in walk(self.loop.body):
            if isinstance(statement, Read) and any(_moves(part, own, found) for part in parts_of(statement.value)):
                found.add(statement.name)
        return frozenset(found)

    def moves(self, index: Index) -> bool:
        """Whether an index differs from lane to lane."""
        return not self.moving.isdisjoint(index.names())

    def side_by_side_at(self, index: Index) -> bool:
        """Whether an index is the point of the loop, from where the loops around it say."""
        inside = {s.name for s in walk(self.loop.body) if isinstance(s, (For, Let, Read))}
        return (self.moving | inside).isdisjoint((index - variable(self.loop.name)).names())

    @cached_property
    def own(self) -> frozenset[str]:
        """The buffers that live inside the loop, so that each lane has its own."""
        return frozenset(s.buffer.name for s in walk(self.loop.body) if isinstance(s, Alloc))

    @cached_property
    def reduced(self) -> dict[str, str]:
        """The registers outside the loop that its points are summed to, and the function that sums."""
        found = {}
        for statement in walk(self.loop.body):
            if isinstance(statement, Store) and _sums(statement):
                assert isinstance(statement.value, Apply)
                if statement.buffer not in self.own and self.buffers[statement.buffer].memory == "registers":
                    found[statement.buffer] = statement.value.function
        return found

    @property
    def legal(self) -> bool:
        """Whether lanes are independent, except for a sum at the end."""
        if self.loop.kind != "serial" or self.loop.start != ZERO or not set(self.loop.stop.names()) <= set(self.ranges):
            return False
        for statement in walk(self.loop.body):
            if not isinstance(statement, Store) or statement.buffer in self.own:
                continue
            if statement.buffer in self.reduced:
                if not _sums(statement):
                    return False
            elif not any(map(self.side_by_side_at, statement.at)):
                return False
        # A sum is not read before its end.
        loads = (p for s in walk(self.loop.body) for o in operands_of(s) for p in parts_of(o) if isinstance(p, Load))
        return sum(load.buffer in self.reduced for load in loads) == sum(
            isinstance(s, Store) and s.buffer in self.reduced for s in walk(self.loop.body)
        )

    def loops(self) -> Body:
        """The loop over vectors, with what each of its sums needs before and after."""
        before = tuple(s for name, function in self.reduced.items() for s in self.begun(name, function))
        after = tuple(s for name, function in self.reduced.items() for s in self.added(name, function))
        if self.most < self.lanes:  # not one whole vector
            start = {self.loop.name: self.loop.start}
            return (*before, *substituted(self.vectors(self.loop.stop), start), *after)
        return (*before, *self.over_vectors(), *after)

    def begun(self, name: str, function: str) -> Body:
        """The sums of each lane, which begin with the neutral number."""
        dtype = self.buffers[name].dtype
        found: list[Statement] = []
        begin = Number(neutral(function, dtype), dtype)
        for copy in range(self.copies):
            each = _sum_of(name, copy)
            found += [Alloc(Buffer(each, (self.lanes,), ("lane",), dtype, "registers"))]
            found += [_over_lanes(constant(self.lanes), (Store(each, (LANE,), begin),))]
        return tuple(found)

    def added(self, name: str, function: str) -> Body:
        """The sum of all lanes' sums, added to the register outside the loop.

        Neighbours first, then their sums: the order is fixed, so the bits are too.
        """
        found: list[Statement] = []
        sums = [_sum_of(name, copy) for copy in range(self.copies)]
        while len(sums) > 1:
            for one, other in zip(sums[::2], sums[1::2]):
                pair = Apply(function, (Load(one, (LANE,)), Load(other, (LANE,))))
                found.append(_over_lanes(constant(self.lanes), (Store(one, (LANE,), pair),)))
            sums = sums[::2]
        (last,) = sums
        total = Invoke(across(function, self.buffers[name].dtype, self.lanes), (("v", Load(last, (LANE,))),))
        whole = Apply(function, (Load(name, (ZERO,)), Load(last, (ZERO,))))
        return (*found, Store(last, (LANE,), total), Store(name, (ZERO,), whole))

    def over_vectors(self) -> Body:
        """The loop over several vectors at a time, where they have sums of their own, and the one over those left."""
        extent, lanes, copies = self.loop.stop, self.lanes, self.copies
        found: list[Statement] = []
        done = ZERO
        if copies > 1:
            done = extent - extent % (copies * lanes)
            found.append(replace(self.loop, stop=done, step=copies * lanes, body=self.side_by_side(copies)))
        if done != extent:
            found.append(replace(self.loop, start=done, step=lanes, body=self.whole_or_last(extent % lanes)))
        return tuple(found)

    def whole_or_last(self, rest: Index) -> Body:
        """A whole vector, or the last one of `rest` lanes where it is not whole."""
        extent, whole = self.loop.stop, self.vectors(constant(self.lanes))
        if rest == ZERO:
            return whole
        left = variable(self.loop.name) - extent + extent.offset
        return (If((Inside(left, None, extent.offset - self.lanes + 1),), whole, self.vectors(rest)),)

    @property
    def most(self) -> int:
        """The points of the loop, at most."""
        return most_trips(self.loop, self.ranges)

    @property
    def copies(self) -> int:
        """How many vectors have sums of their own: an addition waits for the one before it, so several run at once."""
        straight = all(isinstance(s, (Store, Let, Read)) for s in self.loop.body)
        few = self.most < 2 * SUMS * self.lanes
        return SUMS if self.reduced and straight and not few else 1

    def side_by_side(self, copies: int) -> Body:
        """The body for several vectors, each with its own sums."""
        found: list[Statement] = []
        for copy in range(copies):
            moved = substituted(
                self.vectors(constant(self.lanes), copy), {self.loop.name: variable(self.loop.name) + copy * self.lanes}
            )
            found.append(Block("", moved))
        return tuple(found)

    def vectors(self, lanes: Index, copy: int = 0) -> Body:
        """The loop's body for so many lanes at once. copy: which of its sums it adds to."""
        return self.block(self.loop.body, lanes, copy)

    def block(self, body: Body, lanes: Index, copy: int) -> Body:
        """A block of the loop's body for so many lanes, as for `vectors`."""
        found: list[Statement] = []
        for alike, run in groupby(body, lambda statement: isinstance(statement, (Store, Let, Read))):
            if alike:  # one loop over lanes, as a name lives until the end of its block
                found.append(_over_lanes(lanes, tuple(self.laned(statement, copy) for statement in run)))
                continue
            for statement in run:
                if isinstance(statement, Alloc):
                    found.append(Alloc(self.with_lanes(statement.buffer)))
                else:
                    if isinstance(statement, For):
                        statement = reaching(statement, self.loop.name, lanes - 1)
                    found.append(with_blocks(statement, lambda block: self.block(block, lanes, copy)))
        return tuple(found)

    def with_lanes(self, buffer: Buffer) -> Buffer:
        """A buffer of this loop with room for every lane."""
        if buffer.memory == "registers":
            return replace(buffer, shape=(self.lanes,), axes=("lane",))
        return replace(buffer, shape=(*buffer.shape, self.lanes), axes=(*buffer.axes, "lane"))

    def laned(self, statement: Statement, copy: int) -> Statement:
        """A statement for one lane."""
        by = {self.loop.name: variable(self.loop.name) + LANE}

        def place(part: Operand) -> Operand | None:
            return Load(*self.at(part.buffer, part.at, copy)) if isinstance(part, Load) else None

        statement = with_values(statement, place)
        (statement,) = substituted((statement,), by)
        if isinstance(statement, Store):
            return Store(*self.at(statement.buffer, statement.at, copy), statement.value)
        return statement

    def at(self, buffer: str, at: tuple[Index, ...], copy: int) -> tuple[str, tuple[Index, ...]]:
        """Where a lane's own element lies."""
        if buffer in self.reduced:
            return _sum_of(buffer, copy), (LANE,)
        if buffer not in self.own:
            return buffer, at
        return buffer, (LANE,) if self.buffers[buffer].memory == "registers" else (*at, LANE)


def _sum_of(name: str, copy: int) -> str:
    """The register of the lanes' own sums."""
    return f"{name}_lanes" + (f"_{copy}" if copy else "")


def _moves(part: Operand, own: frozenset[str], moving: set[str]) -> bool:
    """Whether a part of a value differs from lane to lane."""
    if isinstance(part, Load):
        return part.buffer in own or any(not moving.isdisjoint(index.names()) for index in part.at)
    return isinstance(part, Position) and not moving.isdisjoint(part.index.names())


def _sums(store: Store) -> bool:
    """Whether a store adds to what its place holds: acc[0] = acc[0] + …"""
    value = store.value
    return (
        isinstance(value, Apply) and value.function in REDUCTIONS and value.arguments[0] == Load(store.buffer, store.at)
    )


def _over_lanes(lanes: Index, body: Body) -> For:
    return For("lane", ZERO, lanes, 1, body, "vector")
