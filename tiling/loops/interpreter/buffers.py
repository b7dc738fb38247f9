"""Statements that make buffers, see them from elsewhere, and take counters in them."""

from __future__ import annotations

from collections.abc import Callable

from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import THREAD, Alloc, Move, Seen, View
from tiling.loops.machines import Take
from tiling.loops.meaning.histories import Memory, memory_of
from tiling.loops.meaning.memory import NUMPY, Fault, undefined


def _alloc(statement: Alloc, scope: Scope) -> None:
    buffer = statement.buffer
    if buffer.memory == "tile" and scope.shaped and (scope.shapes or {}).get(buffer.name) != buffer.shape:
        raise Fault(f"tile register {buffer.name} has no shape of {' x '.join(map(str, buffer.shape))}")
    shape = tuple(extent.at(scope.numbers) for extent in buffer.sizes)
    memory, first = None, 0
    if statement.at is not None:
        memory, first = memory_of(scope.workers, buffer.memory == "shared"), statement.at.at(scope.numbers)
    elif buffer.memory in ("global", "shared"):
        memory = Memory(scope.workers)
    made = undefined(buffer.name, shape, NUMPY[buffer.dtype], memory, first)
    # The first thread makes a shared buffer for all threads; in shared memory each block has its own.
    if statement.at is not None and THREAD not in statement.at.names() and buffer.memory != "shared":
        made = scope.team[buffer.name] if scope.numbers[THREAD] else made
        scope.team[buffer.name] = made
    scope.arrays[buffer.name] = made
    if buffer.memory == "shared":
        scope.workers.shared[scope.workers.block(), buffer.name] = made
    if buffer.memory not in ("registers", "tile"):
        scope.prefetches.arrays[made.address] = buffer.name


def _view(statement: View, scope: Scope) -> None:
    address = statement.address
    scope.arrays[statement.name] = scope.arrays[address.buffer].moved(statement.name, scope.at(address.at))


def _seen(statement: Seen, scope: Scope) -> None:
    buffer, flag = statement.buffer, statement.flag
    of = statement.otherwise if flag and not scope.numbers[flag] else statement.of
    shape = tuple(extent.at(scope.numbers) for extent in buffer.sizes)
    scope.arrays[buffer.name] = scope.arrays[of].seen(buffer.name, shape, NUMPY[buffer.dtype])


def _move(statement: Move, scope: Scope) -> None:
    view = scope.arrays[statement.view]
    # Changed in place, so that the blocks outside see it too.
    view.origin = tuple(start + step for start, step in zip(view.origin, scope.at(statement.at), strict=True))


def _take(statement: Take, scope: Scope) -> None:
    array, at = scope.arrays[statement.counter.buffer], scope.at(statement.counter.at)
    place = array.place(at)
    before = int(array.elements[place])
    array.elements[place] = (before + 1) % statement.count
    scope.numbers[statement.name] = before
    scope.workers.take((array.name, place))


BUFFERS: dict[type, Callable[..., None]] = {Alloc: _alloc, View: _view, Seen: _seen, Move: _move, Take: _take}
