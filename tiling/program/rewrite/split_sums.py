"""Long sums as sums of parts, which several cores can compute: each part in its own place, added in a fixed order.

    y[] = sum[i] x[i]      ->      y_parts[i_part] = sum[i_in] x[65536*i_part + i_in]
                                   y[] = sum[i_part] y_parts[i_part]

The parts do not depend on how many cores there are, so neither do the bits. Source: parallel-k of Hidet.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.loops.meaning.functions import neutral
from tiling.program.dtypes import computed_in, dtype_in, summed_in
from tiling.program.functions import COMBINE
from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Program, Reduce, Statement
from tiling.program.rewrite.inline import has_gather, with_dims

# A sum of fewer points ends before other cores have begun. So many outputs, or more, can be shared by cores directly.
LEAST_POINTS, MOST_OUTPUTS = 1 << 18, 16
PARTS = (64, 16)  # the most parts, and the fewest where the parts divide the extent evenly


def split_sums(program: Sized) -> Sized:
    """The program with long sums of few outputs in parts."""
    for statement in program.program.statements:
        if _is_long(program, statement):
            program = _split(program, statement)
    return program


def _is_long(program: Sized, statement: Statement) -> bool:
    if not set(program.runtime).isdisjoint((*statement.dims, *statement.reduced)):
        return False  # its length is not known yet
    outputs = prod(program.extents[dim] for dim in statement.dims)
    points = outputs * prod(program.extents[dim] for dim in statement.reduced)
    kind = statement.value.kind if isinstance(statement.value, Reduce) else ""
    return kind in COMBINE and outputs <= MOST_OUTPUTS and points >= LEAST_POINTS


def _split(program: Sized, statement: Statement) -> Sized:
    reduce = statement.value
    assert isinstance(reduce, Reduce)
    dim = max(reduce.dims, key=program.extents.__getitem__)
    extent = program.extents[dim]
    most, least = min(PARTS[0], extent), min(PARTS[1], extent)
    parts = next((count for count in range(most, least - 1, -1) if extent % count == 0), most)
    size = -(-extent // parts)
    part, inside = free_name(f"{dim}_part", program), free_name(f"{dim}_in", program)
    position = Apply("add", (Apply("mul", (Number(size), Dim(part))), Dim(inside)))
    rest = parts * size != extent
    if rest and has_gather(reduce.value):  # points beyond the end would read an arbitrary index
        return program
    value = with_dims(reduce.value, {dim: position}, guarded=rest)
    kind = "sum" if reduce.kind == "mean" else reduce.kind
    dtype = _dtype(program, reduce)
    if rest:
        value = _where_inside(position, extent, value, kind, program, reduce)
    dims = tuple(inside if name == dim else name for name in reduce.dims)
    named = {
        "parts": free_name(f"{statement.array}_parts", program),
        "total": free_name(f"{statement.array}_total", program),
    }
    found = [Statement(named["parts"], (part, *statement.dims), Reduce(kind, dims, value))]
    shape = tuple(program.extents[dim] for dim in statement.dims)
    arrays = [Array(named["parts"], dtype, (parts, *shape))]
    at = tuple(map(Dim, statement.dims))
    every = Reduce(kind, (part,), Access(named["parts"], (Dim(part), *at)))
    if reduce.kind == "mean":
        points = prod(program.extents[name] for name in reduce.dims)
        found.append(Statement(named["total"], statement.dims, every))
        arrays.append(Array(named["total"], dtype, shape))
        mean = Apply("div", (Access(named["total"], at), Number(float(points))))
        found.append(Statement(statement.array, statement.dims, mean))
    else:
        found.append(Statement(statement.array, statement.dims, every))
    return _with(program, statement, found, arrays, ((part, parts), (inside, size)))


def _with(
    program: Sized, statement: Statement, found: list[Statement], arrays: list[Array], dims: tuple[tuple[str, int], ...]
) -> Sized:
    """The program with statements in place of one."""
    number = program.program.statements.index(statement)
    before, after = program.program.statements[:number], program.program.statements[number + 1 :]
    return replace(
        program,
        program=Program((*before, *found, *after), program.program.declarations),
        dims=(*program.dims, *dims),
        assigned=(*program.assigned[:number], *arrays, *program.assigned[number:]),
    )


def _where_inside(
    position: Expression, extent: int, value: Expression, kind: str, program: Sized, reduce: Reduce
) -> Expression:
    """The value, or the number that changes no sum beyond the end."""
    met = computed_in(dtype_in(reduce.value, _dtypes(program)))
    number = neutral(COMBINE[kind], "f32" if met == "fraction" else "s64" if met == "whole" else met)
    return Apply("where", (Apply("lt", (position, Number(extent))), value, Number(number)))


def _dtype(program: Sized, reduce: Reduce) -> str:
    """The dtype in which a sum is computed, and its parts are kept."""
    met = dtype_in(reduce.value, _dtypes(program))
    return summed_in(reduce.kind, computed_in({"whole": "s64", "fraction": "f32"}.get(met, met)))


def _dtypes(program: Sized) -> dict[str, str]:
    return {array.name: array.dtype for array in (*program.inputs, *program.assigned)}


def free_name(name: str, program: Sized) -> str:
    """A name that the program does not have."""
    taken = {*program.extents, *_dtypes(program)}
    while name in taken:
        name += "_"
    return name
