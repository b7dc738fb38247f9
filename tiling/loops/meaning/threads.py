"""What the threads of a loop can do at once, found once for each loop: many run thousands of times."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Block,
    Body,
    Choose,
    Comment,
    Decide,
    Define,
    Do,
    For,
    If,
    Immediate,
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
    View,
)
from tiling.loops.machines import Await, AwaitParity
from tiling.loops.meaning.nests import ALONE
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import walk

SIDE_BY_SIDE = ("warpgroup", "warp", "thread", "lane")  # kinds of loops over threads, or groups of them
_VALUES = (Apply, Choose, Load, Number, Position, Register)
_TOGETHER = (Alloc, Block, Comment, Decide, Define, Do, For, If, Let, Read, Set, StagedPart, Store, View)


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
            of_thread = statement.buffer.memory == "registers" and statement.at is None
            return of_thread and (statement.first is None or _is_value(statement.first))
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
