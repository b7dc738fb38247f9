"""Computes several vectors in one pass over a reduction: their sums do not wait for each other, and share loads.

    for j in 0..64 by 16:                               for j in 0..64 by 64:
      acc_y[16] in registers                              acc_y[16] in registers
      …                                                   acc_y_j1[16] in registers
      for i in 0..512:                                    …
        for lane in 0..16, vector:                ->      for i in 0..512:
          acc_y[lane] += e[i] * v[i, j + lane]              for lane in 0..16, vector:
      …                                                       acc_y[lane] += e[i] * v[i, j + lane]
                                                            for lane in 0..16, vector:
                                                              acc_y_j1[lane] += e[i] * v[i, j + lane + 16]
                                                            …

Source: unroll-and-jam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from cpu.passes.program.bound_loops import reaching
from tiling.loops.facts.nests import independent, most_trips
from tiling.loops.index import LANE, ZERO, Index, Range, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Apply, Body, For, If, Let, Load, Operand, Read, Register, Statement, Store
from tiling.loops.rewrite import parts_of, substituted, with_values
from tiling.loops.walk import walk, with_blocks

# Vectors at once. An FMA takes 4 cycles on today's CPUs, and one or two begin in each cycle, so four to eight sums keep
# them busy. Eight, with the vectors that they read, would only just fit 16 registers.
MOST = 4
# The share of the registers for sums of vectors that share nothing, and of products that one row alone reads. These
# wait for memory, and longer runs of neighbours help the CPU's prefetchers. Sums of columns on one thread of a Zen 5,
# by 4, 8 and 16 vectors: 49 x 2048 take 4.3, 3.4 and 3.0 µs, 512 x 768 take 15.6, 14.3 and 13.1 µs.
ALONE = 0.5
SUMS = frozenset({"add", "max", "min"})


def jam_vectors(kernel: Kernel, lanes: int, registers: int, threads: int) -> Kernel:
    """The kernel with several vectors in each pass of loops over vectors with a reduction inside.

    registers: how many vector registers there are. threads: the most that share the kernel.
    """
    return replace(kernel, body=_Jamming(lanes, int(registers * ALONE), threads, kernel.ranges).body(kernel.body))


@dataclass(frozen=True)
class _Jamming:
    """lanes, threads: as in `jam_vectors`. alone: the most vectors at once where they share nothing."""

    lanes: int
    alone: int
    threads: int
    ranges: Mapping[str, Range]

    def body(self, body: Body, around: tuple[For, ...] = ()) -> Body:
        """The block inside these loops."""
        found: list[Statement] = []
        for statement in body:
            loops = self.loops(statement, around) if isinstance(statement, For) else None
            inside = (*around, statement) if isinstance(statement, For) else around
            found += loops or (with_blocks(statement, partial(self.body, around=inside)),)
        return tuple(found)

    def loops(self, loop: For, around: tuple[For, ...]) -> Body | None:
        """The loop over several vectors, and one over what is left; None where there is nothing to gain."""
        if loop.kind != "serial" or loop.step != self.lanes or not is_known(loop, self.ranges) or not independent(loop):
            return None
        whole = loop.body[0].body if len(loop.body) == 1 and isinstance(loop.body[0], If) else loop.body
        inner = list(walk(whole))
        sums = any(isinstance(s, For) and s.kind == "serial" for s in inner)
        if not sums or not all(isinstance(s, (Alloc, For, Store, Let, Read)) for s in inner):
            return None
        vectors = (loop.stop - loop.start).within(self.ranges)[1] // self.lanes
        wide = loop.start.is_constant and loop.stop.is_constant and (_only_read(inner) or self.read_once(inner, around))
        count = self.run(vectors, around) if wide and vectors > MOST else min(MOST, vectors)
        if count < 2:
            return None
        copies = [Jammed(loop.name, number, self.lanes, names_inside(whole)) for number in range(count)]
        return in_runs(loop, together(whole, copies), loop.body, count * self.lanes)

    def read_once(self, inside: list[Statement], around: tuple[For, ...]) -> bool:
        """Whether a vector only sums products, and reads elements that no other iteration of the loops around reads."""
        loops = [loop for loop in inside if isinstance(loop, For) and loop.kind == "serial"]
        values = [s.value for loop in loops for s in walk(loop.body) if isinstance(s, Store)]
        parts = [part for value in values for part in parts_of(value)]
        functions = {part.function for part in parts if isinstance(part, Apply)}
        loads = [part for part in parts if isinstance(part, Load)]
        if not _is_one_sum(inside) or not functions <= {"add", "mul"}:
            return False
        vectors = [load for load in loads if load.at != (LANE,) and any("lane" in index.names() for index in load.at)]
        rows = {loop.name for loop in around if most_trips(loop, self.ranges) > 1}
        return len(vectors) == 1 and rows <= {name for index in vectors[0].at for name in index.names()}

    def run(self, vectors: int, around: tuple[For, ...]) -> int:
        """How many vectors to take at once: if possible in runs of equal length, and equally many for each thread.

        Threads that share the loops around evenly each take all runs.
        """
        shared = prod(most_trips(loop, self.ranges) for loop in around if independent(loop))
        threads = self.threads if shared % self.threads else 1
        runs = range(-(-vectors // self.alone), vectors // MOST + 1)
        alike = [count for count in runs if vectors % count == 0]
        even = [count for count in alike if count % threads == 0]
        return vectors // (even or alike)[0] if alike else MOST


def _only_read(inside: list[Statement]) -> bool:
    """Whether a vector only sums elements that it reads, with one sum, so that one register is enough for it."""
    values = [s.value for loop in inside if isinstance(loop, For) for s in loop.body if isinstance(s, Store)]
    sums = [value for value in values if isinstance(value, Apply) and value.function in SUMS]
    summed = (value.arguments for value in sums)
    return _is_one_sum(inside) and bool(sums) and all(isinstance(part, Load) for parts in summed for part in parts)


def _is_one_sum(inside: list[Statement]) -> bool:
    return sum(isinstance(s, Alloc) for s in inside) == 1 and all(isinstance(s, (Alloc, For, Store)) for s in inside)


def is_known(loop: For, ranges: Mapping[str, Range]) -> bool:
    """Whether a loop has the same number of points each time that a kernel with these numbers runs it."""
    return set((*loop.start.names(), *loop.stop.names())) <= set(ranges)


def in_runs(loop: For, run: Body, point: Body, step: int) -> Body:
    """A loop over runs of so many points, and one over what is left."""
    rest = (loop.stop - loop.start) % step
    main = replace(loop, stop=loop.stop - rest, step=step, body=run)
    return (main,) if rest == ZERO else (main, replace(loop, start=loop.stop - rest, body=point))


def names_inside(body: Body) -> frozenset[str]:
    """The buffers, registers and indices that live inside a block."""
    inner = list(walk(body))
    own = {s.buffer.name for s in inner if isinstance(s, Alloc)}
    return frozenset(own | {s.name for s in inner if isinstance(s, (Let, Read))})


def together(body: Body, copies: list[Jammed]) -> Body:
    """Each statement for every copy; a loop or a choice once, with the copies inside."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, (For, If)) and not (isinstance(statement, For) and statement.kind == "vector"):
            if isinstance(statement, For):
                statement = reaching(statement, copies[-1].loop, copies[-1].number * copies[-1].apart)
            found.append(with_blocks(statement, lambda block: together(block, copies)))
        else:
            found += [copy.of(statement) for copy in copies]
    return tuple(found)


@dataclass(frozen=True)
class Jammed:
    """The statements of one of several points of a loop, a distance apart. own: the names that each copy gets anew."""

    loop: str
    number: int
    apart: int
    own: frozenset[str]

    @property
    def indices(self) -> Mapping[str, Index]:
        shifted = {self.loop: variable(self.loop) + self.number * self.apart}
        return shifted | {name: variable(self.name(name)) for name in self.own}

    def name(self, name: str) -> str:
        return f"{name}_{self.loop}{self.number}" if self.number and name in self.own else name

    def of(self, statement: Statement) -> Statement:
        """The statement with the names and places of this copy."""
        (moved,) = substituted((with_values(statement, self.value),), self.indices)
        return self.named(moved)

    def value(self, part: Operand) -> Operand | None:
        if isinstance(part, Load):
            return Load(self.name(part.buffer), part.at)
        return Register(self.name(part.name)) if isinstance(part, Register) else None

    def named(self, statement: Statement) -> Statement:
        """The statement with this copy's own names."""
        if isinstance(statement, Alloc):
            return Alloc(replace(statement.buffer, name=self.name(statement.buffer.name)))
        if isinstance(statement, Store):
            return Store(self.name(statement.buffer), statement.at, statement.value)
        if isinstance(statement, (Let, Read)):
            return replace(statement, name=self.name(statement.name))
        return with_blocks(statement, lambda block: tuple(map(self.named, block)))
