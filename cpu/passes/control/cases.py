"""What a test of an index becomes where one of its variables has a value: another test, True, or False.

cases(0 <= w + w_u + s_u - 1 < 12, "w", (0, 3, 6, 9), {"w_u": 0..3, "s_u": 0..3}) ->
    w = 0: w_u + s_u - 1 >= 0        w in 3, 6: True        w = 9: w_u + s_u - 1 < 3
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from tiling.loops.index import Index, variable
from tiling.loops.language import Body, For, Inside
from tiling.loops.walk import walk


@dataclass(frozen=True)
class Case:
    """What a test becomes at the positions first … last: another test, True, or False."""

    first: int
    last: int
    test: Inside | bool


def cases(test: Inside, name: str, positions: Iterable[int], values: Mapping[str, range]) -> list[Case]:
    """What `test` becomes at each position of variable `name`, neighbours with the same test together.

    values: the values of the other variables of the test.
    """
    step = test.index.coefficient(name)
    others = test.index - variable(name) * step
    reached = _reached(others, values)
    found = [(at, _at(test, others, step * at, reached)) for at in positions]
    result = []
    for became, group in groupby(found, key=lambda pair: pair[1]):
        members = [at for at, _ in group]
        result.append(Case(members[0], members[-1], became))
    return result


def _reached(index: Index, values: Mapping[str, range]) -> list[int]:
    """Every value of an index, in order."""
    found = {index.offset}
    for term, coefficient in index.terms:
        assert isinstance(term, str)
        found = {value + coefficient * count for value in found for count in values[term]}
    return sorted(found)


def _at(test: Inside, others: Index, shift: int, reached: list[int]) -> Inside | bool:
    """The test at one position. Tests that hold for the same values become the same test."""
    low = None if test.low is None else test.low - shift
    high = None if test.high is None else test.high - shift
    holds = [value for value in reached if (low is None or low <= value) and (high is None or value < high)]
    if not holds:
        return False
    first, last = holds[0] == reached[0], holds[-1] == reached[-1]
    return True if first and last else Inside(others, None if first else holds[0], None if last else holds[-1] + 1)


def values_in(body: Body) -> dict[str, range]:
    """The values of the variables of the loops in a block, where these are known."""
    loops = (s for s in walk(body) if isinstance(s, For) and s.start.is_constant and s.stop.is_constant)
    return {loop.name: range(loop.start.offset, loop.stop.offset, loop.step) for loop in loops}
