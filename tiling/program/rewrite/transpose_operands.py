"""Operands of products that lie the wrong way round for vectors are transposed first, where they are read often.

    s[i,j] = sum[c] q[i,c] * k[j,c]      ->      k_columns[c,j] = k[j,c]; s[i,j] = sum[c] q[i,c] * k_columns[c,j]

Neighbours of s then lie side by side in what they read: lanes walk j, and no sum goes across lanes. An index such as
h//4, of keys that heads share, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from tiling.program.infer import Sized
from tiling.program.language import Access, Dim, Expression, Program, Reduce, Statement, parts
from tiling.program.rewrite.rename import with_accesses
from tiling.program.rewrite.split_sums import free_name

# A transposition costs about as much as reading an array three times. Where a sum is short, adding up
# its lanes costs more than its products; with fewer neighbours a vector would not be full.
LEAST_READS, LONGEST_SUM, LEAST_NEIGHBOURS = 8, 1024, 16


def transposed_operands(program: Sized) -> Sized:
    """The program with such operands transposed."""
    for statement in program.program.statements:
        for access in tuple(_transposed(program, statement)):
            program = _with_columns(program, statement.array, access)
    return program


def _transposed(program: Sized, statement: Statement) -> Iterator[Access]:
    """The elements that lie far apart for neighbouring outputs, and side by side for neighbouring terms of the sum."""
    if not isinstance(statement.value, Reduce) or statement.value.kind != "sum" or not statement.dims:
        return
    along = statement.dims[-1]
    points = prod(program.extents[dim] for dim in (*statement.dims, *statement.reduced))
    summed = prod(program.extents[dim] for dim in statement.reduced)
    if program.extents[along] < LEAST_NEIGHBOURS or summed > LONGEST_SUM:
        return
    for access in dict.fromkeys(statement.accesses):
        dims = tuple(_dims(program, statement, access))
        if along not in dims[:-1] or dims[-1] not in statement.reduced or access.outside is not None:
            continue
        if points >= LEAST_READS * prod(program.array(access.array).shape):
            yield access


def _dims(program: Sized, statement: Statement, access: Access) -> Iterator[str]:
    """The dims that walk all of an axis of an array each; "" for an axis on which the sum stays where it is."""
    moving = {statement.dims[-1], *statement.reduced}
    sizes, plain = program.array(access.array).sizes, [i.name for i in access.at if isinstance(i, Dim)]
    for index, size in zip(access.at, sizes):
        if isinstance(index, Dim) and program.count(index.name) == size and plain.count(index.name) == 1:
            yield index.name
        elif any(part.name in moving for part in parts(index) if isinstance(part, Dim)) or not size.is_constant:
            return
        else:
            yield ""


def _with_columns(program: Sized, reader: str, access: Access) -> Sized:
    """The program where a statement reads the transposed array."""
    number = next(n for n, s in enumerate(program.program.statements) if s.array == reader)
    statement, array = program.program.statements[number], program.array(access.array)
    along = statement.dims[-1]
    walked = list(_dims(program, statement, access))
    added: list[tuple[str, int]] = []
    for axis, dim in enumerate(walked):
        if not dim:
            walked[axis] = free_name(f"{access.array}_axis{axis}", program)
            added.append((walked[axis], array.shape[axis]))
    program = replace(program, dims=(*program.dims, *added))
    order = sorted(range(len(walked)), key=lambda axis: walked[axis] == along)
    name, dims = free_name(f"{access.array}_columns", program), tuple(walked[axis] for axis in order)
    new = Access(name, tuple(access.at[axis] for axis in order))

    def changed(part: Access) -> Expression | None:
        return new if part == access else None

    statements = (
        *program.program.statements[:number],
        Statement(name, dims, Access(array.name, tuple(map(Dim, walked)))),
        with_accesses(statement, changed),
        *program.program.statements[number + 1 :],
    )
    column = program.over(name, array.dtype, dims)
    return replace(
        program,
        program=Program(statements, program.program.declarations),
        assigned=(*program.assigned[:number], column, *program.assigned[number:]),
    )
