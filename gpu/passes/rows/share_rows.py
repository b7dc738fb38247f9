"""Shares the loops of a row among the threads of its team: each thread takes every so-many-th point.

    for j in 0..1536:                            for thread in 0..256, thread:
      acc_m[0] = max(acc_m[0], x[i, j])    ->      acc_m_each[thread] = -inf
                                                   for j in thread..1536 by 256:
                                                     acc_m_each[thread] = max(acc_m_each[thread], x[i, j])
                                                 for each in 0..256:
                                                   acc_m[0] = max(acc_m[0], acc_m_each[each])

Other statements stay: all threads of the team run them, and each has the results in its registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from gpu.passes.facts.reading import loads_of, most_points
from gpu.passes.facts.workers import (
    A_WARP,
    BLOCKS,
    THREAD,
    THREADS_OF_BLOCK,
    WARP_SIZE,
    RowTeam,
    of_each,
    teams_are_warps,
)
from gpu.passes.threads.bind_points import LONG, POINT, places_of, total
from tiling.loops.facts.nests import chain, most_trips
from tiling.loops.facts.values import dtypes_of
from tiling.loops.index import ZERO, Range, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Alloc,
    Apply,
    Body,
    Define,
    Do,
    For,
    If,
    Load,
    Number,
    Operand,
    Read,
    Statement,
    Store,
)
from tiling.loops.meaning.functions import REDUCTIONS, neutral
from tiling.loops.rewrite import with_own_values
from tiling.loops.walk import walk, with_blocks

# Statements that a thread may run too: they give nothing to other threads.
_PLAIN = (For, If, Alloc, Store, Read, Define, Do)
# About how many points of a row a thread of a block has, so that work that all threads repeat costs little.
POINTS_EACH, MOST_THREADS = 8, 1024


def share_rows(kernel: Kernel) -> Kernel:
    """The kernel whose teams share the loops of their rows."""
    dtypes = dtypes_of(kernel)

    def shared(statement: Statement) -> Statement:
        if not isinstance(statement, For) or statement.kind != BLOCKS or _is_bound(statement):
            return statement
        team = A_WARP if teams_are_warps(statement) else RowTeam(THREAD, _threads(statement, kernel.ranges))
        sharing = _Sharing(team, dtypes, kernel.ranges)
        return replace(statement, body=sharing.body(statement.body))

    return replace(kernel, body=tuple(map(shared, kernel.body)))


def _is_bound(launch: For) -> bool:
    return any(isinstance(s, For) and s.kind == THREADS_OF_BLOCK for s in walk(launch.body))


def _threads(launch: For, ranges: Mapping[str, Range]) -> int:
    """The threads of a block whose rows are so long: a power of two, for whole warps."""
    wanted, threads = most_points(launch.body, ranges) // POINTS_EACH, WARP_SIZE
    while threads < min(wanted, MOST_THREADS):
        threads *= 2
    return threads


@dataclass(frozen=True)
class _Sharing:
    team: RowTeam
    dtypes: Mapping[str, str]
    ranges: Mapping[str, Range]
    taken: set[str] = field(default_factory=set)

    def body(self, body: Body) -> Body:
        """Statements that the whole team runs."""
        found: list[Statement] = []
        for statement in body:
            if not isinstance(statement, For) or statement.kind != "serial":
                found.append(with_blocks(statement, self.body))
                continue
            loops, inner = chain(statement)
            if loops and self.is_map(loops, inner):
                found.append(self.team.each(self.dealt(loops, inner)))
            elif reduced := self.reduced(statement):
                found += reduced
            else:
                found.append(replace(statement, body=self.body(statement.body)))
        return tuple(found)

    def is_map(self, loops: list[For], inner: Body) -> bool:
        """Whether each point is for one thread: points enough, and nothing in it for a team."""
        if any(isinstance(s, Alloc) and s.buffer.memory != "registers" for s in walk(inner)):
            return False
        if not self.is_rectangular(loops):
            return False
        points = total(loops).within(self.ranges)[1]
        return points >= self.team.size // 2 or most_points(inner, self.ranges) < LONG

    def is_rectangular(self, loops: list[For]) -> bool:
        """Whether no loop begins or ends at the variable of another one."""
        names = {loop.name for loop in loops}
        return all(names.isdisjoint((*loop.start.names(), *loop.stop.names())) for loop in loops)

    def dealt(self, loops: list[For], inner: Body) -> Body:
        """The points of one thread: as far apart as there are threads, so that neighbours take neighbours."""
        mine = self.team.number
        if len(loops) == 1:
            (loop,) = loops
            start = loop.start + mine * loop.step
            return (replace(loop, start=start, step=self.team.size * loop.step, body=inner, limit=None),)
        return (For(POINT, mine, total(loops), self.team.size, (*places_of(loops, variable(POINT)), *inner)),)

    # --- reductions

    def reduced(self, loop: For) -> Body:
        """The loops of a reduction on all threads, and what they have found together; nothing for any other loop."""
        loops, inner = _nest(loop)
        while loops and not self.is_rectangular(loops):
            inner = (loops.pop(),)
        sums = _sums(inner)
        if not sums or not loops or most_trips(loops[0], self.ranges) < 1:
            return ()
        names = {name: self.free(f"{name}_each") for name in sums}
        allocated = tuple(Alloc(of_each(names[name], self.team, self.dtypes[name])) for name in sums)
        begun = tuple(
            Store(names[name], (self.team.number,), Number(neutral(function, self.dtypes[name]), self.dtypes[name]))
            for name, function in sums.items()
        )
        mine = tuple(self.in_thread(statement, names) for statement in inner)
        each = variable("each")
        found = tuple(
            Store(name, (ZERO,), Apply(function, (Load(name, (ZERO,)), Load(names[name], (each,)))))
            for name, function in sums.items()
        )
        work = self.team.each((*begun, *self.dealt(loops, mine)))
        together = tuple(For("each", ZERO, constant(self.team.size), 1, (store,)) for store in found)
        return (*allocated, work, *together)

    def free(self, name: str) -> str:
        """The name, with a number where a register has it already."""
        found = next(new for n in count() if (new := f"{name}_{n}" if n else name) not in self.taken)
        self.taken.add(found)
        return found

    def in_thread(self, statement: Statement, names: Mapping[str, str]) -> Statement:
        """The statement on the registers of a thread."""

        def value(part: Operand) -> Operand | None:
            if isinstance(part, Load) and part.buffer in names:
                return Load(names[part.buffer], (self.team.number,))
            return None

        statement = with_own_values(statement, value)
        if isinstance(statement, Store) and statement.buffer in names:
            statement = Store(names[statement.buffer], (self.team.number,), statement.value)
        return with_blocks(statement, lambda block: tuple(self.in_thread(each, names) for each in block))


def _nest(loop: For) -> tuple[list[For], Body]:
    """The loops from the outermost on that have one loop inside each, and what the last has."""
    loops: list[For] = []
    body: Body = (loop,)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == "serial":
        loops.append(body[0])
        body = body[0].body
    return loops, body


def _sums(body: Body) -> dict[str, str]:
    """The registers that statements go on with, and by which function; none where they do anything else."""
    own = {s.buffer.name for s in walk(body) if isinstance(s, Alloc)}
    if any(isinstance(s, Alloc) and s.buffer.memory != "registers" for s in walk(body)):
        return {}
    found: dict[str, str] = {}
    read: list[Load] = []
    for statement in walk(body):
        loads = list(loads_of(statement))
        if isinstance(statement, Store) and statement.buffer not in own:
            before, value = Load(statement.buffer, statement.at), statement.value
            whole = isinstance(value, Apply) and value.function in REDUCTIONS and value.arguments[0] == before
            if not whole or statement.at != (ZERO,) or statement.buffer in found:
                return {}
            assert isinstance(value, Apply)
            found[statement.buffer] = value.function
            loads.remove(before)
        elif not isinstance(statement, _PLAIN):
            return {}
        read += loads
    return {} if any(load.buffer in found for load in read) else found
