"""A copy of an input that is made before a kernel reads it: where each of its numbers comes from, as data."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.loops.index import Index
from tiling.loops.language import Inside

Axes = tuple[tuple[str, int], ...]  # names and extents


@dataclass(frozen=True)
class Copied:
    """A copy of input number `array`.

    given, axes: the axes of the input, as the copy is made from it, and those of the copy. at: which number of the
    input a number of the copy is, an index over the copy's axes for each axis of the input. within: the conditions
    under which there is one; elsewhere the copy has zeros. called: the copy in a comment.
    overlapping: how far apart the points along each axis of the array lie that the kernel reads, where several of them
    have numbers of the copy in common; empty where the kernel reads the copy's own axes.
    """

    array: int
    name: str
    given: Axes
    axes: Axes
    at: tuple[Index, ...]
    within: tuple[Inside, ...]
    element_bytes: int
    called: str
    overlapping: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(extent for _, extent in self.axes)

    @property
    def size(self) -> int:
        """Elements of the copy, its zeros included."""
        return prod(self.shape)

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return (prod(extent for _, extent in self.given) + self.size) * self.element_bytes
