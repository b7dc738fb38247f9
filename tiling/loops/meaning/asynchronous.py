"""Statements whose effect comes later: asynchronous copies, the mbarriers that they arrive at, prefetches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from operator import add

from tiling.loops.language import (
    Address,
    Advance,
    Aim,
    Arrive,
    Await,
    Commit,
    Copy,
    CopyBox,
    Cursors,
    Open,
    Prefetch,
    Wait,
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
    row, chunk = statement.extents[-1], CHUNK // target.elements.itemsize
    for number, there in enumerate(_box(statement, scope)):
        inside = all(0 <= each < extent for each, extent in zip(there, source.elements.shape))
        given = source.read(there) if inside else source.elements.dtype.type(0)
        number ^= number // row % 8 * chunk if statement.swizzled else 0
        place.write((number,), FUNCTIONS[statement.function](given) if statement.function else given)
    return math.prod(statement.extents) * target.elements.itemsize


def _box(statement: CopyBox, scope: Scope) -> Iterator[tuple[int, ...]]:
    """The places of a box in its array, which may lie outside of it."""
    begin = scope.at(statement.source.at)
    if not statement.windows:
        yield from (tuple(map(add, begin, at)) for at in product(*map(range, statement.extents)))
        return
    image, *pixel, channel = begin
    number = image
    for at, along in zip(pixel, statement.windows):
        number = number * along.count + (at - along.first) // along.step
    pixels, channels = statement.extents
    for window, of_pixel in product(range(number, number + pixels), range(channels)):
        there: tuple[int, ...] = (channel + of_pixel,)
        for along in reversed(statement.windows):
            window, turn = divmod(window, along.count)
            there = (along.first + turn * along.step + along.tap.at(scope.numbers), *there)
        yield (window, *there)


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
    **{Open: _open, Arrive: _arrive, Await: _await},
    **{Prefetch: _prefetch, Cursors: _cursors, Aim: _aim, Advance: _advance},
}
