"""One point of a register tile: which elements of the arrays it touches, and which tests say that it exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tiling.arrays.flat_pixels import passes_gaps
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.language import Condition, Inside
from tiling.loops.lowering import nest
from tiling.loops.lowering.arrays import WORD_AXIS, in_words
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.tensor import FlatPixels, Tensor


@dataclass(frozen=True)
class Point:
    """The point at which a register tile's unrolled loops stand. at: where the tile begins along each dim."""

    scheme: Scheme
    register: nest.RegisterTile
    at: Mapping[str, Index]

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    @cached_property
    def place(self) -> dict[str, Index]:
        """The index along each dim of the problem."""
        found: dict[str, Index] = {}
        for dims, extent in self.register.extents.items():
            lanes = self.register.lanes if self.problem.vector_dim in dims else 1
            at = self.at[dims]
            if extent > lanes:
                at = at + variable(nest.counter(dims)) * lanes
            at = at + LANE if lanes > 1 else at
            for place, dim in enumerate(dims):
                inside = prod(self.problem.extents[d] for d in dims[place + 1 :])
                here = applied("/", at, constant(inside)) if inside > 1 else at
                found[dim] = applied("%", here, constant(self.problem.extents[dim])) if place else here
        return found

    def element(self, tensor: Tensor, instead: Mapping[str, Index] | None = None) -> tuple[Index, ...]:
        """The index of each axis of a tensor. instead: indices along some dims in place of this point's."""
        inputs = tensor.role in ("broadcast", "vector")
        place = (self.place if inputs else self._place_of_output) | dict(instead or {})
        at = tuple(
            sum((place[dim] * coefficient for dim, coefficient in index.terms), ZERO) + index.offset
            for index in tensor.indices
        )
        return in_words(self.problem, tensor, at, variable(WORD_AXIS))

    @cached_property
    def _place_of_output(self) -> dict[str, Index]:
        """The index along each dim. For flattened pixels: the index of the pixel of y, not of the point."""
        flat = self.problem.flat_pixels
        if flat is None or not passes_gaps(self.problem):
            return self.place
        line, column = self._line_and_column(flat)
        return {**self.place, flat.dim: line * flat.columns + column}

    def _line_and_column(self, flat: FlatPixels) -> tuple[Index, Index]:
        """Where the point lies in the rows of a flattened image."""
        point, pitch = self.place[flat.dim], constant(flat.pitch)
        return applied("/", point, pitch), applied("%", point, pitch)

    def padding(self) -> tuple[Condition, ...]:
        """The tests that a tap lies on X. Along a dim without padding there is none."""
        padded = self.problem.padded_dims
        tests = []
        for window in self.problem.windows:
            if window.dim in padded:
                at = self.place[window.dim] * window.stride + self.place[window.tap] * window.dilation - window.before
                tests.append(Inside(at, 0, window.extent))
        return tuple(tests)

    def edges(self, among: tuple[str, ...] | None = None) -> tuple[Condition, ...]:
        """The tests that a point exists, for dims whose last tile reaches beyond their end. among: these dims only."""
        tests = []
        for dims, extent in self.scheme.extents.items():
            if (among is None or dims in among) and self.scheme.visited(dims) > extent:
                at, inside = self.at[dims], self.register.extents[dims]
                unrolled = at + variable(nest.counter(dims)) if inside > 1 else at
                tests.append(Inside(self.place[dims] if len(dims) == 1 else unrolled, None, extent))
        return tuple(tests)

    def output_edges(self) -> tuple[Condition, ...]:
        """The tests that an output exists."""
        outputs = (dims for dims in self.scheme.extents if not all(dim in self.problem.reductions for dim in dims))
        return self.edges(tuple(outputs)) + self._gaps()

    def _gaps(self) -> tuple[Condition, ...]:
        """The tests that a flattened pixel is a pixel of y: in a column and a line of y."""
        flat = self.problem.flat_pixels
        if flat is None or not passes_gaps(self.problem):
            return ()
        line, column = self._line_and_column(flat)
        return Inside(column, None, flat.columns), Inside(line, None, flat.rows)
