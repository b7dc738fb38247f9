"""Places the arrays that a worker has for itself.

    e[768] in its own memory    ->    e[768] in memory of the function

Small ones lie on its stack, larger ones stay in memory of their own.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Statement
from tiling.loops.walk import walk, with_blocks
from tiling.program.dtypes import WIDTH

# The most bytes of one array on a stack, and of all arrays. A thread's stack has at least 2 MB. A caller may have used
# most. A longer row does not stay in L1 or L2 anyway.
ON_STACK, ALL_ON_STACK = 1 << 16, 1 << 18


def place_rows(kernel: Kernel) -> Kernel:
    """The kernel with the memory of every array of a worker chosen."""
    chosen: set[Buffer] = set()
    for buffer in (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.memory == "own"):
        if _bytes(buffer) <= ON_STACK and sum(map(_bytes, chosen)) + _bytes(buffer) <= ALL_ON_STACK:
            chosen.add(buffer)

    def placed(body: Body) -> Body:
        return tuple(own(statement) for statement in body)

    def own(statement: Statement) -> Statement:
        if isinstance(statement, Alloc) and statement.buffer in chosen:
            return Alloc(replace(statement.buffer, memory="stack"))
        return with_blocks(statement, placed)

    return replace(kernel, body=placed(kernel.body))


def _bytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * WIDTH[buffer.dtype]
