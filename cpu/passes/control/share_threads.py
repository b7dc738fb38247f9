"""Turns a kernel into the work of one thread of a team.

    every worker:                          panel[96] in its own memory at byte 384*thread
      panel[96] in its own memory …  ->    for worker in 5*thread / threads..(5*thread + 5) / threads:
      for worker in 0..5, core:              …
        …

Every thread of the team runs the kernel. Statements outside core loops run on the first thread alone. A function with
core loops gets the numbers `thread` and `threads`. The caller provides the team: for one call, or for a whole model.
`place_barriers` finds out where threads have to wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tiling.loops.index import ZERO, Index, applied, variable
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    THREAD,
    THREADS,
    Address,
    Alloc,
    Body,
    Call,
    Comment,
    Decide,
    Define,
    For,
    If,
    Inside,
    Let,
    Load,
    Read,
    Register,
    Seen,
    Set,
    Statement,
    Store,
    Team,
)
from tiling.loops.rewrite import operands_of, parts_of, with_indices
from tiling.loops.walk import is_core, walk, with_blocks


def share_threads(kernel: Kernel, team: bool) -> Kernel:
    """The kernel of one thread. team: several threads run it; else one does all."""
    shared = frozenset(f.name for f in kernel.functions if any(map(is_core, walk(f.body))))
    here = _Threads(team, shared)
    return replace(kernel, body=here.whole(kernel.body), functions=tuple(map(here.function, kernel.functions)))


@dataclass(frozen=True)
class _Threads:
    """shared: the names of the functions that have loops which threads share."""

    team: bool
    shared: frozenset[str]

    def whole(self, body: Body) -> Body:
        """The kernel's own block: statements that threads share, and statements of the first thread alone."""
        if not self.team:
            return self.body(body)
        found: list[Statement] = []
        alone: list[Statement] = []

        def one() -> None:
            if alone:
                found.append(If((FIRST_THREAD,), tuple(alone)))
                alone.clear()

        needed = _needed(body)
        for number, statement in enumerate(body):
            if isinstance(statement, Alloc) and statement.at is not None:
                found.append(statement)
            elif isinstance(statement, If) and any(map(self.works, walk((statement,)))):
                one()
                found.append(with_blocks(statement, self.whole))  # all threads choose alike
            elif self.works(statement) or isinstance(statement, _EACH) or number in needed:
                one()
                found += self.statement(statement)
            else:
                alone += self.statement(statement)
        one()
        return tuple(found)

    def works(self, statement: Statement) -> bool:
        """Whether all threads take part in a statement."""
        called = isinstance(statement, Call) and statement.function in self.shared
        return called or isinstance(statement, Team) or is_core(statement)

    def function(self, function: Function) -> Function:
        """The function; where threads share its loops, the work of one thread."""
        if function.name not in self.shared:
            return function
        numbers = (*function.numbers, *((THREAD, THREADS) if self.team else ()))
        return replace(function, numbers=numbers, body=self.whole(function.body))

    def body(self, body: Body) -> Body:
        return tuple(each for statement in body for each in self.statement(statement))

    def statement(self, statement: Statement) -> Body:
        """The part of a statement that one thread runs."""
        if isinstance(statement, Team):
            return self.body(statement.body)
        if isinstance(statement, For) and is_core(statement):
            body = self.body(statement.body)
            start, stop = (self.share(statement, after) for after in (0, 1)) if self.team else (ZERO, statement.stop)
            return (replace(statement, start=start, stop=stop, body=body, kind="serial"),)
        if isinstance(statement, Call) and statement.function in self.shared and self.team:
            return (replace(statement, numbers=(*statement.numbers, variable(THREAD), variable(THREADS))),)
        return (with_blocks(statement, self.body),)

    @staticmethod
    def share(loop: For, after: int) -> Index:
        """Where the iterations of thread `thread + after` begin. All such loops count from 0 by 1."""
        all_before = applied("*", loop.stop, variable(THREAD) + after)
        return applied("/", all_before, variable(THREADS))


FIRST_THREAD = Inside(variable(THREAD), 0, 1)  # holds for the first thread of every team
_EACH = (Team, Define, Decide, Seen, Comment)  # statements that every thread needs for itself


def _needed(body: Body) -> set[int]:
    """The places of statements whose indices or registers the shared loops need: every thread runs these statements."""
    names = {name for statement in body if is_core(statement) for name in _used(statement)}
    registers = {s.buffer.name for s in body if isinstance(s, Alloc) and s.buffer.memory == "registers"}
    found = set()
    for number, statement in reversed(tuple(enumerate(body))):
        if not is_core(statement) and not names.isdisjoint(_given(statement, registers)):
            found.add(number)
            names |= _used(statement)
    return found


def _given(statement: Statement, registers: set[str]) -> set[str]:
    """The names of the indices and registers that a statement defines. registers: the buffers that are registers."""
    if isinstance(statement, (Read, Let, Set, Define)):
        return {statement.name}
    if isinstance(statement, Alloc):
        return {statement.buffer.name} & registers
    return {each.buffer for each in walk((statement,)) if isinstance(each, Store)} & registers


def _used(statement: Statement) -> set[str]:
    """The variables, registers and buffers that a statement, or one inside it, uses."""
    found: set[str] = set()

    def index(given: Index) -> Index:
        found.update(given.names())
        return given

    with_indices(statement, index)
    for each in walk((statement,)):
        for operand in operands_of(each):
            parts = tuple(parts_of(operand))
            found |= {part.name for part in parts if isinstance(part, Register)}
            found |= {part.buffer for part in parts if isinstance(part, (Load, Address))}
    return found
