"""Where loops may end early: beyond a point they change nothing that anybody needs, as under a causal mask.

    t[i,j] = where(j <= i, s[i,j], -inf)
    m[i] = max[j] t[i,j]                      -inf changes no maximum: j ends at i + 1
    e[i,j] = exp(t[i,j] - m[i])               beyond it is 0, and nobody reads it: j ends at i + 1
    y[i,c] = sum[j] e[i,j] * v[j,c]           0 changes no sum: j ends at i + 1

Unknown numbers count as finite, and unknown divisors as not 0: 0 times an unknown number is 0, and -inf plus one is
-inf. So what a mask hides need not be read. Source: sparse iteration spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from tiling.dtypes.formats import FLOATS
from tiling.loops.index import Index, Operation, constant, variable
from tiling.loops.language import Inside
from tiling.loops.meaning.functions import neutral
from tiling.program.dtypes import met_in, summed_in
from tiling.program.functions import COMBINE
from tiling.program.indices import tests
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Reduce, Statement, parts
from tiling.program.lowering.group import groups

Limits = Mapping[tuple[str, str], Index]  # (array, dim) of a statement: where its loop over the dim may end


def limits(program: Sized) -> Limits:
    """Where loops of a program may end early. Each limit is an index over dims of loops around, and at least 1."""
    return _Limits(program).whole()


@dataclass
class _Limits:
    """beyond: for an array a dim, the limit on it, and the number that every element beyond the limit is."""

    program: Sized
    found: dict[tuple[str, str], Index] = field(default_factory=dict)
    beyond: dict[str, tuple[str, Index, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.statements = {statement.array: statement for statement in self.program.program.statements}
        self.dtypes = {array.name: array.dtype for array in (*self.program.inputs, *self.program.assigned)}
        self.ranges = self.program.ranges
        self.group = {s.array: group for group in groups(self.program) for s in group.statements}

    def whole(self) -> Limits:
        for statement in self.statements.values():
            self.follow(statement)
        for statement in reversed(self.statements.values()):
            self.narrow(statement)
        return self.found

    def follow(self, statement: Statement) -> None:
        """What is known beyond a limit: a reduction ends there, and elements are a number."""
        value = statement.value
        for dim in (*statement.dims, *statement.reduced):
            for limit in self.candidates(statement, dim):
                number = self.number(statement.expression, dim, limit)
                if number is None or not self.usable(statement, dim, limit):
                    continue
                if not isinstance(value, Reduce):
                    if self.stored(statement.array, number):
                        self.beyond.setdefault(statement.array, (dim, limit, number))
                elif dim in value.dims and value.kind in COMBINE and number == self.neutral(statement.array, value):
                    self.found.setdefault((statement.array, dim), limit)

    def stored(self, array: str, number: float) -> bool:
        """Whether an array holds a number exactly. Other arrays may round it or wrap around."""
        return number in (0, 1) or (abs(number) == inf and self.dtypes[array] in FLOATS)

    def neutral(self, array: str, reduce: Reduce) -> float:
        """The neutral number of a reduction, in the dtype of the accumulator."""
        dtype = summed_in(reduce.kind, met_in(reduce.value, self.dtypes, self.dtypes[array]))
        combine = COMBINE[reduce.kind]
        return neutral({"max": "or", "min": "and"}.get(combine, combine) if dtype == "bool" else combine, dtype)

    def narrow(self, statement: Statement) -> None:
        """Ends the loops of a row where those of all its readers end."""
        group = self.group[statement.array]
        if statement.array not in group.rows:
            return
        for dim in statement.dims:
            wanted = [self.wanted(statement, dim, *reader) for reader in self.readers(statement.array)]
            known = [limit for limit in wanted if limit is not None]
            if dim in group.dims or not known or len(known) < len(wanted):
                continue
            # All rows of a group are computed together, so their limits differ only by the place in the group.
            if all((limit - known[0]).is_constant and set(limit.names()) <= set(group.dims) for limit in known):
                self.found[statement.array, dim] = max(known, key=lambda limit: limit.offset)

    def readers(self, array: str) -> Iterator[tuple[Statement, Access]]:
        for reader in self.statements.values():
            yield from ((reader, access) for access in reader.accesses if access.array == array)

    def wanted(self, statement: Statement, dim: str, reader: Statement, access: Access) -> Index | None:
        """Where a reader's loop over a dim of an array ends."""
        at = access.at[statement.dims.index(dim)]
        limit = self.found.get((reader.array, at.name)) if isinstance(at, Dim) else None
        plain = {i.name: variable(own) for own, i in zip(statement.dims, access.at) if isinstance(i, Dim)}
        return limit.replaced(plain) if limit is not None and set(limit.names()) <= set(plain) else None

    def usable(self, statement: Statement, dim: str, limit: Index) -> bool:
        """Whether a limit is an index of the loops around, and leaves at least one point but not all."""
        dims = self.group[statement.array].dims
        around = (*dims, *(d for d in (*statement.dims, *statement.reduced) if d not in dims))
        if dim not in around or not {term for term, _ in limit.terms} <= set(around[: around.index(dim)]):
            return False
        least, _ = limit.within(self.ranges)
        return 1 <= least < self.program.extents[dim]

    def candidates(self, statement: Statement, dim: str) -> Iterator[Index]:
        """Limits on a dim that a value implies, by its tests or by the arrays that it reads."""
        for part in parts(statement.expression):
            if isinstance(part, Apply) and part.function == "where":
                yield from self.tested(part.arguments[0], dim)
            elif isinstance(part, Access) and (known := self.known(part, dim)):
                yield known[0]

    def tested(self, condition: Expression, dim: str) -> Iterator[Index]:
        """The limits on a dim beyond which a condition does not hold."""
        for test in tests(condition, self.ranges):
            if (limit := _limit(test, dim)) is not None:
                yield limit

    def known(self, access: Access, dim: str) -> tuple[Index, float] | None:
        """The limit on a dim beyond which all elements that are read are one known number."""
        if access.array not in self.beyond:
            return None
        own, limit, number = self.beyond[access.array]
        if access.outside not in (None, number):
            return None  # the dim may go on where the array has ended
        by = dict(zip(self.statements[access.array].dims, access.at))
        if by[own] != Dim(dim) or not all(isinstance(by[name], Dim) for name in limit.names()):
            return None
        return limit.replaced({name: variable(i.name) for name, i in by.items() if isinstance(i, Dim)}), number

    def number(self, value: Expression, dim: str, limit: Index) -> float | None:
        """The value of an expression wherever the dim is beyond the limit; None where that is not known."""
        if isinstance(value, Number):
            return value.value
        if isinstance(value, Access):
            known = self.known(value, dim)
            return known[1] if known and _at_most(known[0], limit) else None
        if not isinstance(value, Apply):
            return None
        if value.function == "where" and any(_at_most(end, limit) for end in self.tested(value.arguments[0], dim)):
            return self.number(value.arguments[2], dim, limit)
        return _folded(value.function, [self.number(argument, dim, limit) for argument in value.arguments])


def _limit(test: Inside, dim: str) -> Index | None:
    """Where a dim ends for which a test holds; None where no upper end is known."""
    rest = test.index.replaced({dim: constant(0)})
    if any(isinstance(term, Operation) and dim in Index(((term, 1),)).names() for term, _ in test.index.terms):
        return None
    match test.index.coefficient(dim):
        case -1 if test.low is not None:  # rest - dim >= low
            return rest - test.low + 1
        case 1 if test.high is not None:  # rest + dim < high
            return rest * -1 + test.high
    return None


def _at_most(limit: Index, other: Index) -> bool:
    """Whether a limit is never beyond another one."""
    apart = other - limit
    return apart.is_constant and apart.offset >= 0


def _folded(function: str, given: list[float | None]) -> float | None:
    """The number that a function gives; None where it depends on unknown numbers."""
    ends = [number for number in given if number is not None and abs(number) == inf]
    match function, given:
        case "exp", [number] if number == -inf:
            return 0
        case cast, [number] if cast in FLOATS and (number == 0 or ends):
            return number
        case "neg", [number] if number is not None:
            return -number
        case "add", [_, _] if len(ends) == 1:
            return ends[0]
        case "sub", [left, right] if len(ends) == 1:
            return left if left in ends else -ends[0]
        case "mul", [_, _] if 0 in given and not ends:
            return 0
        case "mul", [left, right] if ends and left is not None and right is not None and 0 not in given:
            return left * right
        case "div", [left, right] if left == 0 and right != 0 and not ends:
            return 0
    return None
