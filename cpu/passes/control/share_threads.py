"""Makes a kernel what one thread of a team does of a call, and gives its buffers places in the call's scratch memory.

    every worker:                          panel[96] in its own memory at byte 384*thread
      panel[96] in its own memory    ->    for worker in 5*thread / threads..(5*thread + 5) / threads:
      for worker in 0..5, core:              …
        …

Every thread of the team runs the kernel. What no core loop shares, the first thread does alone. A function with such
loops gets the numbers `thread` and `threads`. Whose team it is, and where its memory comes from, is the caller's
affair: a call by itself, or a whole model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tiling.loops.index import ZERO, Index, applied, constant, variable
from tiling.loops.language import (
    THREAD,
    THREADS,
    Address,
    Alloc,
    Barrier,
    Body,
    Buffer,
    Call,
    Comment,
    Decide,
    Define,
    For,
    Function,
    If,
    Inside,
    Kernel,
    Let,
    Load,
    Read,
    Register,
    Scratch,
    Seen,
    Set,
    Statement,
    Store,
    Team,
)
from tiling.loops.rewrite import operands_of, parts_of, with_indices
from tiling.loops.walk import inside, walk, with_blocks

LINE = 64  # bytes: scratch memory begins on a cache line, and so does every buffer in it


def share_threads(kernel: Kernel, team: bool, width: Callable[[Buffer], int]) -> Kernel:
    """The kernel of one thread. team: several threads run it; else one does all. width: bytes of an element."""
    shared = frozenset(f.name for f in kernel.functions if any(map(_is_shared, walk(f.body))))
    here = _Threads(team, width, tuple(dict.fromkeys(_owners(kernel.body, team))), shared)
    functions = tuple(map(here.function, kernel.functions))
    return replace(kernel, body=here.whole(kernel.body), functions=functions, scratch=here.scratch)


def _owners(body: Body, team: bool, own: bool = False) -> Iterator[tuple[Buffer, bool]]:
    """Every buffer that needs a place, and whether each thread needs one of its own."""
    for statement in body:
        if isinstance(statement, Alloc) and _is_placed(statement.buffer, team and not own):
            yield statement.buffer, own
        for block in inside(statement):
            # What stands in a block other than the kernel's own is of the thread that runs the block.
            yield from _owners(block, False, own or isinstance(statement, Team) or _is_shared(statement))


def _is_placed(buffer: Buffer, shared: bool) -> bool:
    """Whether a buffer lies in scratch memory. shared: threads of a team see it, so that none may have it on its stack.

    Every other array that is small enough stays on the stack.
    """
    return buffer.memory in ("own", "global") or (shared and buffer.memory == "stack")


@dataclass(frozen=True)
class _Threads:
    """placed: every buffer that needs a place, and whether each thread needs one. shared: the names of the functions
    that have loops which threads share.
    """

    team: bool
    width: Callable[[Buffer], int]
    placed: tuple[tuple[Buffer, bool], ...]
    shared: frozenset[str]

    def bytes(self, buffer: Buffer) -> Index:
        """The bytes of a buffer, up to a whole cache line."""
        size = constant(self.width(buffer))
        for extent in buffer.sizes:
            size = applied("*", size, extent)
        return (size + (LINE - 1)) // LINE * LINE

    def sum(self, placed: Iterable[tuple[Buffer, bool]], own: bool) -> Index:
        found = ZERO
        for buffer, is_own in placed:
            found = found + self.bytes(buffer) if is_own == own else found
        return found

    @property
    def scratch(self) -> Scratch:
        """What all buffers take."""
        return Scratch(self.sum(self.placed, False), self.sum(self.placed, True))

    def at(self, buffer: Buffer, own: bool) -> Index:
        """The byte where a buffer begins."""
        before = self.placed[: self.placed.index((buffer, own))]
        if not own:
            return self.sum(before, False)
        thread = applied("*", self.scratch.own, variable(THREAD)) if self.team else ZERO
        return self.scratch.shared + self.sum(before, True) + thread

    def whole(self, body: Body) -> Body:
        """The kernel's own block: what threads share, and between what one does alone, a barrier."""
        found: list[Statement] = []
        alone: list[Statement] = []
        waits = False  # whether threads are to wait before what comes next

        def one() -> None:
            nonlocal waits
            if alone:
                found.extend([_BARRIER] * waits)
                found.append(If((Inside(variable(THREAD), 0, 1),), tuple(alone)))
                alone.clear()
                waits = True

        needed = _needed(body) if self.team else set()
        for number, statement in enumerate(body):
            if isinstance(statement, Alloc) and _is_placed(statement.buffer, self.team):
                buffer = statement.buffer
                seen = replace(buffer, memory="global") if buffer.memory == "stack" else buffer
                found.append(Alloc(seen, self.at(buffer, False)))
            elif isinstance(statement, If) and self.team and any(map(self.works, walk((statement,)))):
                one()
                # All threads choose alike, and only those that work together wait for each other.
                blocks = (self.whole(block) for block in inside(statement))
                together = ((*block, _BARRIER) if block else () for block in blocks)
                found += [*[_BARRIER] * waits, If(statement.conditions, *together)]
                waits = False
            elif not self.team or self.works(statement) or isinstance(statement, _EACH):
                one()
                works = self.works(statement)
                if waits and (works or isinstance(statement, Seen)):
                    found.append(_BARRIER)
                    waits = False
                waits = self.team and (waits or works)
                found += self.statement(statement, False)
            elif number in needed:
                one()
                found += [_BARRIER] * waits
                waits = False
                found += self.statement(statement, False)
            else:
                alone += self.statement(statement, False)
        one()
        return tuple(found)

    def works(self, statement: Statement) -> bool:
        """Whether all threads take part in a statement."""
        called = isinstance(statement, Call) and statement.function in self.shared
        return called or isinstance(statement, Team) or _is_shared(statement)

    def function(self, function: Function) -> Function:
        """The function, of what one thread does where threads share its loops."""
        if function.name not in self.shared:
            return function
        numbers = (*function.numbers, *((THREAD, THREADS) if self.team else ()))
        return replace(function, numbers=numbers, body=self.whole(function.body))

    def body(self, body: Body, own: bool) -> Body:
        return tuple(each for statement in body for each in self.statement(statement, own))

    def statement(self, statement: Statement, own: bool) -> Body:
        """own: it stands where every thread has buffers of its own."""
        if isinstance(statement, Alloc):
            return (self.alloc(statement, own),)
        if isinstance(statement, Team):
            return self.body(statement.body, True)
        if isinstance(statement, For) and _is_shared(statement):
            body = self.body(statement.body, True)
            start, stop = (self.share(statement, after) for after in (0, 1)) if self.team else (ZERO, statement.stop)
            return (replace(statement, start=start, stop=stop, body=body, kind="serial"),)
        if isinstance(statement, Call) and statement.function in self.shared and self.team:
            return (replace(statement, numbers=(*statement.numbers, variable(THREAD), variable(THREADS))),)
        return (with_blocks(statement, lambda block: self.body(block, own)),)

    def alloc(self, statement: Alloc, own: bool) -> Alloc:
        """The buffer at its place, if it needs one."""
        placed = _is_placed(statement.buffer, False)
        return replace(statement, at=self.at(statement.buffer, own)) if placed else statement

    @staticmethod
    def share(loop: For, after: int) -> Index:
        """Where the iterations of thread `thread + after` begin."""
        all_before = applied("*", loop.stop, variable(THREAD) + after)
        return applied("/", all_before, variable(THREADS))


_BARRIER = Barrier("core")
_EACH = (Team, Define, Decide, Seen, Comment)  # statements that every thread needs for itself


def _is_shared(statement: Statement) -> bool:
    """Whether threads share the iterations of a loop. All such loops count from 0 by 1."""
    return isinstance(statement, For) and statement.kind == "core"


def _needed(body: Body) -> set[int]:
    """The places of statements that give an index or a register which shared loops need: every thread runs them."""
    names = {name for statement in body if _is_shared(statement) for name in _used(statement)}
    registers = {s.buffer.name for s in body if isinstance(s, Alloc) and s.buffer.memory == "registers"}
    found = set()
    for number, statement in reversed(tuple(enumerate(body))):
        if not _is_shared(statement) and not names.isdisjoint(_given(statement, registers)):
            found.add(number)
            names |= _used(statement)
    return found


def _given(statement: Statement, registers: set[str]) -> set[str]:
    """The names of indices and registers that later statements know by this one. registers: buffers that are some."""
    if isinstance(statement, (Read, Let, Set, Define)):
        return {statement.name}
    if isinstance(statement, Alloc):
        return {statement.buffer.name} & registers
    return {each.buffer for each in walk((statement,)) if isinstance(each, Store)} & registers


def _used(statement: Statement) -> set[str]:
    """The variables, registers and buffers that a statement names, those of the statements inside included."""
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
