"""Runs the iterations of a nest of loops at once, as NumPy vectors."""

# A nest of 8 x 64 x 64 iterations takes a seventieth of the time of one iteration after the other.

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from tiling.loops.interpreter.points import Places, Points, SharedElements
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import Apply, For, Store
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import ByLane, Given, LiveArray
from tiling.loops.meaning.nests import FEW, Nest, nest_of
from tiling.loops.meaning.slices import InTurn

_Before = tuple[LiveArray, Places, Given, np.ndarray]
_MANY = 1 << 15  # iterations whose vectors fit a cache


def at_once(loop: For, scope: Scope) -> bool:
    """Runs a nest of loops around one store. Returns False, having changed no element, for others and where
    order matters.
    """
    nest = scope.nests.get(id(loop))
    if nest is None:
        nest = scope.nests[id(loop)] = nest_of(loop)
    if nest.store is None:
        return False
    before: list[_Before] = []
    touched = SharedElements()
    try:
        _run(nest, nest.store, scope, touched, before)
        touched.note()
    except InTurn:
        for array, places, elements, written in reversed(before):
            array.elements[places], array.written[places] = elements, written
        return False
    return True


def _run(nest: Nest, store: Store, scope: Scope, touched: SharedElements, before: list[_Before]) -> None:
    """Runs a nest. before: gets what was at the places that it writes."""
    free, again = ([_range(loop, scope) for loop in loops] for loops in (nest.free, nest.again))
    places = prod(map(len, free))
    if places * prod(map(len, again)) < FEW or (nest.lanes and "lane" not in scope.numbers):
        raise InTurn
    target = scope.arrays[store.buffer]
    for load in nest.loads:
        if np.may_share_memory(scope.arrays[load.buffer].elements, target.elements):
            raise InTurn
    names = [loop.name for loop in (*nest.again, *nest.free)]
    if nest.free:
        own = tuple(names[len(again) :])
        _require_own_places(store, Points(scope, scope.numbers | dict(zip(own, _grid(*free))), own), places)
    apart = len(again)  # the loops that run one iteration after the other, with those inside them at once
    while apart and nest.changed is not None and places * prod(map(len, again[apart - 1 :])) <= _MANY:
        apart -= 1
    inner = dict(zip(names[apart:], _grid(*again[apart:], *free)))
    if apart == len(again) and places < FEW:
        raise InTurn
    for values in product(*again[:apart]):
        numbers = scope.numbers | dict(zip(names, values)) | inner
        points = Points(scope, numbers, tuple(inner), touched=touched)
        holds = points.all_hold(nest.conditions)
        if not np.any(holds):
            continue
        if not np.all(holds):
            points = _chosen(points, holds)
        found = points.places(target, store.at)
        if apart == len(again):
            _put(store, points, found, before)
        else:
            _change(nest, store, points, len(again) - apart, found, before)


def _chosen(points: Points, holds: np.ndarray) -> Points:
    """The iterations of a grid of which this holds: those of a smaller grid, else a vector of them.

    for m_u in 0..64:                              the first 9 of m_u, all of n_u
      for n_u in 0..64:
        if m + m_u < 9:
    """
    dims = range(holds.ndim)
    along = [np.any(holds, axis=tuple([other for other in dims if other != dim])) for dim in dims]
    if prod(map(np.count_nonzero, along)) > np.count_nonzero(holds):
        return points.some(holds)
    fewer = {
        name: np.compress(which, points.numbers[name], dim)
        for dim, (name, which) in enumerate(zip(points.names, along))
        if np.size(which) > 1
    }
    return Points(points.scope, {**points.numbers, **fewer}, points.names, touched=points.touched)


def _put(store: Store, points: Points, found: tuple[LiveArray, Places], before: list[_Before]) -> None:
    """Stores a value to each place."""
    array, places = found
    given = points.value(store.value)
    before.append((array, places, array.elements[places], array.written[places]))
    array.elements[places], array.written[places] = given, True
    points.add_written(array, places)


def _change(
    nest: Nest, store: Store, points: Points, turns: int, found: tuple[LiveArray, Places], before: list[_Before]
) -> None:
    """Changes the elements at these places, those of one turn at once. Computes before what does not depend on them.

    turns: how many of the loops, the first ones, run one iteration after the other.
    """
    array, places = found
    if not array.written[places].all():
        raise InTurn
    assert isinstance(store.value, Apply)
    function, arguments = FUNCTIONS[store.value.function], enumerate(store.value.arguments)
    given = [None if number == nest.changed else points.value(argument) for number, argument in arguments]
    before.append((array, places, array.elements[places], array.written[places]))
    for here, of_turn in _turns(points, turns, places, given):
        elements = array.elements[here]
        array.elements[here] = function(*[elements if each is None else each for each in of_turn])
    points.add_written(array, places)


def _turns(points: Points, turns: int, places: Places, given: list[Given]) -> Iterator[tuple[Places, list[Given]]]:
    """The places and the values of each turn."""
    counts = points.counts
    if len(counts) == len(points.names):  # a grid: all turns change the elements at the same places
        here = tuple([at if isinstance(at, int) else at.reshape(at.shape[turns:]) for at in places])
        for turn in np.ndindex(counts[:turns]):
            yield here, [_of_turn(each, turn) for each in given]
        return
    numbers = np.stack([points.numbers[name] for name in points.names[:turns]])
    starts = [0, *(np.flatnonzero(np.any(numbers[:, 1:] != numbers[:, :-1], axis=0)) + 1).tolist()]
    at_each = [np.broadcast_to(at, counts) for at in places]
    of_each = [None if each is None else np.broadcast_to(each, counts) for each in given]
    for start, stop in zip(starts, [*starts[1:], *counts]):
        yield (
            tuple([at[start:stop] for at in at_each]),
            [None if each is None else each[start:stop] for each in of_each],
        )


def _of_turn(each: Given, turn: tuple[int, ...]) -> Given:
    """What a value of a grid is in one turn."""
    if each is None or not np.ndim(each):
        return each
    return each[tuple([number if extent > 1 else 0 for number, extent in zip(turn, each.shape)])]


def _range(loop: For, scope: Scope) -> range:
    return range(loop.start.at(scope.numbers), loop.stop.at(scope.numbers), loop.step)


@lru_cache(64)
def _grid(*numbers: range) -> tuple[np.ndarray, ...]:
    """The numbers of each loop of a nest, along a dim of its own."""
    grid = np.meshgrid(*map(np.array, numbers), indexing="ij", sparse=True)
    for each in grid:
        each.flags.writeable = False
    return tuple(grid)


def _require_own_places(store: Store, points: Points, count: int) -> None:
    """Raises InTurn where two of so many iterations write one element, also where lanes see it from several places."""
    target, places = points.scope.arrays[store.buffer], [points.at(index) for index in store.at]
    if isinstance(target, ByLane) and len(places) == 2:
        places = [target.starts(places[0]) + places[1]]
    number, span = np.zeros(1, int), 1
    for at in places:
        if not isinstance(at, int):
            low, high = int(at.min()), int(at.max())
            number, span = number * (high - low + 1) + (at - low), span * (high - low + 1)
    if span > target.elements.size:
        raise InTurn  # some lie outside
    taken = np.zeros(span, bool)
    taken[number] = True
    if np.count_nonzero(taken) < count:
        raise InTurn
