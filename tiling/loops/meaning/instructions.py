"""What an instruction does with its lanes, found once for each: many run thousands of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tiling.loops.index import LANE, ZERO
from tiling.loops.language import (
    Apply,
    For,
    Instruction,
    Load,
    Number,
    Store,
    Value,
)
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY, Given
from tiling.loops.meaning.slices import Sliced, sliced
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import walk


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
class InstructionLanes:
    """The lanes of an instruction, which stays alive here, so that no other one gets its identity.

    of_value: how many its value has; 0 where it gives none. slices: each loop of its meaning; empty where a statement
    is no loop. vectors: what it does with whole vectors, where that is all.
    """

    instruction: Instruction
    of_value: int
    slices: tuple[Sliced, ...] = ()
    vectors: Vectors | None = None


def lanes_of(instruction: Instruction) -> InstructionLanes:
    """What an instruction does with its lanes."""
    loops = [statement for statement in instruction.meaning if isinstance(statement, For)]
    slices = tuple(map(sliced, loops)) if len(loops) == len(instruction.meaning) else ()
    return InstructionLanes(instruction, _of_value(instruction), slices, _vectors_of(instruction))


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
