"""Groups of statements that are computed row by row: each takes the row of the one before while it is in a near cache.

    m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]

All four have the dim i, and read each other at the same i. So one loop over i computes them, and m, e and d need room
for one row only. Source: compute-at of Halide and CINN.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from tiling.program.infer import Sized
from tiling.program.language import Dim, Statement


@dataclass(frozen=True)
class Group:
    """Statements inside common loops over `dims`. rows: their arrays that nobody else reads, one row at a time."""

    dims: tuple[str, ...]
    statements: tuple[Statement, ...]
    rows: tuple[str, ...] = ()


def groups(program: Sized) -> tuple[Group, ...]:
    """The statements of a program in groups, in the same order."""
    found: list[Group] = []
    for statement in program.program.statements:
        joined = _joined(found[-1], statement) if found else None
        if joined:
            found[-1] = joined
        else:
            found.append(Group(statement.dims, (statement,)))
    return tuple(_with_rows(program, group) for group in found)


def _joined(group: Group, statement: Statement) -> Group | None:
    """The group with one more statement; None where they share no loop or no array."""
    arrays = {s.array for s in group.statements}
    before = arrays | {access.array for s in group.statements for access in s.accesses}
    if before.isdisjoint(access.array for access in statement.accesses):
        return None
    statements = (*group.statements, statement)
    # Outer loops alone are shared, so that the loops inside walk what lies side by side.
    dims = _shared(group.dims, statement.dims)
    for reader in statements:
        for access in reader.accesses:
            given = next((s for s in statements if s.array == access.array), None)
            if given:
                dims = _shared(dims, tuple(i.name if isinstance(i, Dim) else "" for i in access.at))
    # The first statement hands on one row in each iteration. Handing on more would help neither cores nor the outer
    # loops of the second.
    if min(len(group.dims), len(statement.dims)) > len(dims) + 1:
        return None
    return Group(dims, statements) if dims else None


def _shared(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """The dims that both begin with."""
    return tuple(dim for dim, _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right)))


def _with_rows(program: Sized, group: Group) -> Group:
    mine = {statement.array for statement in group.statements}
    others = (s for s in program.program.statements if s.array not in mine)
    needed = {access.array for statement in others for access in statement.accesses} | set(program.outputs)
    return Group(group.dims, group.statements, tuple(s.array for s in group.statements if s.array not in needed))
