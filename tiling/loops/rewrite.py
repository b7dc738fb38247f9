"""Changing loops: the walks over indices and values that passes share. Every function returns new nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from tiling.loops.index import Index
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Block,
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
    Team,
    Value,
    View,
)
from tiling.loops.machines import Aim, Arrive, Await, AwaitParity, Copy, CopyBox, Open, StoreBox, Take
from tiling.loops.walk import inside, walk, with_blocks

Kind = TypeVar("Kind", bound=Operand)  # an address stays an address, a value becomes another value
ChangeIndex = Callable[[Index], Index]
ChangeOperand = Callable[[Operand], Operand | None]


def with_operands(operand: Kind, change: ChangeOperand) -> Kind:
    """A value with each part replaced by change(part); where that is None, the walk goes on inside the part."""
    changed = change(operand)
    if changed is not None:
        return changed  # type: ignore[return-value]
    if not isinstance(operand, (Invoke, Apply, Choose)):
        return operand
    if isinstance(operand, Invoke):
        operands = tuple([(name, with_operands(given, change)) for name, given in operand.operands])
        changed = Invoke(operand.instruction, operands)
    elif isinstance(operand, Apply):
        changed = Apply(operand.function, tuple([with_operands(argument, change) for argument in operand.arguments]))
    else:
        either = (with_operands(value, change) for value in (operand.value, operand.otherwise))
        changed = Choose(operand.conditions, *either)
    return changed  # type: ignore[return-value]


def with_values(statement: Statement, change: ChangeOperand) -> Statement:
    """The statement with `change` applied to its values and addresses, and to those of the statements inside."""
    return with_blocks(with_own_values(statement, change), lambda body: tuple([with_values(s, change) for s in body]))


def with_own_values(statement: Statement, change: ChangeOperand) -> Statement:
    """The statement with `change` applied to its values and addresses, but not to those of the statements inside."""
    # Written out, as in `with_blocks`: `replace` takes ten times as long.
    if isinstance(statement, Store):
        return Store(statement.buffer, statement.at, with_operands(statement.value, change))
    if isinstance(statement, Set):
        return Set(statement.name, with_operands(statement.value, change))
    if isinstance(statement, Let):
        value = None if statement.value is None else with_operands(statement.value, change)
        return Let(statement.name, value, statement.changes, statement.dtype)
    if isinstance(statement, Read):
        return Read(statement.name, with_operands(statement.value, change))
    if isinstance(statement, Do):
        return Do(with_operands(statement.invoke, change))
    if isinstance(statement, View):
        return View(statement.name, with_operands(statement.address, change))
    if isinstance(statement, (Prefetch, Aim)):
        return replace(statement, address=with_operands(statement.address, change))
    if isinstance(statement, Copy):
        target, source = (with_operands(each, change) for each in (statement.target, statement.source))
        return Copy(target, source, statement.count, statement.conditions)
    if isinstance(statement, CopyBox):
        places = (statement.target, statement.source, statement.barrier)
        target, source, barrier = (with_operands(each, change) for each in places)
        return replace(statement, target=target, source=source, barrier=barrier)
    if isinstance(statement, StoreBox):
        target, source = (with_operands(each, change) for each in (statement.target, statement.source))
        return replace(statement, target=target, source=source)
    if isinstance(statement, (Open, Arrive, Await, AwaitParity)):
        return replace(statement, barrier=with_operands(statement.barrier, change))
    if isinstance(statement, Take):
        return Take(statement.name, with_operands(statement.counter, change), statement.count)
    if isinstance(statement, Call):
        return replace(statement, views=tuple(with_operands(view, change) for view in statement.views))
    return statement


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
    if isinstance(operand, Load):
        return Load(operand.buffer, tuple([change(index) for index in operand.at]))
    if isinstance(operand, Address):
        return Address(operand.buffer, tuple([change(index) for index in operand.at]))
    if isinstance(operand, Stride):
        return Stride(operand.buffer, tuple([change(index) for index in operand.at]))
    if isinstance(operand, Immediate):
        return Immediate(change(operand.number))
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
    if isinstance(statement, (Set, Let, Do, View)):  # most statements, which have none
        return statement
    if isinstance(statement, Store):
        return Store(statement.buffer, tuple([change(index) for index in statement.at]), statement.value)
    if isinstance(statement, Define):
        return replace(statement, index=change(statement.index))
    if isinstance(statement, Await):
        return Await(statement.barrier, change(statement.phase))
    if isinstance(statement, AwaitParity):
        return AwaitParity(statement.barrier, change(statement.parity))
    if isinstance(statement, CopyBox):
        return replace(statement, windows=tuple(replace(each, tap=change(each.tap)) for each in statement.windows))
    if isinstance(statement, Move):
        return Move(statement.view, tuple([change(index) for index in statement.at]))
    if isinstance(statement, Aim):
        return replace(statement, elements=change(statement.elements))
    if isinstance(statement, Alloc):
        return statement if statement.at is None else replace(statement, at=change(statement.at))
    if isinstance(statement, Call):
        return replace(statement, numbers=tuple(change(number) for number in statement.numbers))
    if isinstance(statement, (Copy, Decide)):
        return replace(statement, conditions=_conditions(statement.conditions, change))
    if isinstance(statement, If):
        return If(_conditions(statement.conditions, change), statement.body, statement.otherwise)
    if isinstance(statement, StagedPart):
        return replace(statement, part=tuple(replace(a, start=change(a.start)) for a in statement.part))
    if isinstance(statement, For):
        limit = None if statement.limit is None else change(statement.limit)
        return replace(statement, start=change(statement.start), stop=change(statement.stop), limit=limit)
    return statement


def _conditions(conditions: tuple[Condition, ...], change: ChangeIndex) -> tuple[Condition, ...]:
    return tuple([Inside(change(c.index), c.low, c.high) if isinstance(c, Inside) else c for c in conditions])


def substituted(body: Body, by: Mapping[str, Index]) -> Body:
    """The block with indices in place of variables. No loop inside may have a variable of these names."""
    return tuple(with_indices(statement, lambda index: index.replaced(by)) for statement in body)


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
    for statement in body:
        if isinstance(statement, If):
            yield from (condition for condition in statement.conditions if isinstance(condition, Inside))
        for block in inside(statement):
            yield from conditions_of(block)


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
