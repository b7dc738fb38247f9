"""Arrays of a row that others of the team read lie in shared memory; long ones in global memory.

    e[1536] in its own memory    ->    e[1536] in shared memory

What does not fit has an array of the launch, with a row for each block.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.reading import WIDTH, elements
from gpu.passes.facts.workers import BLOCK, BLOCKS, with_axis
from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, For, Statement
from tiling.loops.walk import walk, with_statements

# Bytes of the arrays of a block in shared memory. Every GPU gives 48 KiB without being asked, and several blocks run
# side by side with them. 1 KiB is for what warps tell each other.
MOST_SHARED = 47 << 10
ALIGNED = 16  # bytes at whose multiples arrays of shared memory begin


def bytes_of_rows(body: Body) -> int:
    """The shared memory that all arrays of a row would take."""
    return sum(bytes_of(s.buffer) for s in walk(body) if isinstance(s, Alloc) and s.buffer.memory == "own")


def bytes_of(buffer: Buffer) -> int:
    """The bytes of a buffer, with those to the next multiple of where arrays begin."""
    return -(-elements(buffer) * WIDTH[buffer.dtype] // ALIGNED) * ALIGNED


def place_rows(kernel: Kernel) -> Kernel:
    """The kernel with a memory for every array of a row."""
    between: list[Alloc] = []
    body: list[Statement] = []
    for statement in kernel.body:
        if isinstance(statement, For) and statement.kind == BLOCKS:
            statement = _placed(statement, between)
        body.append(statement)
    return replace(kernel, body=(*between, *body))


def _placed(launch: For, between: list[Alloc]) -> For:
    left = MOST_SHARED
    far: dict[str, Buffer] = {}
    warps = next((s.stop.offset for s in launch.body if isinstance(s, For) and s.kind == "warp"), 1)

    def placed(statement: Statement) -> Body | None:
        nonlocal left
        if not isinstance(statement, Alloc) or statement.buffer.memory != "own":
            return None
        needed = warps * bytes_of(statement.buffer)
        if needed > left:
            far[statement.buffer.name] = statement.buffer
            return ()
        left -= needed
        return (Alloc(replace(statement.buffer, memory="shared")),)

    inside = with_statements(launch.body, placed)
    blocks = launch.stop.offset
    for name, buffer in far.items():
        assert launch.stop.is_constant and warps == 1, "few blocks, of one row each, have long rows"
        row = replace(buffer, shape=(blocks, *buffer.shape), axes=(BLOCK, *buffer.axes), memory="global")
        between.append(Alloc(row))
        inside = with_axis(inside, BLOCK, {name})
    return replace(launch, body=inside)
