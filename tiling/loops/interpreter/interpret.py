"""Runs a kernel of the loop language, whatever its form: the meaning that every pass has to keep.

    interpret(kernel, {"X": x, "W": w, "Y": y})         y holds the result

Plain: scalars are NumPy's, an instruction runs its meaning. Workers and threads run one after the other, or at once
where that comes to the same. Where one touches what another writes, with no wait that orders the two, it raises `Race`.
The result of an asynchronous copy is there after its `Wait`. An access outside a buffer, or a read of an element that
nothing has written, is a `Fault`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from tiling.loops.interpreter.asynchronous import ASYNCHRONOUS
from tiling.loops.interpreter.buffers import BUFFERS
from tiling.loops.interpreter.instructions import run_instruction
from tiling.loops.interpreter.iterations import at_once
from tiling.loops.interpreter.lanes import read_all, side_by_side, write_all
from tiling.loops.interpreter.scope import Copies, Scope
from tiling.loops.interpreter.workers import for_workers, in_roles
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    THREAD,
    THREADS,
    Alloc,
    Apply,
    Barrier,
    Block,
    Body,
    Call,
    Choose,
    Comment,
    Decide,
    Define,
    Do,
    For,
    If,
    Invoke,
    Let,
    Load,
    Number,
    Position,
    Read,
    Register,
    Set,
    SetFlag,
    StagedPart,
    Statement,
    Store,
    Team,
    Value,
)
from tiling.loops.machines import Beside, Fence, Shape, Tiles
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.histories import Memory
from tiling.loops.meaning.memory import NUMPY, Fault, Given, complete
from tiling.loops.meaning.nests import ALONE
from tiling.loops.meaning.prefetches import Prefetched, Prefetches
from tiling.loops.meaning.workers import Workers
from tiling.loops.walk import walk

_NAMELESS = (Store, If, Do)  # these need no scope of their own


def interpret(
    kernel: Kernel,
    given: Mapping[str, np.ndarray],
    numbers: Mapping[str, int] | None = None,
    threads: int = 1,
    prefetched: list[Prefetched] | None = None,
) -> None:
    """Runs `kernel` on these arrays, one for each of its `arrays`. What it writes is in them afterwards.

    numbers: a value for each of its `numbers`. threads: how many run it, one after the other from barrier to barrier.
    prefetched: gets what is prefetched.
    """
    workers = Workers(kernel.barriers)
    functions = {function.name: function for function in kernel.functions}
    prefetches = Prefetches([] if prefetched is None else prefetched)
    scope = Scope(functions, workers=workers, shaped=kernel.shapes, prefetches=prefetches)
    scope.numbers |= {name: (numbers or {})[name] for name, _ in kernel.numbers}
    for buffer in kernel.arrays:
        shape = tuple(extent.at(scope.numbers) for extent in buffer.sizes)
        scope.arrays[buffer.name] = complete(buffer.name, given[buffer.name].reshape(shape), Memory(workers))
        prefetches.arrays[scope.arrays[buffer.name].address] = buffer.name
    team = [replace(scope.inner(), raised=set(), copies=Copies()) for _ in range(threads)]
    for number, thread in enumerate(team):
        thread.numbers |= {THREAD: number, THREADS: threads}
    _run_team(kernel.body, team)


def _run_team(body: Body, team: list[Scope]) -> None:
    """Runs a block of the kernel itself: what threads do between barriers, one thread after the other."""
    phase: list[Statement] = []
    workers = team[0].workers

    def each() -> None:
        for number, thread in enumerate(team):
            workers.now = (("core", number),) if len(team) > 1 else ()
            for statement in phase:
                _RUN[type(statement)](statement, thread)
        workers.now = ()
        phase.clear()

    for statement in body:
        if isinstance(statement, Barrier):
            each()
            workers.wait()
        elif isinstance(statement, If) and any(isinstance(s, Barrier) for s in walk((statement,))):
            each()
            _run_team(_chosen(statement, team), team)
        else:
            phase.append(statement)
    each()


def _chosen(statement: If, team: list[Scope]) -> Body:
    """The block of a choice with a barrier in it. Raises Fault if only some of the threads would wait there."""
    taken = {thread.all_hold(statement.conditions) for thread in team}
    if len(taken) > 1:
        raise Fault("threads wait for each other in a block that only some of them run")
    return statement.body if taken == {True} else statement.otherwise


def run(body: Body, scope: Scope) -> None:
    """Runs the statements of a block. It gets a scope of its own, unless it is one statement that names nothing."""
    if len(body) == 1 and isinstance(body[0], _NAMELESS):
        return _RUN[type(body[0])](body[0], scope)
    if not body:
        return
    here = scope.inner()
    for statement in body:
        _RUN[type(statement)](statement, here)
    for name in here.registers:
        if name in scope.registers and name not in here.own:
            scope.registers[name] = here.registers[name]


def _for(statement: For, scope: Scope) -> None:
    if statement.kind not in ALONE:
        for_workers(statement, scope, run)
        return
    if side_by_side(statement, scope) or at_once(statement, scope):
        scope.numbers.pop(statement.name, None)
        return
    for value in range(statement.start.at(scope.numbers), statement.stop.at(scope.numbers), statement.step):
        scope.numbers[statement.name] = value
        run(statement.body, scope)
    scope.numbers.pop(statement.name, None)


def _beside(statement: Beside, scope: Scope) -> None:
    in_roles(statement, scope, run)


def _barrier(statement: Barrier, scope: Scope) -> None:
    scope.workers.barrier(statement.kind)


def _if(statement: If, scope: Scope) -> None:
    run(statement.body if scope.all_hold(statement.conditions) else statement.otherwise, scope)


def _block(statement: Block | StagedPart | Team, scope: Scope) -> None:
    run(statement.body, scope)


def _store(statement: Store, scope: Scope) -> None:
    array, given = scope.arrays[statement.buffer], value(statement.value, scope)
    if scope.is_vector(statement.at):
        if write_all(statement, given, scope):
            return
        for lane, element in enumerate(given):
            array.write(scope.at(statement.at, lane), element)
    else:
        array.write(scope.at(statement.at), given)


def _alloc(statement: Alloc, scope: Scope) -> None:
    BUFFERS[Alloc](statement, scope)
    if statement.first is not None:
        _store(Store(statement.buffer.name, statement.buffer.whole, statement.first), scope)


def _let(statement: Let, scope: Scope) -> None:
    _set(statement, scope)
    scope.own.add(statement.name)


def _set(statement: Let | Set, scope: Scope) -> None:
    scope.registers[statement.name] = None if statement.value is None else value(statement.value, scope)


def _define(statement: Define, scope: Scope) -> None:
    scope.numbers[statement.name] = statement.index.at(scope.numbers)


def _read_index(statement: Read, scope: Scope) -> None:
    scope.numbers[statement.name] = int(value(statement.value, scope))


def _decide(statement: Decide, scope: Scope) -> None:
    scope.numbers[statement.name] = int(scope.all_hold(statement.conditions))


def _tiles(statement: Tiles, scope: Scope) -> None:
    scope.shapes = {}


def _shape(statement: Shape, scope: Scope) -> None:
    if scope.shapes is None:
        raise Fault(f"{statement.name} is given to a worker that has no tile registers")
    scope.shapes.clear()
    scope.shapes.update((register.name, register.shape) for register in statement.registers)


def _set_flag(statement: SetFlag, scope: Scope) -> None:
    (scope.raised.add if statement.holds else scope.raised.discard)(statement.name)


def _do(statement: Do, scope: Scope) -> None:
    invoked(statement.invoke, scope)


def _call(statement: Call, scope: Scope) -> None:
    function = scope.functions[statement.function]
    inner = Scope(
        scope.functions,
        copies=scope.copies,
        shapes=scope.shapes,
        team=scope.team,
        workers=scope.workers,
        shaped=scope.shaped,
        prefetches=scope.prefetches,
        instructions=scope.instructions,
        nests=scope.nests,
        slices=scope.slices,
        accesses=scope.accesses,
        together=scope.together,
    )
    for (name, _), address in zip(function.views, statement.views, strict=True):
        inner.arrays[name] = scope.arrays[address.buffer].moved(name, scope.at(address.at))
    for name, number in zip(function.numbers, statement.numbers, strict=True):
        inner.numbers[name] = number.at(scope.numbers)
    for name, flag in zip(function.flags, statement.flags, strict=True):
        inner.numbers[name] = scope.numbers.get(flag, 0)
    run(function.body, inner)


def _nothing(statement: Statement, scope: Scope) -> None:
    """A fence or a comment changes no value."""


_RUN: dict[type, Callable[..., None]] = {
    **{For: _for, If: _if, Block: _block, StagedPart: _block, Team: _block, Beside: _beside, Barrier: _barrier},
    **{Store: _store, Let: _let, Set: _set, Define: _define, Read: _read_index, Do: _do, Call: _call},
    **{Decide: _decide, SetFlag: _set_flag, Tiles: _tiles, Shape: _shape},
    **BUFFERS,
    Alloc: _alloc,
    **ASYNCHRONOUS,
    **dict.fromkeys((Fence, Comment), _nothing),
}


def value(node: Value, scope: Scope) -> Given:
    """The scalar or vector that a value has here."""
    return _VALUE[type(node)](node, scope)


def _number(node: Number, scope: Scope) -> Given:
    return NUMPY[node.dtype](node.value)


def _position(node: Position, scope: Scope) -> Given:
    return np.int64(node.index.at(scope.numbers))


def _choose(node: Choose, scope: Scope) -> Given:
    return value(node.value if scope.all_hold(node.conditions) else node.otherwise, scope)


def _register(node: Register, scope: Scope) -> Given:
    found = scope.registers.get(node.name)
    if found is None:
        raise Fault(f"{node.name} is read before it has a value")
    return found


def _load(node: Load, scope: Scope) -> Given:
    array = scope.arrays[node.buffer]
    if scope.is_vector(node.at):
        found = read_all(node, scope)
        lanes = range(array.elements.shape[-1])
        return np.array([array.read(scope.at(node.at, lane)) for lane in lanes]) if found is None else found
    return array.read(scope.at(node.at))


def _apply(node: Apply, scope: Scope) -> Given:
    return FUNCTIONS[node.function](*[value(argument, scope) for argument in node.arguments])


def _invoke(node: Invoke, scope: Scope) -> Given:
    found = invoked(node, scope)
    assert found is not None, f"{node.instruction.name} gives no value"
    return found


_VALUE: dict[type, Callable[..., Given]] = {
    **{Number: _number, Position: _position, Choose: _choose, Register: _register},
    **{Load: _load, Apply: _apply, Invoke: _invoke},
}


def invoked(invoke: Invoke, scope: Scope) -> np.ndarray | None:
    """Runs an instruction. Returns its value, or None where it stores to memory."""
    return run_instruction(invoke, scope, _VALUE, _RUN)
