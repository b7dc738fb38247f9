"""Stores the lanes of a mask by plain stores of 4, 2 and 1 lanes.

    store_tail(p: y, lanes: 6, v: t[0, lane])
    ->
    store_lanes(p: y, lanes: 6, v: t[0, lane])

Where a masked store takes long, several plain ones take less. A mask is a constant in memory besides. gcc loads it
before the loops of a tile, and keeps it in a register for the stores behind them: a sum is spilled in each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

from microkernels.tile.instructions import Instructions
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Address, Body, Do, Immediate, Instruction, Invoke, Mask, Statement
from tiling.loops.walk import walk, with_statements

LARGE = 32 << 18  # f32 of an array that no cache keeps
PAGE = 1 << 10  # f32 of a page: the place in it chooses the set of a first cache
# The ways of such a set. Where more lines of a tile share a set, and come from memory, they are waited for, and a core
# waits longer with two stores for a line. yolo9000:Y0 in NCHW, 38 MB, 16 rows at one place of 16 pages, takes 1.1 to
# 1.3 times as long on a Zen 3 (decision 075). So such tiles keep their masks.
WAYS = 8


def store_lanes(kernel: Kernel, instructions: Instructions) -> Kernel:
    """The kernel without masked stores, where the row has plain ones of fewer lanes and these take less time."""
    if instructions.store_lanes is None:
        return kernel
    large = {buffer.name: buffer for buffer in kernel.arrays if prod(buffer.shape) > LARGE}
    stores = _Stores(instructions.store_tail, instructions.store_lanes, large)
    return replace(kernel, functions=tuple(map(stores.plain, kernel.functions)))


@dataclass(frozen=True)
class _Stores:
    """masked, lanes: the instruction that functions have, and the one that they get. large: arrays no cache keeps."""

    masked: Instruction
    lanes: Instruction
    large: Mapping[str, Buffer]

    def plain(self, function: Function) -> Function:
        """The function with plain stores."""
        places = [_place(s.invoke) for s in walk(function.body) if self.is_masked(s)]
        crowded = _crowded(places, {view: self.large[a] for view, a in function.views if a in self.large})

        def changed(statement: Statement) -> Body | None:
            if not self.is_masked(statement):
                return None
            number = _lanes(statement.invoke)
            if crowded and number.bit_count() > 1:
                return None
            given = {**dict(statement.invoke.operands), "lanes": Immediate(constant(number))}
            return (Do(Invoke(self.lanes, tuple(given.items()))),)

        return replace(function, body=with_statements(function.body, changed))

    def is_masked(self, statement: Statement) -> TypeGuard[Do]:
        return isinstance(statement, Do) and statement.invoke.instruction == self.masked


def _place(masked: Invoke) -> Address:
    place = dict(masked.operands)["p"]
    assert isinstance(place, Address)
    return place


def _lanes(masked: Invoke) -> int:
    mask = dict(masked.operands)["lanes"]
    assert isinstance(mask, Mask) and mask.lanes.is_constant
    return mask.lanes.offset


def _crowded(places: list[Address], large: Mapping[str, Buffer]) -> bool:
    """Whether more of these places in large arrays lie at one place of their pages than a set of a first cache has."""
    found: set[tuple[str, Index]] = set()
    for place in places:
        if array := large.get(place.buffer):
            steps = zip(place.at, array.strides, strict=True)
            found.add((place.buffer, sum((index * stride for index, stride in steps), ZERO)))
    in_pages = Counter((view, at + (at.offset % PAGE - at.offset)) for view, at in found)
    return max(in_pages.values(), default=0) > WAYS
