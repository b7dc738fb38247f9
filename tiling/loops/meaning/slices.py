"""Loops over lanes that read and write slices of arrays, found once for each: kernels spend most of their time there.

for lane in 0..8, vector:                             Y[h, k : k + 8] = fma(X[c], W[c, k : k + 8], Y[h, k : k + 8])
  Y[h, k + lane] = fma(X[c], W[c, k + lane], Y[h, k + lane])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tiling.loops.index import Index
from tiling.loops.language import (
    Apply,
    Body,
    For,
    If,
    Inside,
    Load,
    Number,
    Position,
    Register,
    Statement,
    Store,
    Value,
)
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY, Given, LiveArray
from tiling.loops.meaning.workers import Race

Numbers = Mapping[str, int]
Places = tuple[Any, ...]  # in an array: a number for each dim, and a slice for the last one


class InTurn(Exception):
    """Raised where iterations must run one after the other, for instance to tell which of them is at fault or races."""


class Bindings(Protocol):
    """What names stand for, as a `Scope` says."""

    @property
    def arrays(self) -> Mapping[str, LiveArray]: ...
    @property
    def registers(self) -> Mapping[str, Given | None]: ...
    @property
    def numbers(self) -> Numbers: ...


@dataclass(slots=True)
class Operands:
    """Those of an instruction: they are all that its meaning names."""

    arrays: dict[str, LiveArray]
    numbers: dict[str, int] = field(default_factory=dict)
    registers: dict[str, Given | None] = field(default_factory=dict)


Write = tuple[LiveArray, Places, Given]
# A value in the lanes from one to another. One value for all of them is a scalar.
InLanes = Callable[[Bindings, int, int], Given]
Writes = Callable[[Bindings, int, int], list[Write]]


@dataclass(frozen=True, slots=True)
class Slice:
    """An access along the last dim, each lane as far from the one before. outer: the places in the other dims.

    first: the place of lane 0 in the last one. step: the distance of two lanes.
    """

    outer: tuple[Index, ...]
    first: Index
    step: int

    def places(self, array: LiveArray, numbers: Numbers, start: int, stop: int) -> Places:
        """Where the lanes from `start` to `stop` are in an array. Raises InTurn outside of it."""
        shape, origin, first = array.elements.shape, array.origin, self.first
        if type(array) is not LiveArray or not len(self.outer) + 1 == len(origin) == len(shape):
            raise InTurn
        low = origin[-1] + (first.at(numbers) if first.terms else first.offset) + self.step * start
        high = low + self.step * (stop - start - 1)
        if low < 0 or high >= shape[-1]:
            raise InTurn
        if not self.outer:  # nearly every operand of an instruction
            return (slice(low, high + 1, self.step),)
        outer = _inside(origin, self.outer, numbers, shape)
        return (*outer, slice(low, high + 1, self.step))

    def read(self, array: LiveArray, numbers: Numbers, start: int, stop: int) -> np.ndarray:
        """The elements of these lanes. Raises InTurn where one of them may not be read."""
        places = self.places(array, numbers, start, stop)
        if np.count_nonzero(array.written[places]) < stop - start:
            raise InTurn
        if array.is_met:
            _note(array, places, writes=False)
        found: np.ndarray = array.elements[places]
        return found

    def to_write(self, array: LiveArray, numbers: Numbers, start: int, stop: int) -> Places:
        """Where these lanes are. Raises InTurn where one of them may not be written."""
        places = self.places(array, numbers, start, stop)
        if array.is_met:
            _note(array, places, writes=True)
        return places


def slice_of(at: tuple[Index, ...]) -> Slice | None:
    """The slice of an access; None where it is none."""
    if not at or any([index.has("lane") for index in at[:-1]]):
        return None
    step, first = _lanes_apart(at[-1])
    return Slice(at[:-1], first, step) if step > 0 and not first.has("lane") else None


def _lanes_apart(index: Index) -> tuple[int, Index]:
    """The coefficient of the lane, and the index in lane 0."""
    return index.coefficient("lane"), Index(tuple([each for each in index.terms if each[0] != "lane"]), index.offset)


def _inside(
    origin: tuple[int, ...], at: tuple[Index, ...], numbers: Numbers, shape: tuple[int, ...]
) -> tuple[int, ...]:
    """The places of indices. Raises InTurn outside of an array."""
    places = tuple([begin + index.at(numbers) for begin, index in zip(origin, at)])
    for place, extent in zip(places, shape):
        if not 0 <= place < extent:
            raise InTurn
    return places


def _note(array: LiveArray, places: Places, writes: bool) -> None:
    """Notes that this worker reads or writes elements side by side. Raises InTurn where there is a race."""
    assert array.memory
    *outer, last = places
    if last.step > 1 or not array.elements.flags.c_contiguous:
        raise InTurn
    _, first, size = array.touched((*outer, last.start))
    note = array.memory.note_write if writes else array.memory.note_read
    try:
        note((array.name, ()), first, (last.stop - last.start) * size)
    except Race:
        raise InTurn from None


@dataclass(frozen=True, slots=True)
class Sliced:
    """A loop over lanes, which stays alive here, so that no other one gets its identity. writes: what it writes; None
    where an access is no slice.
    """

    loop: For
    writes: Writes | None

    def run(self, names: Bindings) -> bool:
        """Runs the loop. Returns False, having changed no element, where it is not slices, or order matters."""
        if self.writes is None:
            return False
        start, stop = self.loop.start.at(names.numbers), self.loop.stop.at(names.numbers)
        try:
            found = self.writes(names, start, stop) if start < stop else ()
        except InTurn:
            return False
        for array, places, given in found:
            array.elements[places] = given
            array.written[places] = True
        return True


def sliced(loop: For) -> Sliced:
    """A loop over lanes as slices."""
    over_lanes = loop.kind == "vector" and loop.name == "lane" and loop.step == 1 and len(loop.body) == 1
    return Sliced(loop, _writes(loop.body[0]) if over_lanes else None)


def _writes(statement: Statement) -> Writes | None:
    if isinstance(statement, Store):
        return _stored(statement)
    return _either(statement) if isinstance(statement, If) else None


def _stored(store: Store) -> Writes | None:
    """A store to a slice."""
    name, to, value = store.buffer, slice_of(store.at), _value(store.value)
    if to is None or value is None:
        return None
    place, computed = to, value

    def writes(names: Bindings, start: int, stop: int) -> list[Write]:
        given, array = computed(names, start, stop), names.arrays[name]
        return [(array, place.to_write(array, names.numbers, start, stop), given)]

    return writes


def _either(choice: If) -> Writes | None:
    """Stores of lanes side by side where conditions hold, and others elsewhere."""
    branches = [_of_block(body) for body in (choice.body, choice.otherwise)]
    conditions = [(*_lanes_apart(each.index), each) for each in choice.conditions if isinstance(each, Inside)]
    known = [each for each in conditions if each[0] in (-1, 0, 1) and not each[1].has("lane")]
    here, elsewhere = branches
    if here is None or elsewhere is None or len(known) < len(choice.conditions):
        return None
    inside, outside = here, elsewhere

    def writes(names: Bindings, start: int, stop: int) -> list[Write]:
        first, last = start, stop
        for sign, rest, condition in known:
            first, last = _where(sign, rest.at(names.numbers), condition, first, last)
        if first >= last:
            return outside(names, start, stop)
        found = [*outside(names, start, first), *inside(names, first, last), *outside(names, last, stop)]
        if len(found) == 1:
            return found
        return [(array, places, np.array(given)) for array, places, given in found]  # read before one of them writes

    return writes


def _of_block(body: Body) -> Writes | None:
    """What a block of one statement at most writes."""
    inside = _writes(body[0]) if len(body) == 1 else None
    if body and inside is None:
        return None
    return lambda names, start, stop: inside(names, start, stop) if inside and start < stop else []


def _where(sign: int, rest: int, condition: Inside, start: int, stop: int) -> tuple[int, int]:
    """Those of the lanes from `start` to `stop` where a condition on sign * lane + rest holds."""
    low, high = condition.low, condition.high
    if not sign:
        return (start, stop) if (low is None or low <= rest) and (high is None or rest < high) else (stop, stop)
    if sign > 0:
        return (
            start if low is None else max(start, low - rest),
            stop if high is None else min(stop, high - rest),
        )
    return (
        start if high is None else max(start, rest - high + 1),
        stop if low is None else min(stop, rest - low + 1),
    )


def _value(node: Value) -> InLanes | None:
    """A value in lanes side by side; None where it reads no slices."""
    if isinstance(node, Load):
        return _loaded(node)
    if isinstance(node, Apply):
        function, arguments = FUNCTIONS[node.function], [_value(argument) for argument in node.arguments]
        known = [argument for argument in arguments if argument is not None]
        if len(known) < len(arguments):
            return None
        return lambda names, start, stop: function(*[each(names, start, stop) for each in known])
    if isinstance(node, Number):
        number: Given = NUMPY[node.dtype](node.value)
        return lambda names, start, stop: number
    if isinstance(node, Register):
        return lambda names, start, stop: _scalar(names, node.name)
    if isinstance(node, Position) and not node.index.has("lane"):
        return lambda names, start, stop: np.int64(node.index.at(names.numbers))
    return None


def _scalar(names: Bindings, name: str) -> Given:
    found = names.registers.get(name)
    if found is None or np.ndim(found):
        raise InTurn
    return found


def _loaded(node: Load) -> InLanes | None:
    name, part = node.buffer, slice_of(node.at)
    if part is not None:
        read = part.read
        return lambda names, start, stop: read(names.arrays[name], names.numbers, start, stop)
    if any([index.has("lane") for index in node.at]):
        return None
    return lambda names, start, stop: _element(names.arrays[name], node.at, names.numbers)


def _element(array: LiveArray, at: tuple[Index, ...], numbers: Numbers) -> Given:
    """An element that all lanes read."""
    if type(array) is not LiveArray or not len(at) == len(array.origin) == array.elements.ndim:
        raise InTurn
    places = _inside(array.origin, at, numbers, array.elements.shape)
    if not array.written[places]:
        raise InTurn
    if array.is_met:
        assert array.memory
        try:
            array.memory.note_read(*array.touched(places))
        except Race:
            raise InTurn from None
    return array.elements[places]
