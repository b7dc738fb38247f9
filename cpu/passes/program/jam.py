"""Unroll-and-jam: one iteration does what several points of a loop do. Passes say which loops gain, and by how much.

    for j in 0..64 by 16:                       for j in 0..64 by 32:
      acc[16] in registers                        acc[16] in registers
                                                  acc_j1[16] in registers
      for i in 0..512:                            for i in 0..512:
        for lane in 0..16, vector:        ->        for lane in 0..16, vector:
          acc[lane] += x[i, j + lane]                 acc[lane] += x[i, j + lane]
                                                    for lane in 0..16, vector:
                                                      acc_j1[lane] += x[i, j + lane + 16]

Here `jammed(loop, 2)` makes the body, and `in_runs(loop, body, 32)` the loop. Source: unroll-and-jam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cpu.passes.program.bound_loops import reaching
from tiling.loops.index import ZERO, Index, Range, variable
from tiling.loops.language import Alloc, Body, For, If, Let, Load, Operand, Read, Register, Statement, Store
from tiling.loops.rewrite import substituted, with_values
from tiling.loops.walk import walk, with_blocks


def jammed(loop: For, count: int, body: Body | None = None) -> Body:
    """The body of a loop for `count` of its points. body: what to take in place of all of the body."""
    body = loop.body if body is None else body
    return _together(body, [_Copy(loop.name, number, loop.step, names_inside(body)) for number in range(count)])


def in_runs(loop: For, run: Body, step: int) -> Body:
    """The loop whose iterations are runs of points, `step` apart, and behind it the same loop for what is left."""
    rest = (loop.stop - loop.start) % step
    runs = replace(loop, stop=loop.stop - rest, step=step, body=run)
    return (runs,) if rest == ZERO else (runs, replace(loop, start=loop.stop - rest))


def is_known(loop: For, ranges: Mapping[str, Range]) -> bool:
    """Whether a loop has the same number of points each time that a kernel with these numbers runs it."""
    return set((*loop.start.names(), *loop.stop.names())) <= set(ranges)


def names_inside(body: Body) -> frozenset[str]:
    """The buffers, registers and indices that live inside a block, which each point needs for itself."""
    inner = list(walk(body))
    own = {s.buffer.name for s in inner if isinstance(s, Alloc)}
    return frozenset(own | {s.name for s in inner if isinstance(s, (Let, Read))})


def _together(body: Body, copies: list[_Copy]) -> Body:
    """Each statement for every copy; a loop or a choice once, with the copies inside."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, (For, If)) and not (isinstance(statement, For) and statement.kind == "vector"):
            if isinstance(statement, For):
                statement = reaching(statement, copies[-1].loop, copies[-1].distance)
            found.append(with_blocks(statement, lambda block: _together(block, copies)))
        else:
            found += [copy.of(statement) for copy in copies]
    return tuple(found)


@dataclass(frozen=True)
class _Copy:
    """The statements of one of several points of a loop: `number` steps of so many points behind the first one.

    own: the names that each copy gets anew. The first copy keeps them.
    """

    loop: str
    number: int
    step: int
    own: frozenset[str]

    @property
    def distance(self) -> int:
        """How far the point is from the first one."""
        return self.number * self.step

    def of(self, statement: Statement) -> Statement:
        """The statement with the names and places of this copy."""
        places: dict[str, Index] = {self.loop: variable(self.loop) + self.distance}
        places |= {name: variable(self.name(name)) for name in self.own}
        (moved,) = substituted((with_values(statement, self.value),), places)
        return self.renamed(moved)

    def name(self, name: str) -> str:
        return f"{name}_{self.loop}{self.number}" if self.number and name in self.own else name

    def value(self, part: Operand) -> Operand | None:
        """A value under this copy's names; None where it names nothing."""
        if isinstance(part, Load):
            return Load(self.name(part.buffer), part.at)
        return Register(self.name(part.name)) if isinstance(part, Register) else None

    def renamed(self, statement: Statement) -> Statement:
        """The statement that makes or stores to this copy's own buffers and registers."""
        if isinstance(statement, Alloc):
            return Alloc(replace(statement.buffer, name=self.name(statement.buffer.name)))
        if isinstance(statement, Store):
            return Store(self.name(statement.buffer), statement.at, statement.value)
        if isinstance(statement, (Let, Read)):
            return replace(statement, name=self.name(statement.name))
        return with_blocks(statement, lambda block: tuple(map(self.renamed, block)))
