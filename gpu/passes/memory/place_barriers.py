"""Places a barrier wherever a thread would read, or overwrite, what another thread wrote since the last barrier.

    for warp in 0..8, warp:                                     for warp in 0..8, warp:
      …                                                           …
        acc_s_each_parts[warp] = acc_s_each_warp[warp]    ->        acc_s_each_parts[warp] = acc_s_each_warp[warp]
    for each in 0..8:                                           barrier of threads
      acc_s[0] += acc_s_each_parts[each]                        for each in 0..8:
                                                                  acc_s[0] += acc_s_each_parts[each]

All barriers are derived. A thread may read what it wrote itself, where equal loops give it the same points. In a loop
of the team, the end of an iteration comes before the beginning of the next one. Arrays that share shared memory count
as one, but different stages of a ring do not. Other threads may read an asynchronous copy after its wait and a barrier.
A block takes a counter behind a barrier. Source: RAW and WAR barriers of Triton.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpu.passes.facts.reading import loads_of
from gpu.passes.facts.rings import STAGE, are_apart, is_stage
from gpu.passes.facts.workers import KIND, MEMBER, THREAD, WARP, WARPS_OF_BLOCK, teams_are_warps, with_launches
from gpu.passes.rows.place_rows import bytes_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Barrier, Body, Define, Do, For, If, Statement, Store
from tiling.loops.machines import Beside, Copy, CopyBox, Open, StoreBox, Take, Wait
from tiling.loops.rewrite import operands_of, parts_of, places, substituted
from tiling.loops.walk import buffers_of, inside, walk, with_blocks

_MOST_STAGES = 16  # of a ring whose stages are told apart


@dataclass(frozen=True)
class _Access:
    """An access to an array. dealt: the loops by which threads get their points; none where all threads access it.

    stage: that of a ring, if it is the same for all threads; else None. lands: whether copies end here that have begun
    before. over: whether an mbarrier tells later threads that the access is over.
    """

    buffer: str
    at: tuple[Index, ...]
    writes: bool
    dealt: tuple[object, ...]
    stage: Index | None = None
    lands: bool = False
    over: bool = False


_Accesses = frozenset[_Access]


def place_barriers(kernel: Kernel) -> Kernel:
    """The kernel with the barriers that it needs."""
    buffers = buffers_of(kernel)

    def placed(statement: For) -> For:
        written = {s.buffer for s in walk(statement.body) if isinstance(s, Store)}
        written |= {place.buffer for place in _written_places(statement.body)}
        # Every element of an array is stored to once, so one that is only stored to needs no order.
        read = {place.buffer for place in places(statement.body) if not isinstance(place, Store)}
        ordered = {name for name in written if buffers[name].memory == "shared"} | (written & read)
        changing = {name: buffers[name] for name in ordered if buffers[name].memory != "registers"}
        bytes_ = {
            s.buffer.name: (s.at.offset, s.at.offset + bytes_of(s.buffer))
            for s in walk(statement.body)
            if isinstance(s, Alloc) and s.at is not None
        }
        warps = teams_are_warps(statement)
        copied = frozenset(s.target.buffer for s in walk(statement.body) if isinstance(s, Copy))
        boxed = frozenset(s.target.buffer for s in walk(statement.body) if isinstance(s, CopyBox))
        takes = any(isinstance(s, Take) for s in walk(statement.body))
        left = frozenset(name for name, buffer in changing.items() if takes and buffer.memory == "global")
        placing = _Placing(MEMBER if warps else THREAD, warps, changing, copied, boxed, left, bytes_)
        return replace(statement, body=placing.body(statement.body, frozenset())[0])

    return replace(with_launches(kernel, placed), barriers=True)


def _written_places(body: Body) -> Iterator[Address]:
    for statement in walk(body):
        if isinstance(statement, Do):
            yield from (a for name, a in statement.invoke.operands if name == "to" and isinstance(a, Address))
        elif isinstance(statement, (Copy, CopyBox)):
            yield statement.target
        elif isinstance(statement, Open):
            yield statement.barrier


@dataclass(frozen=True)
class _Placing:
    """name: the variable that numbers the team's threads. buffers: what the launch writes to. copied: what asynchronous
    copies write to. bytes_: which bytes each shared buffer takes. boxed: those that the copy engine brings boxes to.
    left: every array in memory that a launch with a `Take` changes. There groups leave parts of sums for others, each
    element once. known: the accesses of each statement by its `id`, beside the statement, so that no
    other one gets the same `id`.
    """

    name: str
    of_warps: bool
    buffers: Mapping[str, Buffer]
    copied: frozenset[str]
    boxed: frozenset[str]
    left: frozenset[str]
    bytes_: Mapping[str, tuple[int, int]]
    known: dict[int, tuple[Statement, _Accesses]] = field(default_factory=dict, init=False, compare=False)

    def body(self, body: Body, before: _Accesses) -> tuple[Body, _Accesses]:
        """The block with barriers, and the accesses since the last barrier. before: the accesses before the block."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For) and self.of_warps and statement.kind == WARPS_OF_BLOCK:
                inner, before = self.body(statement.body, before)  # every warp goes through it once
                found.append(replace(statement, body=inner))
                continue
            if isinstance(statement, For) and self.loops(statement):
                carried = self.carried(statement)
                inner, after = self.body(statement.body, carried)
                # Before the loop, unless the iterations have the barrier anyway.
                if self.meets(before, replace(statement, body=inner)):
                    found.append(Barrier(KIND[self.name]))
                    before = frozenset()
                found.append(replace(statement, body=inner))
                before = before | _moved(after, statement, None)
                continue
            if isinstance(statement, If):
                one, other = self.body(statement.body, before), self.body(statement.otherwise, before)
                found.append(If(statement.conditions, one[0], other[0]))
                before = one[1] | other[1]
                continue
            if isinstance(statement, Barrier):
                found.append(statement)
                before = frozenset()
                continue
            now = self.touched(statement)
            if self.conflicts(before, now):
                found.append(Barrier(KIND[self.name]))
                before = frozenset()
            found.append(with_blocks(statement, self.of_roles) if isinstance(statement, Beside) else statement)
            before |= now
        return tuple(found), before

    def touched(self, statement: Statement) -> _Accesses:
        """The accesses of a statement, found once: a loop is gone through until all that comes before it is known."""
        found = self.known.get(id(statement))
        if found is None:
            found = self.known[id(statement)] = statement, frozenset(self.accesses(statement, ()))
        return found[1]

    def of_roles(self, body: Body) -> Body:
        """The block of a role. Mbarriers order its warps, so only the lanes of a warp have barriers."""
        own = {name: buffer for name, buffer in self.buffers.items() if buffer.axes[0] == WARP or name in self.left}
        lanes = replace(self, name=MEMBER, buffers=own)
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For) and statement.kind == WARPS_OF_BLOCK:
                _, after = lanes.body(statement.body, frozenset())  # it may be done again
                found.append(replace(statement, body=lanes.body(statement.body, after)[0]))
            else:
                found.append(with_blocks(statement, self.of_roles))
        return tuple(found)

    def loops(self, statement: Statement) -> bool:
        """Whether a statement is a loop around loops over the team's threads."""
        if not isinstance(statement, For) or statement.kind not in ("serial", "unrolled"):
            return False
        team = (s for s in walk(statement.body) if isinstance(s, For) and s.kind == KIND[self.name])
        return statement.kind == "serial" or any(team)

    def carried(self, loop: For) -> _Accesses:
        """The accesses of iterations before, since the last barrier."""
        found: _Accesses = frozenset()
        for _ in range(_MOST_STAGES):
            last = _moved(self.body(loop.body, found)[1], loop, -loop.step)
            if last <= found:
                return found
            found |= last
        return found | _moved(found, loop, None)

    def meets(self, before: _Accesses, loop: For) -> bool:
        """Whether a loop with its barriers needs one before it. With one in each step only the first step does."""
        body = loop.body
        if any(isinstance(s, Barrier) for s in body):
            body = substituted(body, {loop.name: loop.start})
        return self.body(body, before)[0] != body

    def conflicts(self, before: _Accesses, now: _Accesses) -> bool:
        """Whether the next accesses need a barrier before them."""
        return any(self.conflict(one, other) for one in now for other in before)

    def conflict(self, one: _Access, other: _Access) -> bool:
        """Whether an access needs a barrier after another one."""
        if one.lands or other.over or not (one.writes or other.writes) or not self.meet(one.buffer, other.buffer):
            return False
        if one.buffer in self.left and one.writes:
            return False
        if one.buffer == other.buffer and one.stage and other.stage and are_apart(one.stage, other.stage):
            return False
        same = one.buffer == other.buffer and one.at == other.at and one.dealt == other.dealt
        # Where an index is a sum of variables, two threads may meet at one place.
        own = all(len(set(index.names())) <= 1 for index in one.at)
        return not (same and own and one.dealt)

    def meet(self, one: str, other: str) -> bool:
        """Whether two buffers have memory in common."""
        if one == other:
            return True
        if one not in self.bytes_ or other not in self.bytes_:
            return False
        (first, end), (its_first, its_end) = self.bytes_[one], self.bytes_[other]
        return first < its_end and its_first < end

    def accesses(self, statement: Statement, dealt: tuple[object, ...]) -> Iterator[_Access]:
        """The accesses to buffers that change. dealt: the loops around the statement that deal out points."""
        if isinstance(statement, Take):  # other blocks see what was written, and this one what others wrote
            yield from (_Access(name, (), writes, ()) for name in self.left for writes in (False, True))
        if isinstance(statement, Wait):
            yield from (_Access(name, (), True, (), lands=True) for name in self.copied if name in self.buffers)
        if isinstance(statement, Store) and statement.buffer in self.buffers:
            yield self.access(statement.buffer, statement.at, True, dealt)
        for load in loads_of(statement):
            if load.buffer in self.buffers:
                yield self.access(load.buffer, load.at, False, dealt)
        written = set(_written_places((statement,))) if isinstance(statement, (Copy, CopyBox, Do, Open)) else set()
        # Who reads or changes a copied box has waited for its mbarrier, so also for the store from there before.
        touched = (statement.barrier,) if isinstance(statement, CopyBox) else operands_of(statement)
        over = isinstance(statement, StoreBox) and statement.source.buffer in self.boxed
        for operand in touched:
            for part in parts_of(operand):
                if isinstance(part, Address) and part.buffer in self.buffers:
                    access = self.access(part.buffer, part.at, part in written, (*dealt, statement))
                    yield replace(access, over=over)
        here = dealt
        for block in inside(statement):
            if isinstance(statement, For):
                here = (*dealt, replace(statement, body=()))
            for each in block:
                if isinstance(each, Define):
                    here = (*here, each)
                yield from self.accesses(each, here)

    def access(self, buffer: str, at: tuple[Index, ...], writes: bool, dealt: tuple[object, ...]) -> _Access:
        """An access at a place. It may go on from there, along any axis but that of a ring."""
        own = {each.name for each in dealt if isinstance(each, (For, Define))}
        of_ring = self.buffers[buffer].axes[:1] == (STAGE,) and is_stage(at[0]) and own.isdisjoint(at[0].names())
        return _Access(buffer, at, writes, dealt, at[0] if of_ring else None)


def _moved(accesses: _Accesses, loop: For, by: int | None) -> _Accesses:
    """The accesses of an iteration, as seen from one so much further on; None: from behind the loop."""

    def seen(each: _Access) -> _Access:
        if each.stage is None or loop.name not in each.stage.names():
            return each
        there = None if by is None else each.stage.replaced({loop.name: variable(loop.name) + by})
        return replace(each, stage=there)

    return frozenset(map(seen, accesses))
