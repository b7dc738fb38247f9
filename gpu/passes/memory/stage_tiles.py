"""Stages tiles of the inputs in shared memory: all threads of a block copy, then all of them read.

    stage X, m from m_2 for 64, k from k for 8:          X_tile[64, 8] in shared memory
      …                                            ->    for thread in 0..128, thread:
      acc[…] += X[m + m_u, k + k_u] * …                    for element in thread..512 by 128:
                                                             X_tile[element / 8, element % 8] = X[…]
                                                         …
                                                         acc[…] += X_tile[…] * …

Neighbouring threads copy neighbours of the array. Elements outside the array are 0 in the tile. Numbers of 16 bits
are f32 in the tile: each is converted once, not by every thread that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from gpu.passes.facts.neighbours import ELEMENT
from gpu.passes.facts.workers import THREAD, RowTeam, launches, threads_of
from tiling.dtypes.formats import WIDENED
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Alloc,
    Along,
    Apply,
    Body,
    Choose,
    Condition,
    For,
    Inside,
    Load,
    Number,
    Operand,
    StagedPart,
    Statement,
    Store,
    Value,
)
from tiling.loops.rewrite import with_values
from tiling.loops.walk import buffers_of, free_name, with_statements
from tiling.scheme.scheme import Scheme
from tiling.tensor import Affine, Tensor

TILE = "tile"


def stage_tiles(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel with a copy in shared memory of each part of an input that it stages."""
    (launch,) = launches(kernel)
    team, taken = RowTeam(THREAD, threads_of(launch)), set(buffers_of(kernel))
    tensors = dict(zip("XWY", scheme.problem.tensors))
    visited = {dim: scheme.visited(dim) for dim in scheme.extents}

    def staged(statement: Statement) -> Body | None:
        if not isinstance(statement, StagedPart):
            return None
        name = free_name(f"{statement.buffer}_{TILE}", taken)
        taken.add(name)
        array = buffers_of(kernel)[statement.buffer]
        tile = _Tile(array, tensors[array.name], _parts(statement), visited, name)
        inside = (with_values(each, tile.read) for each in with_statements(statement.body, staged))
        return (Alloc(tile.buffer), tile.copy(team), *inside)

    return replace(kernel, body=with_statements(kernel.body, staged))


def place_of_element(tile: Buffer) -> tuple[Index, ...]:
    """Where an element lies in a tile, by its number."""
    at = []
    for axis, (extent, step) in enumerate(zip(tile.shape, tile.strides)):
        here = applied("/", variable(ELEMENT), constant(step))
        first = all(extent == 1 for extent in tile.shape[:axis])
        at.append(ZERO if extent == 1 else here if first else applied("%", here, constant(extent)))
    return tuple(at)


def copied(team: RowTeam, tile: Buffer, value: Value) -> Statement:
    """All threads fill a tile. value: gives an element by its number."""
    store = Store(tile.name, place_of_element(tile), value)
    return team.each((For(ELEMENT, team.number, constant(prod(tile.shape)), team.size, (store,)),))


def _parts(stage: StagedPart) -> dict[str, Along]:
    return {along.dim: along for along in stage.part}


@dataclass(frozen=True)
class _Tile:
    """The part of an array that a block stages. visited: how many points of each dim the loops reach."""

    array: Buffer
    tensor: Tensor
    parts: Mapping[str, Along]
    visited: Mapping[str, int]
    name: str

    @property
    def buffer(self) -> Buffer:
        shape = tuple(
            1 + sum((self.parts[dim].points - 1) * abs(step) for dim, step in index.terms)
            for index in self.tensor.indices
        )
        dtype = "f32" if self.array.dtype in WIDENED else self.array.dtype
        return Buffer(self.name, shape, self.array.axes, dtype, "shared")

    @property
    def begin(self) -> tuple[Index, ...]:
        """Where the tile begins in the array, along each axis."""
        return tuple(map(self._begin, self.tensor.indices))

    def _begin(self, index: Affine) -> Index:
        found = constant(index.offset)
        for dim, step in index.terms:
            found = found + self.parts[dim].start * step + min(0, (self.parts[dim].points - 1) * step)
        return found

    def read(self, operand: Operand) -> Operand | None:
        """The element of the tile that replaces the array's element."""
        if isinstance(operand, Apply) and operand.function == WIDENED.get(self.array.dtype):
            (operand,) = operand.arguments
        if not isinstance(operand, Load) or operand.buffer != self.array.name:
            return None
        return Load(self.name, tuple(at - begin for at, begin in zip(operand.at, self.begin)))

    def copy(self, team: RowTeam) -> Statement:
        """All threads copy the tile."""
        at = place_of_element(self.buffer)
        source = tuple(begin + index for begin, index in zip(self.begin, at))
        value: Value = Load(self.array.name, source)
        if self.array.dtype in WIDENED:
            value = Apply(WIDENED[self.array.dtype], (value,))
        tests = self._inside(source)
        if tests:
            value = Choose(tests, value, Number(0, self.buffer.dtype))
        return copied(team, self.buffer, value)

    def _inside(self, source: tuple[Index, ...]) -> tuple[Condition, ...]:
        """What must hold for an element of the tile to lie in the array."""
        tests = []
        for index, at, extent in zip(self.tensor.indices, source, self.array.shape):
            ends = [(self.visited[dim] - 1) * step for dim, step in index.terms]
            low = 0 if index.offset + sum(min(0, end) for end in ends) < 0 else None
            high = extent if index.offset + sum(max(0, end) for end in ends) >= extent else None
            if low is not None or high is not None:
                tests.append(Inside(at, low, high))
        return tuple(tests)
