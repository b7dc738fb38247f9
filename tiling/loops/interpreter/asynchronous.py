"""Statements whose effect comes later: asynchronous copies, the mbarriers that they arrive at, prefetches."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import Address, Prefetch
from tiling.loops.machines import (
    Advance,
    Aim,
    Arrive,
    Await,
    AwaitParity,
    Commit,
    Copy,
    CopyBox,
    Cursors,
    Open,
    StoreBox,
    Wait,
    WaitStores,
)
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import Indices, LiveArray
from tiling.loops.meaning.workers import Mbarrier

CHUNK = 16  # bytes


def _copy(statement: Copy, scope: Scope) -> None:
    source, target = _place(statement.source, scope).flat(), _place(statement.target, scope).flat()
    scope.copies.groups[-1].append((source if scope.all_hold(statement.conditions) else None, target, statement.count))
    # Its target changes from now on, for whoever looks.
    if target.neighbours((0,), statement.count, writes=True) is None:
        for element in range(statement.count):
            target.meet((element,))


def _commit(statement: Commit, scope: Scope) -> None:
    scope.copies.groups.append([])


def _wait(statement: Wait, scope: Scope) -> None:
    groups = scope.copies.groups
    complete = groups[: max(0, len(groups) - 1 - statement.pending)]
    del groups[: len(complete)]
    for source, target, count in (each for group in complete for each in group):
        zero = target.elements.dtype.type(0)
        here = source.neighbours((0,), count, writes=False) if source else slice(0)
        there = target.neighbours((0,), count, writes=True) if here is not None else None
        if here is not None and there is not None:
            target.elements[there], target.written[there] = source.elements[here] if source else zero, True
            continue
        for element in range(count):
            target.write((element,), source.read((element,)) if source else zero)


def _copy_box(statement: CopyBox, scope: Scope) -> None:
    workers = scope.workers
    for rank in range(statement.blocks) if statement.blocks else (None,):
        target = scope.arrays[statement.target.buffer]
        if rank is not None:
            target = workers.reach(rank, target.name)
        size = _bring(statement, target, scope)
        _mbarrier(statement.barrier, scope, rank).arrive(workers, 0, -size)


def _bring(statement: CopyBox, target: LiveArray, scope: Scope) -> int:
    """Brings a box to a target. Returns its bytes."""
    source, place = (
        scope.arrays[statement.source.buffer],
        target.moved(target.name, scope.at(statement.target.at)).flat(),
    )
    inside, there = _places(statement, scope)
    given = np.zeros(len(inside), source.elements.dtype)
    given[inside] = source.read_all(there)
    given = FUNCTIONS[statement.function](given) if statement.function else given
    place.write_all((_swizzled(np.arange(len(inside)), statement, target),), given)
    return math.prod(statement.extents) * target.elements.itemsize


def _store_box(statement: StoreBox, scope: Scope) -> None:
    scope.copies.stores.append((statement, scope.inner()))
    numbers, _ = _stored(statement, scope)
    _place(statement.source, scope).flat().read_all((numbers,))  # from now on it may be read


def _wait_stores(statement: WaitStores, scope: Scope) -> None:
    stores = scope.copies.stores
    complete = stores[: max(0, len(stores) - statement.pending)]
    del stores[: len(complete)]
    for box, where in complete:
        source, target = _place(box.source, where).flat(), where.arrays[box.target.buffer]
        numbers, there = _stored(box, where)
        target.write_all(there, source.read_all((numbers,)))


def _stored(statement: StoreBox, scope: Scope) -> tuple[np.ndarray, Indices]:
    """Which numbers of a box go to the array, and to which of its elements."""
    inside, there = _box(statement.target, statement, scope)
    return _swizzled(np.flatnonzero(inside), statement, scope.arrays[statement.source.buffer]), there


def _swizzled(numbers: np.ndarray, box: CopyBox | StoreBox, tile: LiveArray) -> np.ndarray:
    """Where elements of a box lie in its tile."""
    chunk = CHUNK // tile.elements.itemsize
    return numbers ^ (numbers // box.extents[-1] % 8 * chunk) if box.swizzled else numbers


def _places(statement: CopyBox, scope: Scope) -> tuple[np.ndarray, Indices]:
    """Which elements of what a copy brings are in the array, and where these are."""
    if not statement.windows:
        return _box(statement.source, statement, scope)
    image, *pixel, channel = scope.at(statement.source.at)
    number = image
    for at, along in zip(pixel, statement.windows):
        number = number * along.count + (at - along.first) // along.step
    window, of_pixel = (each.reshape(-1) for each in np.indices(statement.extents))
    window = window + number
    there: Indices = (channel + of_pixel,)
    for along in reversed(statement.windows):
        window, turn = np.divmod(window, along.count)
        there = (along.first + turn * along.step + along.tap.at(scope.numbers), *there)
    return _inside((window, *there), scope.arrays[statement.source.buffer].elements.shape)


def _box(begin: Address, box: CopyBox | StoreBox, scope: Scope) -> tuple[np.ndarray, Indices]:
    """Which elements of a box of an array from `begin` on are in the array, and where these are."""
    shape = scope.arrays[begin.buffer].elements.shape
    first = len(shape) - 1 - box.joined
    *others, last = scope.at(begin.at)
    row, lines = 0, shape[first:-1]
    for index, extent in zip(others[first:], lines):
        row = row * extent + index
    starts, joined = (*others[:first], row, last), (*shape[:first], math.prod(lines), shape[-1])
    at = [start + each.reshape(-1) for start, each in zip(starts, np.indices(box.extents), strict=True)]
    inside, (*outer, line, column) = _inside(tuple(at), joined)
    return inside, (*outer, *np.unravel_index(line, lines), column)


def _inside(at: Indices, shape: tuple[int, ...]) -> tuple[np.ndarray, Indices]:
    """Which of these places are in an array of this shape, and these places."""
    inside = np.logical_and.reduce([(each >= 0) & (each < extent) for each, extent in zip(at, shape, strict=True)])
    return inside, tuple([each[inside] for each in at])


def _open(statement: Open, scope: Scope) -> None:
    array, at = scope.arrays[statement.barrier.buffer], scope.at(statement.barrier.at)
    array.write(at, statement.arrivals)
    name = f"{array.name}{list(at)}"
    made = Mbarrier(name, statement.arrivals, statement.arrivals)
    scope.workers.mbarriers[scope.workers.mbarrier((array.name, at))] = made


def _arrive(statement: Arrive, scope: Scope) -> None:
    rank = None if statement.rank is None else statement.rank.at(scope.numbers)
    _mbarrier(statement.barrier, scope, rank).arrive(scope.workers, 1, statement.bytes)


def _await(statement: Await, scope: Scope) -> None:
    _mbarrier(statement.barrier, scope).wait(scope.workers, statement.phase.at(scope.numbers))


def _await_parity(statement: AwaitParity, scope: Scope) -> None:
    _mbarrier(statement.barrier, scope).wait_for_parity(scope.workers, statement.parity.at(scope.numbers))


def _mbarrier(address: Address, scope: Scope, rank: int | None = None) -> Mbarrier:
    """An mbarrier of this block, or of another one of its cluster."""
    array, at = scope.arrays[address.buffer], scope.at(address.at)
    if rank is not None:
        array = scope.workers.reach(rank, array.name)
    array.read(at)  # raises Fault where none was opened
    return scope.workers.mbarriers[scope.workers.mbarrier((array.name, at), rank)]


def _prefetch(statement: Prefetch, scope: Scope) -> None:
    scope.prefetches.prefetch(_place(statement.address, scope), statement.level)


def _cursors(statement: Cursors, scope: Scope) -> None:
    scope.prefetches = scope.prefetches.worker()


def _aim(statement: Aim, scope: Scope) -> None:
    scope.prefetches.aim(statement.cursor, _place(statement.address, scope), statement.elements.at(scope.numbers))


def _advance(statement: Advance, scope: Scope) -> None:
    scope.prefetches.advance(statement.cursor)


def _place(address: Address, scope: Scope) -> LiveArray:
    """An array seen from a place in it."""
    return scope.arrays[address.buffer].moved(address.buffer, scope.at(address.at))


ASYNCHRONOUS: dict[type, Callable[..., None]] = {
    **{Copy: _copy, Commit: _commit, Wait: _wait, CopyBox: _copy_box},
    **{StoreBox: _store_box, WaitStores: _wait_stores},
    **{Open: _open, Arrive: _arrive, Await: _await, AwaitParity: _await_parity},
    **{Prefetch: _prefetch, Cursors: _cursors, Aim: _aim, Advance: _advance},
}
