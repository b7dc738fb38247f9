"""Statements whose effect comes later: asynchronous copies, the mbarriers that they arrive at, prefetches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from operator import add

from tiling.loops.language import Address, Prefetch
from tiling.loops.machines import (
    Advance,
    Aim,
    Arrive,
    Await,
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
from tiling.loops.meaning.memory import Array
from tiling.loops.meaning.scope import Scope
from tiling.loops.meaning.workers import Mbarrier

CHUNK = 16  # bytes


def _copy(statement: Copy, scope: Scope) -> None:
    scope.copies.groups[-1].append((statement, scope.inner()))
    # Its target changes from now on, for whoever looks.
    target = _place(statement.target, scope).flat()
    for element in range(statement.count):
        target.meet((element,))


def _commit(statement: Commit, scope: Scope) -> None:
    scope.copies.groups.append([])


def _wait(statement: Wait, scope: Scope) -> None:
    groups = scope.copies.groups
    complete = groups[: max(0, len(groups) - 1 - statement.pending)]
    del groups[: len(complete)]
    for copy, where in (each for group in complete for each in group):
        source, target = _place(copy.source, where).flat(), _place(copy.target, where).flat()
        reads = where.all_hold(copy.conditions)
        zero = source.elements.dtype.type(0)
        for element in range(copy.count):
            given = source.read((element,)) if reads else zero
            target.write((element,), given)


def _copy_box(statement: CopyBox, scope: Scope) -> None:
    workers = scope.workers
    for rank in range(statement.blocks) if statement.blocks else (None,):
        target = scope.arrays[statement.target.buffer]
        if rank is not None:
            target = workers.reach(rank, target.name)
        size = _bring(statement, target, scope)
        _mbarrier(statement.barrier, scope, rank).arrive(workers, 0, -size)


def _bring(statement: CopyBox, target: Array, scope: Scope) -> int:
    """Brings a box to a target. Returns its bytes."""
    source, place = (
        scope.arrays[statement.source.buffer],
        target.moved(target.name, scope.at(statement.target.at)).flat(),
    )
    for number, there in enumerate(_places(statement, scope)):
        given = source.elements.dtype.type(0) if there is None else source.read(there)
        number = _swizzled(number, statement, target)
        place.write((number,), FUNCTIONS[statement.function](given) if statement.function else given)
    return math.prod(statement.extents) * target.elements.itemsize


def _store_box(statement: StoreBox, scope: Scope) -> None:
    scope.copies.stores.append((statement, scope.inner()))
    for number, _ in _stored(statement, scope):  # from now on it may be read
        _place(statement.source, scope).flat().read((number,))


def _wait_stores(statement: WaitStores, scope: Scope) -> None:
    stores = scope.copies.stores
    complete = stores[: max(0, len(stores) - statement.pending)]
    del stores[: len(complete)]
    for box, where in complete:
        source, target = _place(box.source, where).flat(), where.arrays[box.target.buffer]
        for number, there in _stored(box, where):
            target.write(there, source.read((number,)))


def _stored(statement: StoreBox, scope: Scope) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Which number of a box goes to which element of its array."""
    source = scope.arrays[statement.source.buffer]
    for number, there in enumerate(_box(statement.target, statement, scope)):
        if there is not None:
            yield _swizzled(number, statement, source), there


def _swizzled(number: int, box: CopyBox | StoreBox, tile: Array) -> int:
    """Where an element of a box lies in its tile."""
    chunk = CHUNK // tile.elements.itemsize
    return number ^ (number // box.extents[-1] % 8 * chunk if box.swizzled else 0)


def _places(statement: CopyBox, scope: Scope) -> Iterator[tuple[int, ...] | None]:
    """The places of what a copy brings, None outside of the array."""
    if not statement.windows:
        yield from _box(statement.source, statement, scope)
        return
    shape = scope.arrays[statement.source.buffer].elements.shape
    image, *pixel, channel = scope.at(statement.source.at)
    number = image
    for at, along in zip(pixel, statement.windows):
        number = number * along.count + (at - along.first) // along.step
    pixels, channels = statement.extents
    for window, of_pixel in product(range(number, number + pixels), range(channels)):
        there: tuple[int, ...] = (channel + of_pixel,)
        for along in reversed(statement.windows):
            window, turn = divmod(window, along.count)
            there = (along.first + turn * along.step + along.tap.at(scope.numbers), *there)
        there = (window, *there)
        yield there if _is_inside(there, shape) else None


def _box(begin: Address, box: CopyBox | StoreBox, scope: Scope) -> Iterator[tuple[int, ...] | None]:
    """The places of a box of an array from `begin` on, None outside of it."""
    shape = scope.arrays[begin.buffer].elements.shape
    first = len(shape) - 1 - box.joined
    *others, last = scope.at(begin.at)
    row, lines = 0, shape[first:-1]
    for index, extent in zip(others[first:], lines):
        row = row * extent + index
    joined = (*shape[:first], math.prod(lines), shape[-1])
    for at in product(*map(range, box.extents)):
        *outer, line, column = map(add, (*others[:first], row, last), at)
        inside = _is_inside((*outer, line, column), joined)
        yield (*outer, *_unjoined(line, lines), column) if inside else None


def _unjoined(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A place by its number in a shape."""
    at: tuple[int, ...] = ()
    for extent in reversed(shape):
        number, last = divmod(number, extent)
        at = (last, *at)
    return at


def _is_inside(at: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(0 <= each < extent for each, extent in zip(at, shape))


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


def _mbarrier(address: Address, scope: Scope, rank: int | None = None) -> Mbarrier:
    """An mbarrier of this block, or of another one of its cluster."""
    array, at = scope.arrays[address.buffer], scope.at(address.at)
    if rank is not None:
        array = scope.workers.reach(rank, array.name)
    array.read(at)  # raises Fault where none was opened
    return scope.workers.mbarriers[scope.workers.mbarrier((array.name, at), rank)]


def _prefetch(statement: Prefetch, scope: Scope) -> None:
    scope.prefetches.ask(_place(statement.address, scope), statement.level)


def _cursors(statement: Cursors, scope: Scope) -> None:
    scope.prefetches = scope.prefetches.worker()


def _aim(statement: Aim, scope: Scope) -> None:
    scope.prefetches.aim(statement.cursor, _place(statement.address, scope), statement.elements.at(scope.numbers))


def _advance(statement: Advance, scope: Scope) -> None:
    scope.prefetches.advance(statement.cursor)


def _place(address: Address, scope: Scope) -> Array:
    """An array seen from a place in it."""
    return scope.arrays[address.buffer].moved(address.buffer, scope.at(address.at))


ASYNCHRONOUS: dict[type, Callable[..., None]] = {
    **{Copy: _copy, Commit: _commit, Wait: _wait, CopyBox: _copy_box},
    **{StoreBox: _store_box, WaitStores: _wait_stores},
    **{Open: _open, Arrive: _arrive, Await: _await},
    **{Prefetch: _prefetch, Cursors: _cursors, Aim: _aim, Advance: _advance},
}
