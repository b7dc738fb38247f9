"""Combines the results of a team's threads: across the lanes of a warp, then across the warps of a block.

    for each in 0..256:                                   for warp in 0..8, warp:
      acc_m[0] = max(acc_m[0], acc_m_each[each])    ->      across_max(from: acc_m_each + [32*warp], to: …)
                                                            for member in 0..1, lane:
                                                              acc_m_each_parts[warp] = acc_m_each_warp[warp]
                                                          for each in 0..8:
                                                            acc_m[0] = max(acc_m[0], acc_m_each_parts[each])

The order is fixed, so every thread gets the same bits, in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu.passes.facts.workers import BLOCKS, MEMBER, THREAD, WARP, WARP_SIZE, over
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, applied, constant, variable
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
from tiling.loops.rewrite import operands_of, parts_of, with_values
from tiling.loops.walk import buffers_of, free_name, with_statements


def combine_lanes(kernel: Kernel) -> Kernel:
    """The kernel where no thread reads a register of another one."""
    buffers = buffers_of(kernel)
    body = (
        replace(s, body=_combined(s.body, buffers)) if isinstance(s, For) and s.kind == BLOCKS else s
        for s in kernel.body
    )
    return replace(kernel, body=tuple(body))


def _combined(body: Body, buffers: Mapping[str, Buffer]) -> Body:
    def combined(statement: Statement) -> Body | None:
        each = _registers(statement, buffers) if isinstance(statement, For) else None
        return _Sum(statement, each, buffers).statements() if isinstance(statement, For) and each else None

    return with_statements(body, combined)


def _registers(loop: For, buffers: Mapping[str, Buffer]) -> Buffer | None:
    """The registers of all threads that a loop takes one after the other."""
    if loop.kind != "serial":
        return None
    loads = (p for s in loop.body for o in operands_of(s) for p in parts_of(o) if isinstance(p, Load))
    names = dict.fromkeys(load.buffer for load in loads if load.at == (variable(loop.name),))
    found = (buffers[name] for name in names)
    return next((b for b in found if b.memory == "registers" and b.axes[0] in (THREAD, MEMBER)), None)


@dataclass(frozen=True)
class _Sum:
    """The loop that goes on with the registers of all threads."""

    loop: For
    each: Buffer
    buffers: Mapping[str, Buffer]

    @property
    def function(self) -> str:
        (store,) = self.loop.body
        assert isinstance(store, Store) and isinstance(store.value, Apply)
        return store.value.function

    def statements(self) -> Body:
        dtype = self.each.dtype
        of_warp, of_warps = (free_name(f"{self.each.name}_{what}", self.buffers) for what in ("warp", "parts"))
        warps = self.each.shape[0] // WARP_SIZE
        across = across_lanes(self.function, dtype)
        if self.each.axes[0] == MEMBER:
            whole = Buffer(of_warp, (1,), ("number",), dtype, "registers")
            done = Do(
                Invoke(across, (("from", Address(self.each.name, (ZERO,))), ("to", Address(whole.name, (ZERO,)))))
            )
            return (Alloc(whole), done, *self.going_on(whole.name, 1))
        warp = variable(WARP)
        whole = Buffer(of_warp, (warps,), (WARP,), dtype, "registers")
        parts = Buffer(of_warps, (warps,), ("warps",), dtype, "shared")
        places = (("from", Address(self.each.name, (warp * WARP_SIZE,))), ("to", Address(whole.name, (warp,))))
        told = over(MEMBER, 1, (Store(parts.name, (warp,), Load(whole.name, (warp,))),))
        work = over(WARP, warps, (Do(Invoke(across, places)), told))
        return (Alloc(whole), Alloc(parts), work, *self.going_on(parts.name, warps))

    def going_on(self, name: str, count: int) -> Body:
        """The loop that adds so many more numbers to the sum."""

        def value(part: Operand) -> Operand | None:
            return Load(name, part.at) if isinstance(part, Load) and part.buffer == self.each.name else None

        body = tuple(with_values(statement, value) for statement in self.loop.body)
        if count > 1:
            return (replace(self.loop, stop=constant(count), body=body),)
        (store,) = body
        by = {self.loop.name: ZERO}
        return (with_values(store, lambda p: _at(p, by)),)


def _at(part: Operand, by: Mapping[str, Index]) -> Operand | None:
    return Load(part.buffer, tuple(i.replaced(by) for i in part.at)) if isinstance(part, Load) else None


@lru_cache(maxsize=64)
def across_lanes(function: str, dtype: str) -> Instruction:
    """`to` becomes `from` of all lanes of a warp, combined half with half, then quarter with quarter, and so on."""
    lane, source, half = variable("lane"), "from", WARP_SIZE // 2
    body: list[Statement] = []
    while half:
        target = f"by_{half}"
        pair = (Load(source, (lane,)), Load(source, (applied("^", lane, constant(half)),)))
        body.append(Alloc(Buffer(target, (WARP_SIZE,), ("lane",), dtype, "registers")))
        one = Store(target, (lane,), Apply(function, pair))
        body.append(For("lane", ZERO, constant(WARP_SIZE), 1, (one,), "vector"))
        source, half = target, half // 2
    body.append(Store("to", (ZERO,), Load(source, (ZERO,))))
    return Instruction(f"across_{function}", f"{{to}} = across_{function}_{dtype}({{from}})", tuple(body))
