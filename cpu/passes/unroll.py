"""Writes out loops of kind "unrolled", one copy of the body for each iteration, and decides the tests that are left.

for m_u in 0..2, unrolled:             acc[0, 0] = 0
  acc[m_u, 0] = 0               ->     acc[1, 0] = 0
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.index import constant
from tiling.loops.language import Body, Condition, For, Inside, Kernel, Statement, with_blocks
from tiling.loops.rewrite import substituted, with_conditions


def unroll(kernel: Kernel) -> Kernel:
    """The kernel without unrolled loops."""

    def whole(body: Body) -> Body:
        return unrolled(with_conditions(body, decided))

    functions = tuple(replace(function, body=whole(function.body)) for function in kernel.functions)
    return replace(kernel, body=whole(kernel.body), functions=functions)


def unrolled(body: Body) -> Body:
    """The block without unrolled loops."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For) and statement.kind == "unrolled":
            for value in range(statement.start.offset, statement.stop.offset, statement.step):
                copy = substituted(statement.body, {statement.name: constant(value)})
                found += unrolled(with_conditions(copy, decided))
        else:
            found.append(with_blocks(statement, unrolled))
    return tuple(found)


def decided(condition: Condition) -> Condition | bool:
    """True or False for a test of a number."""
    if not isinstance(condition, Inside) or not condition.index.is_constant:
        return condition
    at = condition.index.offset
    return (condition.low is None or condition.low <= at) and (condition.high is None or at < condition.high)
