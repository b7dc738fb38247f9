"""Moves numerators to 0 or above, where C rounds quotients as the loop language does: downwards.

    r_begin = max(0, (3 - h) / 2)    ->    r_begin = max(0, (55 - h) / 2 - 26)

`tiling.loops.quotients` moves them. This pass finds the range of each variable from the loops, tests and calls around.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.index import Index, Range
from tiling.loops.kernel import Kernel
from tiling.loops.language import THREAD, THREADS, Body, Call, Condition, Define, For, If, Inside, Statement
from tiling.loops.quotients import MOST, from_zero, values_of
from tiling.loops.rewrite import with_own_indices
from tiling.loops.walk import with_blocks


class _Ranges(dict[str, Range]):
    """The range of each variable. A variable that is missing may have any value."""

    def __missing__(self, name: str) -> Range:
        return -MOST, MOST


def divide_from_zero(kernel: Kernel) -> Kernel:
    """The kernel with every quotient and remainder of numbers that are not negative."""
    known = {**kernel.ranges, THREAD: (0, MOST), THREADS: (1, MOST), "lane": (0, MOST)}
    walk = _Walk()
    body = walk.body(kernel.body, _Ranges(known))
    functions = []
    for function in reversed(kernel.functions):  # a function stands before those that call it
        given = dict(zip(function.numbers, walk.calls.get(function.name, ())))
        functions.append(replace(function, body=walk.body(function.body, _Ranges(known | given))))
    return replace(kernel, body=body, functions=tuple(reversed(functions)))


class _Walk:
    """Walks statements. calls: the ranges of the numbers with which each function is called."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Range]] = {}

    def body(self, body: Body, ranges: _Ranges) -> Body:
        """A block. Its own names are known until its end."""
        here = _Ranges(ranges)
        return tuple([self.statement(statement, here) for statement in body])

    def statement(self, statement: Statement, here: _Ranges) -> Statement:
        """A statement with its quotients moved. What it says of a variable goes to `here`."""
        statement = with_own_indices(statement, lambda index: from_zero(index, here) if _divides(index) else index)
        if isinstance(statement, Define):
            here[statement.name] = values_of(statement.index, here)
        elif isinstance(statement, For):
            first, last = values_of(statement.start, here)[0], values_of(statement.stop, here)[1] - 1
            inner = _Ranges({**here, statement.name: (first, max(first, last))})
            return with_blocks(statement, lambda block: self.body(block, inner))
        elif isinstance(statement, If):
            inner = _Ranges(here)
            for condition in statement.conditions:
                _narrow(condition, inner)
            return If(statement.conditions, self.body(statement.body, inner), self.body(statement.otherwise, here))
        elif isinstance(statement, Call):
            given = [values_of(number, here) for number in statement.numbers]
            known = self.calls.get(statement.function, given)
            self.calls[statement.function] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(given, known)]
        return with_blocks(statement, lambda block: self.body(block, here))


def _divides(index: Index) -> bool:
    """Whether an index has a quotient or a remainder."""
    return any(one.operation in ("/", "%") for one in index.operations())


def _narrow(condition: Condition, ranges: _Ranges) -> None:
    """Narrows the range of a variable by a condition that holds."""
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
