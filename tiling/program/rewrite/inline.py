"""Fusion by substitution: a map that nobody needs to keep is computed where it is read.

    e[i] = c[99-i] * 2; y[i,j] = e[50*i+j] * 3      ->      y[i,j] = c[99 - (50 * i + j)] * 2 * 3

An inlined map is computed at each read. So it is inlined where it has no fewer elements than reads, or where its
arithmetic is cheaper than memory. Reductions are never inlined. Source: Hidet's prologues
and epilogues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from tiling.dtypes.formats import FLOATS
from tiling.program.dtypes import computed_in, dtype_in
from tiling.program.functions import FUNCTIONS, REAL
from tiling.program.infer import Sized
from tiling.program.language import (
    Access,
    Apply,
    Dim,
    Expression,
    Number,
    Program,
    Reduce,
    Statement,
    parts,
)
from tiling.program.runtime import written

# The most operations, and the most elements read, of a map that is computed again rather than stored. Loading a stored
# value and computing its address cost about as much.
CHEAP_OPERATIONS, CHEAP_READS = 4, 1
# A longer value is always stored. Otherwise a chain of thousands of maps would become one that nobody can read.
MOST_PARTS = 300


def inlined(program: Sized) -> Sized:
    """The program without maps that are better computed where they are read. Its outputs are the same."""
    statements = list(program.program.statements)
    for statement in program.program.statements:
        here = replace(program, program=Program(tuple(statements), program.program.declarations))
        current = next(s for s in statements if s.array == statement.array)
        if worthwhile(here, current):
            value = _typed(here, current)
            statements = [substituted(s, current, value, here) for s in statements if s.array != statement.array]
    left = {statement.array for statement in statements} | set(program.program.inputs)
    declared = tuple(d for d in program.program.declarations if d.array in left)
    assigned = tuple(array for array in program.assigned if array.name in left)
    return replace(program, program=Program(tuple(statements), declared), assigned=assigned)


def worthwhile(program: Sized, statement: Statement) -> bool:
    """Whether a statement is a map that is better computed where it is read."""
    if isinstance(statement.value, Reduce) or statement.array in program.outputs or _may_fail(program, statement):
        return False
    if sum(1 for _ in parts(statement.value)) > MOST_PARTS:
        return False
    reads = sum(_points(program, reader) for reader, _ in _readers(program, statement))
    return reads <= _points(program, statement) or _is_cheap(statement.value)


def _may_fail(program: Sized, statement: Statement) -> bool:
    """Whether inlining could hide an error of the caller: an index that is itself read from an array."""
    accesses = [access for _, access in _readers(program, statement)]
    if any(access.outside is None and _is_gather(access) for access in accesses):
        return True
    inside = any(access.outside is None and _is_gather(access) for access in statement.accesses)
    return inside and any(access.outside is not None for access in accesses)


def _is_gather(access: Access) -> bool:
    return any(isinstance(part, Access) for index in access.at for part in parts(index))


def has_gather(value: Expression) -> bool:
    """Whether an element has an index that is read from an array, and that must lie inside."""
    return any(isinstance(part, Access) and part.outside is None and _is_gather(part) for part in parts(value))


def kept_because(program: Sized) -> Iterator[tuple[str, str]]:
    """The maps that are stored although they are no output, and why."""
    for statement in program.program.statements:
        if statement.array in program.outputs or isinstance(statement.value, Reduce):
            continue
        if _may_fail(program, statement):
            yield statement.array, "an index that is read must be inside it, or inside what it reads"
            continue
        reads = sum(_points(program, reader) for reader, _ in _readers(program, statement))
        if sum(1 for _ in parts(statement.value)) > MOST_PARTS:
            yield statement.array, f"its value has more than {MOST_PARTS} parts"
        elif reads:
            times = reads / _points(program, statement)
            yield statement.array, f"it is read {times:g} times for each of its points, and costs more than a load"


def _readers(program: Sized, statement: Statement) -> Iterator[tuple[Statement, Access]]:
    for reader in program.program.statements:
        yield from ((reader, access) for access in reader.accesses if access.array == statement.array)


def _points(program: Sized, statement: Statement) -> int:
    """How many times the value of a statement is computed."""
    return prod(program.extents[dim] for dim in (*statement.dims, *statement.reduced))


def _is_cheap(value: Expression) -> bool:
    inside = list(parts(value))
    operations = [part for part in inside if isinstance(part, Apply)]
    slow = any(FUNCTIONS[part.function].gives == REAL and part.function != "div" for part in operations)
    reads = sum(isinstance(part, Access) for part in inside)
    return not slow and len(operations) <= CHEAP_OPERATIONS and reads <= CHEAP_READS


def _typed(program: Sized, statement: Statement) -> Expression:
    """The value of a map in the dtype of its array, so that what it meets is computed as before.

    An element, or a cast, has its dtype already; arithmetic has the wider one that it is computed in.
    """
    dtypes = {array.name: array.dtype for array in (*program.inputs, *program.assigned)}
    value = statement.value
    assert not isinstance(value, Reduce)
    found, wanted = dtype_in(value, dtypes), dtypes[statement.array]
    stored = isinstance(value, Access) or (isinstance(value, Apply) and value.function == wanted)
    kept = computed_in(found) == wanted or (stored and found == wanted)
    return value if kept else Apply(wanted, (value,))


def substituted(reader: Statement, map_: Statement, value: Expression, program: Sized) -> Statement:
    """The reader with the map's value in place of each of its elements. A statement that reads none stays as it is."""
    if all(access.array != map_.array for access in reader.accesses):
        return reader
    sizes, dtype = program.array(map_.array).sizes, program.array(map_.array).dtype

    def changed(part: Expression) -> Expression:
        if isinstance(part, Apply):
            return Apply(part.function, tuple(map(changed, part.arguments)))
        if not isinstance(part, Access):
            return part
        at = tuple(map(changed, part.at))
        if part.array != map_.array:
            return Access(part.array, at, part.outside)
        # A position is a whole number of 64 bits, whatever the array that it is read from.
        wide = (Apply("s64", (i,)) if any(isinstance(p, Access) for p in parts(i)) else i for i in at)
        by: dict[str, Expression] = dict(zip(map_.dims, wide))
        if part.outside is None:
            return with_dims(value, by, guarded=False)
        inside = [Apply("and", (Apply("ge", (i, Number(0))), Apply("lt", (i, written(n))))) for i, n in zip(at, sizes)]
        test: Expression = inside[0] if inside else Apply("eq", (Number(0), Number(0)))
        for other in inside[1:]:
            test = Apply("and", (test, other))
        # Where the map's element lies outside, the elements that the map reads lie outside too.
        outside = part.outside if dtype in FLOATS else int(part.outside)
        found = Apply("where", (test, with_dims(value, by, guarded=True), Number(outside)))
        return Apply("bool", (found,)) if dtype == "bool" else found

    expression = changed(reader.expression)
    kept = replace(reader.value, value=expression) if isinstance(reader.value, Reduce) else expression
    return Statement(reader.array, reader.dims, kept)


def with_dims(value: Expression, by: Mapping[str, Expression], guarded: bool) -> Expression:
    """A value with expressions in place of dims, where there is one. guarded: no element need be inside its array."""
    if isinstance(value, Dim):
        return by.get(value.name, value)
    if isinstance(value, Access):
        outside = 0 if guarded and value.outside is None else value.outside
        return Access(value.array, tuple(with_dims(index, by, guarded) for index in value.at), outside)
    if isinstance(value, Apply):
        return Apply(value.function, tuple(with_dims(argument, by, guarded) for argument in value.arguments))
    return value
