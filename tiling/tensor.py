"""What the tensors of a problem are made of: affine indices, shapes, windows over edges, flattened pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod


@dataclass(frozen=True)
class Affine:
    """One index: Σ coefficient·dim + offset, e.g. `2*h + r - 1`."""

    terms: tuple[tuple[str, int], ...]
    offset: int = 0

    def at(self, point: dict[str, int]) -> int:
        """The index value at a point of the iteration space."""
        return sum(coefficient * point[dim] for dim, coefficient in self.terms) + self.offset

    def coefficient(self, dim: str) -> int:
        """The coefficient of `dim`, 0 where the index does not depend on it."""
        return dict(self.terms).get(dim, 0)

    def __str__(self) -> str:
        parts = [dim if c == 1 else f"{c}*{dim}" for dim, c in self.terms]
        text = " + ".join(parts) or "0"
        if self.offset:
            text += f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}"
        return text


@dataclass(frozen=True)
class Tensor:
    """A tensor of the problem: its role, the index of each axis, and its shape (row-major, last axis contiguous).

    The shape is that of its memory: an axis may be longer than its index reaches (`tiling.operators.in_wider`).
    reach: 0 where a point is an element. Else it is so many neighbours, from its own on, and points may overlap. They
    share the numbers of a dot group evenly (`tiling.rewrite.dot_groups`).
    """

    name: str
    role: str
    indices: tuple[Affine, ...]
    shape: tuple[int, ...]
    reach: int = 0

    @property
    def called(self) -> str:
        """The name for a message. A product's own b and the b of its epilogue are two arrays."""
        return f"the epilogue's {self.name}" if self.role == "epilogue" else self.name

    @cached_property
    def dims(self) -> frozenset[str]:
        """The dims that the tensor's address depends on. A loop over any other dim re-uses the tensor."""
        return frozenset(dim for index in self.indices for dim, _ in index.terms)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each axis."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def stride(self, dim: str) -> int:
        """Elements the address moves when `dim` grows by one."""
        return sum(index.coefficient(dim) * s for index, s in zip(self.indices, self.strides))

    def reached(self, extents: Mapping[str, int]) -> tuple[int, ...]:
        """Elements along each axis up to the last one that a point of these extents has, at most the axis itself."""
        last = (index.offset + sum((extents[dim] - 1) * step for dim, step in index.terms) for index in self.indices)
        return tuple(min(size, reach + 1) for size, reach in zip(self.shape, last))

    @cached_property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Window:
    """An axis of the broadcast tensor that an output dim and a reduction dim index together.

    The point `stride*dim + dilation*tap - before` is on the tensor where it lies in [0, extent). Elsewhere the tap
    falls on padding and is left out.
    """

    dim: str
    tap: str
    stride: int
    dilation: int
    before: int
    extent: int

    def rows_inside(self, first: int, count: int, tap: int) -> tuple[int, int]:
        """Which of the `count` outputs from `first` on have `tap` on the tensor, a half-open range from first."""
        shift = tap * self.dilation - self.before
        low = max(0, -((shift + first * self.stride) // self.stride))
        high = min(count, (self.extent - shift + self.stride - 1) // self.stride - first)
        return min(low, count), max(min(low, count), high)


@dataclass(frozen=True)
class FlatPixels:
    """The flattened pixels of one image, in rows of `pitch` points (`tiling.arrays.flat_pixels`).

    x has `height` x `width` pixels from point `lead` on, y has `rows` x `columns`. reach: how many points the last tap
    lies beyond its pixel. padded: whether windows reach beyond the image. dim: the problem's dim that counts points.
    """

    height: int
    width: int
    rows: int
    columns: int
    pitch: int
    lead: int
    reach: int
    padded: bool
    dim: str = "w"

    @property
    def points(self) -> int:
        """Points from the first pixel of y to the last."""
        return (self.rows - 1) * self.pitch + self.columns

    @property
    def pixels(self) -> int:
        """Pixels of y."""
        return self.rows * self.columns
