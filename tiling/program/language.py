"""Programs: what a kernel computes, as statements over named dims.

    m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]

A statement gives each point of a new array a value: an expression, or a reduction of one over more dims. What no
statement assigns is an input. `tiling.program.read` reads the text, and `str` writes a text that reads back the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tiling.dtypes.formats import COMPUTED
from tiling.program.functions import BINDING, SYMBOLS

REDUCTIONS = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin")
DTYPES = tuple(COMPUTED)


@dataclass(frozen=True)
class Number:
    """A number. One without a fraction, such as 2, takes the dtype of what it meets; 2.0 is a float."""

    value: int | float

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Dim:
    """The position along a dim, as a whole number."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Access:
    """An element of an array. outside: the value where an index lies outside of the array; None: none does."""

    array: str
    at: tuple[Expression, ...]
    outside: int | float | None = None

    def __str__(self) -> str:
        element = f"{self.array}[{', '.join(map(str, self.at))}]"
        return element if self.outside is None else f"{element} else {self.outside}"


@dataclass(frozen=True)
class Apply:
    """A function of `tiling.program.functions` applied to values."""

    function: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        if self.function not in SYMBOLS:
            return f"{self.function}({', '.join(map(str, self.arguments))})"
        mine, symbol = BINDING[self.function], SYMBOLS[self.function]
        if len(self.arguments) == 1:
            (value,) = self.arguments
            # -2 is a number, so the negative of the number 2 has brackets.
            bare = binding(value) >= mine and not isinstance(value, Number)
            return f"{symbol}{value}" if bare else f"{symbol}({value})"
        left, right = self.arguments
        # Operators associate to the left, but comparisons not at all.
        before = binding(left) >= mine + (symbol in COMPARISONS)
        after = binding(right) > mine
        return f"{left if before else f'({left})'} {symbol} {right if after else f'({right})'}"


COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
Expression = Number | Dim | Access | Apply


def binding(value: Expression) -> int:
    """How tightly the outermost operation binds: more than any operator where there is none."""
    if isinstance(value, Apply):
        return BINDING.get(value.function, 9)
    if isinstance(value, Number):
        return BINDING["neg"] if value.value < 0 else 9
    return 9


@dataclass(frozen=True)
class Reduce:
    """A reduction of a value over dims: one of REDUCTIONS. argmax and argmin give the position along one dim."""

    kind: str
    dims: tuple[str, ...]
    value: Expression

    def __str__(self) -> str:
        return f"{self.kind}[{','.join(self.dims)}] {self.value}"


@dataclass(frozen=True)
class Statement:
    """`array[dims] = value`. The array has the extents of these dims."""

    array: str
    dims: tuple[str, ...]
    value: Expression | Reduce

    def __str__(self) -> str:
        return f"{self.array}[{','.join(self.dims)}] = {self.value}"

    @property
    def reduced(self) -> tuple[str, ...]:
        """The dims that it reduces over."""
        return self.value.dims if isinstance(self.value, Reduce) else ()

    @property
    def expression(self) -> Expression:
        """The value of a point, before it is reduced."""
        return self.value.value if isinstance(self.value, Reduce) else self.value

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Every element that it reads, in the order of the text."""
        return tuple(part for part in parts(self.expression) if isinstance(part, Access))


@dataclass(frozen=True)
class Declaration:
    """`x: bf16[n,56,56,c]`: the dtype of an array, or the extents of an input, or both."""

    array: str
    dtype: str | None
    extents: tuple[int | str, ...] | None

    def __str__(self) -> str:
        extents = "" if self.extents is None else f"[{','.join(map(str, self.extents))}]"
        return f"{self.array}: {self.dtype or ''}{extents}"


@dataclass(frozen=True)
class Program:
    """Statements in the order in which they are computed. Every array is assigned once."""

    statements: tuple[Statement, ...]
    declarations: tuple[Declaration, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, (*self.declarations, *self.statements)))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The arrays that it reads and does not assign, in the order of first use."""
        assigned = {statement.array for statement in self.statements}
        read = (access.array for statement in self.statements for access in statement.accesses)
        return tuple(dict.fromkeys(name for name in read if name not in assigned))

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """Every dim, in the order of first use."""
        of_statements = (dim for statement in self.statements for dim in (*statement.dims, *statement.reduced))
        declared = (e for d in self.declarations for e in d.extents or () if isinstance(e, str))
        return tuple(dict.fromkeys((*of_statements, *declared)))

    def declared(self, array: str) -> Declaration:
        """What is declared of an array."""
        return next((d for d in self.declarations if d.array == array), Declaration(array, None, None))


def parts(value: Expression) -> Iterator[Expression]:
    """The value and all values inside it, indices included, in the order of the text."""
    yield value
    if isinstance(value, Apply):
        for argument in value.arguments:
            yield from parts(argument)
    elif isinstance(value, Access):
        for index in value.at:
            yield from parts(index)
