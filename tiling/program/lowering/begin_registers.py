"""Gives a register its first value where it is made, so that a declaration of it is one statement.

    acc_y[…] in registers    ->    acc_y[…] in registers = …
    acc_y[…] = …                   for …:
    for …:                           acc_y[…] += …
      acc_y[…] += …

A CPU's register has the lanes of a vector, and what all of them begin with is a vector.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Statement, Store
from tiling.loops.walk import with_blocks


def begin_registers(kernel: Kernel) -> Kernel:
    """The kernel, whose registers begin with the value that is stored to them first."""
    return replace(kernel, body=_begun(kernel.body))


def _begun(body: Body) -> Body:
    found: list[Statement] = []
    for statement in body:
        last = found[-1] if found else None
        if isinstance(last, Alloc) and isinstance(statement, Store) and _begins(last, statement):
            found[-1] = replace(last, first=statement.value)
        else:
            found.append(with_blocks(statement, _begun))
    return tuple(found)


def _begins(made: Alloc, store: Store) -> bool:
    """Whether a store right behind a buffer gives all of a register its first value."""
    buffer = made.buffer
    begins = made.first is None and (buffer.axes == ("lane",) or prod(buffer.shape) == 1)
    return buffer.memory == "registers" and begins and (store.buffer, store.at) == (buffer.name, buffer.whole)
