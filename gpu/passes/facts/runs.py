"""Runs: where neighbours of a tile lie side by side in an array too, as the channels of a tap of a window do.

    run_of(array, at, tests, column) -> Run | None

Pixels may have 3 channels and 7 x 7 taps, with element rsc of a row at [n, 2*h + rsc / 21 - 3, 2*w + rsc / 3 % 7 - 3,
rsc % 3]. Then a run has 21 elements: rsc / 21 tells runs apart, and rsc % 21 counts the elements of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpu.passes.facts.reading import flat
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, Operation, applied, constant, variable
from tiling.loops.language import Condition, Inside

RUN, BEFORE = "run", "before"  # the number of a run, and how many of its elements lie before the first neighbour
_COLUMN, _POINT = "column", "point"
_At = tuple[Index, ...]


@dataclass(frozen=True)
class Run:
    """Neighbours of a tile in an array, some of which are in the run with the number RUN.

    point: the number of the first neighbour among the points of all runs. length: how long a run is; 0 where all are
    one run, without a number. at: where the first neighbour lies, or would lie if the run were longer. tests: whether
    any of the run counts. The neighbours count that are at least each of `firsts`, and below each of `ends`.
    """

    point: Index
    length: int
    at: _At
    tests: tuple[Condition, ...]
    firsts: _At
    ends: _At

    def turns(self, count: int) -> int:
        """The most runs that so many neighbours are in."""
        return 1 + -(-(count - 1) // self.length) if self.length else 1


def run_of(array: Buffer, at: _At, tests: tuple[Condition, ...], column: Index) -> Run | None:
    """The runs that neighbours in a row of a tile are copied from. column: where the first one stands in the tile.

    None where they lie side by side in no such way, or where a test parts a run otherwise than at its ends.
    """
    ((term, _),) = column.terms
    at = tuple(_changed(index, lambda each: variable(_COLUMN) if each == term else None) for index in at)
    asked = [test for test in tests if isinstance(test, Inside)]
    indices = tuple(_changed(test.index, lambda each: variable(_COLUMN) if each == term else None) for test in asked)
    points = {one.left for index in (*at, *indices) for one in index.operations() if one.left.coefficient(_COLUMN) == 1}
    if len(points) > 1 or len(asked) < len(tests):
        return None
    point = points.pop() if points else variable(_COLUMN)
    of_point = {_COLUMN: column, _POINT: point.replaced({_COLUMN: column})}
    at, indices = _pointed(at, point), _pointed(indices, point)
    length = _length(flat(array, at))
    return None if length is None else _Runs(of_point, length).run(at, asked, indices)


def _changed(index: Index, change: Callable[[str | Operation], Index | None]) -> Index:
    """The index with `change` of each term, also of those inside others; where that is None, it is kept."""
    found = constant(index.offset)
    for term, coefficient in index.terms:
        value = change(term)
        if value is None and isinstance(term, Operation):
            value = applied(term.operation, _changed(term.left, change), _changed(term.right, change))
        found = found + (variable(term) if value is None else value) * coefficient  # type: ignore[arg-type]
    return found


def _pointed(indices: Iterable[Index], point: Index) -> _At:
    """The indices, whose operations on a point are on a variable."""

    def change(term: str | Operation) -> Index | None:
        if isinstance(term, Operation) and term.left == point:
            return applied(term.operation, variable(_POINT), term.right)
        return None

    return tuple(_changed(index, change) for index in indices)


def _digit(term: str | Operation) -> tuple[int, int] | None:
    """by and below of a term point / by % below, where 0 stands for no remainder; None for any other term."""
    if isinstance(term, str) or not term.right.is_constant or term.operation not in "/%":
        return None
    if term.left == variable(_POINT):
        return (term.right.offset, 0) if term.operation == "/" else (1, term.right.offset)
    ((inner, one),) = term.left.terms if len(term.left.terms) == 1 and not term.left.offset else ((None, 0),)
    digit = _digit(inner) if one == 1 and inner is not None else None
    return (digit[0], term.right.offset) if digit and not digit[1] and term.operation == "%" else None


def _moves(index: Index) -> bool:
    """Whether an index depends on the column."""
    return not {_COLUMN, _POINT}.isdisjoint(index.names())


def _length(place: Index) -> int | None:
    """How many elements a run has by a place in an array; 0 where all are one run, None where there are none."""
    alone = place.coefficient(_COLUMN) + place.coefficient(_POINT)
    digits = {_digit(t): c for t, c in place.terms if isinstance(t, Operation) and _moves(Index(((t, 1),)))}
    if not digits:
        return 0 if alone == 1 else None
    length = 1
    while found := next((d for d, c in digits.items() if d and d[1] and d[0] == length == c), None):
        length *= found[1]  # of the channels of a tap, then of a row of taps
        del digits[found]
    return length if not alone and length > 1 and all(d and d[0] % length == 0 for d in digits) else None


@dataclass(frozen=True)
class _Runs:
    """Runs of a length; 0: all are one. of_point: the column and the point of the first neighbour."""

    of_point: dict[str, Index]
    length: int

    def run(self, at: _At, tests: list[Inside], indices: _At) -> Run | None:
        """The run of a place. indices: those of the tests, by column and point."""
        found = [self.tested(test, index) for test, index in zip(tests, indices)]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        begin = variable(BEFORE) * -1 if self.length else ZERO
        ends = ((begin + self.length),) * (self.length > 0)
        whole = tuple(condition for condition, _, _ in known if condition is not None)
        firsts = (begin, *(first for _, first, _ in known if first is not None))
        ends += tuple(end for _, _, end in known if end is not None)
        return Run(self.of_point[_POINT], self.length, tuple(map(self.placed, at)), whole, firsts, ends)

    def tested(self, test: Inside, index: Index) -> tuple[Condition | None, Index | None, Index | None] | None:
        """What a test asks of a whole run, and from and to which neighbour it holds."""
        moving = {_digit(term): term for term, _ in index.terms if _moves(Index(((term, 1),)))}
        inner = [digit for digit in moving if digit is None or not self.tells_apart(digit)]
        if not inner:
            return Inside(self.placed(index), test.low, test.high), None, None
        (digit, term), *others = [(digit, term) for digit, term in moving.items() if digit in inner]
        if others or dict(index.terms)[term] != 1 or (digit is None and not isinstance(term, str)):
            return None
        if digit is None:  # the point itself, or the column
            here, by, before = index.replaced(self.of_point), 1, ZERO
            runs, left = divmod(test.high or 0, self.length) if self.length else (0, 0)
            if runs and not left and test.low is None and here == self.of_point[_POINT]:
                return Inside(variable(RUN), None, runs), None, None
        else:
            by, below = digit
            if by * below != self.length:
                return None
            here, before = self.placed(index - Index(((term, 1),))), variable(BEFORE)
        low, high = (None if end is None else (here * -1 + end) * by - before for end in (test.low, test.high))
        return None, low, high

    def tells_apart(self, digit: tuple[int, int]) -> bool:
        """Whether a part of a point is the same in a whole run."""
        return self.length > 0 and digit[0] % self.length == 0

    def placed(self, index: Index) -> Index:
        """An index at the first neighbour, or where it would lie if it were in the run."""

        def change(term: str | Operation) -> Index | None:
            digit = _digit(term)
            if digit is None or not self.length:
                return None
            if not self.tells_apart(digit):
                return variable(BEFORE) if digit[0] == 1 else ZERO
            run = variable(RUN) // (digit[0] // self.length)
            return run % digit[1] if digit[1] else run

        return _changed(index, change).replaced(self.of_point)
