"""Runs a kernel of the loop language, whatever its form: the meaning that every pass has to keep.

    interpret(kernel, {"X": x, "W": w, "Y": y})         y holds the result

Slow and plain: every statement is executed as it stands, scalars are NumPy's, an instruction runs its meaning. Workers
and threads run one after the other, so none may need what a later one writes before a barrier. What an asynchronous
copy brings is there after its `Wait`. An access outside a buffer, or a read of what nothing has written, is a `Fault`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import add, lt
from typing import Any

import numpy as np

from tiling.loops.functions import FUNCTIONS
from tiling.loops.index import Index
from tiling.loops.language import (
    THREAD,
    THREADS,
    Address,
    Advance,
    Aim,
    Alloc,
    Apply,
    Barrier,
    Block,
    Body,
    Call,
    Choose,
    Comment,
    Commit,
    Condition,
    Copy,
    Cursors,
    Decide,
    Define,
    Do,
    Fence,
    For,
    Function,
    If,
    Immediate,
    Inside,
    Instruction,
    Invoke,
    Kernel,
    Let,
    Load,
    Lower,
    Mask,
    Move,
    Number,
    Operand,
    Position,
    Prefetch,
    Raise,
    Read,
    Register,
    Set,
    Shape,
    Stage,
    Statement,
    Store,
    Stride,
    Team,
    Tiles,
    Value,
    View,
    Wait,
    walk,
)

ALONE = ("serial", "unrolled", "vector")  # kinds of loops that one worker runs
Given = Any  # a NumPy scalar, or a vector of them
NUMPY: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bool": np.bool_}
NUMPY |= {"s64": np.int64, "s32": np.int32, "u8": np.uint8, "s8": np.int8}
NUMPY |= {"u64": np.uint64, "u32": np.uint32, "s16": np.int16, "u16": np.uint16}
# Of bf16 the bits. A word of several numbers, or of one and zeros.
NUMPY |= {"bf16": np.uint16} | dict.fromkeys(("bf16x1", "bf16x2", "int8x1", "int8x4"), np.uint32)


class Fault(Exception):
    """A kernel that touches what it must not: which buffer, and where."""


@dataclass
class Array:
    """A buffer while it lives. origin: where a view begins in it. written: which elements have a value."""

    name: str
    elements: np.ndarray
    written: np.ndarray
    origin: tuple[int, ...]

    def place(self, at: tuple[int, ...]) -> tuple[int, ...]:
        """The place in the buffer of an index of the view. Raises Fault outside the buffer."""
        shape = self.elements.shape
        if len(at) == len(self.origin) == len(shape) == 1:  # nearly every operand of an instruction
            only = self.origin[0] + at[0]
            if 0 <= only < shape[0]:
                return (only,)
        place = tuple(map(add, self.origin, at))
        if not len(at) == len(place) == len(shape):
            raise Fault(f"{self.name} has {len(shape)} dimensions, and {list(at)} is an index of {len(at)}")
        if min(place, default=0) < 0 or not all(map(lt, place, shape)):
            raise Fault(f"{self.name}{list(place)} lies outside its {' x '.join(map(str, shape))} elements")
        return place

    def moved(self, name: str, at: tuple[int, ...]) -> Array:
        """The same elements, seen from another place, which may lie outside."""
        return Array(name, self.elements, self.written, tuple(a + b for a, b in zip(self.origin, at, strict=True)))


@dataclass
class _Scope:
    """What names stand for at a place of a kernel. own: the registers that this very block has named."""

    functions: Mapping[str, Function]
    arrays: dict[str, Array] = field(default_factory=dict)
    registers: dict[str, Given | None] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    waiting: list[list[tuple[Copy, _Scope]]] = field(default_factory=lambda: [[]])
    raised: set[str] = field(default_factory=set)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    team: dict[str, Array] = field(default_factory=dict)  # buffers that all threads share

    def inner(self) -> _Scope:
        names = dict(self.arrays), dict(self.registers), dict(self.numbers)
        return _Scope(self.functions, *names, self.waiting, self.raised, self.shapes, team=self.team)


def interpret(
    kernel: Kernel,
    given: Mapping[str, np.ndarray],
    flags: Mapping[str, bool] | None = None,
    numbers: Mapping[str, int] | None = None,
    threads: int = 1,
) -> None:
    """Runs `kernel` on these arrays, one for each of its `arrays`. What it writes is in them afterwards.

    flags: the facts of `Flag` conditions; those that are not named do not hold. numbers: those of the kernel. threads:
    how many run it, one after the other from barrier to barrier.
    """
    scope = _Scope({function.name: function for function in kernel.functions})
    scope.numbers |= {name: int(holds) for name, holds in (flags or {}).items()}
    scope.numbers |= {name: (numbers or {})[name] for name, _ in kernel.numbers}
    for buffer in kernel.arrays:
        shape = tuple(extent.at(scope.numbers) for extent in buffer.sizes)
        elements = given[buffer.name].reshape(shape)
        scope.arrays[buffer.name] = Array(buffer.name, elements, np.ones(shape, bool), (0,) * len(shape))
    team = [replace(scope.inner(), raised=set(), shapes={}, waiting=[[]]) for _ in range(threads)]
    for phase in _phases(kernel.body):
        for number, thread in enumerate(team):
            thread.numbers |= {THREAD: number, THREADS: threads}
            for statement in phase:
                _RUN[type(statement)](statement, thread)


def _phases(body: Body) -> Iterator[Body]:
    """What threads do between barriers."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, Barrier):
            yield tuple(found)
            found = []
        else:
            found.append(statement)
    yield tuple(found)


def run(body: Body, scope: _Scope) -> None:
    """Runs the statements of a block in a scope of its own. What names nothing needs none: most of an instruction."""
    if len(body) == 1 and isinstance(body[0], Store | If | Do):
        return _RUN[type(body[0])](body[0], scope)
    here = scope.inner()
    for statement in body:
        _RUN[type(statement)](statement, here)
    for name in here.registers:
        if name in scope.registers and name not in here.own:
            scope.registers[name] = here.registers[name]


def _alloc(statement: Alloc, scope: _Scope) -> None:
    buffer = statement.buffer
    if buffer.memory == "tile" and scope.shapes.get(buffer.name) != buffer.shape:
        raise Fault(f"tile register {buffer.name} has no shape of {' x '.join(map(str, buffer.shape))}")
    shape = tuple(extent.at(scope.numbers) for extent in buffer.sizes)
    elements = np.zeros(shape, NUMPY[buffer.dtype])
    made = Array(buffer.name, elements, np.zeros(shape, bool), (0,) * len(shape))
    if statement.at is not None and THREAD not in statement.at.names():  # the first thread makes it for all
        made = scope.team[buffer.name] if scope.numbers[THREAD] else made
        scope.team[buffer.name] = made
    scope.arrays[buffer.name] = made


def _for(statement: For, scope: _Scope) -> None:
    for value in range(statement.start.at(scope.numbers), statement.stop.at(scope.numbers), statement.step):
        scope.numbers[statement.name] = value
        # A worker waits for its own copies.
        run(statement.body, scope if statement.kind in ALONE else replace(scope, waiting=[[]]))
    scope.numbers.pop(statement.name, None)


def _if(statement: If, scope: _Scope) -> None:
    run(statement.body if all([holds(c, scope) for c in statement.conditions]) else statement.otherwise, scope)


def holds(condition: Condition, scope: _Scope) -> bool:
    """Whether a condition holds here. A flag that nobody has set does not."""
    if isinstance(condition, Inside):
        at = condition.index.at(scope.numbers)
        return (condition.low is None or condition.low <= at) and (condition.high is None or at < condition.high)
    return condition.name in scope.raised or bool(scope.numbers.get(condition.name, 0))


def _block(statement: Block | Stage | Team, scope: _Scope) -> None:
    run(statement.body, scope)


def _store(statement: Store, scope: _Scope) -> None:
    array, given = scope.arrays[statement.buffer], value(statement.value, scope)
    if _is_vector(statement.at, scope):
        for lane, element in enumerate(given):
            _write(array, _at(statement.at, scope, lane), element)
    else:
        _write(array, _at(statement.at, scope), given)


def _write(array: Array, at: tuple[int, ...], element: Given) -> None:
    place = array.place(at)
    array.elements[place] = element
    array.written[place] = True


def _let(statement: Let, scope: _Scope) -> None:
    _set(statement, scope)
    scope.own.add(statement.name)


def _set(statement: Let | Set, scope: _Scope) -> None:
    scope.registers[statement.name] = None if statement.value is None else value(statement.value, scope)


def _define(statement: Define, scope: _Scope) -> None:
    scope.numbers[statement.name] = statement.index.at(scope.numbers)


def _read_index(statement: Read, scope: _Scope) -> None:
    scope.numbers[statement.name] = int(value(statement.value, scope))


def _decide(statement: Decide, scope: _Scope) -> None:
    scope.numbers[statement.name] = int(all(holds(condition, scope) for condition in statement.conditions))


def _tiles(statement: Tiles, scope: _Scope) -> None:
    scope.shapes.clear()


def _shape(statement: Shape, scope: _Scope) -> None:
    scope.shapes.clear()
    scope.shapes.update((register.name, register.shape) for register in statement.registers)


def _raise(statement: Raise, scope: _Scope) -> None:
    scope.raised.add(statement.name)


def _lower(statement: Lower, scope: _Scope) -> None:
    scope.raised.discard(statement.name)


def _view(statement: View, scope: _Scope) -> None:
    address = statement.address
    scope.arrays[statement.name] = scope.arrays[address.buffer].moved(statement.name, _at(address.at, scope))


def _move(statement: Move, scope: _Scope) -> None:
    view = scope.arrays[statement.view]
    # In place: the blocks outside see it too.
    view.origin = tuple(start + step for start, step in zip(view.origin, _at(statement.at, scope), strict=True))


def _do(statement: Do, scope: _Scope) -> None:
    invoked(statement.invoke, scope)


def _call(statement: Call, scope: _Scope) -> None:
    function = scope.functions[statement.function]
    inner = _Scope(scope.functions, waiting=scope.waiting, shapes=scope.shapes)
    for (name, _), address in zip(function.views, statement.views, strict=True):
        inner.arrays[name] = scope.arrays[address.buffer].moved(name, _at(address.at, scope))
    for name, number in zip(function.numbers, statement.numbers, strict=True):
        inner.numbers[name] = number.at(scope.numbers)
    for name, flag in zip(function.flags, statement.flags, strict=True):
        inner.numbers[name] = scope.numbers.get(flag, 0)
    run(function.body, inner)


def _copy(statement: Copy, scope: _Scope) -> None:
    scope.waiting[-1].append((statement, scope.inner()))


def _commit(statement: Commit, scope: _Scope) -> None:
    scope.waiting.append([])


def _wait(statement: Wait, scope: _Scope) -> None:
    complete = scope.waiting[: max(0, len(scope.waiting) - 1 - statement.pending)]
    del scope.waiting[: len(complete)]
    for copy, where in (each for group in complete for each in group):
        source, target = where.arrays[copy.source.buffer], where.arrays[copy.target.buffer]
        begin, end = _at(copy.source.at, where), _at(copy.target.at, where)
        for element in range(copy.count):
            there = target.place((*end[:-1], end[-1] + element))
            target.elements[there] = _read(source, (*begin[:-1], begin[-1] + element))
            target.written[there] = True


def _nothing(statement: Statement, scope: _Scope) -> None:
    """A prefetch, a fence or a comment changes no value; one worker at a time waits for nobody."""


_RUN: dict[type, Callable[..., None]] = {
    **{
        Alloc: _alloc,
        For: _for,
        If: _if,
        Block: _block,
        Stage: _block,
        Team: _block,
        Store: _store,
        Let: _let,
        Set: _set,
        Define: _define,
        Read: _read_index,
        View: _view,
        Move: _move,
        Do: _do,
    },
    **{
        Decide: _decide,
        Raise: _raise,
        Lower: _lower,
        Tiles: _tiles,
        Shape: _shape,
        Call: _call,
        Copy: _copy,
        Commit: _commit,
        Wait: _wait,
    },
    **dict.fromkeys((Prefetch, Cursors, Aim, Advance, Fence, Comment, Barrier), _nothing),
}


def value(node: Value, scope: _Scope) -> Given:
    """The scalar or vector that a value has here."""
    return _VALUE[type(node)](node, scope)


def _number(node: Number, scope: _Scope) -> Given:
    return NUMPY[node.dtype](node.value)


def _position(node: Position, scope: _Scope) -> Given:
    return np.int64(node.index.at(scope.numbers))


def _choose(node: Choose, scope: _Scope) -> Given:
    return value(node.value if all(holds(c, scope) for c in node.conditions) else node.otherwise, scope)


def _register(node: Register, scope: _Scope) -> Given:
    found = scope.registers.get(node.name)
    if found is None:
        raise Fault(f"{node.name} is read before it has a value")
    return found


def _load(node: Load, scope: _Scope) -> Given:
    array = scope.arrays[node.buffer]
    if _is_vector(node.at, scope):
        lanes = range(array.elements.shape[-1])
        return np.array([_read(array, _at(node.at, scope, lane)) for lane in lanes])
    return _read(array, _at(node.at, scope))


def _apply(node: Apply, scope: _Scope) -> Given:
    return FUNCTIONS[node.function](*[value(argument, scope) for argument in node.arguments])


def _invoke(node: Invoke, scope: _Scope) -> Given:
    found = invoked(node, scope)
    assert found is not None, f"{node.instruction.name} gives no value"
    return found


_VALUE: dict[type, Callable[..., Given]] = {
    **{Number: _number, Position: _position, Choose: _choose, Register: _register},
    **{Load: _load, Apply: _apply, Invoke: _invoke},
}


def invoked(invoke: Invoke, scope: _Scope) -> np.ndarray | None:
    """Runs the meaning of an instruction. Returns what it stored to `out`, or None where it stores to memory."""
    inner = _Scope({})
    for name, operand in invoke.operands:
        _hand_over(name, operand, scope, inner)
    lanes = vector_lanes(invoke.instruction)
    if lanes:
        dtype = NUMPY[invoke.instruction.dtype] if invoke.instruction.dtype else inner.arrays["p"].elements.dtype
        inner.arrays["out"] = Array("out", np.zeros(lanes, dtype), np.zeros(lanes, bool), (0,))
    run(invoke.instruction.meaning, inner)
    if lanes and not inner.arrays["out"].written.all():
        raise Fault(f"{invoke.instruction.name} leaves lanes of its value without one")
    return inner.arrays["out"].elements if lanes else None


def vector_lanes(instruction: Instruction) -> int:
    """The lanes of an instruction's value; 0 where it gives none."""
    for loop in instruction.meaning:
        if isinstance(loop, For) and any(isinstance(s, Store) and s.buffer == "out" for s in walk(loop.body)):
            return loop.stop.offset
    return 0


def _hand_over(name: str, operand: Operand, scope: _Scope, inner: _Scope) -> None:
    if isinstance(operand, Mask):
        inner.numbers[name] = operand.lanes.at(scope.numbers)
    elif isinstance(operand, Immediate):
        inner.numbers[name] = operand.number.at(scope.numbers)
    elif isinstance(operand, Address):
        array = scope.arrays[operand.buffer].moved(name, _at(operand.at, scope))
        inner.arrays[name] = _flat(array)
    elif isinstance(operand, Stride):
        return  # the meaning counts elements: it is made for this stride
    else:
        vector = np.atleast_1d(value(operand, scope))
        inner.arrays[name] = Array(name, vector, np.ones(vector.shape, bool), (0,))


def _flat(array: Array) -> Array:
    """The elements as a pointer sees them: one after the other, from the origin on."""
    shape, origin = array.elements.shape, array.origin
    start = 0
    for extent, at in zip(shape, origin):
        start = start * extent + at
    return Array(array.name, array.elements.reshape(-1), array.written.reshape(-1), (start,))


def _read(array: Array, at: tuple[int, ...]) -> Given:
    place = array.place(at)
    if not array.written[place]:
        raise Fault(f"{array.name}{list(place)} is read before anything is written there")
    return array.elements[place]


def _is_vector(at: tuple[Index, ...], scope: _Scope) -> bool:
    """Whether an access outside any loop over lanes is one to a register of all its lanes."""
    return "lane" not in scope.numbers and any(term == "lane" for index in at for term, _ in index.terms)


def _at(indices: tuple[Index, ...], scope: _Scope, lane: int | None = None) -> tuple[int, ...]:
    numbers = scope.numbers if lane is None else {**scope.numbers, "lane": lane}
    if len(indices) == 1:
        return (indices[0].at(numbers),)
    return tuple([index.at(numbers) for index in indices])
