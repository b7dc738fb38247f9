"""Writes out loops of kind "unrolled", one copy of the body for each iteration, and decides the tests that are left.

    for m_u in 0..10, unrolled:           acc[0, 0, lane] = zero()
      acc[m_u, 0, lane] = zero()    ->    acc[1, 0, lane] = zero()
                                          …

From here on each index inside a tile is a number, except for the variables of serial loops. A tile whose taps all lie
on padding reads neither x nor weights: it has no loops over them, and no parameters for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress

from tiling.loops.conditions import is_idle, open_conditions
from tiling.loops.index import Index, constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Call, Condition, For, If, Inside, Seen, Statement, View
from tiling.loops.rewrite import places, with_own_indices
from tiling.loops.walk import WITH_BLOCKS, walk, with_blocks


def unroll(kernel: Kernel) -> Kernel:
    """The kernel without unrolled loops."""
    functions = tuple(replace(function, body=unrolled(function.body, {})) for function in kernel.functions)
    return _with_read_views(replace(kernel, body=unrolled(kernel.body, {}), functions=functions))


def _with_read_views(kernel: Kernel) -> Kernel:
    """The kernel whose functions have the views that their statements name, and no others."""
    kept = {}
    for function in kernel.functions:
        named = {place.buffer for place in places(function.body)}
        named |= {seen.of for seen in walk(function.body) if isinstance(seen, Seen)}
        kept[function.name] = [view in named for view, _ in function.views]
    if all(map(all, kept.values())):
        return kernel

    def called(body: Body) -> Body:
        return tuple(
            replace(s, views=tuple(compress(s.views, kept[s.function])))
            if isinstance(s, Call)
            else with_blocks(s, called)
            for s in body
        )

    functions = [
        replace(f, views=tuple(compress(f.views, kept[f.name])), body=called(f.body)) for f in kernel.functions
    ]
    return replace(kernel, body=called(kernel.body), functions=tuple(functions))


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
            found += [] if is_idle(written_out) or _names_alone(written_out) else [written_out]
    return tuple(found)


def _names_alone(statement: Statement) -> bool:
    """Whether a statement is a loop that only names places which nothing then reads."""
    return isinstance(statement, For) and all(isinstance(inner, View) for inner in statement.body)


def decided(condition: Condition) -> Condition | bool:
    """True or False for a test of a number."""
    if not isinstance(condition, Inside) or not condition.index.is_constant:
        return condition
    at = condition.index.offset
    return (condition.low is None or condition.low <= at) and (condition.high is None or at < condition.high)
