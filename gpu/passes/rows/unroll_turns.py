"""Unrolls the turns in which a thread takes its points of a row, so that the loads of all turns are under way together.

    for thread in 0..256, thread:              for thread in 0..256, thread:
      acc_m_each[thread] = -inf                  acc_m_each[thread] = -inf
      for j in thread..1536 by 256:      ->      for turn in 0..6, unrolled:
        acc_m_each[thread] = …                     j = thread + 256*turn
                                                   acc_m_each[thread] = …

In a loop the compiler does not know how many turns a thread has. The same goes for the tiles of a transposition. Where
the last turn is not full, points are tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpu.passes.facts.reading import WIDTH
from gpu.passes.facts.workers import KIND, MEMBER, THREAD, RowTeam, with_launches
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Define, For, If, Inside, Statement
from tiling.loops.rewrite import places
from tiling.loops.walk import buffers_of, walk, with_blocks

TURN = "turn"
MOST_TURNS = 32  # more would make long texts
# Compilers keep what all turns load. The registers of a block have 256 KiB at most: with 128 KiB of f64 in the turns of
# a LayerNorm of 16,384 numbers, NVRTC 13 spilled 48 bytes a thread.
MOST_BYTES = 96 << 10
WORD = 4  # bytes of a register


@dataclass(frozen=True)
class Turns:
    """The turns of each thread of a team: `each` points of a row of `points` in a turn. name: a point's variable."""

    team: RowTeam
    name: str
    points: int
    each: int
    body: Body

    @property
    def count(self) -> int:
        return -(-self.points // (self.team.size * self.each))

    @property
    def point(self) -> Index:
        """The first point of a thread in a turn."""
        return (self.team.number + variable(TURN) * self.team.size) * self.each

    def loop(self) -> For:
        """The loop over the turns."""
        inside = self.body
        if self.points % (self.team.size * self.each):
            inside = (If((Inside(variable(self.name), None, self.points),), inside),)
        turns = constant(self.count)
        return For(TURN, ZERO, turns, 1, (Define(self.name, self.point), *inside), "unrolled")


def unroll_turns(kernel: Kernel) -> Kernel:
    """The kernel with unrolled turns."""
    buffers = buffers_of(kernel)
    return with_launches(kernel, lambda launch: replace(launch, body=_unrolled(launch.body, buffers)))


def _unrolled(body: Body, buffers: Mapping[str, Buffer]) -> Body:
    found: list[Statement] = []
    for statement in body:
        team = team_of(statement)
        if isinstance(statement, For) and team:
            statement = replace(statement, body=tuple(_turned(each, team, buffers) for each in statement.body))
            found.append(statement)
        else:
            found.append(with_blocks(statement, lambda block: _unrolled(block, buffers)))
    return tuple(found)


def team_of(statement: Statement) -> RowTeam | None:
    """The team whose threads a loop is over."""
    if not isinstance(statement, For) or statement.name not in (THREAD, MEMBER) or statement.kind == "serial":
        return None
    return RowTeam(statement.name, statement.stop.offset) if statement.kind == KIND[statement.name] else None


def _turned(loop: Statement, team: RowTeam, buffers: Mapping[str, Buffer]) -> Statement:
    if not isinstance(loop, For) or loop.kind != "serial" or loop.start != team.number or loop.step != team.size:
        return loop
    width = max([WORD, *(WIDTH[buffers[place.buffer].dtype] for place in places(loop.body))])
    most = min(MOST_TURNS, MOST_BYTES // (width * team.size))
    if not loop.stop.is_constant or loop.stop.offset > most * team.size:
        return loop
    if any(isinstance(s, For) or (isinstance(s, Alloc) and s.buffer.memory != "registers") for s in walk(loop.body)):
        return loop
    return Turns(team, loop.name, loop.stop.offset, 1, loop.body).loop()


def turns_in(body: Body) -> Iterator[tuple[For, Turns]]:
    """The loops over turns in a block, at any depth."""
    for statement in walk(body):
        team = team_of(statement)
        if team and isinstance(statement, For):
            for loop in statement.body:
                turns = turns_of(loop, team)
                if turns and isinstance(loop, For):
                    yield loop, turns


def turns_of(loop: Statement, team: RowTeam) -> Turns | None:
    """What a loop over turns of one point each says; None for any other statement."""
    if not isinstance(loop, For) or loop.name != TURN or loop.kind != "unrolled":
        return None
    define, *inside = loop.body
    assert isinstance(define, Define)
    points = loop.stop.offset * team.size
    body = tuple(inside)
    if len(inside) == 1 and isinstance(inside[0], If):
        test, *_ = inside[0].conditions
        if isinstance(test, Inside) and test.index == variable(define.name) and test.high is not None:
            points, body = test.high, inside[0].body
    turns = Turns(team, define.name, points, 1, body)
    return turns if turns.loop() == loop else None
