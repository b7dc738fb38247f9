"""Multiplies exponentials by the inverse of their sum, instead of dividing each by the sum.

    e[i,j] = exp(t[i,j] - m[i]); d[i] = sum[j] e[i,j]      ->      e[i,j] = …; d[i] = …; d_inverse[i] = 1 / d[i]
    y[i,j] = e[i,j] / d[i]                                         y[i,j] = e[i,j] * d_inverse[i]

With m the largest t, as in a softmax, d is at least exp(0) = 1 and at most the number of its terms, or no number. So
its inverse is an ordinary number, and a product with it is within 1.5 ulp of the quotient; where e is 0 or 1 both are
the same. Any other d may be 0, infinite or so large that its inverse has lost digits. Other values than exponentials
keep their quotients, which may be whole numbers.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.program.dtypes import computed_in, met_in
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Program, Reduce, Statement
from tiling.program.rewrite.factor_sums import largest_of
from tiling.program.rewrite.split_sums import free_name

# What divisions cost on one thread of a Zen 3 with AVX2: a softmax of 1536 rows of 128 takes 110.6 µs with them and
# 97.7 µs without, one of 6144 rows of 512 1826 µs and 1665 µs. On a Zen 5 nothing is gained (docs/decisions/049).


def inverted_sums(program: Sized) -> Sized:
    """The program with inverses of the sums that exponentials are divided by."""
    for total in program.program.statements:
        if _is_at_least_1(program, total):
            program = _inverted(program, total)
    return program


def _inverted(program: Sized, total: Statement) -> Sized:
    name = free_name(f"{total.array}_inverse", program)
    at = tuple(map(Dim, total.dims))
    divisor, inverse = Access(total.array, at), Access(name, at)
    found: list[Statement] = []
    for statement in program.program.statements:
        if not isinstance(statement.value, Reduce) and set(total.dims) < set(statement.dims):
            value = _multiplied(program, statement, statement.value, divisor, inverse)
            statement = replace(statement, value=value)
        found.append(statement)
    if tuple(found) == program.program.statements:
        return program
    number = program.program.statements.index(total) + 1
    found.insert(number, Statement(name, total.dims, Apply("div", (Number(1.0), divisor))))
    array = program.over(name, program.array(total.array).dtype, total.dims)
    return replace(
        program,
        program=Program(tuple(found), program.program.declarations),
        assigned=(*program.assigned[:number], array, *program.assigned[number:]),
    )


def _multiplied(
    program: Sized, statement: Statement, value: Expression, divisor: Access, inverse: Access
) -> Expression:
    """A value with products in place of the quotients of exponentials that are computed in the dtype of `divisor`."""
    if not isinstance(value, Apply):
        return value
    arguments = tuple(_multiplied(program, statement, each, divisor, inverse) for each in value.arguments)
    dtypes = {array.name: array.dtype for array in (*program.inputs, *program.assigned)}
    met = met_in(value, dtypes, dtypes[statement.array])
    by_sum = value.function == "div" and value.arguments[1] == divisor and met == dtypes[divisor.array]
    if by_sum and largest_of(program, value.arguments[0]):
        return Apply("mul", (arguments[0], inverse))
    return replace(value, arguments=arguments)


def _is_at_least_1(program: Sized, statement: Statement) -> bool:
    """Whether a statement sums exp(t - m) where m is the largest t of its dims. Neither m nor the sum is rounded."""
    reduce, dtype = statement.value, program.array(statement.array).dtype
    if not isinstance(reduce, Reduce) or reduce.kind != "sum" or computed_in(dtype) != dtype:
        return False
    largest = largest_of(program, reduce.value)
    return largest is not None and largest.dims == statement.dims and set(largest.reduced) == set(reduce.dims)
