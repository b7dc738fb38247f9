"""Runs the lanes of a vector at once, as NumPy vectors."""

# A vector takes a third of the time of one lane after the other.

from __future__ import annotations

from functools import cache

import numpy as np

from tiling.loops.interpreter.points import Points
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import For, If, Load, Store
from tiling.loops.meaning.slices import InTurn, Slice, Write, slice_of, sliced


def side_by_side(loop: For, scope: Scope) -> bool:
    """Runs a loop over lanes that only stores a value, or one of two. Returns False, having changed no element, for
    others.

    All lanes read before one writes. That is as good an order as any, as the language says of such a loop.
    """
    if loop.kind != "vector" or loop.name != "lane" or len(loop.body) != 1:
        return False
    known = scope.slices.get(id(loop))
    if known is None:
        known = scope.slices[id(loop)] = sliced(loop)
    if known.run(scope):
        return True
    lanes = _counted(loop.start.at(scope.numbers), loop.stop.at(scope.numbers), loop.step)
    try:
        points = Points(scope, {**scope.numbers, "lane": lanes}, ("lane",), ordered=True)
        writes = _writes(loop.body[0], lanes, points)
    except InTurn:
        return False
    for array, places, given in writes:
        array.elements[places] = given
        array.written[places] = True
    return True


def read_all(node: Load, scope: Scope) -> np.ndarray | None:
    """The lanes of a register, or of another value whose last dim they are; None where they must be read in turn."""
    array = scope.arrays[node.buffer]
    lanes, part = array.elements.shape[-1], _slice(node, scope)
    try:
        if part is not None:
            read: np.ndarray = part.read(array, scope.numbers, 0, lanes).copy()
            return read
        numbers = {**scope.numbers, "lane": _counted(0, lanes, 1)}
        found: np.ndarray = Points(scope, numbers, ("lane",), ordered=True).value(node)
    except InTurn:
        return None
    return found


def write_all(store: Store, given: np.ndarray, scope: Scope) -> bool:
    """Stores the lanes of a vector. Returns False, having changed no element, where they must be stored in turn."""
    part, array = _slice(store, scope), scope.arrays[store.buffer]
    if part is None:
        return False
    try:
        places = part.to_write(array, scope.numbers, 0, len(given))
    except InTurn:
        return False
    array.elements[places], array.written[places] = given, True
    return True


def _slice(node: Load | Store, scope: Scope) -> Slice | None:
    """The slice that a node reads or writes."""
    known = scope.accesses.get(id(node))
    if known is None:
        known = scope.accesses[id(node)] = node, slice_of(node.at)
    return known[1]


@cache
def _counted(start: int, stop: int, step: int) -> np.ndarray:
    """The lanes of a loop, in order."""
    lanes = np.arange(start, stop, step)
    lanes.flags.writeable = False
    return lanes


def _writes(statement: object, lanes: np.ndarray, points: Points) -> list[Write]:
    """What a statement writes in these lanes: elements of an array, and their new numbers."""
    if not len(lanes):
        return []
    if isinstance(statement, If):
        holds = np.ones(len(lanes), bool) & points.all_hold(statement.conditions)
        found = []
        for body, which in ((statement.body, holds), (statement.otherwise, ~holds)):
            if len(body) > 1:
                raise InTurn
            for inside in body:
                found += _writes(inside, lanes[which], points.some(which))
        return found
    if not isinstance(statement, Store):
        raise InTurn
    given = points.value(statement.value)
    array, places = points.places(points.scope.arrays[statement.buffer], statement.at)
    if np.ndim(given) and all([isinstance(at, int) for at in places]):
        raise InTurn  # all lanes write one element: the last one stays
    return [(array, places, given)]
