"""Copies operands of a product that no scheme can read into arrays that a scheme can read.

    y[i,j] = sum[k] x[i+5,k] * exp(w[99-k,j])      ->      x_laid[i,k] = x[i+5,k]; w_laid[j,k] = exp(w[99-k,j])
                                                           y[i,j] = sum[k] x_laid[i,k] * w_laid[j,k]

Each is laid out once, and read for every output that shares it. Source: packing, which schemes do anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from tiling.program.dtypes import computed_in, dtype_in
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Program, Reduce, Statement, parts
from tiling.program.rewrite.split_sums import free_name

# The least number of reads of an element. Laying it out costs its arithmetic, a store and a load: little beside so many
# products.
LEAST_READS = 16


def laid_out(program: Sized, array: str) -> Iterator[Sized]:
    """The program where one or both operands of a sum of products are laid out, if each is read often enough."""
    statement = next(s for s in program.program.statements if s.array == array)
    factors = _factors(statement)
    if factors is None:
        return
    for chosen in ((True, False), (False, True), (True, True)):
        found: Sized | None = program
        for number, wanted in enumerate(chosen):
            found = _with_operand(found, array, number) if found and wanted else found
        if found:
            yield found


def _factors(statement: Statement) -> tuple[Expression, ...] | None:
    """The two values whose products a statement sums; None where it sums no products."""
    reduce = statement.value
    if not isinstance(reduce, Reduce) or reduce.kind != "sum":
        return None
    return reduce.value.arguments if isinstance(reduce.value, Apply) and reduce.value.function == "mul" else None


def is_product(statement: Statement) -> bool:
    """Whether a statement sums products of two values, and each moves with an output dim that the other does not."""
    factors = _factors(statement)
    if factors is None:
        return False
    left, right = (_moving(factor) & set(statement.dims) for factor in factors)
    return bool(left - right) and bool(right - left)


def _moving(value: Expression) -> set[str]:
    return {part.name for part in parts(value) if isinstance(part, Dim)}


def _with_operand(program: Sized, array: str, number: int) -> Sized | None:
    """The program with one operand laid out; None where it is read too seldom, or has numbers of the text only."""
    place, statement = next((n, s) for n, s in enumerate(program.program.statements) if s.array == array)
    factors = _factors(statement)
    assert factors is not None and isinstance(statement.value, Reduce)
    value = factors[number]
    moving = _moving(value)
    dims = tuple(dim for dim in (*statement.dims, *statement.reduced) if dim in moving)
    points = prod(program.extents[dim] for dim in (*statement.dims, *statement.reduced))
    if points < LEAST_READS * prod(program.extents[dim] for dim in dims):
        return None
    dtypes = {one.name: one.dtype for one in (*program.inputs, *program.assigned)}
    found = dtype_in(value, dtypes)
    dtype = found if isinstance(value, Access) else computed_in(found)
    if dtype not in dtypes.values() and dtype != "f32":
        return None  # numbers of the text alone
    of = value.array if isinstance(value, Access) else array
    name = free_name(f"{of}_laid", program)
    operands = list(factors)
    operands[number] = Access(name, tuple(map(Dim, dims)))
    product = replace(statement, value=replace(statement.value, value=Apply("mul", tuple(operands))))
    before, after = program.program.statements[:place], program.program.statements[place + 1 :]
    return replace(
        program,
        program=Program((*before, Statement(name, dims, value), product, *after), program.program.declarations),
        assigned=(*program.assigned[:place], program.over(name, dtype, dims), *program.assigned[place:]),
    )
