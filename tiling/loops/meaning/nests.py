"""Which nests of loops can run at once, found once for each: many run thousands of times."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.loops.language import (
    Apply,
    Choose,
    Condition,
    For,
    If,
    Load,
    Number,
    Position,
    Register,
    Statement,
    Store,
)
from tiling.loops.rewrite import parts_of

ALONE = ("serial", "rolled", "unrolled", "vector")  # kinds of loops that one worker runs
FEW = 8  # iterations of a nest that take less time one after the other
_VALUES = (Apply, Choose, Load, Number, Position, Register)


@dataclass(frozen=True, slots=True)
class Nest:
    """A nest around one store that can run at once. It begins with `loop`, which stays alive here, so that no other one
    gets its identity.

        for k_u in 0..64:                              k_u one after the other: all of them change an element
          for m_u in 0..64:                            m_u and n_u at once
            for n_u in 0..64:
              if m + m_u < 9:
                acc[m_u, n_u] = acc[m_u, n_u] + X[m + m_u, k_u] * W[n_u, k_u]

    free: the loops whose variables the place of the store has, which may run at once if each iteration has a place of
    its own. again: the others, outermost first. loads: what the value reads, the stored element left out. changed:
    which argument of the value is the stored element, where nothing else reads it. lanes: whether an access has `lane`
    of no loop of the nest. store: None where this is no such nest.
    """

    loop: For
    free: tuple[For, ...] = ()
    again: tuple[For, ...] = ()
    conditions: tuple[Condition, ...] = ()
    store: Store | None = None
    loads: tuple[Load, ...] = ()
    changed: int | None = None
    lanes: bool = False


def nest_of(loop: For) -> Nest:
    """The nest that a loop begins."""
    loops: list[For] = []
    conditions: list[Condition] = []
    statement: Statement = loop
    while not isinstance(statement, Store):
        if isinstance(statement, For) and statement.kind in ALONE:
            loops.append(statement)
        elif isinstance(statement, If) and not statement.otherwise:
            conditions += statement.conditions
        else:
            return Nest(loop)
        if len(statement.body) != 1:
            return Nest(loop)
        statement = statement.body[0]
    ranges = [range(each.start.offset, each.stop.offset, each.step) for each in loops]
    if all(each.start.is_constant and each.stop.is_constant for each in loops) and prod(map(len, ranges)) < FEW:
        return Nest(loop)
    names = {each.name for each in loops}
    bounds = {name for each in loops for end in (each.start, each.stop) for name in end.names()}
    parts = list(parts_of(statement.value))
    if len(names) < len(loops) or bounds & names or not all(isinstance(part, _VALUES) for part in parts):
        return Nest(loop)
    loads = [part for part in parts if isinstance(part, Load)]
    placed = {name for index in statement.at for name in index.names()}
    read = {name for load in loads for index in load.at for name in index.names()}
    own = Load(statement.buffer, statement.at)
    arguments = statement.value.arguments if isinstance(statement.value, Apply) else ()
    return Nest(
        loop,
        tuple([each for each in loops if each.name in placed]),
        tuple([each for each in loops if each.name not in placed]),
        tuple(conditions),
        statement,
        tuple([load for load in loads if load != own]),
        arguments.index(own) if own in arguments and loads.count(own) == 1 else None,
        "lane" in (placed | read) - names,
    )
