"""Turns a loop that copies neighbours, or sets them to 0, into one move of memory.

    for word in 0..2:                                                copy_2_words(to: panel + […], given: x + […])
      panel[…, word] = word(x[…, 2*word], x[…, 2*word + 1])          …
    …                                                          ->    zeros_2(panel + […])
    for word in 0..2:
      panel[…, word] = 0

The C library, or the compiler for a short run, knows the widest moves of the machine. Words of neighbouring numbers are
such a run too. A word of fewer numbers becomes 0 first.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.index import LANE, ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Apply,
    Body,
    Do,
    For,
    Instruction,
    Invoke,
    Load,
    Number,
    Operand,
    Statement,
    Store,
    Value,
)
from tiling.loops.walk import with_blocks

_HEADER = "string.h"


def copy_runs(kernel: Kernel) -> Kernel:
    """The kernel with its loops over neighbours as moves of memory."""
    functions = tuple(replace(function, body=_moved(function.body)) for function in kernel.functions)
    return replace(kernel, body=_moved(kernel.body), functions=functions)


def _moved(body: Body) -> Body:
    return tuple(_move(s) or with_blocks(s, _moved) for s in body)


def _move(loop: Statement) -> Do | None:
    """One move in place of a loop; None where it is no such loop."""
    if not isinstance(loop, For) or loop.kind != "serial" or loop.step != 1 or len(loop.body) != 1:
        return None
    (store,), count = loop.body, loop.stop - loop.start
    if not isinstance(store, Store) or not count.is_constant or not _is_run(store, loop.name, 1):
        return None
    if store.value == Number(0):
        return Do(Invoke(_zeros(count.offset, store.buffer), _operands(loop, store)))
    if isinstance(store.value, Load) and _is_run(store.value, loop.name, 1):
        return Do(Invoke(_copy(count.offset, store.buffer), _operands(loop, store, store.value)))
    loads = _side_by_side(store.value)
    if not loads or not isinstance(store.value, Apply) or not _is_run(loads[0], loop.name, len(store.value.arguments)):
        return None
    numbers = len(store.value.arguments)
    if len(loads) == numbers:
        move = _copy(count.offset, store.buffer, numbers)
    elif count.offset == 1:
        move = _part_of_word(len(loads), numbers, store.buffer, loads[0].buffer)
    else:
        return None
    return Do(Invoke(move, _operands(loop, store, loads[0])))


def _operands(loop: For, *places: Store | Load) -> tuple[tuple[str, Operand], ...]:
    """Where a move goes to, and comes from: the places of the first iteration."""
    first = {loop.name: loop.start}
    return tuple(
        (name, Address(place.buffer, tuple(index.replaced(first) for index in place.at)))
        for name, place in zip(("to", "given"), places)
    )


def _is_run(place: Store | Load, name: str, step: int) -> bool:
    """Whether a loop's variable moves only the last axis, by so many elements."""
    *outer, last = place.at
    moved = last - variable(name) * step
    return name not in moved.names() and not any(name in index.names() for index in outer)


def _side_by_side(value: Value) -> tuple[Load, ...]:
    """The numbers of a word, if they are neighbours, and zeros after them; () for any other value."""
    if not isinstance(value, Apply) or value.function != "word":
        return ()
    loads = tuple(argument for argument in value.arguments if isinstance(argument, Load))
    rest = value.arguments[len(loads) :]
    if value.arguments[: len(loads)] != loads or not all(isinstance(n, Number) and n.value == 0 for n in rest):
        return ()
    *outer, last = loads[0].at
    neighbours = all(load.at == (*outer, last + number) for number, load in enumerate(loads))
    return loads if neighbours and len({load.buffer for load in loads}) == 1 else ()


def _copy(count: int, buffer: str, numbers: int = 1) -> Instruction:
    """A copy of elements. numbers: how many numbers of x each word is made from; 1 for a copy of numbers."""
    text = f"memcpy({{to}}, {{given}}, {count} * sizeof *{buffer})"
    if numbers == 1:
        return Instruction(f"copy_{count}", text, _each(count, Load("given", (LANE,))), header=_HEADER)
    return Instruction(f"copy_{count}_words", text, _each(count, _word(numbers, numbers)), header=_HEADER)


def _part_of_word(held: int, numbers: int, to: str, given: str) -> Instruction:
    text = f"memset({{to}}, 0, sizeof *{to}), memcpy({{to}}, {{given}}, {held} * sizeof *{given})"
    return Instruction(f"copy_{held}_of_{numbers}", text, _each(1, _word(held, numbers)), header=_HEADER)


def _word(held: int, numbers: int) -> Apply:
    """The word of a lane, of the first `held` numbers and zeros."""
    loads = (Load("given", (LANE * numbers + number,)) for number in range(held))
    return Apply("word", (*loads, *[Number(0, "s32")] * (numbers - held)))


def _zeros(count: int, buffer: str) -> Instruction:
    return Instruction(
        f"zeros_{count}", f"memset({{to}}, 0, {count} * sizeof *{buffer})", _each(count, Number(0)), header=_HEADER
    )


def _each(count: int, value: Value) -> Body:
    return (For("lane", ZERO, constant(count), 1, (Store("to", (LANE,), value),), "vector"),)
