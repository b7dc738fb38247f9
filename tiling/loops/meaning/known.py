"""What is known of instructions, nests of loops and loops over threads, found once for each: many run thousands of
times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from math import prod
from typing import Any

from tiling.loops.index import LANE, ZERO
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Block,
    Body,
    Choose,
    Comment,
    Condition,
    Decide,
    Define,
    Do,
    For,
    If,
    Immediate,
    Instruction,
    Let,
    Load,
    Mask,
    Number,
    Position,
    Read,
    Register,
    Set,
    StagedPart,
    Statement,
    Store,
    Value,
    View,
)
from tiling.loops.machines import Await, AwaitParity
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY, Given
from tiling.loops.meaning.slices import Sliced, sliced
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import walk

ALONE = ("serial", "rolled", "unrolled", "vector")  # kinds of loops that one worker runs
SIDE_BY_SIDE = ("warpgroup", "warp", "thread", "lane")  # kinds of loops over threads, or groups of them
FEW = 8  # iterations of a nest that take less time one after the other
_VALUES = (Apply, Choose, Load, Number, Position, Register)
_TOGETHER = (Alloc, Block, Comment, Decide, Define, Do, For, If, Let, Read, Set, StagedPart, Store, View)


@dataclass(frozen=True, slots=True)
class Vectors:
    """An instruction that stores as many lanes as each operand has, or takes the first one for all.

        for lane in 0..8, vector:
          out[lane] = fma(x[0], w[lane], acc[lane])

    to: where it stores them, `out` or an operand. count: how many lanes. alone: the operands of which it takes the
    first lane. value: what it stores.
    """

    to: str
    count: int
    alone: frozenset[str]
    value: Callable[[Mapping[str, Given]], Given]


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of an instruction, which stays alive here, so that no other one gets its identity.

    of_value: how many its value has; 0 where it gives none. slices: each loop of its meaning; empty where a statement
    is no loop. vectors: what it does with whole vectors, where that is all.
    """

    instruction: Instruction
    of_value: int
    slices: tuple[Sliced, ...] = ()
    vectors: Vectors | None = None


def lanes_of(instruction: Instruction) -> Lanes:
    """What an instruction does with its lanes."""
    loops = [statement for statement in instruction.meaning if isinstance(statement, For)]
    slices = tuple(map(sliced, loops)) if len(loops) == len(instruction.meaning) else ()
    return Lanes(instruction, _of_value(instruction), slices, _vectors_of(instruction))


def _vectors_of(instruction: Instruction) -> Vectors | None:
    """What an instruction does with whole vectors, where that is all."""
    loop, *others = instruction.meaning or (None,)
    if (
        others
        or not isinstance(loop, For)
        or (loop.kind, loop.name, loop.start, loop.step) != ("vector", "lane", ZERO, 1)
    ):
        return None
    store = loop.body[0] if len(loop.body) == 1 else None
    if not isinstance(store, Store) or store.at != (LANE,) or not loop.stop.is_constant:
        return None
    parts = list(parts_of(store.value))
    loads = [part for part in parts if isinstance(part, Load)]
    alone = frozenset(load.buffer for load in loads if load.at == (ZERO,))
    side_by_side = {load.buffer for load in loads if load.at == (LANE,)}
    if alone & side_by_side or not all(load.at in ((ZERO,), (LANE,)) and load.buffer != store.buffer for load in loads):
        return None
    if not all(isinstance(part, (Apply, Load, Number)) for part in parts):
        return None
    return Vectors(store.buffer, loop.stop.offset, alone, _of_vectors(store.value))


def _of_vectors(node: Value) -> Callable[[Mapping[str, Given]], Given]:
    """A value of whole vectors."""
    if isinstance(node, Load):
        name = node.buffer
        return lambda given: given[name]
    if isinstance(node, Apply):
        function, arguments = FUNCTIONS[node.function], [_of_vectors(argument) for argument in node.arguments]
        return lambda given: function(*[each(given) for each in arguments])
    assert isinstance(node, Number)
    number: Given = NUMPY[node.dtype](node.value)
    return lambda given: number


def _of_value(instruction: Instruction) -> int:
    for loop in instruction.meaning:
        if isinstance(loop, For) and any(isinstance(s, Store) and s.buffer == "out" for s in walk(loop.body)):
            return loop.stop.offset
    return 0


@dataclass(frozen=True, slots=True)
class Nest:
    """A nest around one store that can run at once. It begins with `loop`, which stays alive here, so that no other one
    gets its identity.

        for k_u in 0..64:                              k_u one after the other: all of them change an element
          for m_u in 0..64:                            m_u and n_u at once
            for n_u in 0..64:
              if m + m_u < 9:
                acc[m_u, n_u] = acc[m_u, n_u] + X[m + m_u, k_u] * W[n_u, k_u]

    free: the loops whose variables the place of the store has, which may run at once if each iteration has a place of
    its own. again: the others, outermost first. loads: what the value reads, the stored element left out. changed:
    which argument of the value is the stored element, where nothing else reads it. lanes: whether an access has `lane`
    of no loop of the nest. store: None where this is no such nest.
    """

    loop: For
    free: tuple[For, ...] = ()
    again: tuple[For, ...] = ()
    conditions: tuple[Condition, ...] = ()
    store: Store | None = None
    loads: tuple[Load, ...] = ()
    changed: int | None = None
    lanes: bool = False


def nest_of(loop: For) -> Nest:
    """The nest that a loop begins."""
    loops: list[For] = []
    conditions: list[Condition] = []
    statement: Statement = loop
    while not isinstance(statement, Store):
        if isinstance(statement, For) and statement.kind in ALONE:
            loops.append(statement)
        elif isinstance(statement, If) and not statement.otherwise:
            conditions += statement.conditions
        else:
            return Nest(loop)
        if len(statement.body) != 1:
            return Nest(loop)
        statement = statement.body[0]
    ranges = [range(each.start.offset, each.stop.offset, each.step) for each in loops]
    if all(each.start.is_constant and each.stop.is_constant for each in loops) and prod(map(len, ranges)) < FEW:
        return Nest(loop)
    names = {each.name for each in loops}
    bounds = {name for each in loops for end in (each.start, each.stop) for name in end.names()}
    parts = list(parts_of(statement.value))
    if len(names) < len(loops) or bounds & names or not all(isinstance(part, _VALUES) for part in parts):
        return Nest(loop)
    loads = [part for part in parts if isinstance(part, Load)]
    placed = {name for index in statement.at for name in index.names()}
    read = {name for load in loads for index in load.at for name in index.names()}
    own = Load(statement.buffer, statement.at)
    arguments = statement.value.arguments if isinstance(statement.value, Apply) else ()
    return Nest(
        loop,
        tuple([each for each in loops if each.name in placed]),
        tuple([each for each in loops if each.name not in placed]),
        tuple(conditions),
        statement,
        tuple([load for load in loads if load != own]),
        arguments.index(own) if own in arguments and loads.count(own) == 1 else None,
        "lane" in (placed | read) - names,
    )


@dataclass(frozen=True, slots=True)
class Threads:
    """Loops over threads, each all that the one outside it does. They stay alive here, so that no other one gets their
    identity.

    waits: what each thread waits for first. at_once: what all do then, at once; empty where they cannot.
    """

    loops: tuple[For, ...]
    waits: Body
    at_once: Body


def threads_of(loop: For) -> Threads:
    """What the threads of a loop, and of those inside it, can do at once."""
    loops = [loop]
    while len(loop.body) == 1 and isinstance(inner := loop.body[0], For) and inner.kind in SIDE_BY_SIDE:
        loops.append(loop := inner)
    waits = tuple(takewhile(lambda statement: isinstance(statement, (Await, AwaitParity)), loop.body))
    rest = loop.body[len(waits) :]
    apart = len({each.name for each in loops}) == len(loops)
    return Threads(tuple(loops), waits, rest if apart and is_together(rest) else ())


def is_together(body: Body) -> bool:
    """Whether all statements of a block, and of what its instructions mean, are some that threads can run at once."""
    return all(map(_is_simple, walk(body)))


def _is_simple(statement: Statement) -> bool:
    match statement:
        case For():
            return statement.kind in ALONE and not (statement.kind == "vector" and _moves(statement))
        case Alloc():
            return statement.buffer.memory == "registers" and statement.at is None
        case Do(invoke):
            return all(_can_be_given(operand) for _, operand in invoke.operands) and is_together(
                invoke.instruction.meaning
            )
        case Store() | Read():
            return _is_value(statement.value)
        case Let() | Set():
            return statement.value is None or _is_value(statement.value)
    return isinstance(statement, _TOGETHER)


def _moves(loop: For) -> bool:
    """Whether a lane may read what another one writes: all lanes read before one writes."""
    stores = [each for each in walk(loop.body) if isinstance(each, Store)]
    loads = [part for each in stores for part in parts_of(each.value) if isinstance(part, Load)]
    return any(load.buffer == store.buffer and load.at != store.at for load in loads for store in stores)


def _can_be_given(operand: object) -> bool:
    if isinstance(operand, Address):
        return not any("lane" in index.names() for index in operand.at)
    return isinstance(operand, (Mask, Immediate)) or _is_value(operand)


def _is_value(value: Any) -> bool:
    return isinstance(value, _VALUES) and all(isinstance(part, _VALUES) for part in parts_of(value))
