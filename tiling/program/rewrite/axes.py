"""A program with the axes of some arrays in another order, as they then lie in memory.

y[n,c,h,w] = relu(x[n,c,h,w])      ->      y[n,h,w,c] = relu(x[n,h,w,c])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Apply, Declaration, Dim, Expression, Program, Reduce, Statement

Order = tuple[int, ...]
_Part = TypeVar("_Part")


def with_axes(program: Sized, orders: Mapping[str, Order]) -> Sized:
    """The program where axis `order[i]` of an array is its axis i. orders: one for each array whose axes change."""

    def value(part: Expression) -> Expression:
        if isinstance(part, Apply):
            return Apply(part.function, tuple(map(value, part.arguments)))
        if not isinstance(part, Access):
            return part
        at = tuple(map(value, part.at))
        return Access(part.array, _ordered(at, orders.get(part.array)), part.outside)

    def statement(one: Statement) -> Statement:
        found: Expression | Reduce = value(one.expression)
        if isinstance(one.value, Reduce):
            found = replace(one.value, value=value(one.value.value))
        return Statement(one.array, _ordered(one.dims, orders.get(one.array)), found)

    def array(one: Array) -> Array:
        order = orders.get(one.name)
        return replace(one, shape=_ordered(one.shape, order), extents=_ordered(one.extents, order))

    def declaration(one: Declaration) -> Declaration:
        return replace(one, extents=one.extents and _ordered(one.extents, orders.get(one.array)))

    statements = tuple(map(statement, program.program.statements))
    declarations = tuple(map(declaration, program.program.declarations))
    return replace(
        program,
        program=Program(statements, declarations),
        inputs=tuple(map(array, program.inputs)),
        assigned=tuple(map(array, program.assigned)),
    )


def is_copy(program: Sized) -> bool:
    """Whether a program gives its input as it is: the same numbers in the same order."""
    if len(program.inputs) != 1 or len(program.program.statements) != 1:
        return False
    (statement,), (given,), (made,) = program.program.statements, program.inputs, program.assigned
    same = Access(given.name, tuple(map(Dim, statement.dims)))
    return statement.value == same and (given.shape, given.dtype) == (made.shape, made.dtype)


def _ordered(parts: tuple[_Part, ...], order: Order | None) -> tuple[_Part, ...]:
    return tuple(parts[axis] for axis in order) if order and parts else parts
