"""The conditions of a block: all there are, and the block where some are known or replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tiling.loops.language import Block, Body, Condition, For, If, Inside, StagedPart, Statement, Team
from tiling.loops.walk import walk, with_blocks


def with_condition(body: Body, condition: Condition, by: Condition | bool) -> Body:
    """The block with one condition replaced, wherever it stands."""
    return with_conditions(body, lambda each: by if each == condition else each)


def with_conditions(body: Body, change: Callable[[Condition], Condition | bool]) -> Body:
    """The block with each condition of an `If` replaced. An `If` whose conditions are known gives way to its branch."""
    found: list[Statement] = []
    for statement in body:
        statement = with_blocks(statement, lambda block: with_conditions(block, change))
        if isinstance(statement, If):
            left, chosen = open_conditions(statement, change)
            found += [If(left, chosen, statement.otherwise)] if left else chosen
        elif not is_idle(statement):
            found.append(statement)
    return tuple(found)


def open_conditions(choice: If, change: Callable[[Condition], Condition | bool]) -> tuple[tuple[Condition, ...], Body]:
    """The conditions of a choice that `change` leaves open, and the block that runs where they hold."""
    changed = [change(condition) for condition in choice.conditions]
    if not all(changed):
        return (), choice.otherwise
    return tuple([condition for condition in changed if not isinstance(condition, bool)]), choice.body


def is_idle(statement: Statement) -> bool:
    """Whether a statement is a loop or a block with nothing left to do."""
    return isinstance(statement, (For, Block, StagedPart, Team)) and not statement.body


def conditions_of(body: Body) -> Iterator[Inside]:
    """Every condition on an index in a block, in the order of the text."""
    choices = (s for s in walk(body) if isinstance(s, If))
    return (condition for choice in choices for condition in choice.conditions if isinstance(condition, Inside))
