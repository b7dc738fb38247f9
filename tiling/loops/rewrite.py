"""Changing loops: the walks over indices and values that passes share. Every function returns new nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, TypeVar

from tiling.loops.index import Index
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Call,
    Choose,
    Condition,
    Decide,
    Define,
    Do,
    For,
    If,
    Immediate,
    Inside,
    Invoke,
    Let,
    Load,
    Mask,
    Move,
    Operand,
    Position,
    Prefetch,
    Read,
    Set,
    StagedPart,
    Statement,
    Store,
    Stride,
    Value,
    View,
)
from tiling.loops.machines import Aim, Arrive, Await, AwaitParity, Copy, CopyBox, Open, StoreBox, Take
from tiling.loops.walk import walk, with_blocks

Kind = TypeVar("Kind", bound=Operand)  # an address stays an address, a value becomes another value
Node = TypeVar("Node")
ChangeIndex = Callable[[Index], Index]
ChangeOperand = Callable[[Operand], Operand | None]


def with_operands(operand: Kind, change: ChangeOperand) -> Kind:
    """A value with each part replaced by change(part); where that is None, the walk goes on inside the part.

    What holds nothing that changes stays the same object, here and in all walks below. To make a node takes longer than
    to compare its parts, and most nodes stay as they are.
    """
    changed = change(operand)
    if changed is not None:
        return changed  # type: ignore[return-value]
    if isinstance(operand, Invoke):
        parts = [with_operands(part, change) for _, part in operand.operands]
        if all([new is old for new, (_, old) in zip(parts, operand.operands)]):
            return operand
        changed = Invoke(operand.instruction, tuple([(name, new) for new, (name, _) in zip(parts, operand.operands)]))
    elif isinstance(operand, Apply):
        arguments = tuple([with_operands(argument, change) for argument in operand.arguments])
        changed = operand if _same(arguments, operand.arguments) else Apply(operand.function, arguments)
    elif isinstance(operand, Choose):
        either = [with_operands(value, change) for value in (operand.value, operand.otherwise)]
        changed = operand if _same(either, (operand.value, operand.otherwise)) else Choose(operand.conditions, *either)
    else:
        return operand
    return changed  # type: ignore[return-value]


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    """Whether two sequences of one length hold the same objects."""
    return all(map(is_, new, old))


def _with(statement: Node, **parts: object) -> Node:
    """The statement with other parts; where they are the ones that it has, the statement itself."""
    if all([part is getattr(statement, name) for name, part in parts.items()]):
        return statement
    return replace(statement, **parts)  # type: ignore[type-var]


def with_values(statement: Statement, change: ChangeOperand) -> Statement:
    """The statement with `change` applied to its values and addresses, and to those of the statements inside."""
    return with_blocks(with_own_values(statement, change), lambda body: tuple([with_values(s, change) for s in body]))


def with_own_values(statement: Statement, change: ChangeOperand) -> Statement:
    """The statement with `change` applied to its values and addresses, but not to those of the statements inside."""
    changed = _WITH_VALUES.get(type(statement))
    return changed(statement, change) if changed else statement


def _with_value(statement: Store | Set | Let | Read, change: ChangeOperand) -> Statement:
    if statement.value is None:
        return statement
    value = with_operands(statement.value, change)
    if value is statement.value:
        return statement
    # Written out, as in `with_blocks`: `replace` takes ten times as long.
    if isinstance(statement, Store):
        return Store(statement.buffer, statement.at, value)
    if isinstance(statement, Let):
        return Let(statement.name, value, statement.changes, statement.dtype)
    return type(statement)(statement.name, value)


def _with_first(statement: Alloc, change: ChangeOperand) -> Statement:
    return statement if statement.first is None else _with(statement, first=with_operands(statement.first, change))


def _with_invoke(statement: Do, change: ChangeOperand) -> Statement:
    invoke = with_operands(statement.invoke, change)
    return statement if invoke is statement.invoke else Do(invoke)


def _with_places(*names: str) -> Callable[[Any, ChangeOperand], Statement]:
    """How addresses of these names change in a statement."""

    def changed(statement: Statement, change: ChangeOperand) -> Statement:
        return _with(statement, **{name: with_operands(getattr(statement, name), change) for name in names})

    return changed


def _with_views(statement: Call, change: ChangeOperand) -> Statement:
    views = tuple([with_operands(view, change) for view in statement.views])
    return statement if _same(views, statement.views) else replace(statement, views=views)


# By type, as for `_OPERANDS`.
_WITH_VALUES: dict[type, Callable[[Any, ChangeOperand], Statement]] = {
    **dict.fromkeys((Store, Set, Let, Read), _with_value),
    Alloc: _with_first,
    Do: _with_invoke,
    **dict.fromkeys((View, Prefetch, Aim), _with_places("address")),
    **dict.fromkeys((Copy, StoreBox), _with_places("target", "source")),
    CopyBox: _with_places("target", "source", "barrier"),
    **dict.fromkeys((Open, Arrive, Await, AwaitParity), _with_places("barrier")),
    Take: _with_places("counter"),
    Call: _with_views,
}


def with_buffers(statement: Statement, names: Mapping[str, str]) -> Statement:
    """The statement with other buffers in place of the named ones, also in the statements inside."""

    def renamed(operand: Operand) -> Operand | None:
        if isinstance(operand, (Load, Address, Stride)) and operand.buffer in names:
            return type(operand)(names[operand.buffer], operand.at)
        return None

    def stored(inner: Statement) -> Statement:
        if isinstance(inner, Store) and inner.buffer in names:
            return Store(names[inner.buffer], inner.at, inner.value)
        if isinstance(inner, StagedPart) and inner.buffer in names:
            inner = replace(inner, buffer=names[inner.buffer])
        return with_blocks(inner, lambda body: tuple(map(stored, body)))

    return stored(with_values(statement, renamed))


def with_indices(statement: Statement, change: ChangeIndex) -> Statement:
    """The statement with `change` applied to every index in it, those of the statements inside included."""
    statement = with_own_indices(statement, change)
    return with_blocks(statement, lambda body: tuple([with_indices(s, change) for s in body]))


def with_own_indices(statement: Statement, change: ChangeIndex) -> Statement:
    """The statement with `change` applied to its own indices, but not to those of the statements inside."""
    return _with_bounds(with_own_values(statement, lambda operand: _place(operand, change)), change)


def _place(operand: Operand, change: ChangeIndex) -> Operand | None:
    if isinstance(operand, (Load, Address, Stride)):
        at = tuple([change(index) for index in operand.at])
        return operand if _same(at, operand.at) else type(operand)(operand.buffer, at)
    if isinstance(operand, Immediate):
        return _with(operand, number=change(operand.number))
    if isinstance(operand, Position):
        return Position(change(operand.index))
    if isinstance(operand, Choose):
        either = (
            with_operands(value, lambda part: _place(part, change)) for value in (operand.value, operand.otherwise)
        )
        return Choose(_conditions(operand.conditions, change), *either)
    return Mask(change(operand.lanes)) if isinstance(operand, Mask) else None


def _with_bounds(statement: Statement, change: ChangeIndex) -> Statement:
    """The statement with `change` applied to those of its own indices that are no part of a value."""
    changed = _WITH_BOUNDS.get(type(statement))
    return changed(statement, change) if changed else statement


def _stored_at(statement: Store, change: ChangeIndex) -> Statement:
    at = tuple([change(index) for index in statement.at])
    return statement if _same(at, statement.at) else Store(statement.buffer, at, statement.value)


def _moved_by(statement: Move, change: ChangeIndex) -> Statement:
    at = tuple([change(index) for index in statement.at])
    return statement if _same(at, statement.at) else Move(statement.view, at)


def _bounded_by(statement: For, change: ChangeIndex) -> Statement:
    limit = None if statement.limit is None else change(statement.limit)
    return _with(statement, start=change(statement.start), stop=change(statement.stop), limit=limit)


# By type, as for `_OPERANDS`. Most statements are not here: they have no such index.
_WITH_BOUNDS: dict[type, Callable[[Any, ChangeIndex], Statement]] = {
    Store: _stored_at,
    Move: _moved_by,
    For: _bounded_by,
    Define: lambda s, change: _with(s, index=change(s.index)),
    Await: lambda s, change: _with(s, phase=change(s.phase)),
    AwaitParity: lambda s, change: _with(s, parity=change(s.parity)),
    CopyBox: lambda s, change: replace(s, windows=tuple(replace(w, tap=change(w.tap)) for w in s.windows)),
    Aim: lambda s, change: _with(s, elements=change(s.elements)),
    Alloc: lambda s, change: s if s.at is None else _with(s, at=change(s.at)),
    Call: lambda s, change: replace(s, numbers=tuple(change(number) for number in s.numbers)),
    **dict.fromkeys((If, Copy, Decide), lambda s, change: _with(s, conditions=_conditions(s.conditions, change))),
    StagedPart: lambda s, change: replace(s, part=tuple(replace(a, start=change(a.start)) for a in s.part)),
}


def _conditions(conditions: tuple[Condition, ...], change: ChangeIndex) -> tuple[Condition, ...]:
    found = tuple([_condition(condition, change) for condition in conditions])
    return conditions if _same(found, conditions) else found


def _condition(condition: Condition, change: ChangeIndex) -> Condition:
    if not isinstance(condition, Inside):
        return condition
    index = change(condition.index)
    return condition if index is condition.index else Inside(index, condition.low, condition.high)


def substituted(body: Body, by: Mapping[str, Index]) -> Body:
    """The block with indices in place of variables. No loop inside may have a variable of these names."""
    return tuple(with_indices(statement, lambda index: index.replaced(by)) for statement in body)


def places(body: Body) -> Iterator[Load | Address | Store]:
    """Every access to a buffer in a block."""
    for statement in walk(body):
        if isinstance(statement, Store):
            yield statement
        for operand in operands_of(statement):
            yield from (part for part in parts_of(operand) if isinstance(part, (Load, Address)))


def operands_of(statement: Statement) -> tuple[Operand, ...]:
    """The values and addresses that a statement itself has, without those of the statements inside."""
    found = _OPERANDS.get(type(statement))
    return found(statement) if found else ()


# By type, as `isinstance` of one kind after the other takes thrice as long, and passes ask it of every statement.
_OPERANDS: dict[type, Callable[[Any], tuple[Operand, ...]]] = {
    **dict.fromkeys((Store, Let, Set, Read), lambda s: () if s.value is None else (s.value,)),
    Alloc: lambda s: () if s.first is None else (s.first,),
    Do: lambda s: (s.invoke,),
    **dict.fromkeys((View, Prefetch, Aim), lambda s: (s.address,)),
    **dict.fromkeys((Copy, StoreBox), lambda s: (s.target, s.source)),
    CopyBox: lambda s: (s.target, s.source, s.barrier),
    **dict.fromkeys((Open, Arrive, Await, AwaitParity), lambda s: (s.barrier,)),
    Take: lambda s: (s.counter,),
    Call: lambda s: s.views,
}


def instructions_in(statement: Statement) -> Iterator[Invoke]:
    """Every instruction of a statement itself, without those of the statements inside."""
    for operand in operands_of(statement):
        yield from (part for part in parts_of(operand) if isinstance(part, Invoke))


def parts_of(value: Value | Operand) -> Iterator[Operand]:
    """The value and all values inside it, a value before those inside."""
    rest: list[Operand] = [value]  # a stack, as in `walk`
    while rest:
        part = rest.pop()
        yield part
        if isinstance(part, Apply):
            rest += reversed(part.arguments)
        elif isinstance(part, Invoke):
            rest += [operand for _, operand in reversed(part.operands)]
        elif isinstance(part, Choose):
            rest += (part.otherwise, part.value)
