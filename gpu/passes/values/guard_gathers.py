"""Guards elements whose index is read from an array: one that lies outside counts as 0, and is reported.

    at_0 = as_s64(t[i])          at_0 = as_s64(t[i])
    y[i] = x[at_0]         ->    if 0 <= at_0 < 9:
                                 else:
                                   report()
                                 y[i] = (x[at_0] if 0 <= at_0 < 9 else 0)

An element with an `else` needs no guard.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Body,
    Choose,
    Condition,
    Do,
    If,
    Instruction,
    Invoke,
    Load,
    Number,
    Operand,
    Read,
    Statement,
)
from tiling.loops.rewrite import with_operands, with_own_values
from tiling.loops.walk import buffers_of, walk, with_blocks
from tiling.program.lowering.statements import bounded

REPORT = Instruction("report", "report(outside)", ())


def guard_gathers(kernel: Kernel) -> Kernel:
    """The kernel without accesses that an input could send outside an array."""
    read = {s.name for s in walk(kernel.body) if isinstance(s, Read)}
    if not read:
        return kernel
    buffers = buffers_of(kernel)

    def guarded(body: Body) -> Body:
        found: list[Statement] = []
        for statement in body:
            changed, tests = _guarded(statement, buffers, read)
            found += [If(conditions, (), (Do(Invoke(REPORT, ())),)) for conditions in tests]
            found.append(with_blocks(changed, guarded))
        return tuple(found)

    return replace(kernel, body=guarded(kernel.body))


def _guarded(
    statement: Statement, buffers: dict[str, Buffer], read: set[str]
) -> tuple[Statement, dict[tuple[Condition, ...], None]]:
    """The statement with guarded elements, and what has to hold for each."""
    tests: dict[tuple[Condition, ...], None] = {}
    return with_own_values(statement, lambda part: _guard(part, buffers, read, tests)), tests


def _guard(
    part: Operand, buffers: dict[str, Buffer], read: set[str], tests: dict[tuple[Condition, ...], None]
) -> Operand | None:
    if isinstance(part, Choose):
        # Its conditions are the conditions of the value. Its other branch is a number, or another value.
        otherwise = with_operands(part.otherwise, lambda each: _guard(each, buffers, read, tests))
        return Choose(part.conditions, part.value, otherwise)
    if not isinstance(part, Load) or buffers[part.buffer].memory == "registers":
        return None
    buffer = buffers[part.buffer]
    conditions = tuple(
        test
        for index, size in zip(part.at, buffer.sizes)
        if not read.isdisjoint(index.names())
        for test in bounded(index, size)
    )
    if not conditions:
        return None
    tests[conditions] = None
    return Choose(conditions, part, Number(0, buffer.dtype))
