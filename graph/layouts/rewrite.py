"""The model in the layouts that were chosen: its steps in these, and conversions between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from graph.layouts.images import (
    LAYOUT,
    conversion,
    form,
    images_of,
    is_free,
    is_image,
    ordered,
    other_order,
    to_first,
    to_last,
)
from graph.model.language import Model, Step
from graph.model.node import Shape
from tiling.operators import in_layout
from tiling.problem import Problem
from tiling.program.infer import Array, Sized
from tiling.program.rewrite.axes import is_copy


def with_layouts(model: Model, last: frozenset[int]) -> Model:
    """The model whose steps with these numbers keep channels last."""
    return _Rewriting(model, images_of(model), last).model_() if last else model


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
                self.program(step, number in self.last)
            elif number in self.last:
                self.convolution(step)
            else:
                inputs = tuple(self.read(name, False) for name in step.inputs) if is_free(step) else step.inputs
                self.steps.append(replace(step, inputs=inputs))
        made = tuple(self.steps)
        return replace(self.model, arrays=self.arrays, constants=self.constants, views=self.views, steps=made)

    def program(self, step: Step, last: bool) -> None:
        """A program reads each array as it lies, and writes in its own layout; where it moves nothing, it is a view."""
        found = form(self.model, self.images, step, last, lambda root: self.laid.get(root, False))
        for name in step.outputs if last else ():
            if self.model.root(name) in self.images:
                self.lay(self.model.root(name))
        output, *_ = step.outputs
        if is_copy(found) and output not in map(self.model.root, self.model.outputs):
            self.views[output] = step.inputs[0]
        else:
            self.steps.append(replace(step, work=found))

    def convolution(self, step: Step) -> None:
        """A convolution with channels last, between conversions where its neighbours have them first."""
        assert isinstance(step.work, Problem)
        inputs = list(step.inputs)
        for place, order, shape, _ in other_order(step):
            inputs[place] = self.read(inputs[place], True) or self.known(inputs[place], shape, order)
        (output,) = step.outputs
        root, work = self.model.root(output), in_layout(step.work, "nhwc")
        if root in self.images:
            self.lay(root)
            self.steps.append(replace(step, work=work, inputs=tuple(inputs)))
        elif not is_image(step.work.output.shape):
            self.steps.append(replace(step, work=work, inputs=tuple(inputs)))
        else:
            made = _named(root, True)
            self.arrays[made] = Array(made, self.model.arrays[root].dtype, work.output.shape)
            self.steps.append(replace(step, work=work, inputs=tuple(inputs), outputs=(made,)))
            self.convert(made, root, to_first(len(work.output.shape)))

    def lay(self, root: str) -> None:
        """From now on an image has its channels last."""
        self.laid[root] = True
        self.arrays[root] = ordered(self.arrays[root], root, to_last(len(self.arrays[root].shape)))

    def read(self, name: str, last: bool) -> str:
        """The array with its channels last, or first: itself, or one that is converted once. "" for a constant."""
        root = self.model.root(name)
        if root in self.constants:
            return "" if last else name
        if not is_image(self.model.arrays[name].shape) or last == self.laid.get(root, False):
            return name
        source = root if root in self.images else name
        made, order = _named(source, last), (to_last if last else to_first)(len(self.arrays[source].shape))
        if made not in self.arrays:
            self.arrays[made] = ordered(self.arrays[source], made, order)
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
        array = self.arrays[source]
        self.steps.append(Step(LAYOUT, conversion(array.dtype, array.shape, order), (source,), (target,)))


def _named(root: str, last: bool) -> str:
    """The name of an image in the other layout: no array of a model has it."""
    return f"\0{root}.channels_{'last' if last else 'first'}"
