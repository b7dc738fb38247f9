"""The numbers by which indices can always be divided: they follow from the steps of the loops around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import gcd

from gpu.passes.facts.workers import THREADS_OF_BLOCK
from tiling.loops.index import ZERO, Index, Operation, applied, constant, variable
from tiling.loops.language import Body, Define, For, Statement
from tiling.loops.walk import with_blocks

Divisors = Mapping[str, int]  # for each variable, a number by which it can always be divided


def divisor(index: Index, known: Divisors) -> int:
    """A number by which an index can always be divided; 0 for the index 0. known: such a number for each variable."""
    found = abs(index.offset)
    for term, coefficient in index.terms:
        of_term = known.get(term, 1) if isinstance(term, str) else _of_operation(term, known)
        found = gcd(found, coefficient * of_term)
    return found


def _of_operation(one: Operation, known: Divisors) -> int:
    left, right = divisor(one.left, known), divisor(one.right, known)
    if one.operation == "%":
        return gcd(left, right)
    if one.operation == "*":
        return left * right
    by = one.right.offset if one.right.is_constant else 0
    return left // by if one.operation == "/" and by and left % by == 0 else 1


def remainder(index: Index, by: int, known: Divisors) -> Index:
    """The remainder of an index that is never negative: summands that `by` divides are left out.

    Variables are never negative. Where another summand is subtracted, the whole index is kept: without those summands
    it might be negative, and so would CUDA's remainder of it.
    """
    left = constant(index.offset % by)
    for term, coefficient in index.terms:
        summand = Index(((term, coefficient),))
        left = left if divisor(summand, known) % by == 0 else left + summand
    if any(coefficient < 0 for _, coefficient in left.terms):
        return index % by
    if len(left.terms) == 1 and not left.offset:
        ((term, coefficient),) = left.terms
        if isinstance(term, Operation) and term.operation == "%" and coefficient == 1:
            below = term.right.is_constant and term.right.offset <= by
            return left if below else left % by
    return left % by


def apart(index: Index, known: Divisors) -> Index:
    """The same index, where summands that a divisor divides stand outside of quotients and remainders."""
    found = constant(index.offset)
    for term, coefficient in index.terms:
        if isinstance(term, str):
            found = found + variable(term) * coefficient
            continue
        left, by = apart(term.left, known), apart(term.right, known)
        value = applied(term.operation, left, by)
        if term.operation in "/%" and by.is_constant:
            value = _divided(left, by.offset, term.operation, known)
        found = found + value * coefficient
    return found


def _divided(index: Index, by: int, operation: str, known: Divisors) -> Index:
    summands = [Index((term,)) for term in index.terms] + [constant(index.offset)]
    whole = [each for each in summands if divisor(each, known) % by == 0]
    rest = sum((each for each in summands if each not in whole), ZERO)
    if rest.offset < 0 or any(coefficient < 0 for _, coefficient in rest.terms):
        return applied(operation, index, constant(by))
    left = applied(operation, rest, constant(by))
    return left if operation == "%" else sum((applied("/", each, constant(by)) for each in whole), left)


def known_after(statement: Statement, known: Divisors) -> Divisors:
    """What is known after a statement in the same block."""
    return {**known, statement.name: divisor(statement.index, known)} if isinstance(statement, Define) else known


def known_inside(statement: Statement, known: Divisors) -> Divisors:
    """What is known in the blocks of a statement."""
    if not isinstance(statement, For):
        return known
    return {**known, statement.name: gcd(divisor(statement.start, known), statement.step)}


def with_loops(body: Body, changed: Callable[[For, int, Divisors], Body | None]) -> Body:
    """The statements with loops changed, at any depth.

    changed: called with a loop, the threads of the block that run it, and what is known there; gives what stands in its
    place, or None to look inside it.
    """

    def rewritten(block: Body, threads: int, known: Divisors) -> Body:
        found: list[Statement] = []
        for statement in block:
            known, inside = known_after(statement, known), threads
            if isinstance(statement, For):
                instead = changed(statement, threads, known)
                if instead is not None:
                    found += instead
                    continue
                inside = statement.stop.offset if statement.kind == THREADS_OF_BLOCK else threads
            each = partial(rewritten, threads=inside, known=known_inside(statement, known))
            found.append(with_blocks(statement, each))
        return tuple(found)

    return rewritten(body, 0, {})
