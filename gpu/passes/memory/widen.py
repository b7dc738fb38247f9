"""Moves four neighbours of an array in one access, where they begin at a place that four divides.

    for part in 0..4, vector:                      x_wide[4] in registers
      y[i, j + part] = 2 * x[i, j + part]    ->    get4(to: x_wide, p: x + [i, j])
                                                   y_wide[4] in registers
                                                   for part in 0..4, unrolled:
                                                     y_wide[part] = 2 * x_wide[part]
                                                   put4(to: y + [i, j], v: y_wide)

An element that may lie outside its array, or whose neighbours lie elsewhere, is accessed alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu.passes.facts.reading import flat, loads_of, moves_by
from gpu.passes.threads.bind_points import PART, WIDE, is_aligned
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Do,
    For,
    Instruction,
    Invoke,
    Load,
    Operand,
    Statement,
    Store,
)
from tiling.loops.rewrite import operands_of, with_own_values
from tiling.loops.walk import buffers_of, free_name, walk, with_statements


def widen(kernel: Kernel) -> Kernel:
    """The kernel with wide accesses."""
    buffers = buffers_of(kernel)

    def widened(statement: Statement) -> Body | None:
        if not isinstance(statement, For) or statement.name != PART or statement.kind != "vector":
            return None
        return _Widening(statement, buffers).statements()

    return replace(kernel, body=with_statements(kernel.body, widened))


@dataclass(frozen=True)
class _Widening:
    """The loop over neighbours."""

    loop: For
    buffers: Mapping[str, Buffer]

    def statements(self) -> Body:
        stored = [s for s in self.loop.body if isinstance(s, Store) and self.is_wide(s.buffer, s.at)]
        written = {s.buffer for s in walk(self.loop.body) if isinstance(s, Store)}
        loaded = dict.fromkeys(
            load
            for statement in self.loop.body
            for operand in operands_of(statement)
            for load in _always(operand)
            if load.buffer not in written and self.is_wide(load.buffer, load.at)
        )
        read = {load.buffer for s in walk(self.loop.body) for load in loads_of(s)}
        stored = [s for s in stored if s.buffer not in read and len([o for o in stored if o.buffer == s.buffer]) == 1]
        near: dict[Load, Buffer] = {}
        for load in loaded:
            near[load] = self.near(load.buffer, near.values())
        before: list[Statement] = []
        for load, buffer in near.items():
            places = (("to", _first(buffer)), ("p", Address(load.buffer, self.begin(load.at))))
            before += [Alloc(buffer), Do(Invoke(get4(buffer.dtype), places))]
        kept: dict[Store, Buffer] = {}
        for s in stored:
            kept[s] = self.near(s.buffer, (*near.values(), *kept.values()))
        before += map(Alloc, kept.values())
        part = variable(PART)

        def value(operand: Operand) -> Operand | None:
            return Load(near[operand].name, (part,)) if isinstance(operand, Load) and operand in near else None

        inside: list[Statement] = []
        for statement in self.loop.body:
            changed = with_own_values(statement, value)
            if isinstance(statement, Store) and statement in kept and isinstance(changed, Store):
                changed = Store(kept[statement].name, (part,), changed.value)
            inside.append(changed)
        after = tuple(
            Do(Invoke(put4(b.dtype), (("to", Address(s.buffer, self.begin(s.at))), ("v", _first(b)))))
            for s, b in kept.items()
        )
        return (*before, replace(self.loop, body=tuple(inside), kind="unrolled", dim=""), *after)

    def near(self, name: str, others: Iterable[Buffer]) -> Buffer:
        """The registers of the neighbours. others: those made before."""
        taken = {*self.buffers, *(other.name for other in others)}
        return Buffer(free_name(f"{name}_wide", taken), (WIDE,), (PART,), self.buffers[name].dtype, "registers")

    def is_wide(self, name: str, at: tuple[Index, ...]) -> bool:
        """Whether the neighbours lie side by side where one access takes them."""
        buffer = self.buffers[name]
        if buffer.memory != "global":
            return False
        place = flat(buffer, at)
        first = place - variable(PART)  # of a thread the first point is a multiple of four along its dim
        return moves_by(place, PART) == 1 and is_aligned(first, self.loop.dim)

    def begin(self, at: tuple[Index, ...]) -> tuple[Index, ...]:
        return tuple(index.replaced({PART: ZERO}) for index in at)


def _always(operand: Operand) -> Iterator[Load]:
    """The elements that are read unconditionally."""
    if isinstance(operand, Load):
        yield operand
    elif isinstance(operand, Apply):
        for argument in operand.arguments:
            yield from _always(argument)


def _first(buffer: Buffer) -> Address:
    return Address(buffer.name, (ZERO,))


@lru_cache(maxsize=64)
def get4(dtype: str) -> Instruction:
    """Four neighbours to registers."""
    return _move("get4", dtype, "p", "{to}, {p}")


@lru_cache(maxsize=64)
def put4(dtype: str) -> Instruction:
    """Four registers to neighbours."""
    return _move("put4", dtype, "v", "{to}, {v}")


def _move(name: str, dtype: str, source: str, given: str) -> Instruction:
    part = variable("lane")
    one = Store("to", (part,), Load(source, (part,)))
    return Instruction(name, f"{name}_{dtype}({given})", (For("lane", ZERO, constant(WIDE), 1, (one,), "vector"),))
