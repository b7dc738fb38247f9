"""The blocks and statements of a kernel, one after the other, and changes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, count
from operator import is_
from typing import Any

from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Block, Body, For, If, Seen, StagedPart, Statement, Team
from tiling.loops.machines import Beside

WITH_BLOCKS = (For, If, Beside, Block, StagedPart, Team)  # the statements that have other ones inside
# Their blocks. To look a type up takes half as long as `isinstance` of six, and passes do little else.
_INSIDE: dict[type, Callable[[Any], tuple[Body, ...]]] = {
    **dict.fromkeys((For, Block, StagedPart, Team), lambda s: (s.body,)),
    **dict.fromkeys((If, Beside), lambda s: (s.body, s.otherwise)),
}


def inside(statement: Statement) -> tuple[Body, ...]:
    """The blocks directly inside a statement."""
    blocks = _INSIDE.get(type(statement))
    return blocks(statement) if blocks else ()


def with_blocks(statement: Statement, change: Callable[[Body], Body]) -> Statement:
    """The statement with `change` applied to the blocks directly inside it. One without blocks is returned as it is."""
    blocks = _INSIDE.get(type(statement))
    if not blocks:
        return statement
    old = blocks(statement)
    new = [change(block) for block in old]
    if all([len(a) == len(b) and all(map(is_, a, b)) for a, b in zip(old, new)]):
        return statement
    # Written out: `dataclasses.replace` takes ten times as long, and passes do little else.
    if isinstance(statement, For):
        s = statement
        return For(s.name, s.start, s.stop, s.step, new[0], s.kind, s.dim, s.limit, s.together)
    if isinstance(statement, If):
        return If(statement.conditions, *new)
    if isinstance(statement, Beside):
        return Beside(statement.warps, *new)
    if isinstance(statement, Block):
        return Block(statement.name, new[0], statement.notes)
    assert isinstance(statement, (StagedPart, Team))
    return replace(statement, body=new[0])


def with_statements(body: Body, change: Callable[[Statement], Body | None]) -> Body:
    """The block with what stands in the place of statements, at any depth. change: None for one that stays, in whose
    blocks the search goes on.
    """
    found: list[Statement] = []
    for statement in body:
        instead = change(statement)
        if instead is None:
            instead = (with_blocks(statement, partial(with_statements, change=change)),)
        found += instead
    return tuple(found)


def walk(body: Body) -> Iterator[Statement]:
    """Every statement of a block, those outside before those inside."""
    # A stack, as a generator inside a generator for each loop hands on every statement once a level.
    rest = list(reversed(body))
    while rest:
        statement = rest.pop()
        yield statement
        blocks = _INSIDE.get(type(statement))
        if blocks:
            for block in reversed(blocks(statement)):
                rest += reversed(block)


def allocated_once(statements: Iterable[Statement]) -> Body:
    """The block without what allocates a buffer again that it has allocated. Loops over parts of a dim share rows."""
    found: list[Statement] = []
    for statement in statements:
        if not (isinstance(statement, Alloc) and statement in found):
            found.append(statement)
    return tuple(found)


def bodies(kernel: Kernel) -> tuple[Body, ...]:
    """The kernel's own block, then those of its functions."""
    return (kernel.body, *(function.body for function in kernel.functions))


def named_buffers(kernel: Kernel) -> tuple[Buffer, ...]:
    """The arrays of a kernel, then every buffer that a statement of it or of its functions names."""
    own = (s.buffer for body in bodies(kernel) for s in walk(body) if isinstance(s, (Alloc, Seen)))
    return (*kernel.arrays, *own)


def buffers(kernel: Kernel) -> tuple[Buffer, ...]:
    """The arrays of a kernel, then the intermediate buffers, shared by all workers or own to each."""
    between = (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.memory in ("own", "global"))
    return (*kernel.arrays, *between)


def is_core(statement: Statement) -> bool:
    """Whether workers share the iterations of a loop, side by side."""
    return isinstance(statement, For) and statement.kind == "core"


def for_each_worker(body: Body, change: Callable[[Body], Body]) -> Body:
    """The kernel's block with `change` applied to what each worker runs: the body of its core loops, or all of it."""
    *before, last = body
    if isinstance(last, Team) or is_core(last):
        return (*before, with_blocks(last, lambda block: for_each_worker(block, change)))
    return change(body)


def buffers_of(kernel: Kernel) -> dict[str, Buffer]:
    """Every buffer of a kernel by its name."""
    own = (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc))
    return {buffer.name: buffer for buffer in (*kernel.arrays, *own)}


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name that none has yet. An epilogue's arrays may be called b_once or z_pair."""
    others = (f"{wanted}_{number}" for number in count(2))
    return next(name for name in chain((wanted,), others) if name not in taken)
