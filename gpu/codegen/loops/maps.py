"""The tensor maps of the arrays of a kernel from which boxes are copied, or to which they are stored.

boxed(body) -> names of arrays          those that a kernel takes as tensor maps
tensor_maps(kernel, rounded, overlapping) -> TensorMap, …
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from gpu.codegen.copies.tensor_map import Pixels, TensorMap
from gpu.passes.facts.reading import WIDTH
from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body
from tiling.loops.machines import CopyBox, StoreBox, Windows
from tiling.loops.walk import walk


def boxed(body: Body) -> dict[str, CopyBox | StoreBox]:
    """A box of each array that has some."""
    found: dict[str, CopyBox | StoreBox] = {}
    for statement in walk(body):
        if isinstance(statement, CopyBox):
            found[statement.source.buffer] = statement
        elif isinstance(statement, StoreBox):
            found[statement.target.buffer] = statement
    return found


def tensor_maps(kernel: Kernel, rounded: str, overlapping: Mapping[str, tuple[int, ...]]) -> tuple[TensorMap, ...]:
    """The tensor maps of the arrays that have boxes. rounded: the dtype as which f32 arrive. overlapping: how far apart
    the points along each axis of an array lie, where they overlap.
    """
    boxes = boxed(kernel.body)
    return tuple(
        _map(place, array, boxes[array.name], rounded, overlapping.get(array.name))
        for place, array in enumerate(kernel.arrays)
        if array.name in boxes
    )


def _map(place: int, array: Buffer, box: CopyBox | StoreBox, rounded: str, steps: tuple[int, ...] | None) -> TensorMap:
    windows = box.windows if isinstance(box, CopyBox) else ()
    *shape, last = array.shape
    first = len(shape) - box.joined
    dims = (last, prod(shape[first:]), *reversed(shape[:first]))
    strides = tuple(prod(dims[: axis + 1]) for axis in range(len(dims) - 1)) if steps is None else steps[-2::-1]
    strides = tuple(step * WIDTH[array.dtype] for step in strides)
    dtype = rounded if isinstance(box, CopyBox) and box.function else array.dtype
    if not windows:
        return TensorMap(array.name, place, dtype, dims, strides, box.extents[::-1])
    count, channels = box.extents
    return TensorMap(array.name, place, dtype, dims, strides, (channels,), _pixels(windows, array, count))


def _pixels(windows: tuple[Windows, ...], array: Buffer, count: int) -> Pixels:
    (h, w), (_, height, width, _) = windows, array.shape
    return Pixels((w.first, h.first), (_past(w) - width, _past(h) - height), (w.step, h.step), count)


def _past(windows: Windows) -> int:
    """One past the pixel at which the last window begins."""
    return windows.first + (windows.count - 1) * windows.step + 1
