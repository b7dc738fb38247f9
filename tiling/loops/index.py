"""Index expressions: whole numbers over loop variables, such as `2*h + r - 1` or `worker / 4 % 2`.

An index is a sum of terms and a number. A term is a variable or an `Operation`, such as a quotient. Equal
sums compare equal, whatever the order of their terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Range = tuple[int, int]  # the least and the largest value, both included


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on indices: "*", "/" or "%" by a positive number (rounded down), "min", "max", or "^".

    "^" is the exclusive or of the bits. Both of its operands are at least 0.
    """

    operation: str
    left: Index
    right: Index

    def names(self) -> Iterator[str]:
        """The variables that occur."""
        yield from self.left.names()
        yield from self.right.names()

    def __str__(self) -> str:
        if self.operation in ("min", "max"):
            return f"{self.operation}({self.left}, {self.right})"
        if self.operation == "^":
            return f"({self.left} ^ {self.right})"
        # / and % of C associate to the left, so a quotient needs no brackets before %.
        left, right = str(self.left), str(self.right)
        if self.left.is_sum or left.startswith("-"):
            left = f"({left})"
        return f"{left} {self.operation} {f'({right})' if ' ' in right or '*' in right else right}"


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Σ coefficient·term + offset. The terms keep the order in which they were added, for readers."""

    terms: tuple[tuple[str | Operation, int], ...]
    offset: int = 0

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.terms, self.offset + other) if other else self
        if not other.terms:
            return self + other.offset
        if not self.terms:
            return other + self.offset
        sums = dict(self.terms)
        for term, coefficient in other.terms:
            sums[term] = sums.get(term, 0) + coefficient
        return Index(tuple((term, c) for term, c in sums.items() if c), self.offset + other.offset)

    def __sub__(self, other: Index | int) -> Index:
        return self + other * -1

    def __mul__(self, factor: int) -> Index:
        if factor == 1:
            return self
        terms = tuple((term, c * factor) for term, c in self.terms) if factor else ()
        return Index(terms, self.offset * factor)

    def __floordiv__(self, by: int) -> Index:
        if all(c % by == 0 for _, c in self.terms) and self.offset % by == 0:
            return Index(tuple((term, c // by) for term, c in self.terms), self.offset // by)
        return Index(((Operation("/", self, constant(by)), 1),)) if self.terms else constant(self.offset // by)

    def __mod__(self, by: int) -> Index:
        if all(c % by == 0 for _, c in self.terms):
            return constant(self.offset % by)
        return Index(((Operation("%", self, constant(by)), 1),))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Index):
            return NotImplemented
        return self.offset == other.offset and (self.terms == other.terms or dict(self.terms) == dict(other.terms))

    def __hash__(self) -> int:
        return hash((frozenset(self.terms), self.offset))

    @property
    def is_constant(self) -> bool:
        """Whether the index is a number."""
        return not self.terms

    @property
    def is_sum(self) -> bool:
        """Whether the index is a sum of several terms, or of a term and a number."""
        return len(self.terms) + bool(self.offset) > 1

    def coefficient(self, name: str) -> int:
        """The coefficient of a variable, 0 where the index is no sum with it."""
        return next((c for term, c in self.terms if term == name), 0)

    def names(self) -> Iterator[str]:
        """The variables that occur, also inside operations."""
        for term, _ in self.terms:
            if isinstance(term, str):
                yield term
            else:
                yield from term.names()

    def operations(self) -> Iterator[Operation]:
        """The operations in the index, also inside others."""
        for term, _ in self.terms:
            if isinstance(term, Operation):
                yield term
                yield from term.left.operations()
                yield from term.right.operations()

    def has(self, name: str) -> bool:
        """Whether a variable occurs, also inside operations."""
        for term, _ in self.terms:  # asked of every access that runs: a generator would take four times as long
            if term == name or (not isinstance(term, str) and (term.left.has(name) or term.right.has(name))):
                return True
        return False

    def at(self, values: Mapping[str, int]) -> int:
        """The value where variables have these values. A vector may be one of these values itself: do not change it."""
        total: int | None = self.offset or None
        for term, coefficient in self.terms:
            value = values[term] if isinstance(term, str) else _value_of(term, values)
            if coefficient != 1:
                value = coefficient * value
            # No `+=`: the values may be vectors of other shapes. Nor + 0, which takes a vector as long as any sum.
            total = value if total is None else total + value
        return 0 if total is None else total

    def replaced(self, by: Mapping[str, Index]) -> Index:
        """The index with other indices in place of variables."""
        for term, _ in self.terms:  # asked of every index of a block: `any` of a generator takes twice as long
            if not isinstance(term, str) or term in by:
                break
        else:
            return self
        result = constant(self.offset)
        for term, coefficient in self.terms:
            if isinstance(term, str):
                value = by[term] if term in by else Index(((term, 1),))
            else:
                value = applied(term.operation, term.left.replaced(by), term.right.replaced(by))
            result = result + value * coefficient
        return result

    def within(self, ranges: Mapping[str, Range]) -> Range:
        """The least and the largest value that the index may have. A variable that is not in `ranges` is KeyError."""
        low = high = self.offset
        for term, coefficient in self.terms:
            least, most = ranges[term] if isinstance(term, str) else _range_of(term, ranges)
            low += coefficient * (least if coefficient > 0 else most)
            high += coefficient * (most if coefficient > 0 else least)
        return low, high

    def __str__(self) -> str:
        text = ""
        for term, c in self.terms:
            sign, size = ("-" if c < 0 else "+"), abs(c)
            # A sign binds more tightly than a quotient: -(h / 2), where -h / 2 would round -h.
            quotient = isinstance(term, Operation) and term.operation in ("/", "%")
            apart = quotient and (size != 1 or (c < 0 and not text))
            name = f"({term})" if apart else str(term)
            one = name if size == 1 else f"{size}*{name}"
            text += f" {sign} {one}" if text else (f"-{one}" if c < 0 else one)
        if not text:
            return str(self.offset)
        if text.startswith("-") and self.offset > 0:  # 1 - h rather than -h + 1
            return f"{self.offset} - {text[1:]}"
        return f"{text} {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else text


def constant(value: int) -> Index:
    """The index that is a number."""
    return _SMALL[value] if 0 <= value < len(_SMALL) else Index((), value)


def variable(name: str) -> Index:
    """The index that is a variable."""
    return Index(((name, 1),))


_SMALL = tuple(Index((), value) for value in range(64))  # most numbers in a kernel are among these

ZERO, LANE = constant(0), variable("lane")  # `lane` counts the lanes of a vector

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "^": lambda left, right: left ^ right,
    "min": min,
    "max": max,
}


def applied(operation: str, left: Index, right: Index) -> Index:
    """The index that is one operation on two others; a number where both are."""
    if left.is_constant and right.is_constant:
        return constant(_OPERATIONS[operation](left.offset, right.offset))
    if operation == "*":
        if left.is_constant or right.is_constant:
            return right * left.offset if left.is_constant else left * right.offset
        left, right = sorted((left, right), key=str)  # equal products compare equal
    if operation == "/" and right.is_constant:
        return left // right.offset
    if operation == "%" and right.is_constant:
        return left % right.offset
    if operation == "^" and ZERO in (left, right):
        return left if right == ZERO else right
    return Index(((Operation(operation, left, right), 1),))


def _value_of(one: Operation, values: Mapping[str, int]) -> int:
    right = one.right
    return _OPERATIONS[one.operation](one.left.at(values), right.at(values) if right.terms else right.offset)


def _range_of(one: Operation, ranges: Mapping[str, Range]) -> Range:
    (low, high), (least, most) = one.left.within(ranges), one.right.within(ranges)
    if one.operation in "/%":  # by a positive number, even where nothing is known of it
        least, most = max(least, 1), max(most, 1)
    if one.operation in "*/":
        ends = [_OPERATIONS[one.operation](left, right) for left in (low, high) for right in (least, most)]
        return min(ends), max(ends)
    if one.operation == "%":
        inside = least == most and low // least == high // least
        return (low % least, high % least) if inside else (0, most - 1)
    if one.operation == "^":
        return 0, (1 << max(high, most).bit_length()) - 1
    operation = _OPERATIONS[one.operation]
    return operation(low, least), operation(high, most)
