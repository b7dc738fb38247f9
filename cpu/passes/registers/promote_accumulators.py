"""Keeps every accumulator in a register of its own while a tile sums.

    acc[10, 1, 16] in registers              acc_0_0 = zero()
    acc[0, 0, lane] = zero()           ->    acc_1_0 = zero()
    acc[1, 0, lane] = zero()                 …
    …                                        store(p: y, v: acc_0_0)
    store(p: y, v: acc[0, 0, lane])

Unrolling has made each index a number, so each vector of the buffer gets a name: acc_3_1 is vector 1 of row 3.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Let, Load, Operand, Register, Set, Statement, Store
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import with_operands, with_values
from tiling.loops.walk import with_blocks


def promote_accumulators(kernel: Kernel, buffer: str = ACCUMULATORS) -> Kernel:
    """The kernel with named registers in place of the accumulators' buffers, or of other buffers of vectors."""
    functions = tuple(replace(function, body=_promoted(function.body, buffer)) for function in kernel.functions)
    return replace(kernel, functions=functions)


def _promoted(body: Body, buffer: str) -> Body:
    """A function's block with a register for each vector of a buffer."""
    found: list[Statement] = []
    for statement in _by_name(body, buffer):
        if isinstance(statement, Alloc):
            found += [Let(name, None, True) for name in _registers_of(statement.buffer)]
        else:
            found.append(statement)
    return _with_first_values(tuple(found))


def _registers_of(buffer: Buffer) -> list[str]:
    """The register of each vector of a buffer."""
    rows, vectors, _ = buffer.shape
    return [f"{buffer.name}_{row}_{vector}" for row in range(rows) for vector in range(vectors)]


def _by_name(body: Body, buffer: str) -> Body:
    """The block in which the vectors of a buffer go by their names."""

    def register(operand: Operand) -> Operand | None:
        return Register(_register_at(operand)) if isinstance(operand, Load) and operand.buffer == buffer else None

    def named(statement: Statement) -> Statement:
        if isinstance(statement, Store) and statement.buffer == buffer:
            return Set(_register_at(statement), with_operands(statement.value, register))
        if isinstance(statement, Alloc):
            return statement
        changed = with_blocks(statement, lambda block: tuple(map(named, block)))
        return with_values(statement, register) if changed is statement else changed

    return tuple(map(named, body))


def _register_at(place: Store | Load) -> str:
    """The register of the vector at a place, such as acc_3_1."""
    row, vector, _ = place.at
    return f"{place.buffer}_{row.offset}_{vector.offset}"


def _with_first_values(body: Body) -> Body:
    """Each declaration of a register joined with its first value, if these are given in the same order behind them."""
    declared = [s for s in body if isinstance(s, Let) and s.value is None]
    rest = body[len(declared) :]
    first = rest[: len(declared)]
    if not all(isinstance(s, Set) and s.name == d.name for s, d in zip(first, declared)) or len(first) < len(declared):
        return body
    return (*(Let(s.name, s.value, True) for s in first if isinstance(s, Set)), *rest[len(declared) :])
