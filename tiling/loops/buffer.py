"""An array of a kernel: its shape, its dtype, and the memory that it lies in."""

from __future__ import annotations

from dataclasses import dataclass

from tiling.loops.index import LANE, ZERO, Index, applied, constant

PACKED = ("packed",)  # the axes of a buffer whose numbers lie in the order in which loops read them


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array: its shape, row-major, its dtype, and the memory that it lies in.

    axes: a name for each axis, for readers. memory: "global"; "shared" by the workers of a GPU's block; a worker's
    "own"; "stack", of a function while it runs; "registers"; or "tile", a tile register whose shape `Shape` has set.

    extents: indices over the kernel's numbers, where the extents are known only when the kernel runs. `shape` then has
    the largest extents. Empty: `shape` has the extents.
    """

    name: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str = "f32"
    memory: str = "global"
    extents: tuple[Index, ...] = ()

    @property
    def packed(self) -> bool:
        """Whether it holds whole vectors in the order in which loops read them, so that no axis is left."""
        return self.axes == PACKED

    @property
    def whole(self) -> tuple[Index, ...]:
        """The index of what a register holds, which is one number, or a number for each lane."""
        return (LANE,) if self.axes == ("lane",) else (ZERO,) * len(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each axis."""
        strides, elements = [], 1
        for extent in reversed(self.shape):
            strides.append(elements)
            elements *= extent
        return tuple(reversed(strides))

    @property
    def sizes(self) -> tuple[Index, ...]:
        """The extent of each axis, fixed or known only when the kernel runs."""
        return self.extents or tuple(map(constant, self.shape))

    @property
    def steps(self) -> tuple[Index, ...]:
        """Elements between neighbours along each axis, also where extents are known only when the kernel runs."""
        steps, elements = [], constant(1)
        for extent in reversed(self.sizes):
            steps.append(elements)
            elements = applied("*", elements, extent)
        return tuple(reversed(steps))
