"""What names stand for in each of many threads at once: a number of each is a vector, registers have a row for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiling.loops.index import Index
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import Condition, Flag, For, Inside
from tiling.loops.meaning.memory import Given, LiveArray
from tiling.loops.meaning.slices import InTurn


def numbers_of(loops: Iterable[For], scope: Scope) -> list[np.ndarray]:
    """The number that each thread has in each loop; none where loops have other lengths in other threads."""
    found: list[np.ndarray] = []
    known: dict[str, Any] = dict(scope.numbers)
    for loop in loops:
        try:
            start, stop = loop.start.at(known), loop.stop.at(known)
        except ValueError:  # as in `ThreadBindings.at`
            return []
        counts = np.unique((stop - start + loop.step - 1) // loop.step)
        if len(counts) > 1 or counts[0] <= 0:
            return []
        threads, count = len(found[0]) if found else 1, int(counts[0])
        found = [np.repeat(each, count) for each in found]
        first = np.repeat(np.broadcast_to(start, threads), count)
        found.append(first + np.tile(np.arange(count) * loop.step, threads))
        known |= {each.name: numbers for each, numbers in zip(loops, found)}
    return found


@dataclass(frozen=True, slots=True)
class SeenBy:
    """An array as each thread sees it. origin: as of `LiveArray`, a number or a vector for each dim.

    own: each thread has one of its own, so the first dim of the elements is the thread.
    """

    array: LiveArray
    origin: tuple[Any, ...]
    own: bool = False

    def moved(self, at: tuple[Any, ...]) -> SeenBy:
        """The same elements, seen from another place."""
        return SeenBy(self.array, tuple([a + b for a, b in zip(self.origin, at, strict=True)]), self.own)

    def flat(self) -> SeenBy:
        """The elements as a pointer sees them."""
        array, start = self.array, 0
        shape = array.elements.shape[self.own :]
        for extent, at in zip(shape, self.origin):
            start = start * extent + at
        rows = (len(array.elements), -1) if self.own else (-1,)
        elements, written = array.elements.reshape(rows), array.written.reshape(rows)
        flat = LiveArray(array.name, elements, written, (0,) * elements.ndim, array.memory, array.first)
        return SeenBy(flat, (start,), self.own)


@dataclass(slots=True)
class ThreadRegister:
    """A register of each thread. known: which threads have given it a value."""

    values: np.ndarray | None = None
    known: np.ndarray | None = None


@dataclass(slots=True)
class ThreadBindings:
    """What names stand for. A number or a register is one for all threads, or a vector with one for each."""

    seen: dict[str, SeenBy] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    registers: dict[str, Given | ThreadRegister | None] = field(default_factory=dict)
    raised: frozenset[str] = frozenset()

    def inner(self) -> ThreadBindings:
        """The names of a block in this one."""
        return ThreadBindings(dict(self.seen), dict(self.numbers), dict(self.registers), self.raised)

    def at(self, index: Index) -> Any:
        """The number that an index is."""
        try:
            return index.at(self.numbers)
        except ValueError:  # Python's min and max do not take vectors
            raise InTurn from None

    def place(self, indices: tuple[Index, ...]) -> tuple[Any, ...]:
        """The numbers that indices are."""
        return tuple([self.at(index) for index in indices])

    def all_hold(self, conditions: Iterable[Condition]) -> Any:
        """Whether conditions hold: one answer, or one for each thread."""
        found: Any = True
        for condition in conditions:
            if isinstance(condition, Inside):
                at = self.at(condition.index)
                low = True if condition.low is None else condition.low <= at
                found = found & (low if condition.high is None else low & (at < condition.high))
            elif isinstance(condition, Flag):
                number = self.numbers.get(condition.name, 0)
                found = found & (condition.name in self.raised or number != 0)
            else:
                raise InTurn
        return found


def names_of(scope: Scope, numbers: dict[str, np.ndarray]) -> ThreadBindings:
    """The names of the scope around loops, and the numbers of each thread."""
    seen = {each: SeenBy(array, array.origin) for each, array in scope.arrays.items() if type(array) is LiveArray}
    return ThreadBindings(seen, scope.numbers | numbers, dict(scope.registers), frozenset(scope.raised))


def of(each: Any, who: np.ndarray) -> Any:
    """The numbers that a vector has for some threads, or for all of them; a number is one for all."""
    return each[who] if isinstance(each, np.ndarray) and each.ndim and len(each) > len(who) else each
