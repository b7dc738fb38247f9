"""What statements read and write, and how an access moves with a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tiling.dtypes.formats import FORMATS
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import most_trips
from tiling.loops.index import Index, Range, applied, constant
from tiling.loops.language import (
    Address,
    Alloc,
    Body,
    Choose,
    Define,
    For,
    If,
    Inside,
    Load,
    Position,
    Read,
    Statement,
    Store,
)
from tiling.loops.machines import MBARRIER, Await, AwaitParity, Copy, CopyBox, Take
from tiling.loops.quotients import joined
from tiling.loops.rewrite import operands_of, parts_of, places
from tiling.loops.walk import inside, walk

WIDTH = {name: each.bytes for name, each in FORMATS.items()} | {MBARRIER: 8}  # bytes of a number


def loads_of(statement: Statement) -> Iterator[Load]:
    """The elements that a statement itself reads."""
    for operand in operands_of(statement):
        yield from (part for part in parts_of(operand) if isinstance(part, Load))


def touched(body: Body) -> set[str]:
    """The names of all that statements use: buffers and variables."""
    found: set[str] = {place.buffer for place in places(body)}
    for statement in walk(body):
        for index in indices_of(statement):
            found.update(index.names())
        if isinstance(statement, Alloc):
            found.add(statement.buffer.name)
        elif isinstance(statement, (Read, Define, Take)):
            found.add(statement.name)
    return found


def indices_of(statement: Statement) -> Iterator[Index]:
    """Every index of a statement itself, also in its values and conditions."""
    if isinstance(statement, Store):
        yield from statement.at
    elif isinstance(statement, Define):
        yield statement.index
    elif isinstance(statement, For):
        yield from (statement.start, statement.stop)
    elif isinstance(statement, Await):
        yield statement.phase
    elif isinstance(statement, AwaitParity):
        yield statement.parity
    elif isinstance(statement, CopyBox):
        yield from (each.tap for each in statement.windows)
    elif isinstance(statement, (Copy, If)):
        yield from (condition.index for condition in statement.conditions if isinstance(condition, Inside))
    for operand in operands_of(statement):
        for part in parts_of(operand):
            if isinstance(part, (Load, Address)):
                yield from part.at
            elif isinstance(part, Position):
                yield part.index
            elif isinstance(part, Choose):
                yield from (c.index for c in part.conditions if isinstance(c, Inside))


def flat(buffer: Buffer, at: tuple[Index, ...]) -> Index:
    """How many elements of a buffer lie before a place."""
    found = constant(0)
    for index, step in zip(at, buffer.steps):
        found = found + applied("*", index, step)
    return joined(found)


def moves_by(index: Index, name: str) -> int | None:
    """How far an index moves with a variable; None where that is not always the same."""
    if any(not isinstance(term, str) and name in term.names() for term, _ in index.terms):
        return None
    return index.coefficient(name)


def most_points(body: Body, ranges: Mapping[str, Range]) -> int:
    """How often the innermost statements of a block run at most. ranges: the kernel's numbers, each with its bounds.

    Where a loop begins or ends at variables, it counts with the points that it has at their first values.
    """
    most = 1
    for statement in body:
        trips = 1
        if isinstance(statement, For):
            names = {*statement.start.names(), *statement.stop.names()}
            trips = most_trips(statement, {**{name: (0, 0) for name in names}, **ranges})
        most = max([most, *(trips * most_points(block, ranges) for block in inside(statement))])
    return most


def elements(buffer: Buffer) -> int:
    """How many elements a buffer has at most."""
    return prod(buffer.shape)
