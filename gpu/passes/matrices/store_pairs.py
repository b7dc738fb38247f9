"""Stores the two neighbours that a lane holds in one access, and loads an epilogue's arrays in the same way.

    for pair in 0..2, unrolled:
      if m + … < 40 and n_u + 2*(member % 4) + pair < 44:
        Y[…, n_u + 2*(member % 4) + pair] = as_bf16(relu(acc[…, 2*half + pair]) + from_bf16(E_z[…]))
    ->
    if m + … < 40 and n_u + 2*(member % 4) < 44:
      E_z_pair[2] of bf16 in registers
      get2(to: E_z_pair, p: E_z + […, n_u + 2*(member % 4)])
      Y_pair[2] in registers
      for pair in 0..2, unrolled:
        Y_pair[pair] = relu(acc[…, 2*half + pair]) + from_bf16(E_z_pair[pair])
      put2(to: Y + […, n_u + 2*(member % 4)], v: Y_pair)

The pass applies where rows have an even length: then both neighbours lie inside, or none. `put2` rounds both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu.passes.facts.divisors import Divisors, divisor, with_loops
from gpu.passes.facts.reading import flat, loads_of, moves_by
from gpu.passes.matrices.multiply_matrices import PAIR
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Condition,
    Do,
    For,
    If,
    Inside,
    Instruction,
    Invoke,
    Load,
    Operand,
    Statement,
    Store,
    Value,
)
from tiling.loops.rewrite import with_own_values
from tiling.loops.walk import buffers_of, free_name

TWO = 2


def store_pairs(kernel: Kernel) -> Kernel:
    """The kernel, whose lanes store and load pairs."""
    buffers = buffers_of(kernel)

    def paired(loop: For, threads: int, known: Divisors) -> Body | None:
        return _Pair(loop, buffers, known).statements() if loop.name == PAIR else None

    return replace(kernel, body=with_loops(kernel.body, paired))


@dataclass(frozen=True)
class _Pair:
    """The loop over the two neighbours. known: what divides each variable."""

    loop: For
    buffers: Mapping[str, Buffer]
    known: Divisors

    def statements(self) -> Body:
        (inside,) = self.loop.body
        tests = inside.conditions if isinstance(inside, If) else ()
        (store,) = inside.body if isinstance(inside, If) else (inside,)
        assert isinstance(store, Store)
        if not all(map(self.is_of_both, tests)):
            return (self.loop,)
        loads = dict.fromkeys(load for load in loads_of(store) if self.are_neighbours(load.buffer, load.at))
        near: dict[Load, Buffer] = {}
        for load in loads:
            near[load] = self.registers(load.buffer, self.buffers[load.buffer].dtype, near.values())
        number = variable(PAIR)

        def value(operand: Operand) -> Operand | None:
            return Load(near[operand].name, (number,)) if isinstance(operand, Load) and operand in near else None

        found: list[Statement] = []
        for load, buffer in near.items():
            given = (("to", Address(buffer.name, (ZERO,))), ("p", Address(load.buffer, _first(load.at))))
            found += [Alloc(buffer), Do(Invoke(get2(buffer.dtype), given))]
        changed = with_own_values(store, value)
        assert isinstance(changed, Store)
        if self.are_neighbours(store.buffer, store.at):
            stored = self.buffers[store.buffer].dtype
            kept = self.registers(store.buffer, "f32", near.values())
            rounded = changed.value
            if isinstance(rounded, Apply) and rounded.function == f"as_{stored}":
                (rounded,) = rounded.arguments
            each = replace(self.loop, body=(Store(kept.name, (number,), rounded),))
            given = (("to", Address(store.buffer, _first(store.at))), ("v", Address(kept.name, (ZERO,))))
            found += [Alloc(kept), each, Do(Invoke(put2(stored), given))]
        elif self.buffers[store.buffer].memory == "registers" and near:
            found.append(replace(self.loop, body=(changed,)))
        else:
            return (self.loop,)
        if not isinstance(inside, If):
            return tuple(found)
        # Beyond the edge a sum begins as 0, one by one.
        otherwise = (replace(self.loop, body=inside.otherwise),) if inside.otherwise else ()
        return (If(tuple(map(_of_first, tests)), tuple(found), otherwise),)

    def registers(self, name: str, dtype: str, others: Iterable[Buffer]) -> Buffer:
        """The registers of two neighbours. others: those made before."""
        taken = {*self.buffers, *(other.name for other in others)}
        return Buffer(free_name(f"{name}_pair", taken), (TWO,), (PAIR,), dtype, "registers")

    def are_neighbours(self, name: str, at: tuple[Index, ...]) -> bool:
        """Whether both lie side by side in memory, where one access takes them."""
        if self.buffers[name].memory not in ("global", "shared"):
            return False
        place = flat(self.buffers[name], at)
        return moves_by(place, PAIR) == 1 and divisor(place.replaced({PAIR: ZERO}), self.known) % TWO == 0

    def is_of_both(self, test: Condition) -> bool:
        """Whether a test holds for both or for none."""
        if not isinstance(test, Inside):
            return False
        if moves_by(test.index, PAIR) == 0:
            return True
        even = divisor(test.index.replaced({PAIR: ZERO}), self.known) % TWO == 0
        return moves_by(test.index, PAIR) == 1 and even and not (test.low or 0) % TWO and not (test.high or 0) % TWO


def _first(at: tuple[Index, ...]) -> tuple[Index, ...]:
    return tuple(index.replaced({PAIR: ZERO}) for index in at)


def _of_first(test: Condition) -> Condition:
    assert isinstance(test, Inside)
    return replace(test, index=test.index.replaced({PAIR: ZERO}))


@lru_cache(maxsize=64)
def get2(dtype: str) -> Instruction:
    """Two neighbours to registers."""
    return _move("get2", dtype, "p", Load("p", (variable("lane"),)))


@lru_cache(maxsize=64)
def put2(dtype: str) -> Instruction:
    """Two registers of f32, rounded, to neighbours."""
    value = Load("v", (variable("lane"),))
    return _move("put2", dtype, "v", value if dtype == "f32" else Apply(f"as_{dtype}", (value,)))


def _move(name: str, dtype: str, source: str, value: Value) -> Instruction:
    one = Store("to", (variable("lane"),), value)
    each = For("lane", ZERO, constant(TWO), 1, (one,), "vector")
    return Instruction(name, f"{name}_{dtype}({{to}}, {{{source}}})", (each,))
