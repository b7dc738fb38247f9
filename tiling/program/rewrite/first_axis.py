"""A program at one point of the first axis of its arrays.

    y[n,c] = relu(x[n,c] + b[c])   x: f32[8, 64]      ->      the same text   x: f32[1, 64]

Its points along that axis must not depend on one another.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Declaration, Dim, Program, Statement, parts


def at_one_point(program: Sized, extent: int) -> tuple[Sized, frozenset[str]] | None:
    """The program for one of `extent` points, and the arrays of which it then has one part; None where it has no such
    axis."""
    statements = program.program.statements
    firsts = {statement.dims[0] for statement in statements if statement.dims}
    if program.runtime or any(not statement.dims for statement in statements):
        return None
    if any(program.extents[dim] != extent for dim in firsts) or not all(_apart(each, firsts) for each in statements):
        return None
    reads = [access for statement in statements for access in statement.accesses]
    split = {access.array for access in reads if _first(access) in firsts}
    whole = {access.array for access in reads if _first(access) not in firsts}
    split |= {array.name for array in program.assigned}
    if split & whole or any(program.array(name).shape[0] != extent for name in split):
        return None

    def one(array: Array) -> Array:
        return replace(array, shape=(1, *array.shape[1:])) if array.name in split else array

    def declared(each: Declaration) -> Declaration:
        if each.array not in split or not each.extents or isinstance(each.extents[0], str):
            return each
        return replace(each, extents=(1, *each.extents[1:]))

    found = replace(
        program,
        program=Program(statements, tuple(map(declared, program.program.declarations))),
        dims=tuple((dim, 1 if dim in firsts else size) for dim, size in program.dims),
        inputs=tuple(map(one, program.inputs)),
        assigned=tuple(map(one, program.assigned)),
    )
    return found, frozenset(split)


def _apart(statement: Statement, firsts: set[str]) -> bool:
    """Whether a statement uses its own first dim as the first index of arrays alone, and no other statement's."""
    first, *others = statement.dims
    if firsts & {*others, *statement.reduced}:
        return False
    uses = [part for part in parts(statement.expression) if isinstance(part, Dim) and part.name in firsts]
    return len(uses) == sum(_first(access) == first for access in statement.accesses)


def _first(access: Access) -> str:
    """The dim that is the first index of an access; "" where that is no dim."""
    index = access.at[0] if access.at else None
    return index.name if isinstance(index, Dim) else ""
