"""Turns a loop that copies neighbours, or sets them to 0, into one move of memory.

    for number in 0..9:                                    copy_9(to: words + [row, 12*column],
      words[row, 12*column + number] = X[row, …]     ->           given: X + [row, …])

The C library, or the compiler for a short run, knows the widest moves of the machine.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.index import LANE, ZERO, constant, variable
from tiling.loops.language import (
    Address,
    Body,
    Do,
    For,
    Instruction,
    Invoke,
    Kernel,
    Load,
    Number,
    Operand,
    Statement,
    Store,
    with_blocks,
)


def copy_runs(kernel: Kernel) -> Kernel:
    """The kernel with its loops over neighbours as moves of memory."""
    return replace(kernel, body=_moved(kernel.body))


def _moved(body: Body) -> Body:
    return tuple(_move(s) or with_blocks(s, _moved) for s in body)


def _move(loop: Statement) -> Do | None:
    """One move in place of a loop; None where it is no such loop."""
    if not isinstance(loop, For) or loop.kind != "serial" or loop.step != 1 or len(loop.body) != 1:
        return None
    (store,), count = loop.body, loop.stop - loop.start
    if not isinstance(store, Store) or not count.is_constant:
        return None
    zeros = store.value == Number(0)
    if not zeros and not isinstance(store.value, Load):
        return None
    places = [store, *([store.value] if isinstance(store.value, Load) else [])]
    if not all(_is_run(place, loop.name) for place in places):
        return None
    operands = tuple(
        (name, Address(place.buffer, tuple(index.replaced({loop.name: loop.start}) for index in place.at)))
        for name, place in zip(("to", "given"), places)
    )
    move = _zeros(count.offset, store.buffer) if zeros else _copy(count.offset, store.buffer)
    named: tuple[tuple[str, Operand], ...] = operands
    return Do(Invoke(move, named))


def _is_run(place: Store | Load, name: str) -> bool:
    """Whether a loop's variable moves only the last axis, by one."""
    *outer, last = place.at
    moved = last - variable(name)
    return name not in moved.names() and not any(name in index.names() for index in outer)


def _copy(count: int, buffer: str) -> Instruction:
    text = f"memcpy({{to}}, {{given}}, {count} * sizeof *{buffer})"
    return Instruction(f"copy_{count}", text, _each(count, Load("given", (LANE,))))


def _zeros(count: int, buffer: str) -> Instruction:
    return Instruction(f"zeros_{count}", f"memset({{to}}, 0, {count} * sizeof *{buffer})", _each(count, Number(0)))


def _each(count: int, value: Load | Number) -> Body:
    return (For("lane", ZERO, constant(count), 1, (Store("to", (LANE,), value),), "vector"),)
