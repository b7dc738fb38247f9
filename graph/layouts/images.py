"""The images of a model, whose channels may lie first or last, and the works of its steps in either layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import prod

from graph.model.language import Model, Step
from graph.model.node import Shape
from tiling.operators import in_layout
from tiling.problem import Problem
from tiling.program.infer import Array, Sized, sized
from tiling.program.read import read
from tiling.program.rewrite.axes import is_copy, with_axes

AXES = (4, 5)  # how many axes an image, or a volume, has
LAYOUT = "layout"  # the node of a step that is a conversion


def to_last(axes: int) -> Shape:
    """The order of so many axes in which the channels, which come second, come last."""
    return (0, *range(2, axes), 1)


def to_first(axes: int) -> Shape:
    """The order of so many axes in which the channels, which come last, come second."""
    return (0, axes - 1, *range(1, axes - 1))


def is_free(step: Step) -> bool:
    """Whether a step is a convolution with channels first."""
    return isinstance(step.work, Problem) and step.work.layout == "nchw"


def images_of(model: Model) -> frozenset[str]:
    """The arrays that may have either layout: only steps of this model read them, and each in the array's own shape."""
    written = {model.root(name) for step in model.steps for name in step.outputs}
    found = {name for name in written if is_image(model.arrays[name].shape)}
    found -= {model.root(name) for name in model.outputs}
    for step in model.steps:
        # A map that sees a convolution's output in another shape may be part of that convolution.
        if isinstance(step.work, Problem):
            found -= {name for name in step.outputs if model.arrays[name].shape != step.work.output.shape}
        # A matrix product reads and writes numbers in their order, as a branch, a loop and a copy do.
        if not (isinstance(step.work, Sized) or is_free(step)):
            found -= {model.root(name) for name in (*step.inputs, *step.outputs)}
    for name in model.views:
        root = model.root(name)
        if root in found and (name in model.slices or model.arrays[name].shape != model.arrays[root].shape):
            found.discard(root)
    return frozenset(found)


def is_image(shape: Shape) -> bool:
    """Whether it is the shape of an image whose two layouts differ in memory."""
    return len(shape) in AXES and shape[1] > 1 and prod(shape[2:]) > 1


def other_order(step: Step) -> Iterator[tuple[int, Shape, Shape, Shape]]:
    """The inputs of a convolution whose axes have another order with channels last.

    For each: its place, that order, its shape, and its shape as an image.
    """
    work = step.work
    assert isinstance(work, Problem)
    yield 0, to_last(len(work.broadcast.shape)), work.broadcast.shape, work.broadcast.shape
    after = in_layout(work, "nhwc")
    axes, later = (each.epilogue.arrays if each.epilogue else () for each in (work, after))
    for place, (old, new) in enumerate(zip(axes, later)):
        order = tuple(old.axes.index(axis) for axis in new.axes)
        if order != tuple(range(len(order))):
            walked = zip(work.output_axes, work.output.shape)
            image = tuple(extent if axis in old.axes else 1 for axis, extent in walked)
            yield place + 2, order, work.epilogue_arrays[place].shape, image


def form(model: Model, images: frozenset[str], step: Step, last: bool, is_laid: Callable[[str], bool]) -> Sized:
    """What a program computes where it writes its own images with channels first, or last.

    is_laid: whether an array that it reads has channels last.
    """
    work, orders = step.work, {}
    assert isinstance(work, Sized)
    for array, name in zip(work.inputs, step.inputs):
        if is_laid(model.root(name)):
            orders[array.name] = to_last(len(array.shape))
    if last:
        outer = dict(zip([array.name for array in work.assigned if array.name in work.outputs], step.outputs))
        for array in work.assigned:
            written = outer.get(array.name)
            if len(array.shape) in AXES and (written is None or model.root(written) in images):
                orders[array.name] = to_last(len(array.shape))
    return with_axes(work, orders)


def turns_to_last(work: Sized | Problem) -> bool:
    """Whether a program only lays an array out anew that lies as the output does with channels last."""
    if not isinstance(work, Sized):
        return False
    images = {array.name: to_last(len(array.shape)) for array in work.assigned if is_image(array.shape)}
    return is_copy(with_axes(work, images))


def ordered(array: Array, name: str, order: Shape) -> Array:
    """An array with its axes in this order."""
    return Array(name, array.dtype, tuple(array.shape[axis] for axis in order))


@lru_cache(maxsize=512)
def conversion(dtype: str, shape: Shape, order: Shape) -> Sized:
    """The program that lays an array of this shape out anew, with its axes in this order."""
    dims = "ncdhw" if len(shape) > 4 else "nchw"
    dims = dims if order == to_last(len(shape)) else "".join(dims[axis] for axis in to_last(len(shape)))
    there = ",".join(dims[axis] for axis in order)
    program = read(f"x: {dtype}; y: {dtype}; y[{there}] = x[{','.join(dims)}]")
    return sized(program, dict(zip(dims, shape)), {"x": shape}, outputs=("y",))
