"""A program with other names of arrays and dims, or other elements read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tiling.loops.index import variable
from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Apply, Declaration, Dim, Expression, Program, Reduce, Statement
from tiling.program.runtime import extent_name


def renamed(program: Sized, arrays: Mapping[str, str], dims: Mapping[str, str]) -> Sized:
    """The program with these names in place of its own, wherever one is given."""

    def array(name: str) -> str:
        return arrays.get(name, name)

    def dim(name: str) -> str:
        return dims.get(name, name)

    def value(part: Expression) -> Expression:
        if isinstance(part, Dim):
            return Dim(dim(part.name))
        if isinstance(part, Access):
            return Access(array(part.array), tuple(map(value, part.at)), part.outside)
        return Apply(part.function, tuple(map(value, part.arguments))) if isinstance(part, Apply) else part

    def statement(one: Statement) -> Statement:
        found: Expression | Reduce = value(one.expression)
        if isinstance(one.value, Reduce):
            found = Reduce(one.value.kind, tuple(map(dim, one.value.dims)), value(one.value.value))
        return Statement(array(one.array), tuple(map(dim, one.dims)), found)

    def declaration(one: Declaration) -> Declaration:
        extents = one.extents and tuple(dim(e) if isinstance(e, str) else e for e in one.extents)
        return Declaration(array(one.array), one.dtype, extents)

    names = {extent_name(one): variable(extent_name(other)) for one, other in dims.items()}

    def moved(one: Array) -> Array:
        return replace(one, name=array(one.name), extents=tuple(size.replaced(names) for size in one.extents))

    text = program.program
    return Sized(
        Program(tuple(map(statement, text.statements)), tuple(map(declaration, text.declarations))),
        tuple((dim(name), extent) for name, extent in program.dims),
        tuple(map(moved, program.inputs)),
        tuple(map(moved, program.assigned)),
        tuple(map(array, program.outputs)),
        tuple(map(dim, program.runtime)),
    )


def with_accesses(statement: Statement, change: Callable[[Access], Expression | None]) -> Statement:
    """The statement with change(element) in place of each element; where that is None it stays."""

    def value(part: Expression) -> Expression:
        if isinstance(part, Access):
            found = change(part)
            return Access(part.array, tuple(map(value, part.at)), part.outside) if found is None else found
        return Apply(part.function, tuple(map(value, part.arguments))) if isinstance(part, Apply) else part

    found = value(statement.expression)
    kept = replace(statement.value, value=found) if isinstance(statement.value, Reduce) else found
    return Statement(statement.array, statement.dims, kept)
