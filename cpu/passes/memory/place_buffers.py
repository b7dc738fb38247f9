"""Gives the buffers of a kernel places in the memory that a call hands over.

    every worker:                        every worker:
      panel[96] in its own memory  ->      panel[96] in its own memory at byte 384*thread

First come the buffers that all threads share, then the buffers of each thread. A buffer that threads of a team fill for
each other is never on a stack; other small arrays stay on the stack. The caller provides the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Kernel, Scratch
from tiling.loops.language import LINE, THREAD, Alloc, Body, Statement, Team
from tiling.loops.walk import inside, is_core, with_blocks


def place_buffers(kernel: Kernel, team: bool, width: Callable[[Buffer], int]) -> Kernel:
    """The kernel with places for its buffers. team: several threads run it. width: bytes of an element."""
    here = _Places(team, width, tuple(dict.fromkeys(_owners(kernel.body, team))))
    return replace(kernel, body=here.body(kernel.body, own=False, shared=team), scratch=here.scratch)


def _owners(body: Body, shared: bool, own: bool = False) -> Iterator[tuple[Buffer, bool]]:
    """Every buffer that needs a place, and whether each thread needs its own. shared: a team runs the block."""
    for statement in body:
        if isinstance(statement, Alloc) and _is_placed(statement.buffer, shared):
            yield statement.buffer, own
        for block in inside(statement):
            yield from _owners(block, False, own or _is_of_thread(statement))


def _is_placed(buffer: Buffer, shared: bool) -> bool:
    """Whether a buffer lies in scratch memory. shared: threads of a team see it, so none may have it on its stack."""
    return buffer.memory in ("own", "global") or (shared and buffer.memory == "stack")


def _is_of_thread(statement: Statement) -> bool:
    """Whether a single thread runs the blocks in a statement, and so has their buffers for itself."""
    return isinstance(statement, Team) or is_core(statement)


@dataclass(frozen=True)
class _Places:
    """placed: every buffer that needs a place, and whether each thread needs one."""

    team: bool
    width: Callable[[Buffer], int]
    placed: tuple[tuple[Buffer, bool], ...]

    @property
    def scratch(self) -> Scratch:
        """The scratch memory that all buffers take."""
        return Scratch(self.sum(self.placed, False), self.sum(self.placed, True))

    def body(self, body: Body, own: bool, shared: bool) -> Body:
        """own: each thread has the buffers of this block for itself. shared: it is the block of a whole team."""
        return tuple(self.statement(statement, own, shared) for statement in body)

    def statement(self, statement: Statement, own: bool, shared: bool) -> Statement:
        """A statement whose buffers have places. own, shared: as for `body`."""
        if isinstance(statement, Alloc) and _is_placed(statement.buffer, shared):
            buffer = statement.buffer
            seen = replace(buffer, memory="global") if buffer.memory == "stack" else buffer
            return Alloc(seen, self.at(buffer, own))
        of_thread = own or _is_of_thread(statement)
        return with_blocks(statement, lambda block: self.body(block, of_thread, False))

    def at(self, buffer: Buffer, own: bool) -> Index:
        """The byte where a buffer begins."""
        before = self.placed[: self.placed.index((buffer, own))]
        if not own:
            return self.sum(before, False)
        thread = applied("*", self.scratch.own, variable(THREAD)) if self.team else ZERO
        return self.scratch.shared + self.sum(before, True) + thread

    def sum(self, placed: Iterable[tuple[Buffer, bool]], own: bool) -> Index:
        """The bytes of the buffers that are each thread's own, or of the buffers that threads share."""
        found = ZERO
        for buffer, is_own in placed:
            found = found + self.bytes(buffer) if is_own == own else found
        return found

    def bytes(self, buffer: Buffer) -> Index:
        """The bytes of a buffer, up to a whole cache line."""
        size = constant(self.width(buffer))
        for extent in buffer.sizes:
            size = applied("*", size, extent)
        return (size + (LINE - 1)) // LINE * LINE
