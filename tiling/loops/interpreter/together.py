"""Runs what all threads of a loop do at once, statement by statement, as a GPU does: a number of each is a vector.

Where the order of the threads matters, or anything is wrong, they run in turn.
"""

# So a loop over some 30 threads takes the time that one of them takes alone.

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiling.loops.index import Index
from tiling.loops.interpreter.asynchronous import ASYNCHRONOUS
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Block,
    Body,
    Choose,
    Comment,
    Condition,
    Decide,
    Define,
    Do,
    Flag,
    For,
    If,
    Immediate,
    Inside,
    Invoke,
    Let,
    Load,
    Mask,
    Number,
    Position,
    Read,
    Register,
    Set,
    StagedPart,
    Statement,
    Store,
    Stride,
    Value,
    View,
)
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY, Array, Given, undefined
from tiling.loops.meaning.nests import FEW
from tiling.loops.meaning.slices import InTurn
from tiling.loops.meaning.threads import SIDE_BY_SIDE, threads_of
from tiling.loops.meaning.workers import Race, Worker, Workers


def together(loop: For, scope: Scope) -> bool:
    """Runs a loop over threads. Returns False, having waited and changed no element, where they must run in turn."""
    if loop.kind not in SIDE_BY_SIDE:
        return False
    known = scope.together.get(id(loop))
    if known is None:
        known = scope.together[id(loop)] = threads_of(loop)
    numbers = _numbers(known.loops, scope) if known.at_once else []
    if not numbers or len(numbers[0]) < FEW:
        return False
    names = [each.name for each in known.loops]
    running = _Together(scope, [each.kind for each in known.loops], numbers)
    if known.waits:
        running.wait(names, known.waits)
    who = np.arange(len(numbers[0]))
    try:
        running.run(known.at_once, _names(scope, dict(zip(names, numbers))), who)
        running.require_own_elements()
        running.note()
    except (InTurn, KeyError):  # an index of `lane` where no loop counts lanes is one of all lanes
        running.undo()
        return False
    return True


def _numbers(loops: Iterable[For], scope: Scope) -> list[np.ndarray]:
    """The number that each thread has in each loop; none where loops have other lengths in other threads."""
    found: list[np.ndarray] = []
    known: dict[str, Any] = dict(scope.numbers)
    for loop in loops:
        try:
            start, stop = loop.start.at(known), loop.stop.at(known)
        except ValueError:  # as in `_Names.at`
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
class _Seen:
    """An array as each thread sees it. origin: as of `Array`, a number or a vector for each dim.

    own: each thread has one of its own, so the first dim of the elements is the thread.
    """

    array: Array
    origin: tuple[Any, ...]
    own: bool = False

    def moved(self, at: tuple[Any, ...]) -> _Seen:
        """The same elements, seen from another place."""
        return _Seen(self.array, tuple([a + b for a, b in zip(self.origin, at, strict=True)]), self.own)

    def flat(self) -> _Seen:
        """The elements as a pointer sees them."""
        array, start = self.array, 0
        shape = array.elements.shape[self.own :]
        for extent, at in zip(shape, self.origin):
            start = start * extent + at
        rows = (len(array.elements), -1) if self.own else (-1,)
        elements, written = array.elements.reshape(rows), array.written.reshape(rows)
        flat = Array(array.name, elements, written, (0,) * elements.ndim, array.memory, array.first)
        return _Seen(flat, (start,), self.own)


@dataclass(slots=True)
class _Kept:
    """A register of each thread. known: which threads have given it a value."""

    values: np.ndarray | None = None
    known: np.ndarray | None = None


@dataclass(slots=True)
class _Names:
    """What names stand for. A number or a register is one for all threads, or a vector with one for each."""

    seen: dict[str, _Seen] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    registers: dict[str, Given | _Kept | None] = field(default_factory=dict)
    raised: frozenset[str] = frozenset()

    def inner(self) -> _Names:
        """The names of a block in this one."""
        return _Names(dict(self.seen), dict(self.numbers), dict(self.registers), self.raised)

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


def _names(scope: Scope, numbers: dict[str, np.ndarray]) -> _Names:
    """The names of the scope around loops, and the numbers of each thread."""
    seen = {each: _Seen(array, array.origin) for each, array in scope.arrays.items() if type(array) is Array}
    return _Names(seen, scope.numbers | numbers, dict(scope.registers), frozenset(scope.raised))


_NAMELESS = (Store, If, For, Do)  # these name nothing in the block that they are in

# Elements by their numbers, the threads that touch them, and how many stores were run before.
_Touched = tuple[Array, np.ndarray, np.ndarray, int]


@dataclass(slots=True)
class _Together:
    """The threads of loops. numbers: those of each in each loop. read, written: what they touch. before: what was where
    they write.
    """

    scope: Scope
    kinds: list[str]
    numbers: list[np.ndarray]
    workers: Workers = field(init=False)
    group: Worker = field(init=False)
    count: int = field(init=False)
    read: list[_Touched] = field(default_factory=list)
    written: list[_Touched] = field(default_factory=list)
    before: list[tuple[Array, Any, Given, np.ndarray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workers, self.group, self.count = self.scope.workers, self.scope.workers.now, len(self.numbers[0])

    def is_at_work(self, thread: int) -> None:
        """This one of the threads is at work."""
        if self.workers.barriers:
            own = [(kind, int(numbers[thread])) for kind, numbers in zip(self.kinds, self.numbers)]
            self.workers.now = (*self.group, *own)

    def wait(self, names: list[str], waits: Body) -> None:
        """Each thread waits, one after the other."""
        here = self.scope.inner()
        for thread in range(self.count):
            here.numbers |= {name: int(numbers[thread]) for name, numbers in zip(names, self.numbers)}
            self.is_at_work(thread)
            for each in waits:
                ASYNCHRONOUS[type(each)](each, here)
        self.workers.now = self.group

    def run(self, body: Body, names: _Names, who: np.ndarray) -> None:
        """Runs the statements of a block in some of the threads."""
        if not len(who):
            return
        here = names if len(body) == 1 and isinstance(body[0], _NAMELESS) else names.inner()
        for statement in body:
            _RUN[type(statement)](self, statement, here, who)

    def value(self, node: Value, names: _Names, who: np.ndarray) -> Given:
        """A value in these threads, or one for all of them."""
        if isinstance(node, Apply):
            return FUNCTIONS[node.function](*[self.value(argument, names, who) for argument in node.arguments])
        if isinstance(node, Load):
            return self.loaded(node, names, who)
        if isinstance(node, Number):
            return NUMPY[node.dtype](node.value)
        if isinstance(node, Position):
            return _of(np.asarray(names.at(node.index), np.int64)[()], who)
        if isinstance(node, Choose):
            return self.chosen(node, names, who)
        assert isinstance(node, Register)
        found = names.registers.get(node.name)
        if isinstance(found, _Kept) and found.values is not None and found.known is not None and found.known[who].all():
            return found.values[who]
        if found is None or isinstance(found, _Kept) or np.ndim(found):
            raise InTurn
        return found

    def loaded(self, node: Load, names: _Names, who: np.ndarray) -> Given:
        """The element of each of these threads."""
        seen = names.seen[node.buffer]
        places = self.places(seen, names.place(node.at), who, self.read)
        written = seen.array.written[places]
        if np.count_nonzero(written) < written.size:
            raise InTurn
        return seen.array.elements[places]

    def chosen(self, node: Choose, names: _Names, who: np.ndarray) -> Given:
        """One value or another."""
        holds = _of(names.all_hold(node.conditions), who)
        if np.all(holds) or not np.any(holds):
            return self.value(node.value if np.all(holds) else node.otherwise, names, who)
        either = self.value(node.value, names, who[holds]), self.value(node.otherwise, names, who[~holds])
        if either[0].dtype != either[1].dtype:
            raise InTurn
        found = np.empty(len(who), either[0].dtype)
        found[holds], found[~holds] = either
        return found

    def places(self, seen: _Seen, at: tuple[Any, ...], who: np.ndarray, touched: list[_Touched]) -> Any:
        """Where these threads find an element of an array. Raises InTurn outside of it."""
        array, shape = seen.array, seen.array.elements.shape[seen.own :]
        if not len(at) == len(seen.origin) == len(shape):
            raise InTurn
        places: tuple[Any, ...] = tuple([_of(start + number, who) for start, number in zip(seen.origin, at)])
        for each, extent in zip(places, shape):
            # One look at a vector: without a sign, a number below 0 is larger than any extent.
            if not 0 <= (np.maximum.reduce(each.view(np.uint64)) if isinstance(each, np.ndarray) else each) < extent:
                raise InTurn
        if seen.own:
            return (who, *places)
        if not array.elements.flags.c_contiguous:
            raise InTurn
        number: Any = 0
        for each, extent in zip(places, shape):
            number = number * extent + each
        numbers = number if isinstance(number, np.ndarray) else np.full(len(who), number)
        touched.append((array, numbers, who, len(self.written)))
        return places

    def store(self, statement: Store, names: _Names, who: np.ndarray) -> None:
        """Each of these threads stores a value."""
        given, seen = self.value(statement.value, names, who), names.seen[statement.buffer]
        places = self.places(seen, names.place(statement.at), who, self.written)
        array = seen.array
        self.before.append((array, places, array.elements[places], array.written[places]))
        if np.ndim(given) and np.ndim(array.elements[places]) == 0:
            raise InTurn  # they store to one element
        array.elements[places], array.written[places] = given, True

    def block(self, statement: Block | StagedPart, names: _Names, who: np.ndarray) -> None:
        """A block with a name, or one that reads a part."""
        self.run(statement.body, names, who)

    def choose(self, statement: If, names: _Names, who: np.ndarray) -> None:
        """Some run one block, the others another one."""
        holds = names.all_hold(statement.conditions)
        if isinstance(holds, np.ndarray):
            self.run(statement.body, names, who[holds[who]])
            self.run(statement.otherwise, names, who[~holds[who]])
        else:
            self.run(statement.body if holds else statement.otherwise, names, who)

    def loop(self, statement: For, names: _Names, who: np.ndarray) -> None:
        """Each runs the iterations of a loop in order; they may begin and end at other numbers."""
        start, stop, step = names.at(statement.start), names.at(statement.stop), statement.step
        here = names.inner()
        while len(who := _those(start < stop, who)):
            here.numbers[statement.name] = start
            self.run(statement.body, here, who)
            start = start + step

    def allocate(self, statement: Alloc, names: _Names, who: np.ndarray) -> None:
        """Registers of each thread."""
        buffer = statement.buffer
        shape = tuple([names.at(extent) for extent in buffer.sizes])
        if not all(isinstance(extent, int) for extent in shape):
            raise InTurn
        array = undefined(buffer.name, (self.count, *shape), NUMPY[buffer.dtype])
        names.seen[buffer.name] = _Seen(array, (0,) * len(shape), own=True)

    def view(self, statement: View, names: _Names, who: np.ndarray) -> None:
        """A name for an array seen from elsewhere."""
        names.seen[statement.name] = names.seen[statement.address.buffer].moved(names.place(statement.address.at))

    def define(self, statement: Define, names: _Names, who: np.ndarray) -> None:
        """A name for an index."""
        names.numbers[statement.name] = names.at(statement.index)

    def decide(self, statement: Decide, names: _Names, who: np.ndarray) -> None:
        """A flag of each thread."""
        names.numbers[statement.name] = names.all_hold(statement.conditions) + 0

    def read_index(self, statement: Read, names: _Names, who: np.ndarray) -> None:
        """A name for a number that is read."""
        found = np.zeros(self.count, np.int64)
        found[who] = np.asarray(self.value(statement.value, names, who)).astype(np.int64)
        names.numbers[statement.name] = found

    def let(self, statement: Let, names: _Names, who: np.ndarray) -> None:
        """A register of each thread."""
        names.registers[statement.name] = kept = _Kept()
        if statement.value is not None:
            self.keep(kept, self.value(statement.value, names, who), who)

    def set(self, statement: Set, names: _Names, who: np.ndarray) -> None:
        """It gets another value."""
        kept = names.registers.get(statement.name)
        if not isinstance(kept, _Kept):
            raise InTurn  # after the loop it has the value of the last thread
        self.keep(kept, self.value(statement.value, names, who), who)

    def keep(self, kept: _Kept, given: Given, who: np.ndarray) -> None:
        """Gives a register of these threads a value."""
        if np.ndim(given) > 1:
            raise InTurn
        if kept.values is None or kept.known is None:
            kept.values, kept.known = np.zeros(self.count, given.dtype), np.zeros(self.count, bool)
        if kept.values.dtype != given.dtype:
            raise InTurn
        kept.values[who], kept.known[who] = given, True

    def do(self, statement: Do, names: _Names, who: np.ndarray) -> None:
        """An instruction of each thread."""
        invoke = statement.invoke
        inner = _Names()
        for name, operand in invoke.operands:
            if isinstance(operand, Address):
                inner.seen[name] = names.seen[operand.buffer].moved(names.place(operand.at)).flat()
            elif isinstance(operand, (Mask, Immediate)):
                inner.numbers[name] = names.at(operand.lanes if isinstance(operand, Mask) else operand.number)
            else:
                assert not isinstance(operand, (Invoke, Stride))
                inner.seen[name] = self.handed(name, self.value(operand, names, who), who)
        for each in invoke.instruction.meaning:
            _RUN[type(each)](self, each, inner, who)

    def handed(self, name: str, given: Given, who: np.ndarray) -> _Seen:
        """A value as the vector of one number that an instruction gets."""
        array = undefined(name, (self.count, 1), given.dtype)
        array.elements[who, 0], array.written[who, 0] = given, True
        return _Seen(array, (0,), own=True)

    def nothing(self, statement: Statement, names: _Names, who: np.ndarray) -> None:
        """A comment changes no value."""

    def require_own_elements(self) -> None:
        """Raises InTurn where a thread writes what another one touches.

        Also where a thread reads what it has stored before: `note` tells all reads before all writes.
        """
        written, touched = _arrays(self.written), _arrays((*self.read, *self.written))
        for start, array in written.items():
            for begin, other in touched.items():
                apart = begin[0] - start[0]
                unlike = begin[1] != start[1] or apart % start[1]
                if unlike and np.may_share_memory(other, array):
                    raise InTurn
        if not self.written:
            return
        (places, owners, stores), (reads, readers, before) = _addresses(self.written), _addresses(self.read)
        order = np.argsort(places, kind="stable")  # of an element's stores the last one comes last
        places, owners, stores = places[order], owners[order], stores[order]
        if np.any((places[1:] == places[:-1]) & (owners[1:] != owners[:-1])):
            raise InTurn
        found = np.maximum(np.searchsorted(places, reads, side="right") - 1, 0)
        if np.any((places[found] == reads) & ((owners[found] != readers) | (stores[found] < before))):
            raise InTurn

    def note(self) -> None:
        """Tells the memory in which workers meet what each thread has touched. Raises InTurn where there is a race."""
        try:
            for touched, writes in ((self.read, False), (self.written, True)):
                by_array: dict[tuple[int, int, int], list[_Touched]] = {}
                for of_one in _by_array(touched):
                    array = of_one[0][0]
                    if array.memory is not None and (self.group or self.workers.barriers):
                        known = array.address, array.elements.itemsize, id(array.memory)
                        by_array.setdefault(known, []).extend(of_one)
                for met in by_array.values():
                    self.note_array(met, writes)
        except Race:
            raise InTurn from None
        finally:
            self.workers.now = self.group

    def note_array(self, touched: list[_Touched], writes: bool) -> None:
        """Tells the memory of an array what each thread has touched there."""
        array = touched[0][0]
        numbers = np.concatenate([each[1] for each in touched])
        who = np.concatenate([each[2] for each in touched])
        if not len(numbers):
            return
        most = int(numbers.max()) + 1  # an array may be a part of another one that begins there
        who, numbers = np.divmod(np.unique(who * most + numbers), most)
        starts = [0, *(np.flatnonzero(who[1:] != who[:-1]) + 1).tolist()]
        for start, end, thread in zip(starts, [*starts[1:], len(who)], who[starts].tolist()):
            self.is_at_work(thread)
            array.note(numbers[start:end], writes)

    def undo(self) -> None:
        """What was written is as it was before."""
        for array, places, elements, written in reversed(self.before):
            array.elements[places], array.written[places] = elements, written


def _of(each: Any, who: np.ndarray) -> Any:
    """The numbers that a vector has for some threads, or for all of them; a number is one for all."""
    return each[who] if isinstance(each, np.ndarray) and each.ndim and len(each) > len(who) else each


def _those(hold: Any, who: np.ndarray) -> np.ndarray:
    """Those threads for which something holds: one answer for all of them, or one for each."""
    if isinstance(hold, np.ndarray):
        those: np.ndarray = who[_of(hold, who)]
        return those
    return who if hold else who[:0]


def _by_array(touched: Iterable[_Touched]) -> Iterable[list[_Touched]]:
    """What is touched, by array: there are few, and to ask one where it begins takes long."""
    found: dict[int, list[_Touched]] = {}
    for each in touched:
        found.setdefault(id(each[0]), []).append(each)
    return found.values()


def _arrays(touched: Iterable[_Touched]) -> dict[tuple[int, int, int], np.ndarray]:
    """The arrays that are touched, by where they begin, the bytes of an element, and their length."""
    arrays = [of_one[0][0] for of_one in _by_array(touched)]
    return {(each.address, each.elements.itemsize, each.elements.size): each.elements for each in arrays}


def _addresses(touched: list[_Touched]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where in this machine's memory elements lie, which threads touch them, and how many stores were run before."""
    if not touched:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    begins = {id(of_one[0][0]): of_one[0][0].address for of_one in _by_array(touched)}
    places = [begins[id(array)] + numbers * array.elements.itemsize for array, numbers, _, _ in touched]
    before = [np.full(len(who), stores) for _, _, who, stores in touched]
    return np.concatenate(places), np.concatenate([each[2] for each in touched]), np.concatenate(before)


_RUN: dict[type, Callable[..., None]] = {
    **{
        Store: _Together.store,
        Block: _Together.block,
        StagedPart: _Together.block,
        If: _Together.choose,
        For: _Together.loop,
    },
    **{Alloc: _Together.allocate, View: _Together.view, Define: _Together.define, Decide: _Together.decide},
    **{Read: _Together.read_index, Let: _Together.let, Set: _Together.set, Do: _Together.do},
    Comment: _Together.nothing,
}
