"""Cuts a loop where a choice of its values changes, as in a concatenation.

    for j in 0..218:          for j in 0..64:
      y[j] = …          ->      y[j] = a[j]
                              for j in 0..154:
                                y[j + 64] = b[j]

So no vector spans both parts, and no test is left. Source: index-set splitting of compilers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from tiling.loops.conditions import with_conditions
from tiling.loops.index import ZERO, Range, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Apply,
    Body,
    Choose,
    Condition,
    For,
    Inside,
    Number,
    Operand,
    Position,
    Statement,
    Value,
)
from tiling.loops.rewrite import operands_of, parts_of, substituted, with_operands, with_values
from tiling.loops.walk import walk, with_blocks

# A loop becomes at most so many loops, each with a copy of its body.
MOST_PARTS = 64
# The positions, counted from the compared number, at which the result of a comparison changes.
_CUTS = {"lt": (0,), "ge": (0,), "le": (1,), "gt": (1,), "eq": (0, 1), "ne": (0, 1)}
_HOLDS = {
    "lt": lambda low, high, number: _known(high < number, low >= number),
    "ge": lambda low, high, number: _known(low >= number, high < number),
    "le": lambda low, high, number: _known(high <= number, low > number),
    "gt": lambda low, high, number: _known(low > number, high <= number),
    "eq": lambda low, high, number: _known(low == high == number, high < number or low > number),
    "ne": lambda low, high, number: _known(high < number or low > number, low == high == number),
}
_TRUE, _FALSE = Number(1, "bool"), Number(0, "bool")


def split_ranges(kernel: Kernel) -> Kernel:
    """The kernel with each loop cut where it chooses by comparing its position with a number."""
    return replace(kernel, body=_split(kernel.body, kernel.ranges))


def _split(body: Body, ranges: Mapping[str, Range]) -> Body:
    """The block with its loops cut where a choice changes. ranges: those of the loops' variables around it."""
    found: list[Statement] = []
    for statement in body:
        if not isinstance(statement, For):
            found.append(with_blocks(statement, lambda block: _split(block, ranges)))
            continue
        cuts = _cuts(statement)
        bounds = [statement.start.offset, *cuts, statement.stop.offset] if cuts else []
        for low, high in pairwise(bounds):
            here = {**ranges, statement.name: (0, high - low - 1)}
            moved = substituted(statement.body, {statement.name: variable(statement.name) + low})
            inner = _split(settled(moved, here), here)
            found.append(replace(statement, start=ZERO, stop=constant(high - low), body=inner))
        if not cuts:
            first, last = statement.start.within(ranges)[0], statement.stop.within(ranges)[1] - 1
            here = {**ranges, statement.name: (first, max(first, last))}
            found.append(replace(statement, body=_split(statement.body, here)))
    return tuple(found)


def _cuts(loop: For) -> list[int]:
    """The positions of a loop at which a choice in it changes, in order; none where there are too many."""
    if loop.step != 1 or loop.limit is not None or not (loop.start.is_constant and loop.stop.is_constant):
        return []
    found: set[int] = set()
    for statement in walk(loop.body):
        for operand in operands_of(statement):
            for part in parts_of(operand):
                if isinstance(part, Apply) and part.function == "where":
                    found.update(_changes(part.arguments[0], loop.name))
    inside = sorted(cut for cut in found if loop.start.offset < cut < loop.stop.offset)
    return inside if len(inside) < MOST_PARTS else []


def _changes(condition: Value, name: str) -> Iterator[int]:
    """The positions of a loop at which the comparisons in a condition change."""
    for part in parts_of(condition):
        compared = _compared(part)
        if compared is None:
            continue
        function, position, number = compared
        if position.index.coefficient(name) == 1 and len(position.index.terms) == 1:
            yield from (number - position.index.offset + after for after in _CUTS[function])


def _compared(part: Operand) -> tuple[str, Position, int] | None:
    """A comparison of a position with a whole number."""
    if not isinstance(part, Apply) or part.function not in _CUTS:
        return None
    left, right = part.arguments
    if isinstance(left, Position) and isinstance(right, Number) and float(right.value).is_integer():
        return part.function, left, int(right.value)
    return None


def settled(body: Body, ranges: Mapping[str, Range]) -> Body:
    """The block without choices that are decided where variables have these values."""

    def condition(given: Condition) -> Condition | bool:
        holds = _inside(given, ranges)
        return given if holds is None else holds

    def value(part: Operand) -> Operand | None:
        if isinstance(part, Choose):
            known = [_inside(given, ranges) for given in part.conditions]
            if False in known:
                return with_value(part.otherwise)
            left = tuple(given for given, holds in zip(part.conditions, known) if not holds)
            return Choose(left, with_value(part.value), with_value(part.otherwise)) if left else with_value(part.value)
        if not isinstance(part, Apply):
            return None
        compared = _compared(part)
        if compared is not None:
            function, position, number = compared
            least_most = _range(position, ranges)
            holds = _HOLDS[function](*least_most, number) if least_most else None
            return None if holds is None else (_TRUE if holds else _FALSE)
        if part.function not in ("where", "and", "or"):
            return None
        first, *rest = map(with_value, part.arguments)
        if part.function == "where":
            return rest[0] if first == _TRUE else rest[1] if first == _FALSE else Apply("where", (first, *rest))
        decides, leaves = (_FALSE, _TRUE) if part.function == "and" else (_TRUE, _FALSE)
        if decides in (first, *rest):
            return decides
        return rest[0] if first == leaves else first if rest[0] == leaves else Apply(part.function, (first, *rest))

    def with_value(part: Value) -> Value:
        return with_operands(part, value)

    return with_conditions(tuple(with_values(statement, value) for statement in body), condition)


def _inside(condition: Condition, ranges: Mapping[str, Range]) -> bool | None:
    """Whether a condition holds for all values, or for none."""
    if not isinstance(condition, Inside) or not set(condition.index.names()) <= set(ranges):
        return None
    least, most = condition.index.within(ranges)
    low, high = condition.low, condition.high
    if (low is None or least >= low) and (high is None or most < high):
        return True
    return False if (low is not None and most < low) or (high is not None and least >= high) else None


def _range(position: Position, ranges: Mapping[str, Range]) -> Range | None:
    return position.index.within(ranges) if set(position.index.names()) <= set(ranges) else None


def _known(always: bool, never: bool) -> bool | None:
    return True if always else False if never else None
