"""What instructions do with their lanes, found once for each: many run thousands of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiling.loops.index import LANE, ZERO, Index
from tiling.loops.language import Apply, For, Instruction, Load, Number, Store, Value
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY, Given
from tiling.loops.meaning.slices import Sliced, sliced
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import walk

Vectors = Mapping[str, np.ndarray]  # the operands of an instruction, by name


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of an instruction, which stays alive here, so that no other one gets its identity.

    of_value: how many its value has; 0 where it gives none. together: the value of all lanes at once from operands
    that are vectors, where each lane is computed from the same lane of them or from their first. It gives None for
    vectors of other lengths. It is None itself for any other meaning. slices: each loop of such a meaning; empty where
    a statement is no loop.
    """

    instruction: Instruction
    of_value: int
    together: Callable[[Vectors], np.ndarray | None] | None
    slices: tuple[Sliced, ...] = ()


def lanes_of(instruction: Instruction) -> Lanes:
    """What an instruction does with its lanes."""
    loops = [statement for statement in instruction.meaning if isinstance(statement, For)]
    slices = tuple(map(sliced, loops)) if len(loops) == len(instruction.meaning) else ()
    return Lanes(instruction, _of_value(instruction), _together(instruction), slices)


def _of_value(instruction: Instruction) -> int:
    for loop in instruction.meaning:
        if isinstance(loop, For) and any(isinstance(s, Store) and s.buffer == "out" for s in walk(loop.body)):
            return loop.stop.offset
    return 0


def _together(instruction: Instruction) -> Callable[[Vectors], np.ndarray | None] | None:
    match instruction.meaning:
        case (For("lane", start, Index((), lanes), 1, (Store("out", at, value),), "vector"),):
            compute = _of_vectors(value)
        case _:
            return None
    if compute is None or start != ZERO or at != (LANE,):
        return None
    whole = {part.buffer for part in parts_of(value) if isinstance(part, Load) and part.at == (LANE,)}

    def together(given: Vectors) -> np.ndarray | None:
        if any([len(given[name]) != lanes for name in whole]):
            return None
        out = np.empty(lanes, NUMPY[instruction.dtype] if instruction.dtype else given["p"].dtype)
        out[:] = compute(given)
        return out

    return together


def _of_vectors(value: Value) -> Callable[[Vectors], Given] | None:
    """A value as a function of whole vectors; None where lanes read others than their own and the first."""
    if isinstance(value, Number):
        number: Any = NUMPY[value.dtype](value.value)
        return lambda given: number
    if isinstance(value, Load) and value.at == (LANE,):
        return lambda given: given[value.buffer]
    if isinstance(value, Load) and value.at == (ZERO,):
        return lambda given: given[value.buffer][0]
    if isinstance(value, Apply):
        function, arguments = FUNCTIONS[value.function], [_of_vectors(argument) for argument in value.arguments]
        known = [argument for argument in arguments if argument is not None]
        return None if len(known) < len(arguments) else lambda given: function(*[each(given) for each in known])
    return None
