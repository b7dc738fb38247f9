"""Stages of a ring: which one a step of a loop has, and whether two steps have different ones.

A block that takes tiles in turns goes on with the ring where the tile before has left it.
"""

from __future__ import annotations

from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, Index, Operation, variable
from tiling.loops.language import For, Statement

STAGE = "stage"  # the axis of a tile along which its stages lie
TURN = "turn"  # the variable of the loop in which a block takes tiles


def is_turn(statement: Statement) -> bool:
    """Whether a statement is the loop in which a block takes tiles."""
    return isinstance(statement, For) and statement.name == TURN


def stage_of(loop: For, stages: int, ahead: int = 0) -> Index:
    """The stage of the step so many steps after the current one."""
    return (variable(loop.name) - loop.start + ahead * loop.step) // loop.step % stages


def number_of(loop: For, turns: bool) -> Index:
    """How many steps have come before the current one, with those of other turns."""
    before = variable(TURN) * steps_of(loop) if turns else ZERO
    return before + (variable(loop.name) - loop.start) // loop.step


def is_stage(index: Index) -> bool:
    """Whether an index counts the stages of a ring, or is a number."""
    return index.is_constant or _stage(index) is not None


def are_apart(one: Index, other: Index) -> bool:
    """Whether two stages always differ, whatever the current step is."""
    if one.is_constant and other.is_constant:
        return one != other
    a, b = _stage(one), _stage(other)
    if a is None or b is None or a[1:] != b[1:]:
        return False
    between, (_, by, stages) = a[0] - b[0], a
    return between.is_constant and between.offset % by == 0 and between.offset // by % stages != 0


def _stage(index: Index) -> tuple[Index, int, int] | None:
    """place, by and stages of an index (place / by) % stages; None for any other index."""
    ((term, coefficient),) = index.terms if len(index.terms) == 1 else ((None, 0),)
    if not isinstance(term, Operation) or term.operation != "%" or coefficient != 1 or index.offset:
        return None
    if not term.right.is_constant:
        return None
    left, stages = term.left, term.right.offset
    ((inner, times),) = left.terms if len(left.terms) == 1 else ((None, 0),)
    if isinstance(inner, Operation) and inner.operation == "/" and times == 1 and inner.right.is_constant:
        by = inner.right.offset
        return inner.left + left.offset * by, by, stages
    return left, 1, stages
