"""Divides a sum once, instead of every value in it.

    p[i,j] = e[i,j] / d[i]; y[i,c] = sum[j] p[i,j] * v[j,c]      ->      y_sum[i,c] = sum[j] e[i,j] * v[j,c]
                                                                         y[i,c] = y_sum[i,c] / d[i]

Softmax in attention is written so, with e = exp(t - m) and m the largest t. Then e is at most 1, so y_sum is at most
the largest v times the number of terms. For any other e, y_sum might overflow where y does not, so the quotients stay.
The sum no longer waits for d, and both may go on block by block (`tiling.program.lowering.online`).
"""

from __future__ import annotations

from dataclasses import replace

from tiling.program.dtypes import computed_in, is_unrounded, met_in, summed_in
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Program, Reduce, Statement
from tiling.program.lowering.online import factors_of, is_exp
from tiling.program.rewrite.inline import substituted
from tiling.program.rewrite.split_sums import free_name


def factored_sums(program: Sized) -> Sized:
    """The program whose sums of products are divided by other sums in the end."""
    for statement in program.program.statements:
        reduce = statement.value
        if isinstance(reduce, Reduce) and reduce.kind == "sum":
            program = _factored(program, statement)
    return program


def _factored(program: Sized, statement: Statement) -> Sized:
    whole = _with_maps(program, statement)
    reduce = whole.value
    assert isinstance(reduce, Reduce)
    factors, divisors = [], []
    for factor in factors_of(reduce.value):
        quotient = factor.arguments if isinstance(factor, Apply) and factor.function == "div" else ()
        if quotient and _is_sum(program, quotient[1], reduce) and largest_of(program, quotient[0]):
            factors.append(quotient[0])
            divisors.append(quotient[1])
        else:
            factors.append(factor)
    if len(divisors) != 1 or len(factors) < 2:
        return program
    dtypes = {array.name: array.dtype for array in (*program.inputs, *program.assigned)}
    product: Expression = factors[0]
    for factor in factors[1:]:
        product = Apply("mul", (product, factor))
    met = met_in(product, dtypes, dtypes[statement.array])
    if met != met_in(reduce.value, dtypes, dtypes[statement.array]) or met not in ("f32", "f64"):
        return program
    name = free_name(f"{statement.array}_sum", program)
    total = Access(name, tuple(map(Dim, statement.dims)))
    number = program.program.statements.index(statement)
    statements = (
        *program.program.statements[:number],
        Statement(name, statement.dims, Reduce("sum", reduce.dims, product)),
        Statement(statement.array, statement.dims, Apply("div", (total, divisors[0]))),
        *program.program.statements[number + 1 :],
    )
    array = program.over(name, summed_in("sum", met), statement.dims)
    found = replace(
        program,
        program=Program(statements, program.program.declarations),
        assigned=(*program.assigned[:number], array, *program.assigned[number:]),
    )
    before = {access.array for access in statement.accesses}
    return _without_unread(found, before - {access.array for access in whole.accesses})


def _with_maps(program: Sized, statement: Statement) -> Statement:
    """The sum with a quotient in place of each factor that is an element of an unrounded quotient map."""
    for factor in factors_of(statement.expression):
        map_ = next(
            (s for s in program.program.statements if isinstance(factor, Access) and s.array == factor.array), None
        )
        if map_ is None or not isinstance(map_.value, Apply) or map_.value.function != "div":
            continue
        dtype, plain = program.array(map_.array).dtype, isinstance(factor, Access) and factor.outside is None
        if plain and computed_in(dtype) == dtype and map_.array not in program.outputs:
            statement = substituted(statement, map_, map_.value, program)
    return statement


def _is_sum(program: Sized, value: Expression, reduce: Reduce) -> bool:
    """Whether a value is an element of a sum, and does not move with the reduced dims of the other sum."""
    if not isinstance(value, Access) or value.outside is not None:
        return False
    if not all(isinstance(index, Dim) and index.name not in reduce.dims for index in value.at):
        return False
    given = next((s.value for s in program.program.statements if s.array == value.array), None)
    return isinstance(given, Reduce) and given.kind == "sum"


def largest_of(program: Sized, value: Expression) -> Statement | None:
    """The statement of m where a value is exp(t - m), or an element of a map of it, and m is the largest t, unrounded.

    Such a value is at most 1. None for any other value.
    """
    given = {statement.array: statement for statement in program.program.statements}
    if isinstance(value, Access) and value.array in given:
        statement = given[value.array]
        whole = value.at == tuple(map(Dim, statement.dims)) and not statement.reduced
        value = statement.expression if whole else value
    dtypes = {array.name: array.dtype for array in (*program.inputs, *program.assigned)}
    largest = (s for s in given.values() if isinstance(s.value, Reduce) and s.value.kind == "max")
    return next((each for each in largest if is_exp(value, each) and is_unrounded(each, dtypes)), None)


def _without_unread(program: Sized, maps: set[str]) -> Sized:
    """The program without those of `maps` that no statement reads any more."""
    read = {access.array for statement in program.program.statements for access in statement.accesses}
    gone = maps - read
    return replace(
        program,
        program=Program(
            tuple(s for s in program.program.statements if s.array not in gone),
            tuple(d for d in program.program.declarations if d.array not in gone),
        ),
        assigned=tuple(array for array in program.assigned if array.name not in gone),
    )
