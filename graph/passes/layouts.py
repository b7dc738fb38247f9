"""Chooses for each image whether its channels lie first or last in memory.

    conv, relu, pool, conv        kernels for channels last, between a conversion of x and one of y, if that is faster

A convolution's kernels differ in speed between the two layouts. Programs read and write either one. The cost of a
conversion follows from its bytes; a transposition of the file may become none. A minimum cut finds the least total
time: steps on one side keep channels last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from graph.model.dtypes import stored
from graph.model.language import Model, Step
from graph.model.node import Shape
from tiling.operators import in_layout
from tiling.problem import Problem
from tiling.program.dtypes import WIDTH
from tiling.program.infer import Array, Sized, sized
from tiling.program.language import Dim, Number
from tiling.program.read import read
from tiling.program.rewrite.axes import is_copy, with_axes

# Bytes of an array that a conversion, or a program between the two layouts, moves in a second. Measured on one core of
# a Zen 4: 6.6e9 for 3 x 224 x 224, 18e9 for 32 x 112 x 112, 5.8e9 for 960 x 7 x 7.
RATE = 8e9
# Elements in a second that a program reads one by one: a window along the last axis is no vector. Measured there: the
# maximum of 3 x 3 at stride 2 over 64 x 112 x 112 takes 2.3 ms with channels first and 0.085 ms with channels last.
ONE_BY_ONE = 8e8
_UNIT = 1e-8  # seconds: capacities of a flow are whole numbers of 32 bits
_NEVER = 1 << 30
_TO_LAST, _TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
_AXES = 4


def with_layouts(model: Model, seconds: Callable[[Problem], float]) -> Model:
    """The model with the layouts that take the least time. seconds: what a convolution takes in its layout."""
    if not any(map(_is_free, model.steps)):
        return model
    images = _images(model)
    last = _channels_last(model, images, seconds)
    return _Rewriting(model, images, last).model_() if last else model


def priced(model: Model) -> list[Problem]:
    """The problems whose seconds `with_layouts` compares."""
    found = [step.work for step in model.steps if _is_free(step)]
    return [form for work in found if isinstance(work, Problem) for form in (work, in_layout(work, "nhwc"))]


def _is_free(step: Step) -> bool:
    """Whether a step is a convolution with channels first."""
    return isinstance(step.work, Problem) and step.work.layout == "nchw"


def _images(model: Model) -> frozenset[str]:
    """The arrays that may have either layout: only steps of this model read them, and each in the array's own shape."""
    written = {model.root(name) for step in model.steps for name in step.outputs}
    found = {name for name in written if _is_image(model.arrays[name].shape)}
    found -= {model.root(name) for name in model.outputs}
    for step in model.steps:
        # A map that sees a convolution's output in another shape may be part of that convolution.
        if isinstance(step.work, Problem):
            found -= {name for name in step.outputs if model.arrays[name].shape != step.work.output.shape}
        # A matrix product reads and writes numbers in their order, as a branch, a loop and a copy do.
        if not (isinstance(step.work, Sized) or _is_free(step)):
            found -= {model.root(name) for name in (*step.inputs, *step.outputs)}
    for name in model.views:
        root = model.root(name)
        if root in found and (name in model.slices or model.arrays[name].shape != model.arrays[root].shape):
            found.discard(root)
    return frozenset(found)


def _is_image(shape: Shape) -> bool:
    """Whether it is the shape of an image of which both layouts are not the same memory."""
    return len(shape) == _AXES and shape[1] > 1 and shape[2] * shape[3] > 1


def _other_order(step: Step) -> Iterator[tuple[int, Shape, Shape, Shape]]:
    """The inputs of a convolution whose axes have another order with channels last.

    For each: its place, that order, its shape, and its shape as an image.
    """
    work = step.work
    assert isinstance(work, Problem)
    yield 0, _TO_LAST, work.broadcast.shape, work.broadcast.shape
    after = in_layout(work, "nhwc")
    axes, later = (each.epilogue.arrays if each.epilogue else () for each in (work, after))
    for place, (old, new) in enumerate(zip(axes, later)):
        order = tuple(old.axes.index(axis) for axis in new.axes)
        if order != tuple(range(len(order))):
            walked = zip(work.output_axes, work.output.shape)
            image = tuple(extent if axis in old.axes else 1 for axis, extent in walked)
            yield place + 2, order, work.epilogue_arrays[place].shape, image


def _channels_last(model: Model, images: frozenset[str], seconds: Callable[[Problem], float]) -> frozenset[int]:
    """The numbers of the steps that keep channels last."""
    cut = _Cut(len(model.steps))
    writers = {model.root(name): n for n, step in enumerate(model.steps) for name in step.outputs}
    for number, step in enumerate(model.steps):
        windows = 0.0
        if isinstance(step.work, Sized):
            shapes = [model.arrays[name].shape for name in step.inputs]
            reads = [(place, shape) for place, shape in enumerate(shapes) if _is_image(shape)]
            if not any(model.root(name) in images for name in step.outputs):
                continue  # it reads whatever there is, and what it writes lies the same either way
            windows = _windows(step.work) / ONE_BY_ONE
            cut.costs(number, first=windows)
        elif _is_free(step):
            assert isinstance(step.work, Problem)
            after = in_layout(step.work, "nhwc")
            cut.costs(number, first=seconds(step.work), last=seconds(after))
            (output,) = step.outputs
            if model.root(output) not in images and _is_image(step.work.output.shape):
                cut.costs(number, last=_moving(model, output))
            reads = [(place, image) for place, *_, image in _other_order(step)]
        else:
            continue
        for place, image in reads:
            name = step.inputs[place]
            if model.root(name) in model.constants:
                continue  # it is laid out ahead
            if model.arrays[name].shape != image:
                cut.costs(number, last=_NEVER * _UNIT)
            elif model.root(name) in images:
                cut.differs(number, writers[model.root(name)], max(windows, _moving(model, name)))
            elif _is_image(image):
                moved = max(windows, _moving(model, name))
                cut.costs(number, **{"first" if _turns_to_last(step.work) else "last": moved})
    return cut.last()


def _windows(program: Sized) -> int:
    """The elements of images that are read through windows along their last axis."""
    found = 0
    for statement in program.program.statements:
        points = prod(program.extents[dim] for dim in (*statement.dims, *statement.reduced))
        images = (access for access in statement.accesses if len(access.at) == _AXES)
        found += sum(points for access in images if not isinstance(access.at[-1], (Dim, Number)))
    return found


def _turns_to_last(work: Sized | Problem) -> bool:
    """Whether a program only lays an array out anew that lies as the output does with channels last."""
    if not isinstance(work, Sized):
        return False
    images = (array.name for array in work.assigned if _is_image(array.shape))
    return is_copy(with_axes(work, dict.fromkeys(images, _TO_LAST)))


def _moving(model: Model, name: str) -> float:
    """The seconds of a conversion."""
    array = model.arrays[model.root(name)]
    return WIDTH[stored(array.dtype)] * prod(array.shape) / RATE


class _Cut:
    """Two sides of a set of numbered steps: those with channels last, and those with channels first."""

    def __init__(self, count: int):
        self.count = count
        self.capacities: dict[tuple[int, int], float] = {}

    def _add(self, one: int, other: int, cost: float) -> None:
        self.capacities[one, other] = self.capacities.get((one, other), 0.0) + cost

    def costs(self, step: int, *, first: float = 0.0, last: float = 0.0) -> None:
        """The seconds of a step on either side."""
        self._add(self.count, step, first)
        self._add(step, self.count + 1, last)

    def differs(self, one: int, other: int, cost: float) -> None:
        """The seconds lost where two steps are on different sides."""
        self._add(one, other, cost)
        self._add(other, one, cost)

    def last(self) -> frozenset[int]:
        """The steps with channels last where the sum is least; of several such sets the smallest."""
        places = list(self.capacities)
        units = [min(round(cost / _UNIT), _NEVER) for cost in self.capacities.values()]
        size = self.count + 2
        rows, columns = zip(*places)
        graph = csr_array((np.array(units, np.int32), (rows, columns)), (size, size))
        left = graph - maximum_flow(graph, self.count, self.count + 1).flow
        left.eliminate_zeros()
        reached = breadth_first_order(left, self.count, return_predecessors=False)
        return frozenset(int(step) for step in reached if step < self.count)


@dataclass
class _Rewriting:
    """The model's steps one after the other, in the layouts that were chosen. last: numbers of steps."""

    model: Model
    images: frozenset[str]
    last: frozenset[int]
    arrays: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    views: dict[str, str] = field(default_factory=dict)
    laid: dict[str, bool] = field(default_factory=dict)  # whether channels lie last, of each image so far

    def model_(self) -> Model:
        self.arrays, self.constants = dict(self.model.arrays), dict(self.model.constants)
        self.views = dict(self.model.views)
        for number, step in enumerate(self.model.steps):
            if isinstance(step.work, Sized):
                self.program(step, step.work, number in self.last)
            elif number in self.last:
                self.convolution(step)
            else:
                inputs = tuple(self.read(name, False) for name in step.inputs) if _is_free(step) else step.inputs
                self.steps.append(replace(step, inputs=inputs))
        made = tuple(self.steps)
        return replace(self.model, arrays=self.arrays, constants=self.constants, views=self.views, steps=made)

    def program(self, step: Step, work: Sized, last: bool) -> None:
        """A program reads each array as it lies, and writes in its own layout; where it moves nothing, it is a view."""
        orders = {}
        for array, name in zip(work.inputs, step.inputs):
            if self.laid.get(self.model.root(name)):
                orders[array.name] = _TO_LAST
        outer = dict(zip([array.name for array in work.assigned if array.name in work.outputs], step.outputs))
        for array in work.assigned if last else ():
            written = outer.get(array.name)
            if len(array.shape) == _AXES and (written is None or self.model.root(written) in self.images):
                orders[array.name] = _TO_LAST
                if written is not None:
                    self.lay(self.model.root(written))
        found, (output, *_) = with_axes(work, orders), step.outputs
        if is_copy(found) and output not in map(self.model.root, self.model.outputs):
            self.views[output] = step.inputs[0]
        else:
            self.steps.append(replace(step, work=found))

    def convolution(self, step: Step) -> None:
        """A convolution with channels last, between conversions where its neighbours have them first."""
        assert isinstance(step.work, Problem)
        inputs = list(step.inputs)
        for place, order, shape, _ in _other_order(step):
            inputs[place] = self.read(inputs[place], True) or self.known(inputs[place], shape, order)
        (output,) = step.outputs
        root, work = self.model.root(output), in_layout(step.work, "nhwc")
        if root in self.images:
            self.lay(root)
            self.steps.append(replace(step, work=work, inputs=tuple(inputs)))
        elif not _is_image(step.work.output.shape):
            self.steps.append(replace(step, work=work, inputs=tuple(inputs)))
        else:
            made = _named(root, True)
            self.arrays[made] = Array(made, self.model.arrays[root].dtype, work.output.shape)
            self.steps.append(replace(step, work=work, inputs=tuple(inputs), outputs=(made,)))
            self.convert(made, root, _TO_FIRST)

    def lay(self, root: str) -> None:
        """From now on an image has its channels last."""
        self.laid[root] = True
        self.arrays[root] = _ordered(self.arrays[root], root, _TO_LAST)

    def read(self, name: str, last: bool) -> str:
        """The array with its channels last, or first: itself, or one that is converted once. "" for a constant."""
        root = self.model.root(name)
        if root in self.constants:
            return "" if last else name
        if not _is_image(self.model.arrays[name].shape) or last == self.laid.get(root, False):
            return name
        source = root if root in self.images else name
        made, order = _named(source, last), _TO_LAST if last else _TO_FIRST
        if made not in self.arrays:
            self.arrays[made] = _ordered(self.arrays[source], made, order)
            self.convert(source, made, order)
        return made

    def known(self, name: str, shape: Shape, order: Shape) -> str:
        """A constant of this shape with its axes in this order: it is laid out now."""
        root = self.model.root(name)
        made = _named(root, True)
        numbers = np.ascontiguousarray(self.constants[root].reshape(shape).transpose(order))
        self.constants[made], self.arrays[made] = numbers, Array(made, self.arrays[root].dtype, numbers.shape)
        return made

    def convert(self, source: str, target: str, order: Shape) -> None:
        """A step that lays an array out anew."""
        self.steps.append(Step("layout", _conversion(self.arrays[source], order), (source,), (target,)))


def _named(root: str, last: bool) -> str:
    """The name of an image in the other layout: no array of a model has it."""
    return f"\0{root}.channels_{'last' if last else 'first'}"


def _ordered(array: Array, name: str, order: Shape) -> Array:
    return Array(name, array.dtype, tuple(array.shape[axis] for axis in order))


def _conversion(array: Array, order: Shape) -> Sized:
    """The program that lays an array out anew."""
    dims = "nchw" if order == _TO_LAST else "nhwc"
    there = ",".join(dims[axis] for axis in order)
    program = read(f"x: {array.dtype}; y: {array.dtype}; y[{there}] = x[{','.join(dims)}]")
    return sized(program, dict(zip(dims, array.shape)), {"x": array.shape}, outputs=("y",))
