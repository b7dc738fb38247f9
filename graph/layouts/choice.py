"""Chooses for each image whether its channels lie first or last in memory.

    conv, relu, pool, conv        kernels for channels last, between a conversion of x and one of y, if that is faster

A convolution's kernels differ in speed between the two layouts. Programs read and write either one. A transposition of
the file may become none. A minimum cut finds the least total time: steps on one side keep channels last.
"""

from __future__ import annotations

from math import prod

from graph.layouts.costs import Costs
from graph.layouts.cut import NEVER, Cut
from graph.layouts.images import (
    AXES,
    conversion,
    form,
    images_of,
    is_free,
    is_image,
    other_order,
    to_first,
    to_last,
    turns_to_last,
)
from graph.model.dtypes import stored
from graph.model.language import Model, Step
from graph.model.node import Shape
from tiling.operators import in_layout
from tiling.problem import Problem
from tiling.program.dtypes import WIDTH
from tiling.program.infer import Array, Sized
from tiling.program.language import Dim, Number
from tiling.program.rewrite.axes import is_copy

# Bytes of an array that a conversion, or a program between the two layouts, moves in a second, where none was measured.
# On one core of a Zen 4: 6.6e9 for 3 x 224 x 224, 18e9 for 32 x 112 x 112, 5.8e9 for 960 x 7 x 7.
RATE = 8e9
# Elements in a second that a program reads one by one: a window along the last axis is no vector. Measured there: the
# maximum of 3 x 3 at stride 2 over 64 x 112 x 112 takes 2.3 ms with channels first and 0.085 ms with channels last.
ONE_BY_ONE = 8e8


def priced(model: Model) -> list[Problem]:
    """The problems whose predicted seconds `channels_last` compares."""
    found = [step.work for step in model.steps if is_free(step)]
    return [each for work in found if isinstance(work, Problem) for each in (work, in_layout(work, "nhwc"))]


def channels_last(model: Model, costs: Costs) -> frozenset[int]:
    """The numbers of the steps that keep channels last in the layouts that take the least time."""
    return cut_of(model, costs).last() if any(map(is_free, model.steps)) else frozenset()


def cut_of(model: Model, costs: Costs) -> Cut:
    """What the steps of a model take in either layout, and what lies between steps of different ones."""
    choice = _Choice(model, costs)
    for number, step in enumerate(model.steps):
        if isinstance(step.work, Sized):
            choice.program(number, step, step.work)
        elif is_free(step):
            assert isinstance(step.work, Problem)
            choice.convolution(number, step, step.work)
    choice.conversions()
    return choice.cut


class _Choice:
    """Adds the costs of steps to a cut."""

    def __init__(self, model: Model, costs: Costs) -> None:
        self.model, self.costs = model, costs
        self.images = images_of(model)
        self.cut = Cut(len(model.steps))
        self.readers: dict[tuple[str, Shape], list[int]] = {}  # of an image, convolutions
        self.writers = {model.root(name): n for n, step in enumerate(model.steps) for name in step.outputs}

    def program(self, number: int, step: Step, work: Sized) -> None:
        """A program reads each image as it lies, and writes its own in either layout."""
        root, images = self.model.root, self.images
        if not any(root(name) in images for name in step.outputs):
            return  # it reads whatever there is, and what it writes lies the same either way
        windows = _windows(work) / ONE_BY_ONE
        reads = [name for name in step.inputs if is_image(self.model.arrays[name].shape)]
        reads = [name for name in reads if root(name) not in self.model.constants]  # those are laid out ahead
        slower = {name: max(windows, self.moving(name)) for name in reads}
        fixed = sum(taken for name, taken in slower.items() if root(name) not in images)
        first = form(self.model, images, step, False, lambda name: False)
        last = form(self.model, images, step, True, images.__contains__)
        least = 0.0 if is_copy(last) else sum(map(moving, (*work.inputs, *work.assigned)))
        turns = turns_to_last(work)
        guesses = least + windows + fixed * turns, least + fixed * (not turns)
        taken = self.costs.pair((first, last), guesses)
        self.cut.costs(number, first=taken[0] - min(taken), last=taken[1] - min(taken))
        for image in dict.fromkeys(root(name) for name in reads if root(name) in images):
            guess = max(slower[name] for name in reads if root(name) == image)
            mixed = form(self.model, images, step, False, {image}.__contains__)
            to_first = self.costs.more(mixed, first, guess)
            mixed = form(self.model, images, step, True, (images - {image}).__contains__)
            self.cut.differs(
                self.writers[image], number, to_first=to_first, to_last=self.costs.more(mixed, last, guess)
            )

    def convolution(self, number: int, step: Step, work: Problem) -> None:
        """A convolution reads and writes images in its own layout, so conversions stand before and after it."""
        root, costs = self.model.root, self.costs
        works = work, in_layout(work, "nhwc")
        first, last = costs.pair(works, (costs.predicted(works[0]), costs.predicted(works[1])))
        self.cut.costs(number, first=first, last=last)
        (output,) = step.outputs
        if root(output) not in self.images and is_image(work.output.shape):
            self.cut.costs(number, last=self.converting(output, work.output.shape, to_first(len(work.output.shape))))
        for place, *_, image in other_order(step):
            name = step.inputs[place]
            if root(name) in self.model.constants:
                continue  # it is laid out ahead
            if self.model.arrays[name].shape != image:
                self.cut.costs(number, last=NEVER)
            elif root(name) in self.images or is_image(image):
                source = root(name) if root(name) in self.images else name
                self.readers.setdefault((source, image), []).append(number)

    def conversions(self) -> None:
        """An image is converted once for all convolutions that want it so."""
        for (source, image), readers in self.readers.items():
            writer = self.writers[source] if source in self.images else self.cut.first
            first, last = (self.converting(source, image, order(len(image))) for order in (to_first, to_last))
            self.cut.converted(writer, readers, to_first=first, to_last=last)

    def converting(self, name: str, image: Shape, order: Shape) -> float:
        """The seconds of a conversion of an array that has this shape with channels first."""
        last = to_last(len(image))
        shape = image if order == last else tuple(image[axis] for axis in last)
        return self.costs.of(conversion(self.model.arrays[name].dtype, shape, order), self.moving(name))

    def moving(self, name: str) -> float:
        """The predicted seconds of a conversion of the array in whose memory this one lies."""
        return moving(self.model.arrays[self.model.root(name)])


def moving(array: Array) -> float:
    """The predicted seconds of a conversion of an array."""
    return WIDTH[stored(array.dtype)] * prod(array.shape) / RATE


def _windows(program: Sized) -> int:
    """The elements of images that are read through windows along their last axis."""
    found = 0
    for statement in program.program.statements:
        points = prod(program.extents[dim] for dim in (*statement.dims, *statement.reduced))
        images = (access for access in statement.accesses if len(access.at) in AXES)
        found += sum(points for access in images if not isinstance(access.at[-1], (Dim, Number)))
    return found
