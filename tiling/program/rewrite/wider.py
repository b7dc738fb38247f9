"""A program whose arrays are the first elements, along some axes, of longer arrays in memory.

    y[h,c] = relu(x[h,c])       x: f32[7, 64], y: f32[7, 64] of f32[7, 256]

The elements beyond are neither read nor written. For a part that begins later, pass a pointer to its first element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tiling.program.infer import Array, Sized


def in_wider(program: Sized, shapes: Mapping[str, tuple[int, ...]]) -> Sized:
    """The program with the shapes of the memory that arrays lie in. shapes: one for each array that lies in a longer
    one.
    """

    def lying(array: Array) -> Array:
        return replace(array, shape=shapes.get(array.name, array.shape))

    return replace(program, inputs=tuple(map(lying, program.inputs)), assigned=tuple(map(lying, program.assigned)))
