"""How far roundings can take a kernel of a program from its definition, where it only adds, multiplies and chooses.

    y[i] = sum[j] x[i,j] * w[j] - b[i]     |error of y| <= g * (sum[j] |x[i,j]| * |w[j]| + |b[i]|),  g = k*u / (1 - k*u)

Every term of such a value is rounded k times at most, in whatever order terms are added (Higham, Accuracy and Stability
of Numerical Algorithms, 3.1). Whole numbers are exact. Other functions have no bound here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpu.reference.programs import evaluate
from tiling.choices import either
from tiling.dtypes.formats import FLOATS
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Reduce, Statement, parts

_U = 2.0**-24  # of f32
_TINY, _LARGEST = 2.0**-126, 2.0**127  # between them numbers of f32 have all digits
# A number that is chosen is as far off as what it is chosen from.
_CHOSEN = ("max", "min", "neg", "abs", "relu", "relu6")
# The roundings of f32 that are as much as storing a number is. Of bf16, of 16 bits less, the kernel does one and the
# definition another: a number near the middle of two may become either.
_STORED = {"f32": 0, "bf16": 2 << 16}
_OF_RINGS = {"add", "sub", "mul", "neg", "sum"}
_OF_CHOICES = {"max", "min", "where", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "any", "all"}
_OF_CHOICES |= {"argmax", "argmin", "bitand", "bitor", "bitxor", "bitnot", "shr"}
_OF_POSITIONS = {"add", "sub", "mul", "neg", "floordiv", "mod", "min", "max", "abs"}
_REDUCED = {"sum": "sum", "mean": "mean", "max": "max", "min": "max", "prod": "prod"}


class UnboundedError(ValueError):
    """There is no bound; the message says why."""


@dataclass(frozen=True)
class _Terms:
    """The sum of the magnitudes of a value's terms, and how often each of them is rounded."""

    value: Expression
    roundings: int


def bounds(program: Sized, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The largest error of each point of the outputs. Raises UnboundedError, as `roundings` does."""
    counts = roundings(program)
    if not any(counts.values()):
        return {name: np.zeros(program.array(name).shape) for name in program.outputs}
    statements = tuple(_magnitudes(program, each)[0] for each in program.program.statements)
    found = evaluate(replace(program, program=replace(program.program, statements=statements)), inputs)
    if any(np.max(magnitudes, initial=0.0) > _LARGEST for magnitudes in found.values()):
        raise UnboundedError("some numbers may be too large for f32")
    return {
        name: counts[name] * _U / (1 - counts[name] * _U) * found[name] + counts[name] * _TINY
        for name in program.outputs
    }


def _is_exact(program: Sized) -> bool:
    """Whether whole numbers that wrap around give the same result in any width."""
    statements = program.program.statements
    used = {part.function for each in statements for part in _inside(each.expression) if isinstance(part, Apply)}
    used |= {each.value.kind for each in statements if isinstance(each.value, Reduce)}
    dtypes = {array.dtype for array in program.inputs}
    # The definition compares -1 and bitnot(x) with numbers of u64 as what is below 0.
    return used <= _OF_RINGS or (used <= _OF_CHOICES and len(dtypes) == 1 and dtypes != {"u64"})


def _inside(value: Expression) -> Iterator[Expression]:
    """The value and the values that it is made of, without indices."""
    yield value
    if isinstance(value, Apply):
        for argument in value.arguments:
            yield from _inside(argument)


def roundings(program: Sized) -> dict[str, int]:
    """How often the terms of each assigned array are rounded; 0 where all numbers are whole. Raises UnboundedError."""
    if not {array.dtype for array in (*program.inputs, *program.assigned)} & set(FLOATS):
        if not _is_exact(program):
            raise UnboundedError("whole numbers in between may wrap around elsewhere than in the definition")
        return {array.name: 0 for array in program.assigned}
    found: dict[str, int] = {}
    for statement in program.program.statements:
        found[statement.array] = _magnitudes(program, statement, found)[1]
        if found[statement.array] * _U > 0.5:
            raise UnboundedError(f"{statement.array} has sums of too many terms")
    return found


def _magnitudes(program: Sized, statement: Statement, counts: Mapping[str, int] | None = None) -> tuple[Statement, int]:
    """The statement with magnitudes in place of values, and how often its terms are rounded.

    counts: those of earlier arrays.
    """
    dtype = program.array(statement.array).dtype
    if dtype not in _STORED:
        raise UnboundedError(f"{statement.array} is {dtype}, and bounds are known of {either(_STORED)}")
    terms = _Reader(program, counts or {}).terms(statement.expression)
    value: Expression | Reduce = terms.value
    count = terms.roundings
    if isinstance(statement.value, Reduce):
        kind, points = statement.value.kind, prod(program.extents[dim] for dim in statement.reduced)
        if kind not in _REDUCED:
            raise UnboundedError(f"{kind} has no bound")
        value = Reduce(_REDUCED[kind], statement.reduced, terms.value)
        count = {"sum": count + points, "mean": count + points + 2, "prod": (count + 1) * points}.get(kind, count)
    return replace(statement, value=value), count + _STORED[dtype]


@dataclass(frozen=True)
class _Reader:
    program: Sized
    counts: Mapping[str, int]

    def terms(self, value: Expression) -> _Terms:
        """Raises UnboundedError."""
        if all(map(_is_position, parts(value))):
            return _Terms(Apply("abs", (value,)), 1)  # it becomes a float
        if isinstance(value, Number):
            return _Terms(Number(_magnitude(value.value)), 1)
        if isinstance(value, Access):
            return self.element(value)
        assert isinstance(value, Apply)
        return self.applied(value.function, value.arguments)

    def element(self, access: Access) -> _Terms:
        dtype = self.program.array(access.array).dtype
        if dtype == "f64":
            raise UnboundedError(f"{access.array} is f64, and bounds are known of {either(_STORED)}")
        outside = access.outside if access.outside is None else _magnitude(access.outside)
        element: Expression = Access(access.array, access.at, outside)
        element = element if dtype in FLOATS else Apply("f64", (element,))
        converted = dtype not in FLOATS or isinstance(access.outside, float)
        return _Terms(Apply("abs", (element,)), self.counts.get(access.array, 0) + converted)

    def applied(self, function: str, arguments: tuple[Expression, ...]) -> _Terms:
        if function == "where":
            condition, *arms = arguments
            if not all(map(self.is_alike, parts(condition))):
                raise UnboundedError("where has a bound only if positions and whole numbers decide")
            one, other = map(self.terms, arms)
            return _Terms(Apply("where", (condition, one.value, other.value)), max(one.roundings, other.roundings))
        if function == "div" and isinstance(arguments[1], Number) and arguments[1].value:
            return self.product(arguments[0], Number(1 / arguments[1].value), 1)
        if function == "mul":
            return self.product(arguments[0], arguments[1])
        if function == "leaky_relu":  # the number or its product with the slope
            one, scaled = self.terms(arguments[0]), self.product(arguments[0], arguments[1])
            return _Terms(Apply("max", (one.value, scaled.value)), max(one.roundings, scaled.roundings))
        if function in ("add", "sub"):
            one, other = map(self.terms, arguments)
            return _Terms(Apply("add", (one.value, other.value)), max(one.roundings, other.roundings) + 1)
        if function == "clamp":
            return self.applied("max", (Apply("max", arguments[:2]), arguments[2]))
        if function in _CHOSEN:
            one, *others = map(self.terms, arguments)
            for each in others:
                one = _Terms(Apply("max", (one.value, each.value)), max(one.roundings, each.roundings))
            return one
        raise UnboundedError(f"{function} has no bound")

    def is_alike(self, part: Expression) -> bool:
        """Whether every kernel finds this number alike, since it is made of whole ones that none computes before."""
        if isinstance(part, Access):
            array = self.program.array(part.array)
            return array in self.program.inputs and array.dtype not in (*FLOATS, "u64")
        return _is_position(part) or (isinstance(part, Apply) and part.function in _OF_CHOICES)

    def product(self, one: Expression, other: Expression, more: int = 0) -> _Terms:
        first, second = self.terms(one), self.terms(other)
        return _Terms(Apply("mul", (first.value, second.value)), first.roundings + second.roundings + 1 + more)


def _is_position(part: Expression) -> bool:
    """Whether it is computed as whole numbers, of positions and constants."""
    if isinstance(part, Apply):
        return part.function in _OF_POSITIONS
    return isinstance(part, Dim) or (isinstance(part, Number) and isinstance(part.value, int))


def _magnitude(number: int | float) -> int | float:
    """The magnitude of a constant. An infinity, such as a maximum begins with, is none: it stays one in f32."""
    return abs(number) if isfinite(number) else 0.0
