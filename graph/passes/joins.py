"""Finds joins in programs: statements whose value is one array after the other along an axis.

    c[i,j] = where(j < 16, a[i,j], b[i,j - 16])          parts: a from element 0 on, b from element 16 on

`graph.passes.in_place` has the parts written where they belong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Statement


@dataclass(frozen=True)
class Join:
    """An array of a program that joins inputs of it.

    parts: the inputs, and the element of the array where each begins. columns: whether the parts lie beside each other
    in its rows; else each lies whole in it.
    """

    array: Array
    parts: tuple[tuple[str, int], ...]
    columns: bool


def joins_of(work: Sized) -> Iterator[Join]:
    """The joins of a program that could be memory into which other steps write."""
    for statement in work.program.statements:
        found = _join(work, statement)
        if found is not None:
            yield found


def _join(work: Sized, statement: Statement) -> Join | None:
    pieces = _pieces(statement.value) if isinstance(statement.value, (Access, Apply)) else None
    if pieces is None:
        return None
    arrays = {array.name: array for array in work.inputs}
    if any(access.array not in arrays for access, _ in pieces):
        return None
    joined = work.array(statement.array)
    tested = {end[0] for _, end in pieces if end is not None}
    axes = [axis for axis, dim in enumerate(statement.dims) if dim in tested]
    if len(axes) != 1:
        return None
    (axis,), parts, begin = axes, [], 0
    whole, last = prod(joined.shape[:axis]) == 1, axis == len(joined.shape) - 1
    if not whole and not last:
        return None
    wanted = [Dim(dim) for dim in statement.dims]
    for access, end in pieces:
        array = arrays[access.array]
        size = array.shape[axis] if len(array.shape) == len(joined.shape) else 0
        moved = Apply("sub", (wanted[axis], Number(begin))) if begin else wanted[axis]
        if list(access.at) != [*wanted[:axis], moved, *wanted[axis + 1 :]]:
            return None
        if array.shape != (*joined.shape[:axis], size, *joined.shape[axis + 1 :]) or array.dtype != joined.dtype:
            return None
        if end is not None and end != (statement.dims[axis], begin + size):
            return None
        parts.append((access.array, begin * prod(joined.shape[axis + 1 :])))
        begin += size
    return Join(joined, tuple(parts), not whole) if begin == joined.shape[axis] else None


Pieces = list[tuple[Access, tuple[str, int] | None]]  # each array, and the dim and the position before which it is read


def _pieces(value: Expression) -> Pieces | None:
    """`where(i < 5, where(i < 3, a[…], b[…]), c[…])` as its arrays, nested in any way; None for another value."""
    if isinstance(value, Access):
        return [(value, None)]
    if not isinstance(value, Apply) or value.function != "where":
        return None
    test, first, rest = value.arguments
    if not isinstance(test, Apply) or test.function != "lt":
        return None
    dim, end = test.arguments
    before, after = _pieces(first), _pieces(rest)
    if before is None or after is None or not isinstance(dim, Dim) or not isinstance(end, Number):
        return None
    # The last array of a half ends where the half ends.
    (last, _) = before[-1]
    return [*before[:-1], (last, (dim.name, int(end.value))), *after]
