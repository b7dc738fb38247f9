"""Runs what all threads of a loop do at once, statement by statement, as a GPU does: a number of each is a vector.

Where the order of the threads matters, or anything is wrong, they run in turn.
"""

# So a loop over some 30 threads takes the time that one of them takes alone.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiling.loops.interpreter.asynchronous import ASYNCHRONOUS
from tiling.loops.interpreter.each_thread import SeenBy, ThreadBindings, ThreadRegister, names_of, numbers_of, of
from tiling.loops.interpreter.scope import Scope
from tiling.loops.interpreter.touched import Touch, Touched
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Block,
    Body,
    Choose,
    Comment,
    Decide,
    Define,
    Do,
    For,
    If,
    Immediate,
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
from tiling.loops.meaning.memory import NUMPY, Given, undefined
from tiling.loops.meaning.nests import FEW
from tiling.loops.meaning.slices import InTurn
from tiling.loops.meaning.threads import SIDE_BY_SIDE, threads_of
from tiling.loops.meaning.workers import Worker, Workers


def together(loop: For, scope: Scope) -> bool:
    """Runs a loop over threads. Returns False, having waited and changed no element, where they must run in turn."""
    if loop.kind not in SIDE_BY_SIDE:
        return False
    known = scope.together.get(id(loop))
    if known is None:
        known = scope.together[id(loop)] = threads_of(loop)
    numbers = numbers_of(known.loops, scope) if known.at_once else []
    if not numbers or len(numbers[0]) < FEW:
        return False
    names = [each.name for each in known.loops]
    running = _Together(scope, [each.kind for each in known.loops], numbers)
    if known.waits:
        running.wait(names, known.waits)
    who = np.arange(len(numbers[0]))
    try:
        running.run(known.at_once, names_of(scope, dict(zip(names, numbers))), who)
        running.touched.require_own_elements()
        running.touched.note()
    except (InTurn, KeyError):  # an index of `lane` where no loop counts lanes is one of all lanes
        running.touched.undo()
        return False
    return True


_NAMELESS = (Store, If, For, Do)  # these name nothing in the block that they are in


@dataclass(slots=True)
class _Together:
    """The threads of loops. numbers: those of each in each loop. touched: the elements that they touch."""

    scope: Scope
    kinds: list[str]
    numbers: list[np.ndarray]
    workers: Workers = field(init=False)
    group: Worker = field(init=False)
    count: int = field(init=False)
    touched: Touched = field(init=False)

    def __post_init__(self) -> None:
        self.workers, self.group, self.count = self.scope.workers, self.scope.workers.now, len(self.numbers[0])
        self.touched = Touched(self.workers, self.is_at_work)

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

    def run(self, body: Body, names: ThreadBindings, who: np.ndarray) -> None:
        """Runs the statements of a block in some of the threads."""
        if not len(who):
            return
        here = names if len(body) == 1 and isinstance(body[0], _NAMELESS) else names.inner()
        for statement in body:
            _RUN[type(statement)](self, statement, here, who)

    def value(self, node: Value, names: ThreadBindings, who: np.ndarray) -> Given:
        """A value in these threads, or one for all of them."""
        if isinstance(node, Apply):
            return FUNCTIONS[node.function](*[self.value(argument, names, who) for argument in node.arguments])
        if isinstance(node, Load):
            return self.loaded(node, names, who)
        if isinstance(node, Number):
            return NUMPY[node.dtype](node.value)
        if isinstance(node, Position):
            return of(np.asarray(names.at(node.index), np.int64)[()], who)
        if isinstance(node, Choose):
            return self.chosen(node, names, who)
        assert isinstance(node, Register)
        found = names.registers.get(node.name)
        if (
            isinstance(found, ThreadRegister)
            and found.values is not None
            and found.known is not None
            and found.known[who].all()
        ):
            return found.values[who]
        if found is None or isinstance(found, ThreadRegister) or np.ndim(found):
            raise InTurn
        return found

    def loaded(self, node: Load, names: ThreadBindings, who: np.ndarray) -> Given:
        """The element of each of these threads."""
        seen = names.seen[node.buffer]
        places = self.places(seen, names.place(node.at), who, self.touched.read)
        written = seen.array.written[places]
        if np.count_nonzero(written) < written.size:
            raise InTurn
        return seen.array.elements[places]

    def chosen(self, node: Choose, names: ThreadBindings, who: np.ndarray) -> Given:
        """One value or another."""
        holds = of(names.all_hold(node.conditions), who)
        if np.all(holds) or not np.any(holds):
            return self.value(node.value if np.all(holds) else node.otherwise, names, who)
        either = self.value(node.value, names, who[holds]), self.value(node.otherwise, names, who[~holds])
        if either[0].dtype != either[1].dtype:
            raise InTurn
        found = np.empty(len(who), either[0].dtype)
        found[holds], found[~holds] = either
        return found

    def places(self, seen: SeenBy, at: tuple[Any, ...], who: np.ndarray, touched: list[Touch]) -> Any:
        """Where these threads find an element of an array. Raises InTurn outside of it."""
        array, shape = seen.array, seen.array.elements.shape[seen.own :]
        if not len(at) == len(seen.origin) == len(shape):
            raise InTurn
        places: tuple[Any, ...] = tuple([of(start + number, who) for start, number in zip(seen.origin, at)])
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
        touched.append((array, numbers, who, len(self.touched.written)))
        return places

    def store(self, statement: Store, names: ThreadBindings, who: np.ndarray) -> None:
        """Each of these threads stores a value."""
        given, seen = self.value(statement.value, names, who), names.seen[statement.buffer]
        places = self.places(seen, names.place(statement.at), who, self.touched.written)
        array = seen.array
        self.touched.before.append((array, places, array.elements[places], array.written[places]))
        if np.ndim(given) and np.ndim(array.elements[places]) == 0:
            raise InTurn  # they store to one element
        array.elements[places], array.written[places] = given, True

    def block(self, statement: Block | StagedPart, names: ThreadBindings, who: np.ndarray) -> None:
        """A block with a name, or one that reads a part."""
        self.run(statement.body, names, who)

    def choose(self, statement: If, names: ThreadBindings, who: np.ndarray) -> None:
        """Some run one block, the others another one."""
        holds = names.all_hold(statement.conditions)
        if isinstance(holds, np.ndarray):
            self.run(statement.body, names, who[holds[who]])
            self.run(statement.otherwise, names, who[~holds[who]])
        else:
            self.run(statement.body if holds else statement.otherwise, names, who)

    def loop(self, statement: For, names: ThreadBindings, who: np.ndarray) -> None:
        """Each runs the iterations of a loop in order; they may begin and end at other numbers."""
        start, stop, step = names.at(statement.start), names.at(statement.stop), statement.step
        here = names.inner()
        while len(who := _those(start < stop, who)):
            here.numbers[statement.name] = start
            self.run(statement.body, here, who)
            start = start + step

    def allocate(self, statement: Alloc, names: ThreadBindings, who: np.ndarray) -> None:
        """Registers of each thread."""
        buffer = statement.buffer
        shape = tuple([names.at(extent) for extent in buffer.sizes])
        if not all(isinstance(extent, int) for extent in shape):
            raise InTurn
        array = undefined(buffer.name, (self.count, *shape), NUMPY[buffer.dtype])
        names.seen[buffer.name] = SeenBy(array, (0,) * len(shape), own=True)
        if statement.first is not None:
            self.store(Store(buffer.name, buffer.whole, statement.first), names, who)

    def view(self, statement: View, names: ThreadBindings, who: np.ndarray) -> None:
        """A name for an array seen from elsewhere."""
        names.seen[statement.name] = names.seen[statement.address.buffer].moved(names.place(statement.address.at))

    def define(self, statement: Define, names: ThreadBindings, who: np.ndarray) -> None:
        """A name for an index."""
        names.numbers[statement.name] = names.at(statement.index)

    def decide(self, statement: Decide, names: ThreadBindings, who: np.ndarray) -> None:
        """A flag of each thread."""
        names.numbers[statement.name] = names.all_hold(statement.conditions) + 0

    def read_index(self, statement: Read, names: ThreadBindings, who: np.ndarray) -> None:
        """A name for a number that is read."""
        found = np.zeros(self.count, np.int64)
        found[who] = np.asarray(self.value(statement.value, names, who)).astype(np.int64)
        names.numbers[statement.name] = found

    def let(self, statement: Let, names: ThreadBindings, who: np.ndarray) -> None:
        """A register of each thread."""
        names.registers[statement.name] = kept = ThreadRegister()
        if statement.value is not None:
            self.keep(kept, self.value(statement.value, names, who), who)

    def set(self, statement: Set, names: ThreadBindings, who: np.ndarray) -> None:
        """It gets another value."""
        kept = names.registers.get(statement.name)
        if not isinstance(kept, ThreadRegister):
            raise InTurn  # after the loop it has the value of the last thread
        self.keep(kept, self.value(statement.value, names, who), who)

    def keep(self, kept: ThreadRegister, given: Given, who: np.ndarray) -> None:
        """Gives a register of these threads a value."""
        if np.ndim(given) > 1:
            raise InTurn
        if kept.values is None or kept.known is None:
            kept.values, kept.known = np.zeros(self.count, given.dtype), np.zeros(self.count, bool)
        if kept.values.dtype != given.dtype:
            raise InTurn
        kept.values[who], kept.known[who] = given, True

    def do(self, statement: Do, names: ThreadBindings, who: np.ndarray) -> None:
        """An instruction of each thread."""
        invoke = statement.invoke
        inner = ThreadBindings()
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

    def handed(self, name: str, given: Given, who: np.ndarray) -> SeenBy:
        """A value as the vector of one number that an instruction gets."""
        array = undefined(name, (self.count, 1), given.dtype)
        array.elements[who, 0], array.written[who, 0] = given, True
        return SeenBy(array, (0,), own=True)

    def nothing(self, statement: Statement, names: ThreadBindings, who: np.ndarray) -> None:
        """A comment changes no value."""


def _those(hold: Any, who: np.ndarray) -> np.ndarray:
    """Those threads for which something holds: one answer for all of them, or one for each."""
    if isinstance(hold, np.ndarray):
        those: np.ndarray = who[of(hold, who)]
        return those
    return who if hold else who[:0]


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
