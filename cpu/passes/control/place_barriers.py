"""Places barriers where one thread of a team reads what another one wrote, or writes over what another one reads.

    for worker in 4*thread / threads..…:           for worker in 4*thread / threads..…:
      …                                              …
          tile0_4mx16n(…, parts + [p, m, n])             tile0_4mx16n(…, parts + [p, m, n])
    for task in 8*thread / threads..…:        ->   barrier of cores
      add_parts(parts + [0, task, 0], …)           for task in 8*thread / threads..…:
                                                     add_parts(parts + [0, task, 0], …)

Which arrays a statement reads and writes follows from its text and from what its instructions mean. A thread that
works alone does not wait for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from cpu.passes.control.share_threads import FIRST_THREAD
from tiling.loops.facts.spans import Spans, overlap, spans_of
from tiling.loops.facts.writes import Touched, loaded_from, shown_by, stored_to, touched, with_memory
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import THREAD, Alloc, Barrier, Body, Decide, For, If, Seen, Statement
from tiling.loops.walk import bodies, walk

_BARRIER = Barrier("core")


def place_barriers(kernel: Kernel) -> Kernel:
    """The kernel of one thread of a team, with the barriers that it needs. A kernel of one thread alone needs none."""
    if not any(THREAD in index.names() for loop in _loops(kernel) for index in (loop.start, loop.stop)):
        return kernel
    stored, loaded = touched(kernel.functions, stored_to), touched(kernel.functions, loaded_from)
    shared = frozenset(s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc) and _is_shared(s))
    arrays = frozenset(buffer.name for buffer in kernel.arrays)
    placed, _ = _Team(stored, loaded, shared | arrays, shown_by(kernel.body)).body(kernel.body, frozenset())

    def of(function: Function) -> Function:
        if THREAD not in function.numbers:
            return function
        views = frozenset(view for view, _ in function.views)
        body, _ = _Team(stored, loaded, views, shown_by(function.body)).body(function.body, frozenset())
        return replace(function, body=body)

    return replace(kernel, body=placed, functions=tuple(map(of, kernel.functions)))


def _loops(kernel: Kernel) -> Iterator[For]:
    return (s for body in bodies(kernel) for s in walk(body) if isinstance(s, For))


def _is_shared(alloc: Alloc) -> bool:
    """Whether all threads see one buffer."""
    return alloc.at is not None and THREAD not in alloc.at.names()


@dataclass(frozen=True)
class _Access:
    """An access of a statement to an array. alone: only the first thread makes it. spans: what a write covers, if
    known.
    """

    array: str
    writes: bool
    alone: bool
    spans: Spans | None = None

    def meets(self, other: _Access) -> bool:
        """Whether one thread may read, or write over, what another one writes.

        Two writes meet only where their spans overlap: the statements of a program write each element once.
        """
        if self.array != other.array or (self.alone and other.alone):
            return False
        if self.spans is not None and other.spans is not None:
            return overlap(self.spans, other.spans)
        return self.writes != other.writes


_Accesses = frozenset[_Access]


@dataclass(frozen=True)
class _Team:
    """stored, loaded: the views that functions store to, and read. shared: the arrays that all threads see. shown: the
    memory of each name.
    """

    stored: Touched
    loaded: Touched
    shared: frozenset[str]
    shown: Mapping[str, set[str]]

    def body(self, body: Body, before: _Accesses) -> tuple[Body, _Accesses]:
        """The block with barriers, and the accesses since the last barrier. before: the accesses before the block."""
        found: list[Statement] = []
        for place, statement in enumerate(body):
            if isinstance(statement, If) and statement.conditions != (FIRST_THREAD,):
                choice, after = self.choice(statement, before, body[place + 1 :])
                found += choice
                before = after
                continue
            now = frozenset(self.accesses(statement))
            if _meet(before, now):
                # Names for arrays that were just written come after the barrier.
                names = len(list(takewhile(lambda s: isinstance(s, (Seen, Decide)), reversed(found))))
                found.insert(len(found) - names, _BARRIER)
                before = frozenset()
            found.append(statement)
            before |= now
        return tuple(found), before

    def choice(self, choice: If, before: _Accesses, rest: Body) -> tuple[Body, _Accesses]:
        """A choice that all threads make alike. Only branches that do something need barriers.

        rest: the statements after it.
        """
        wait = _meet(before, frozenset(self.accesses(choice)))
        before = frozenset() if wait else before
        later = frozenset(access for statement in rest for access in self.accesses(statement))
        blocks, after = [], before
        for block in (choice.body, choice.otherwise):
            placed, left = self.body(block, frozenset())
            if _meet(left, later):
                placed, left = (*placed, _BARRIER), frozenset()
            blocks.append(placed)
            after |= left
        return (*[_BARRIER] * wait, If(choice.conditions, *blocks)), after

    def accesses(self, statement: Statement) -> Iterator[_Access]:
        """What a statement does to arrays that all threads see, by itself or in the functions that it calls."""
        alone = isinstance(statement, If) and statement.conditions == (FIRST_THREAD,)
        block = (statement,)
        written, read = stored_to(block, self.stored), loaded_from(block, self.loaded)
        for writes, names in ((True, written), (False, read)):
            arrays = with_memory(names, self.shown) & self.shared
            yield from (_Access(array, writes, alone) for array in arrays)
        for array, spans in spans_of(block):
            if array in self.shared:
                yield _Access(array, True, alone, spans)


def _meet(before: _Accesses, now: _Accesses) -> bool:
    return any(one.meets(other) for one in before for other in now)
