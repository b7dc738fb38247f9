"""Small arrays of a worker lie on its stack, larger ones in memory of their own."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.loops.language import Alloc, Body, Buffer, Kernel, Statement, with_blocks
from tiling.program.dtypes import WIDTH

# Bytes of an array on a stack. A thread has at least 2 MB, of which a caller may have used most; a row that is longer
# does not stay in L1 or L2 anyway, so the call that finds it memory is no cost.
ON_STACK = 1 << 16


def place_rows(kernel: Kernel) -> Kernel:
    """The kernel with the memory of every array of a worker chosen."""
    return replace(kernel, body=_placed(kernel.body))


def _placed(body: Body) -> Body:
    return tuple(_own(statement) for statement in body)


def _own(statement: Statement) -> Statement:
    if isinstance(statement, Alloc) and statement.buffer.memory == "own" and _bytes(statement.buffer) <= ON_STACK:
        return Alloc(replace(statement.buffer, memory="stack"))
    return with_blocks(statement, _placed)


def _bytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * WIDTH[buffer.dtype]
