"""Writes out loops of kind "unrolled", one copy of the body for each iteration, and decides the tests that are left.

    for m_u in 0..10, unrolled:           acc[0, 0, lane] = zero()
      acc[m_u, 0, lane] = zero()    ->    acc[1, 0, lane] = zero()
                                          …

From here on each index inside a tile is a number, except for the variables of serial loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tiling.loops.conditions import is_idle, open_conditions
from tiling.loops.index import Index, constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Condition, For, If, Inside, Statement
from tiling.loops.rewrite import with_own_indices
from tiling.loops.walk import WITH_BLOCKS, with_blocks


def unroll(kernel: Kernel) -> Kernel:
    """The kernel without unrolled loops."""
    functions = tuple(replace(function, body=unrolled(function.body, {})) for function in kernel.functions)
    return replace(kernel, body=unrolled(kernel.body, {}), functions=functions)


def unrolled(body: Body, at: Mapping[str, Index]) -> Body:
    """The block without unrolled loops. at: the values of the variables of unrolled loops around it."""
    found: list[Statement] = []
    for statement in body:
        if at:
            statement = with_own_indices(statement, lambda index: index.replaced(at))
        if not isinstance(statement, WITH_BLOCKS):
            found.append(statement)
        elif isinstance(statement, For) and statement.kind == "unrolled":
            for value in range(statement.start.offset, statement.stop.offset, statement.step):
                found += unrolled(statement.body, {**at, statement.name: constant(value)})
        elif isinstance(statement, If):
            left, chosen = open_conditions(statement, decided)
            written = unrolled(chosen, at)
            found += [If(left, written, unrolled(statement.otherwise, at))] if left else written
        else:
            written_out = with_blocks(statement, lambda block: unrolled(block, at))
            found += [] if is_idle(written_out) else [written_out]
    return tuple(found)


def decided(condition: Condition) -> Condition | bool:
    """True or False for a test of a number."""
    if not isinstance(condition, Inside) or not condition.index.is_constant:
        return condition
    at = condition.index.offset
    return (condition.low is None or condition.low <= at) and (condition.high is None or at < condition.high)
