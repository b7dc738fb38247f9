"""Accesses to buffers: what fills a tile, and accesses whose axes a pass changes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from tiling.loops.index import Index
from tiling.loops.language import Address, Body, Choose, Condition, Load, Operand, Statement, Store, Value
from tiling.loops.rewrite import with_own_values
from tiling.loops.walk import with_blocks

_Place = tuple[Index, ...]


def taken(store: Store) -> tuple[Value, tuple[Condition, ...]]:
    """What a store to a tile takes, and the conditions under which it is no zero."""
    value = store.value
    return (value.value, value.conditions) if isinstance(value, Choose) else (value, ())


def moved(body: Body, names: Collection[str], place: Callable[[_Place], _Place]) -> Body:
    """The block in which the element at `at` of these buffers is at `place(at)`."""

    def near(operand: Operand) -> Operand | None:
        if isinstance(operand, (Load, Address)) and operand.buffer in names:
            return type(operand)(operand.buffer, place(operand.at))
        return None

    def statement(inner: Statement) -> Statement:
        inner = with_own_values(inner, near)
        if isinstance(inner, Store) and inner.buffer in names:
            inner = replace(inner, at=place(inner.at))
        return with_blocks(inner, lambda block: tuple(map(statement, block)))

    return tuple(map(statement, body))
