"""Has steps take one image after the other, so that what lies between them stays in a cache.

    a = conv(x)            8 images          for each image i:
    y = relu(a + b)        8 images    ->        a = conv(x[i])            1 image
                                                 y[i] = relu(a + b[i])

Arrays between such steps have one image alone, and are not moved from and to memory. Weights that no cache keeps are
then read for each image. So one thread takes steps together where that moves fewer bytes. Several threads take all
images at once: each has images of its own then, and waits for the others less often (decision 061).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod

from graph.model.dtypes import stored
from graph.model.language import Loop, Model, Slice, Step
from graph.model.regions import region
from tiling.operators import of_one_image
from tiling.problem import Problem
from tiling.program.dtypes import WIDTH
from tiling.program.infer import Sized
from tiling.program.rewrite.first_axis import at_one_point

# Shares of the last cache. Arrays of a step that take more are gone at the next step, and weights that take more are
# gone at the next image: other arrays move through meanwhile.
_ARRAYS, _WEIGHTS = 0.25, 0.5
# Seconds of one more call of a kernel: loops begin and end, and threads wait for one another.
_CALL = 2e-6


@dataclass(frozen=True)
class _Single:
    """What a step does for one of its images. split: the names of its arrays that consist of images."""

    images: int
    work: Problem | Sized
    split: frozenset[str]


def image_by_image(model: Model, cache: int, bandwidth: float, threads: int) -> Model:
    """The model whose steps take one image after the other where that is faster.

    cache: bytes of the last cache. bandwidth: bytes a second from memory. threads: how many a call has.
    """
    if threads > 1:
        return model
    steps: list[Step] = []
    for run in _runs(model, cache, bandwidth):
        for first, stop in run.parts():
            if stop == first + 1:
                steps.append(model.steps[first])
            else:
                model, step = _looped(model, model.steps[first:stop], run.singles[first - run.begin : stop - run.begin])
                steps.append(step)
    return replace(model, steps=tuple(steps))


def _single(model: Model, step: Step) -> _Single | None:
    """The step for one image; None where it has not several ones, or where they are not apart."""
    work = step.work
    one: Problem | Sized | None
    if isinstance(work, Problem):
        one, images = of_one_image(work), work.output.shape[0]
        split, more = {step.inputs[0], *step.outputs}, work.epilogue.arrays if work.epilogue else ()
        split |= {name for array, name in zip(more, step.inputs[2:], strict=True) if work.output_axes[0] in array.axes}
        if model.known(step.inputs[1]) is None:
            return None
    elif isinstance(work, Sized):
        images = work.array(work.outputs[0]).shape[0] if work.array(work.outputs[0]).shape else 1
        one, parts = at_one_point(work, images) or (None, frozenset())
        arrays = (*work.inputs, *(array for array in work.assigned if array.name in work.outputs))
        names = zip(arrays, (*step.inputs, *step.outputs), strict=True)
        split = {name for array, name in names if array.name in parts}
    else:
        return None
    # An array is not read both as images and as a whole.
    whole = {model.root(name) for name in (*step.inputs, *step.outputs) if name not in split}
    apart = all(model.root(name) not in whole and _is_apart(model, name, images) for name in split)
    return _Single(images, one, frozenset(split)) if one is not None and images > 1 and apart else None


def _is_apart(model: Model, name: str, images: int) -> bool:
    """Whether each image of an array is one of the array that it is a view of."""
    chain = model.chain(name)
    shapes = [model.arrays[each].shape for each in chain]
    if any(each in model.slices for each in chain) or any(not shape or shape[0] != images for shape in shapes):
        return False
    return all(
        len(shape) > 1 and shape[:-1] == whole[:-1] if part in model.begins else prod(shape) == prod(whole)
        for part, (shape, whole) in zip(chain, pairwise(shapes))
    )


# ---- which steps to take together


@dataclass(frozen=True)
class _Run:
    """Steps that follow one another, with equally many images; or one step that has none. begin: the first's number."""

    model: Model
    begin: int
    singles: tuple[_Single | None, ...]
    cache: int
    bandwidth: float

    def parts(self) -> list[tuple[int, int]]:
        """The first step of each part, and the one behind its last. The steps of a part are taken together."""
        saved = [self._saved(first) for first in range(len(self.singles))]
        best = [(0.0, 0)]  # of the steps so far: the seconds saved, and where their last part begins
        for stop in range(1, len(self.singles) + 1):
            best.append(max((best[first][0] + saved[first][stop - first - 1], first) for first in range(stop)))
        found, stop = [], len(self.singles)
        while stop:
            first = best[stop][1]
            found.append((self.begin + first, self.begin + stop))
            stop = first
        return found[::-1]

    def _saved(self, first: int) -> list[float]:
        """How many seconds a part saves that begins with this step. One number for each number of further steps."""
        images, found = self._images, [0.0]
        saved, weights, largest = 0, self._whole[first], self._touched[first] // images
        for number in range(first + 1, len(self.singles)):
            saved += sum(size for begin, size in self._between.get(number, ()) if begin >= first)
            weights, largest = weights + self._whole[number], max(largest, self._touched[number] // images)
            again = (images - 1) * weights if weights + largest > _WEIGHTS * self.cache else 0
            found.append((saved - again) / self.bandwidth - _CALL * (images - 1) * (number - first + 1))
        return found

    @property
    def _images(self) -> int:
        return self.singles[0].images if self.singles[0] else 1

    @cached_property
    def _between(self) -> Mapping[int, list[tuple[int, int]]]:
        """The arrays that only steps of this run touch, by the last of these.

        For each the first step, and the bytes that are moved if it has all images and are not if it has one.
        """
        kept = {*map(self.model.root, (*self.model.inputs, *self.model.outputs)), *self.model.constants}
        touching: dict[str, list[int]] = {}
        for number, step in enumerate(self.model.steps):
            for root in dict.fromkeys(map(self.model.root, (*step.outputs, *step.inputs))):
                touching.setdefault(root, []).append(number - self.begin)
        found: dict[int, list[tuple[int, int]]] = {}
        for root, (first, *others) in touching.items():
            if root in kept or first < 0 or not others or others[-1] >= len(self.singles):
                continue
            far = [number for number in (first, *others) if self._touched[number] > _ARRAYS * self.cache]
            size = self._bytes(root)
            # A store reads its line first and writes it back later.
            moved = size * (len(far) + (first in far)) if size // self._images <= _ARRAYS * self.cache else 0
            found.setdefault(others[-1], []).append((first, moved))
        return found

    @cached_property
    def _touched(self) -> tuple[int, ...]:
        """For each step the bytes of its arrays that consist of images."""
        names = (single.split if single else () for single in self.singles)
        return tuple(sum(map(self._bytes, set(map(self.model.root, split)))) for split in names)

    @cached_property
    def _whole(self) -> tuple[int, ...]:
        """For each step the bytes of its other arrays: weights above all."""
        found = []
        for step, single in zip(self.model.steps[self.begin :], self.singles):
            whole = {self.model.root(name) for name in step.inputs if single and name not in single.split}
            found.append(sum(map(self._bytes, whole)))
        return tuple(found)

    def _bytes(self, root: str) -> int:
        array = self.model.arrays[root]
        return prod(array.shape) * WIDTH[stored(array.dtype)]


def _runs(model: Model, cache: int, bandwidth: float) -> Iterator[_Run]:
    """The steps as runs, each as long as possible. Who reads an array whole is in a later run than who writes it."""
    singles = [_single(model, step) for step in model.steps]
    begin = 0
    while begin < len(singles):
        end, first, written = begin + 1, singles[begin], set(map(model.root, model.steps[begin].outputs))
        while first and end < len(singles) and (other := singles[end]) and other.images == first.images:
            step = model.steps[end]
            if written & {model.root(name) for name in step.inputs if name not in other.split}:
                break
            written |= set(map(model.root, step.outputs))
            end += 1
        yield _Run(model, begin, tuple(singles[begin:end]), cache, bandwidth)
        begin = end


# ---- the loop over images


def _looped(model: Model, steps: Sequence[Step], singles: Sequence[_Single | None]) -> tuple[Model, Step]:
    """The model with the arrays of a loop over images, and that loop."""
    inside = {step.outputs for step in steps}
    outside = [step for step in model.steps if step.outputs not in inside]
    kept = {*map(model.root, (*model.inputs, *model.outputs)), *model.constants}
    kept |= {model.root(name) for step in outside for name in (*step.inputs, *step.outputs)}
    arrays, views, slices, begins = dict(model.arrays), dict(model.views), dict(model.slices), dict(model.begins)
    iteration = f"\0{steps[0].outputs[0]}.images"

    def image(name: str, images: int) -> str:
        """The name of the current image of an array. An array that nobody else touches has one image from now on."""
        *_, root = model.chain(name)
        found = f"{iteration} of {name}" if root in kept else name
        if found in arrays and found != name:
            return found
        array = model.arrays[name]
        arrays[found] = replace(array, name=found, shape=(1, *array.shape[1:]))
        if name == root:
            if root in kept:
                views[found], slices[found] = root, Slice(iteration, images)
        else:
            views[found] = image(model.views[name], images)
            if name in model.begins:
                begins[found] = model.begins[name]
        return found

    body = []
    for step, single in zip(steps, singles, strict=True):
        assert single is not None
        names = {
            name: image(name, single.images) if name in single.split else name for name in (*step.inputs, *step.outputs)
        }
        inputs, outputs = (tuple(names[name] for name in side) for side in (step.inputs, step.outputs))
        body.append(replace(step, work=single.work, inputs=inputs, outputs=outputs))
    written = dict.fromkeys(model.root(name) for step in steps for name in step.outputs)
    lasting = tuple(root for root in written if root in kept)
    assert singles[0] is not None
    work = Loop(iteration, tuple(body), singles[0].images, "", "", lasting)
    told = f"{steps[0].node} to {steps[-1].node}, one image after the other"
    return replace(model, arrays=arrays, views=views, slices=slices, begins=begins), region(told, work)
