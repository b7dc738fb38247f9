"""Stages the tiles that matrix instructions read: as matrices, whatever the shape of the array.

    stage X, nhw from nhw_1 for 64, rsc from rsc for 32:
      …
      acc[…] += from_bf16(X[…]) * from_bf16(W[…])
    ->
    X_tile[64, 32] of bf16 in shared memory
    for thread in 0..64, thread:
      for element in thread..2048 by 64:
        X_tile[element / 32, element % 32] = (X[…] if … else 0)
    …
    acc[…] += from_bf16(X_tile[…]) * from_bf16(W_tile[…])

A tile has an axis for each dim of the scheme along which it has several points. So the tile of a convolution is that of
a product: its rows are pixels, and it sums over taps with channels. Neighbours in the array are neighbours in the tile.
Elements on padding or beyond an edge are 0. Numbers keep their dtype: f32 are rounded to tf32 when lanes load them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from gpu.passes.facts.workers import THREAD, RowTeam, launches, threads_of
from gpu.passes.memory.stage_tiles import TILE, copied, place_of_element
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Alloc,
    Along,
    Body,
    Choose,
    Define,
    For,
    Load,
    Number,
    Operand,
    StagedPart,
    Statement,
    Value,
)
from tiling.loops.lowering.nest import RegisterTile
from tiling.loops.lowering.point import Point
from tiling.loops.rewrite import with_own_values
from tiling.loops.walk import buffers_of, free_name, with_blocks, with_statements
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor

_At = Mapping[str, Index]  # by dim of the scheme, a point of it


def stage_matrices(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel with a copy in shared memory of each part of an input that it stages."""
    (launch,) = launches(kernel)
    team, buffers = RowTeam(THREAD, threads_of(launch)), buffers_of(kernel)
    taken = set(buffers)
    tensors = dict(zip("XWY", scheme.problem.tensors))

    def staged(statement: Statement) -> Body | None:
        if not isinstance(statement, StagedPart):
            return None
        name = free_name(f"{statement.buffer}_{TILE}", taken)
        taken.add(name)
        parts = {along.dim: along for along in statement.part}
        tile = _Matrix(scheme, buffers[statement.buffer], tensors[statement.buffer], parts, name)
        work = with_statements(statement.body, staged)
        inside = tile.read(work, {dim: along.start for dim, along in parts.items()})
        return (Alloc(tile.buffer), copied(team, tile.buffer, tile.value), *inside)

    return replace(kernel, body=with_statements(kernel.body, staged))


@dataclass(frozen=True)
class _Matrix:
    """The part of an array that a block stages."""

    scheme: Scheme
    array: Buffer
    tensor: Tensor
    parts: Mapping[str, Along]
    name: str

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims that are axes of the tile. The last one is contiguous in the array."""
        innermost = self.tensor.indices[-1].terms[0][0]
        several = [dim for dim, along in self.parts.items() if along.points > 1]
        return tuple(sorted(several, key=lambda dim: innermost in dim))

    @property
    def buffer(self) -> Buffer:
        shape = tuple(self.parts[dim].points for dim in self.dims)
        return Buffer(self.name, shape, self.dims, self.array.dtype, "shared")

    @property
    def value(self) -> Value:
        """What the tile holds at a place: the element of the array there, or 0."""
        place = dict(zip(self.dims, place_of_element(self.buffer)))
        at = {dim: along.start + place[dim] if dim in place else along.start for dim, along in self.parts.items()}
        point = self._point(at)
        value = Load(self.array.name, point.element(self.tensor))
        tests = point.edges(tuple(self.parts))
        if self.tensor is self.scheme.problem.broadcast:
            tests = (*tests, *point.padding())
        return Choose(tests, value, Number(0, self.buffer.dtype)) if tests else value

    def _point(self, at: _At) -> Point:
        one = RegisterTile(tuple((dim, 1) for dim in self.scheme.extents), 1)
        return Point(self.scheme, one, {dim: at.get(dim, Index(())) for dim in self.scheme.extents})

    def read(self, body: Body, at: _At) -> Body:
        """The block, which reads the tile in the place of the array. at: the point that it works at."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, Define):
                at = self._moved(at, statement.name.partition("_")[0], variable(statement.name), whole=True)
            inner = at
            if isinstance(statement, For) and statement.dim in at:
                whole = statement.kind != "unrolled" and statement.dim[0] not in self.scheme.problem.reductions
                inner = self._moved(at, statement.dim, variable(statement.name), whole)
            near = partial(self._near, at=at)
            found.append(with_blocks(with_own_values(statement, near), partial(self.read, at=inner)))
        return tuple(found)

    def _moved(self, at: _At, dim: str, by: Index, whole: bool) -> _At:
        """The point after a loop or a name for a place. whole: it counts from the beginning of the dim."""
        if dim not in at:
            return at
        return {**at, dim: by if whole else at[dim] + by}

    def _near(self, operand: Operand, at: _At) -> Operand | None:
        if not isinstance(operand, Load) or operand.buffer != self.array.name:
            return None
        assert operand.at == self._point(at).element(self.tensor), f"{operand} is not what {dict(at)} is an element of"
        return Load(self.name, tuple(at[dim] - self.parts[dim].start for dim in self.dims))
