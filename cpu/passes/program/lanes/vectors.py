"""Turns loops over lanes into vector instructions. Every value becomes a vector.

    for lane in 0..16, vector:                        x_0 = load(x + [i, j])
      y[i, j + lane] = x[i, j + lane] * g[i]    ->    g_1 = broadcast(g + [i])
                                                      store(p: y + [i, j], v: x_0 * g_1)

Outside loops over lanes, all lanes do the same. Numbers that do not lie side by side are loaded one by one, and so are
numbers that may lie outside their array (`guarded`).
"""

from __future__ import annotations

from dataclasses import replace

from cpu.passes.program.lanes.guarded import guarded
from cpu.passes.program.lanes.statement import LaneFacts, Lanes
from microkernels.tile.isa_row import Isa
from tiling.loops.conditions import with_conditions
from tiling.loops.facts.lanes import crosses_lanes
from tiling.loops.index import ZERO
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Condition, For, Inside, Invoke, Let, Load, Read, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk, with_blocks


def vectors(kernel: Kernel, isa: Isa) -> Kernel:
    """The kernel in vector instructions of an instruction set."""
    own = (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc))
    named = {buffer.name: buffer for buffer in (*kernel.arrays, *own)}
    dtypes = {name: buffer.dtype for name, buffer in named.items()}
    dtypes |= {s.name: s.dtype for s in walk(kernel.body) if isinstance(s, Let)}
    body = _body(kernel.body, LaneFacts(isa, guarded, named, dtypes, _summed(kernel)))
    return replace(kernel, body=with_conditions(body, _known))


def _known(condition: Condition) -> Condition | bool:
    """What is known of a condition: whether a number lies inside."""
    if not isinstance(condition, Inside) or not condition.index.is_constant:
        return condition
    at = condition.index.offset
    return (condition.low is None or condition.low <= at) and (condition.high is None or at < condition.high)


def _summed(kernel: Kernel) -> frozenset[str]:
    """The registers whose lanes are combined in the end, so that unused lanes must keep their first values."""
    parts = (part for s in walk(kernel.body) for operand in operands_of(s) for part in parts_of(operand))
    across = (p for p in parts if isinstance(p, Invoke) and crosses_lanes(p))
    return frozenset(given.buffer for invoke in across for _, given in invoke.operands if isinstance(given, Load))


def _body(body: Body, facts: LaneFacts) -> Body:
    """The block in vectors. Outside of loops over lanes a statement is the same for all lanes."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For) and statement.kind == "vector":
            for inner in statement.body:
                found += Lanes(facts, statement.stop).statement(inner)
        elif isinstance(statement, Alloc) and statement.buffer.memory == "registers":
            found.append(Alloc(replace(statement.buffer, shape=(facts.isa.lanes,), axes=("lane",))))
        elif isinstance(statement, (Store, Let, Read)):
            found += Lanes(facts, ZERO).statement(statement)
        else:
            found.append(with_blocks(statement, lambda block: _body(block, facts)))
    return tuple(found)
