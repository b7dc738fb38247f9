"""Merges neighbouring loops over the same dim, so that a row is walked once where it was walked twice.

    for j in 0..768:                      acc_d[0] = 0
      e[j] = exp(x[i, j] - m[0])          for j in 0..768:
    …                               ->      e_here = exp(x[i, j] - m[0])
    acc_d[0] = 0                            e[j] = e_here
    for j in 0..768:                        acc_d[0] += e_here
      acc_d[0] += e[j]

The second loop may read the results of the first only at the same place. A value that the same iteration has stored is
taken from its register. An array that is then never read from memory is not stored. Source: loop fusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import independent
from tiling.loops.index import Index
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, For, Let, Load, Operand, Read, Register, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of, with_values
from tiling.loops.walk import walk, with_blocks


def share_loops(kernel: Kernel) -> Kernel:
    """The kernel with loops merged wherever no iteration needs what a later one gives."""
    body = _shared(kernel.body, outermost=True)
    registers = {s.buffer.name for s in walk(body) if isinstance(s, Alloc) and s.buffer.memory == "registers"}
    owned = {s.buffer.name: s.buffer for s in walk(body) if isinstance(s, Alloc)}
    dtypes = {name: buffer.dtype for name, buffer in owned.items()} | {a.name: a.dtype for a in kernel.arrays}
    return replace(kernel, body=_without_unread(_forwarded(body, registers, dtypes), owned))


def _shared(body: Body, outermost: bool = False) -> Body:
    """The block with each loop joined to an earlier one where that is possible."""
    found: list[Statement] = []
    for statement in body:
        place = _partner(found, statement, outermost) if isinstance(statement, For) else None
        if place is None:
            found.append(statement)
            continue
        before, between = found[place], found[place + 1 :]
        assert isinstance(before, For) and isinstance(statement, For)
        found[place:] = [*between, replace(before, body=(*before.body, *statement.body))]
    return tuple(with_blocks(statement, _shared) for statement in found)


def _partner(found: list[Statement], loop: For, outermost: bool) -> int | None:
    """Where the loop stands that this one may be merged into; None where there is none.

    A loop with independent iterations is not merged with a loop whose iterations depend on each other in two places:
    outermost, where cores may share it, and around a sum, where several sums may form one tile.
    """
    for place in reversed(range(len(found))):
        before = found[place]
        if not isinstance(before, For):
            continue
        alike = replace(before, body=()) == replace(loop, body=()) and loop.kind == "serial"
        apart = outermost or any(_has_loop(each) for each in (before, loop))
        alike = alike and not (apart and independent(before) != independent(loop))
        between = tuple(found[place + 1 :])
        if alike and may_swap((before,), between) and _same_places(before, loop):
            return place
        if not may_swap((before,), (loop,)):
            return None  # nothing before it may come after it
    return None


def _has_loop(loop: For) -> bool:
    return any(isinstance(statement, For) for statement in walk(loop.body))


def may_swap(first: Body, then: Body) -> bool:
    """Whether two blocks may be swapped: neither writes what the other one touches."""
    one, other = _writes(first), _writes(then)
    return one.isdisjoint(_touches(then)) and other.isdisjoint(_touches(first))


def _same_places(first: For, then: For) -> bool:
    """Whether what one loop writes and the other one touches lies at one place of each iteration."""
    both = (first.body, then.body)
    shared = (_writes(both[0]) & _touches(both[1])) | (_writes(both[1]) & _touches(both[0]))
    for name in shared:
        places = {at for body in both for buffer, at in _accesses(body) if buffer == name}
        if len(places) > 1 or not any(index == Index(((first.name, 1),)) for at in places for index in at):
            return False
    return True


def _accesses(body: Body) -> Iterator[tuple[str, tuple[Index, ...]]]:
    for statement in walk(body):
        if isinstance(statement, Store):
            yield statement.buffer, statement.at
        for operand in operands_of(statement):
            yield from ((part.buffer, part.at) for part in parts_of(operand) if isinstance(part, Load))


def _touches(body: Body) -> set[str]:
    own = {s.buffer.name for s in walk(body) if isinstance(s, Alloc)}
    return {name for name, _ in _accesses(body)} | own


def _writes(body: Body) -> set[str]:
    return {s.buffer.name if isinstance(s, Alloc) else s.buffer for s in walk(body) if isinstance(s, (Alloc, Store))}


# --- values in registers


def _forwarded(body: Body, registers: set[str], dtypes: dict[str, str]) -> Body:
    """The block where the statements after a store read its value from a register.

    This stops at a loop: its statements may become different lanes, and a register belongs to one lane.
    """
    found = list(body)
    for number, store in enumerate(found):
        if not isinstance(store, Store) or store.buffer in registers:
            continue
        straight = tuple(takewhile(lambda s: isinstance(s, (Store, Let, Read)), found[number + 1 :]))
        later = tuple(found[number + 1 + len(straight) :])
        if (store.buffer, store.at) not in set(_accesses(straight)) or store.buffer in _writes(straight):
            continue
        name = f"{store.buffer}_here"
        by: dict[Operand, Operand] = {Load(store.buffer, store.at): Register(name)}
        taken = tuple(with_values(statement, by.get) for statement in straight)
        named = Let(name, store.value, dtype=dtypes[store.buffer])
        rest = (replace(store, value=Register(name)), *taken, *later)
        return (*found[:number], named, *_forwarded(rest, registers, dtypes))
    return tuple(with_blocks(s, lambda block: _forwarded(block, registers, dtypes)) for s in found)


def _without_unread(body: Body, owned: dict[str, Buffer]) -> Body:
    """The block without arrays of its own that nobody reads."""
    read = {part.buffer for s in walk(body) for o in operands_of(s) for part in parts_of(o) if isinstance(part, Load)}

    def kept(statement: Statement) -> bool:
        if isinstance(statement, Alloc):
            return statement.buffer.name in read
        return not isinstance(statement, Store) or statement.buffer not in owned or statement.buffer in read

    def whole(block: Body) -> Body:
        return tuple(with_blocks(statement, whole) for statement in block if kept(statement))

    return whole(body)
