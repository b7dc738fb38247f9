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

`cpu.passes.program.jam` writes the copies. Source: unroll-and-jam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from cpu.passes.program.jam import in_runs, is_known, jammed
from tiling.loops.facts.nests import independent, most_trips
from tiling.loops.index import LANE, Range
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Apply, Body, For, If, Let, Load, Read, Statement, Store
from tiling.loops.rewrite import parts_of
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
    jammer = _Jammer(lanes, int(registers * ALONE), threads, kernel.ranges)
    return replace(kernel, body=jammer.body(kernel.body))


@dataclass(frozen=True)
class _Jammer:
    """lanes, threads: as in `jam_vectors`. most_alone: the most vectors at once where they share nothing."""

    lanes: int
    most_alone: int
    threads: int
    ranges: Mapping[str, Range]

    def body(self, body: Body, around: tuple[For, ...] = ()) -> Body:
        """The block inside the loops `around`."""
        found: list[Statement] = []
        for statement in body:
            loops = self.in_one_pass(statement, around) if isinstance(statement, For) else None
            inside = (*around, statement) if isinstance(statement, For) else around
            found += loops or (with_blocks(statement, partial(self.body, around=inside)),)
        return tuple(found)

    def in_one_pass(self, loop: For, around: tuple[For, ...]) -> Body | None:
        """The loop over several vectors, and one over what is left; None where there is nothing to gain."""
        if loop.kind != "serial" or loop.step != self.lanes or not is_known(loop, self.ranges) or not independent(loop):
            return None
        # A test around all of the body, that the vector is not the last, holds for all vectors of a run.
        vector = loop.body[0].body if len(loop.body) == 1 and isinstance(loop.body[0], If) else loop.body
        inside = list(walk(vector))
        reduces = any(isinstance(s, For) and s.kind == "serial" for s in inside)
        if not reduces or not all(isinstance(s, (Alloc, For, Store, Let, Read)) for s in inside):
            return None
        count = self.vectors_at_once(loop, inside, around)
        return in_runs(loop, jammed(loop, count, vector), count * self.lanes) if count > 1 else None

    def vectors_at_once(self, loop: For, inside: list[Statement], around: tuple[For, ...]) -> int:
        """How many vectors of a loop to take at once. inside: the statements of a vector."""
        vectors = (loop.stop - loop.start).within(self.ranges)[1] // self.lanes
        if vectors <= MOST or not (loop.start.is_constant and loop.stop.is_constant):
            return min(MOST, vectors)
        alone = _only_reads(inside) or self.alone_reads(inside, around)
        return self.wide_run(vectors, around) if alone else MOST

    def alone_reads(self, inside: list[Statement], around: tuple[For, ...]) -> bool:
        """Whether a vector only sums products, and reads elements that no other iteration of the loops around reads."""
        loops = [loop for loop in inside if isinstance(loop, For) and loop.kind == "serial"]
        values = [s.value for loop in loops for s in walk(loop.body) if isinstance(s, Store)]
        parts = [part for value in values for part in parts_of(value)]
        functions = {part.function for part in parts if isinstance(part, Apply)}
        if not _is_one_sum(inside) or not functions <= {"add", "mul"}:
            return False
        loads = [part for part in parts if isinstance(part, Load) and part.at != (LANE,)]  # of arrays, not of the sum
        vectors = [load for load in loads if any("lane" in index.names() for index in load.at)]
        rows = {loop.name for loop in around if most_trips(loop, self.ranges) > 1}
        return len(vectors) == 1 and rows <= {name for index in vectors[0].at for name in index.names()}

    def wide_run(self, vectors: int, around: tuple[For, ...]) -> int:
        """How many vectors that share nothing to take at once: if possible in equal runs, as many for each thread.

        Threads that share the loops around evenly each take all runs.
        """
        shared = prod(most_trips(loop, self.ranges) for loop in around if independent(loop))
        threads = self.threads if shared % self.threads else 1
        runs = range(-(-vectors // self.most_alone), vectors // MOST + 1)
        equal = [count for count in runs if vectors % count == 0]
        fair = [count for count in equal if count % threads == 0]
        return vectors // (fair or equal)[0] if equal else MOST


def _only_reads(inside: list[Statement]) -> bool:
    """Whether a vector only sums elements that it reads, with one sum, so that one register is enough for it."""
    values = [s.value for loop in inside if isinstance(loop, For) for s in loop.body if isinstance(s, Store)]
    sums = [value for value in values if isinstance(value, Apply) and value.function in SUMS]
    summed = (value.arguments for value in sums)
    return _is_one_sum(inside) and bool(sums) and all(isinstance(part, Load) for parts in summed for part in parts)


def _is_one_sum(inside: list[Statement]) -> bool:
    """Whether a vector has one register, and nothing but loops and stores beside it."""
    return sum(isinstance(s, Alloc) for s in inside) == 1 and all(isinstance(s, (Alloc, For, Store)) for s in inside)
