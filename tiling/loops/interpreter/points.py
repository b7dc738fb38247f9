"""Values and places in many iterations of loops at once, as NumPy vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiling.loops.index import LANE, Index
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import Apply, Choose, Condition, Inside, Load, Number, Position, Register, Value
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY, ByLane, Given, LiveArray
from tiling.loops.meaning.slices import InTurn
from tiling.loops.meaning.workers import Race

# Of each variable: a number, a vector with one for each iteration, or one for each along a dim of a grid of iterations.
Numbers = Mapping[str, Any]
Places = tuple[Any, ...]  # in an array: for each dim a number, or numbers as of variables


@dataclass(slots=True)
class SharedElements:
    """Which elements of memory that workers share were read, and which were written."""

    read: dict[int, tuple[LiveArray, np.ndarray]] = field(default_factory=dict)
    written: dict[int, tuple[LiveArray, np.ndarray]] = field(default_factory=dict)

    def add(self, to: dict[int, tuple[LiveArray, np.ndarray]], array: LiveArray, places: Places) -> None:
        """Adds elements of an array to those that were read, or written."""
        if not array.is_met:
            return
        if not array.elements.flags.c_contiguous:
            raise InTurn
        _, which = to.setdefault(id(array), (array, np.zeros(array.elements.shape, bool)))
        which[places] = True

    def note(self) -> None:
        """Tells the memory of these arrays. Raises InTurn where there is a race."""
        try:
            for to, writes in ((self.read, False), (self.written, True)):
                for array, which in to.values():
                    array.note(np.flatnonzero(which), writes)
        except Race:
            raise InTurn from None


@dataclass(frozen=True, slots=True)
class Points:
    """Iterations that run at once. names: the variables that count them. ordered: whether their numbers only grow.

    touched: gets what they read in memory that workers share; None where that must happen in turn.
    """

    scope: Scope
    numbers: Numbers
    names: tuple[str, ...]
    ordered: bool = False
    touched: SharedElements | None = None

    def some(self, which: np.ndarray) -> Points:
        """Those iterations of which this holds, as vectors."""
        which = np.broadcast_to(which, self.counts)
        chosen = {name: np.broadcast_to(self.numbers[name], self.counts)[which] for name in self.names}
        return Points(self.scope, {**self.numbers, **chosen}, self.names, self.ordered, self.touched)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many iterations there are: a number for vectors, one for each dim of a grid."""
        return np.broadcast_shapes(*[self.numbers[name].shape for name in self.names])

    def all_hold(self, conditions: Iterable[Condition]) -> Any:
        """Whether conditions hold: in all iterations, or in each. All of them are looked at."""
        found: Any = True
        for condition in conditions:
            found = found & self._holds(condition)
        return found

    def _holds(self, condition: Condition) -> Any:
        if not isinstance(condition, Inside):
            return self.scope.holds(condition)
        at = self.at(condition.index)
        low = True if condition.low is None else condition.low <= at
        return low if condition.high is None else low & (at < condition.high)

    def value(self, node: Value) -> Given:
        """A value in each iteration, or one for all."""
        if isinstance(node, Apply):
            return FUNCTIONS[node.function](*[self.value(argument) for argument in node.arguments])
        if isinstance(node, Number):
            return NUMPY[node.dtype](node.value)
        if isinstance(node, Load):
            return self._loaded(node)
        if isinstance(node, Choose):
            return self._chosen(node)
        if isinstance(node, Position):
            return np.asarray(self.at(node.index), np.int64)[()]
        found = self.scope.registers.get(node.name) if isinstance(node, Register) else None
        if found is None or np.ndim(found):
            raise InTurn
        return found

    def _loaded(self, node: Load) -> Given:
        array, places = self.places(self.scope.arrays[node.buffer], node.at)
        written = array.written[places]
        if np.count_nonzero(written) < written.size:
            raise InTurn
        self.add_read(array, places)
        return array.elements[places]

    def add_read(self, array: LiveArray, places: Places) -> None:
        """Remembers what was read."""
        if self.touched is not None:
            self.touched.add(self.touched.read, array, places)

    def add_written(self, array: LiveArray, places: Places) -> None:
        """Remembers what was written."""
        if self.touched is not None:
            self.touched.add(self.touched.written, array, places)

    def _chosen(self, node: Choose) -> Given:
        holds = self.all_hold(node.conditions)
        if np.all(holds) or not np.any(holds):
            return self.value(node.value if np.all(holds) else node.otherwise)
        either = self.some(holds).value(node.value), self.some(~holds).value(node.otherwise)
        if either[0].dtype != either[1].dtype:
            raise InTurn
        holds = np.broadcast_to(holds, self.counts)
        chosen = np.empty(holds.shape, either[0].dtype)
        chosen[holds], chosen[~holds] = either
        return chosen

    def places(self, array: LiveArray, indices: tuple[Index, ...]) -> tuple[LiveArray, Places]:
        """Where the iterations find their elements, and in which array. Raises InTurn outside of it."""
        if array.is_met and self.touched is None:
            raise InTurn
        if isinstance(array, ByLane):
            if len(indices) != 2:
                raise InTurn
            lane, behind = map(self.at, indices)
            places: Places = (array.starts(lane) + behind,)
            array = array.in_a_row()
        elif not len(indices) == len(array.origin) == array.elements.ndim:
            raise InTurn
        elif self.ordered and len(indices) == 1 and indices[0].terms == LANE.terms:  # nearly every operand
            start, lanes = array.origin[0] + indices[0].offset, self.numbers["lane"]
            if lanes.item(0) + start < 0 or lanes.item(-1) + start >= len(array.elements):
                raise InTurn
            return array, (lanes + start if start else lanes,)
        else:
            places = tuple([start + self.at(index) for start, index in zip(array.origin, indices)])
        for at, extent in zip(places, array.elements.shape):
            # One look at a vector: without a sign, a number below 0 is larger than any extent.
            if not 0 <= (at if isinstance(at, int) else np.maximum.reduce(at.view(np.uint64), axis=None)) < extent:
                raise InTurn
        return array, places

    def at(self, index: Index) -> Any:
        """The number that an index is in all iterations, or a vector with one for each."""
        try:
            return index.at(self.numbers)
        except ValueError:  # Python's min and max do not take vectors
            raise InTurn from None
