"""Runs the lanes of a vector at once as NumPy vectors, which takes a third of the time of one lane after the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tiling.loops.index import LANE, Index
from tiling.loops.language import Apply, Condition, For, If, Inside, Load, Number, Store, Value
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY, Array, Given
from tiling.loops.meaning.scope import Scope

Numbers = Mapping[str, Any]  # of each variable: a number, and of the lanes a vector of them
_Write = tuple[Array, tuple[Any, ...], Given]


class _InTurn(Exception):
    """Raised where lanes must run one after the other, for instance to tell which of them is at fault or races."""


def side_by_side(loop: For, scope: Scope) -> bool:
    """Runs a loop over lanes that only stores a value, or one of two. Returns False, having done nothing, for others.

    All lanes read before one writes. That is as good an order as any, as the language says of such a loop.
    """
    if loop.kind != "vector" or loop.name != "lane" or len(loop.body) != 1:
        return False
    lanes = _counted(loop.start.at(scope.numbers), loop.stop.at(scope.numbers), loop.step)
    try:
        writes = _writes(loop.body[0], lanes, scope)
    except _InTurn:
        return False
    for array, place, given in writes:
        array.elements[place] = given
        array.written[place] = True
    return True


def read_all(node: Load, scope: Scope) -> np.ndarray | None:
    """The lanes of a register, or of another value whose last dim they are; None where they must be read in turn."""
    lanes = _counted(0, scope.arrays[node.buffer].elements.shape[-1], 1)
    try:
        found: np.ndarray = _value(node, {**scope.numbers, "lane": lanes}, scope)
    except _InTurn:
        return None
    return found


@cache
def _counted(start: int, stop: int, step: int) -> np.ndarray:
    """The lanes of a loop, in order."""
    lanes = np.arange(start, stop, step)
    lanes.flags.writeable = False
    return lanes


def _writes(statement: object, lanes: np.ndarray, scope: Scope) -> list[_Write]:
    """What a statement writes in these lanes: elements of an array, and their new numbers."""
    if not len(lanes):
        return []
    numbers = {**scope.numbers, "lane": lanes}
    if isinstance(statement, If):
        holds = np.ones(len(lanes), bool)
        for condition in statement.conditions:
            holds &= _holds(condition, numbers, scope)
        found = []
        for body, taken in ((statement.body, lanes[holds]), (statement.otherwise, lanes[~holds])):
            if len(body) > 1:
                raise _InTurn
            for inside in body:
                found += _writes(inside, taken, scope)
        return found
    if not isinstance(statement, Store):
        raise _InTurn
    array, given = scope.arrays[statement.buffer], _value(statement.value, numbers, scope)
    place = _places(array, statement.at, numbers)
    if np.ndim(given) and all([isinstance(at, int) for at in place]):
        raise _InTurn  # all lanes write one element: the last one stays
    return [(array, place, given)]


def _holds(condition: Condition, numbers: Numbers, scope: Scope) -> Any:
    if not isinstance(condition, Inside):
        return scope.holds(condition)
    at = _at(condition.index, numbers)
    low = True if condition.low is None else condition.low <= at
    return low if condition.high is None else low & (at < condition.high)


def _value(node: Value, numbers: Numbers, scope: Scope) -> Given:
    if isinstance(node, Apply):
        return FUNCTIONS[node.function](*[_value(argument, numbers, scope) for argument in node.arguments])
    if isinstance(node, Number):
        return NUMPY[node.dtype](node.value)
    if not isinstance(node, Load):
        raise _InTurn
    array = scope.arrays[node.buffer]
    place = _places(array, node.at, numbers)
    written = array.written[place]
    if np.count_nonzero(written) < written.size:
        raise _InTurn
    return array.elements[place]


def _places(array: Array, indices: tuple[Index, ...], numbers: Numbers) -> tuple[Any, ...]:
    """Where the lanes find their elements: for each dim a number, or a vector of them."""
    if array.memory is not None and array.memory.workers.now:
        raise _InTurn
    shape = array.elements.shape
    if not len(indices) == len(array.origin) == len(shape):
        raise _InTurn
    if len(indices) == 1 and indices[0].terms == LANE.terms:  # nearly every operand of an instruction
        start, lanes = array.origin[0] + indices[0].offset, numbers["lane"]
        if lanes.item(0) + start < 0 or lanes.item(-1) + start >= shape[0]:
            raise _InTurn
        return (lanes + start if start else lanes,)
    place = tuple([start + _at(index, numbers) for start, index in zip(array.origin, indices)])
    for at, extent, index in zip(place, shape, indices):
        low, high = (at, at) if isinstance(at, int) else _ends(at, index)
        if low < 0 or high >= extent:
            raise _InTurn
    return place


def _ends(at: np.ndarray, index: Index) -> tuple[int, int]:
    """The least and the largest of the numbers that an index has in the lanes, which come in order."""
    for term, _ in index.terms:
        if not isinstance(term, str):
            return at.min(), at.max()
    first, last = at.item(0), at.item(-1)
    return (first, last) if first <= last else (last, first)


def _at(index: Index, numbers: Numbers) -> Any:
    try:
        return index.at(numbers)
    except ValueError:  # Python's min and max do not take vectors
        raise _InTurn from None
