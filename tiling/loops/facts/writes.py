"""Which arrays a kernel writes to, and which it reads: its statements do, and its instructions.

    store(p: y + [i, j], v: x_0)    means    for lane in 0..16: p[lane] = v[lane]

So this instruction writes to y. A function writes through its views, and each call says which memory they show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import compress
from types import MappingProxyType

from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Body,
    Call,
    Do,
    Instruction,
    Invoke,
    Let,
    Load,
    Operand,
    Read,
    Seen,
    Set,
    Store,
    View,
)
from tiling.loops.machines import Arrive, Await, AwaitParity, Copy, CopyBox, Open, StoreBox, Take
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk

# For each function, by its name, and each of its views: whether the function, or one that it calls, touches it there.
Touched = Mapping[str, tuple[bool, ...]]
_NONE: Touched = MappingProxyType({})  # of a block that calls none


def written(kernel: Kernel) -> set[str]:
    """The arrays that a kernel and its functions write to, and the buffers in between."""
    stored = touched(kernel.functions, stored_to)
    found = with_memory(stored_to(kernel.body, stored), shown_by(kernel.body))
    for function in kernel.functions:
        found |= {array for _, array in compress(function.views, stored[function.name])}
    return found


def touched(functions: Iterable[Function], way: Callable[[Body, Touched], Iterator[str]]) -> Touched:
    """Which of their views functions touch in a way: `stored_to` or `loaded_from`."""
    named = {function.name: function for function in functions}
    found: dict[str, tuple[bool, ...]] = {}

    def add(function: Function) -> None:
        for name in {s.function for s in walk(function.body) if isinstance(s, Call)} - set(found):
            add(named[name])
        memory = with_memory(way(function.body, found), shown_by(function.body))
        found[function.name] = tuple(view in memory for view, _ in function.views)

    for function in named.values():
        if function.name not in found:
            add(function)
    return found


def stored_to(body: Body, stored: Touched = _NONE) -> Iterator[str]:
    """The names of what the statements of a block store to. stored: what the functions that they call do."""
    for statement in walk(body):
        if isinstance(statement, Store):
            yield statement.buffer
        elif isinstance(statement, (Copy, CopyBox, StoreBox)):
            yield statement.target.buffer
        elif isinstance(statement, Open):
            yield statement.barrier.buffer
        elif isinstance(statement, Take):
            yield statement.counter.buffer
        elif isinstance(statement, Do):
            targets = _operands_stored_to(statement.invoke.instruction)
            operands = statement.invoke.operands
            yield from (place.buffer for name, place in operands if name in targets and isinstance(place, Address))
        elif isinstance(statement, Call):
            yield from (place.buffer for place in compress(statement.views, stored[statement.function]))


def loaded_from(body: Body, loaded: Touched = _NONE) -> Iterator[str]:
    """The names of what the statements of a block read. Prefetches read nothing. loaded: what the functions that they
    call read.
    """
    for statement in walk(body):
        if isinstance(statement, (Copy, CopyBox, StoreBox)):
            yield statement.source.buffer
        elif isinstance(statement, (Arrive, Await, AwaitParity)):
            yield statement.barrier.buffer
        elif isinstance(statement, Take):
            yield statement.counter.buffer
        elif isinstance(statement, Call):
            yield from (place.buffer for place in compress(statement.views, loaded[statement.function]))
        elif isinstance(statement, (Alloc, Store, Let, Set, Read, Do)):
            for operand in operands_of(statement):
                yield from _loaded_from(operand)


def _loaded_from(operand: Operand) -> Iterator[str]:
    for part in parts_of(operand):
        if isinstance(part, Load):
            yield part.buffer
        elif isinstance(part, Invoke):
            sources = _operands_loaded_from(part.instruction)
            yield from (place.buffer for name, place in part.operands if name in sources and isinstance(place, Address))


@lru_cache(maxsize=256)
def _operands_loaded_from(instruction: Instruction) -> frozenset[str]:
    """The operands that an instruction reads, by its meaning."""
    return frozenset(loaded_from(instruction.meaning))


@lru_cache(maxsize=256)
def _operands_stored_to(instruction: Instruction) -> frozenset[str]:
    """The operands that an instruction stores to, by its meaning."""
    return frozenset(s.buffer for s in walk(instruction.meaning) if isinstance(s, Store))


def shown_by(body: Body) -> dict[str, set[str]]:
    """The memory that each name in a block shows, by its names outside."""
    found: dict[str, set[str]] = {}
    for statement in walk(body):
        if isinstance(statement, View):
            found.setdefault(statement.name, set()).add(statement.address.buffer)
        elif isinstance(statement, Seen):
            found.setdefault(statement.buffer.name, set()).update({statement.of, statement.otherwise} - {""})
    return found


def with_memory(names: Iterable[str], shown: Mapping[str, set[str]]) -> set[str]:
    """The names, and those of the memory that they show."""
    found, left = set(), set(names)
    while left:
        found |= left
        left = {memory for name in left for memory in shown.get(name, ())} - found
    return found
