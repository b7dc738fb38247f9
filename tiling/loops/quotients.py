"""Quotients and remainders of what is never negative: those that machines round as the loop language does, downwards.

    (h - 1) / 2     h from 0 on         (h + 1) / 2 - 1
    (a - 3) / 2     a is any number     max(0, a - 3) / 2 - (max(0, 3 - a) + 1) / 2

C, CUDA and machines round towards zero. So a numerator that may be negative is moved up by multiples of the divisor, or
where no number bounds it from below, both signs are divided apart. Nobody who prints an index has to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tiling.loops.index import ZERO, Index, Part, Range, applied, constant, variable
from tiling.loops.language import (
    THREAD,
    THREADS,
    Body,
    Call,
    Condition,
    Define,
    For,
    If,
    Inside,
    Kernel,
    Statement,
)
from tiling.loops.rewrite import with_own_indices
from tiling.loops.walk import with_blocks

_FAR = 1 << 62
_LEAST, _MOST = -_FAR, _FAR  # what a variable may be of which nothing is known


class _Ranges(dict[str, Range]):
    """The values of variables; any, of one that is not there."""

    def __missing__(self, name: str) -> Range:
        return _LEAST, _MOST


def of_no_negatives(kernel: Kernel) -> Kernel:
    """The kernel with every quotient and remainder of numbers that are not negative."""
    known = {**kernel.ranges, THREAD: (0, _MOST), THREADS: (1, _MOST), "lane": (0, _MOST)}
    walk = _Walk()
    body = walk.body(kernel.body, _Ranges(known))
    functions = []
    for function in reversed(kernel.functions):  # a function stands before those that call it
        given = dict(zip(function.numbers, walk.calls.get(function.name, ())))
        functions.append(replace(function, body=walk.body(function.body, _Ranges(known | given))))
    return replace(kernel, body=body, functions=tuple(reversed(functions)))


class _Walk:
    """Walks statements. calls: with which numbers they call each function."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Range]] = {}

    def body(self, body: Body, ranges: _Ranges) -> Body:
        """A block. Its own names are known until its end."""
        here = _Ranges(ranges)
        return tuple([self.statement(statement, here) for statement in body])

    def statement(self, statement: Statement, here: _Ranges) -> Statement:
        if divides(statement):
            statement = with_own_indices(statement, lambda index: from_zero(index, here))
        if isinstance(statement, Define):
            here[statement.name] = _range(statement.index, here)
        elif isinstance(statement, For):
            first, last = _range(statement.start, here)[0], _range(statement.stop, here)[1] - 1
            inner = _Ranges({**here, statement.name: (first, max(first, last))})
            return replace(statement, body=self.body(statement.body, inner))
        elif isinstance(statement, If):
            inner = _Ranges(here)
            for condition in statement.conditions:
                _narrow(condition, inner)
            return If(statement.conditions, self.body(statement.body, inner), self.body(statement.otherwise, here))
        elif isinstance(statement, Call):
            given = [_range(number, here) for number in statement.numbers]
            known = self.calls.get(statement.function, given)
            self.calls[statement.function] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(given, known)]
        return with_blocks(statement, lambda block: self.body(block, here))


def divides(statement: Statement) -> bool:
    """Whether an index of the statement itself has a quotient or a remainder."""
    found = False

    def look(index: Index) -> Index:
        nonlocal found
        found = found or any(part.operation in ("/", "%") for part in _parts(index))
        return index

    with_own_indices(statement, look)
    return found


def _parts(index: Index) -> Iterator[Part]:
    for term, _ in index.terms:
        if isinstance(term, Part):
            yield term
            yield from _parts(term.left)
            yield from _parts(term.right)


def from_zero(index: Index, ranges: Mapping[str, Range]) -> Index:
    """The same index, where nothing below 0 is divided. ranges: of every variable."""
    if all(isinstance(term, str) for term, _ in index.terms):
        return index
    found = constant(index.offset)
    for term, coefficient in index.terms:
        if isinstance(term, str):
            found = found + variable(term) * coefficient
        else:
            left, right = from_zero(term.left, ranges), from_zero(term.right, ranges)
            found = found + _part(term.operation, left, right, ranges) * coefficient
    return found


def _part(operation: str, left: Index, right: Index, ranges: Mapping[str, Range]) -> Index:
    """An operation on two indices of which the same holds."""
    low = _range(left, ranges)[0] if operation in ("/", "%") else 0
    if low >= 0:
        return applied(operation, left, right)
    if right.is_constant and low > _LEAST // 2:
        whole = -(low // right.offset)
        moved = applied(operation, left + whole * right.offset, right)
        return moved - whole if operation == "/" else moved
    above, below = applied("max", ZERO, left), applied("max", ZERO, left * -1)
    quotient = applied("/", above, right) - applied("/", below + (right - 1), right)
    return quotient if operation == "/" else left - applied("*", quotient, right)


def _range(index: Index, ranges: Mapping[str, Range]) -> Range:
    """The values that an index may have, no farther than `_LEAST` and `_MOST`."""
    low, high = index.within(ranges)
    return max(low, _LEAST), min(high, _MOST)


def _narrow(condition: Condition, ranges: _Ranges) -> None:
    """Takes a variable to lie where a condition says that it does."""
    if not isinstance(condition, Inside) or len(condition.index.terms) != 1:
        return
    ((name, coefficient),) = condition.index.terms
    if isinstance(name, str) and coefficient == 1:
        low, high = ranges[name]
        if condition.low is not None:
            low = max(low, condition.low - condition.index.offset)
        if condition.high is not None:
            high = min(high, condition.high - 1 - condition.index.offset)
        ranges[name] = low, max(low, high)
