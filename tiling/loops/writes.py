"""Which arrays a kernel writes to: those that its statements store to, and those that its instructions do.

    store(p: y + [i, j], v: x_0)    means    for lane in 0..16: p[lane] = v[lane]

So this one writes to y.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from tiling.loops.language import Address, Body, Copy, Do, Instruction, Kernel, Seen, Store, View
from tiling.loops.walk import walk


def written(kernel: Kernel) -> set[str]:
    """The arrays that a kernel and its functions write to, and the buffers in between."""
    shown = _shown(kernel.body)
    found = _with_memory(stored_to(kernel.body), shown)
    for function in kernel.functions:
        stored = _with_memory(stored_to(function.body), _shown(function.body))
        found |= _with_memory((array for view, array in function.views if view in stored), shown)
    return found


def stored_to(body: Body) -> Iterator[str]:
    """What the statements of a block store to, by the names that they give it."""
    for statement in walk(body):
        if isinstance(statement, Store):
            yield statement.buffer
        elif isinstance(statement, Copy):
            yield statement.target.buffer
        elif isinstance(statement, Do):
            stored = _operands_stored_to(statement.invoke.instruction)
            operands = statement.invoke.operands
            yield from (place.buffer for name, place in operands if name in stored and isinstance(place, Address))


@lru_cache(maxsize=256)
def _operands_stored_to(instruction: Instruction) -> frozenset[str]:
    """The operands that an instruction stores to, by its meaning."""
    return frozenset(s.buffer for s in walk(instruction.meaning) if isinstance(s, Store))


def _shown(body: Body) -> dict[str, set[str]]:
    """The memory that each name in a block shows, by its names outside."""
    found: dict[str, set[str]] = {}
    for statement in walk(body):
        if isinstance(statement, View):
            found.setdefault(statement.name, set()).add(statement.address.buffer)
        elif isinstance(statement, Seen):
            found.setdefault(statement.buffer.name, set()).update({statement.of, statement.otherwise} - {""})
    return found


def _with_memory(names: Iterable[str], shown: Mapping[str, set[str]]) -> set[str]:
    """The names, and those of the memory that they show."""
    found, left = set(), set(names)
    while left:
        found |= left
        left = {memory for name in left for memory in shown.get(name, ())} - found
    return found
