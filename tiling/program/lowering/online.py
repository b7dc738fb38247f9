"""Groups whose sums go on while their largest value is still being found, one block of a dim after the other.

    m[i] = max[j] t[i,j]; e[i,j] = exp(t[i,j] - m[i]); d[i] = sum[j] e[i,j]; a[i,c] = sum[j] e[i,j] * v[j,c]

Sums of exp(t - m) * v may use any m in place of the largest: a change from m to n multiplies them by exp(m - n). So
after each block of j the sums are relative to the largest value so far. t and e need room for one block only.
Source: Milakov and Gimelshein, "Online normalizer calculation for softmax"; Dao et al., "FlashAttention".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tiling.program.dtypes import computed_in, met_in
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Reduce, Statement
from tiling.program.lowering.group import Group

# Points of a block, and rows that read it one after the other. For 4 rows a block costs some 270 vector operations
# beside those for each of its points: with 256 keys of 64 floats they are 3 %. Such a block of keys is 64 KiB.
BLOCK, ROWS = 256, 32


@dataclass(frozen=True)
class Online:
    """A group that is computed block by block along `dim`.

    largest: the statement of the maximum. sums: the statements that are multiplied where it grows. inside: all
    statements over the dim, in order, `largest` and `sums` among them. after: the others, which read their results.
    """

    dim: str
    largest: Statement
    sums: tuple[Statement, ...]
    inside: tuple[Statement, ...]
    after: tuple[Statement, ...]


def online(program: Sized, group: Group) -> Online | None:
    """The group block by block; None where it has no running maximum, or only few points."""
    for statement in group.statements:
        reduce = statement.value
        if isinstance(reduce, Reduce) and reduce.kind == "max" and statement.dims == group.dims and group.dims:
            found = _along(program, group, statement)
            if found:
                return found
    return None


def _along(program: Sized, group: Group, largest: Statement) -> Online | None:
    (dim, *more) = largest.reduced
    if more or program.extents[dim] <= BLOCK or not _plain(program, largest.array, group):
        return None
    inside = tuple(s for s in group.statements if dim in (*s.dims, *s.reduced))
    after = tuple(s for s in group.statements if s not in inside)
    given = {s.array for s in after} | {s.array for s in inside if s.reduced and dim in s.reduced}
    sums, exps = [], set()
    for statement in inside:
        read = {access.array for access in statement.accesses} & given
        if statement == largest or (dim in statement.dims and not read):
            continue
        if is_exp(statement.expression, largest) and dim in statement.dims and not statement.reduced:
            exps.add(statement.array)
        elif _is_sum(program, statement, dim) and _scales(statement, exps, largest, given):
            sums.append(statement)
        else:
            return None
    if {access.array for access in largest.accesses} & given or all(s.dims == group.dims for s in sums):
        return None
    maps = [s for s in inside if dim in s.dims]
    known = all(_plain(program, s.array, group) and _read_along(group, s, dim) for s in maps)
    only = all({a.array for a in s.accesses}.isdisjoint(exps) for s in inside if s not in sums)
    return Online(dim, largest, tuple(sums), inside, after) if known and only else None


def _plain(program: Sized, array: str, group: Group) -> bool:
    """Whether an array lies in rows of the group, as floats that are not rounded."""
    return array in group.rows and computed_in(program.array(array).dtype) == program.array(array).dtype


def _read_along(group: Group, statement: Statement, dim: str) -> bool:
    """Whether every reader walks the dim of an array as the array itself does."""
    axis = statement.dims.index(dim)
    return all(a.at[axis] == Dim(dim) for s in group.statements for a in s.accesses if a.array == statement.array)


def is_exp(value: Expression, largest: Statement) -> bool:
    """Whether a value is exp(t - m), where m is the largest t."""
    m = Access(largest.array, tuple(map(Dim, largest.dims)))
    return value == Apply("exp", (Apply("sub", (largest.expression, m)),))


def _is_sum(program: Sized, statement: Statement, dim: str) -> bool:
    dtypes = {array.name: array.dtype for array in (*program.inputs, *program.assigned)}
    met = met_in(statement.expression, dtypes, dtypes[statement.array])
    reduce = statement.value
    return isinstance(reduce, Reduce) and reduce.kind == "sum" and reduce.dims == (dim,) and met in ("f32", "f64")


def _scales(statement: Statement, exps: set[str], largest: Statement, given: set[str]) -> bool:
    """Whether a value is one exponential times factors that do not depend on the largest value."""
    factors = list(factors_of(statement.expression))
    one = [f for f in factors if is_exp(f, largest) or (isinstance(f, Access) and f.array in exps)]
    others = [f for f in factors if f not in one]
    read = {a.array for f in others for a in Statement("", (), f).accesses}
    return len(one) == 1 and len(others) == len(factors) - 1 and read.isdisjoint({*given, *exps})


def factors_of(value: Expression) -> Iterator[Expression]:
    """The values that are multiplied."""
    if isinstance(value, Apply) and value.function == "mul":
        for argument in value.arguments:
            yield from factors_of(argument)
    else:
        yield value
