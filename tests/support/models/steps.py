"""The steps of a model one after the other by the references of programs and of problems: no compiler, no text.

It shows what reading, fusing, grouping, layouts and joins make of a model, and what they must not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from cpu.reference import programs
from cpu.reference.oracle import reference
from graph.model.language import Branch, Copy, Loop, Model, Step
from tiling.problem import Problem
from tiling.program.infer import Sized


def outputs_of(model: Model, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a model, floats as float64."""
    given = {name: numbers.reshape(-1) for name, numbers in (*model.constants.items(), *feeds.items())}
    running = _Running(model, given)
    running.steps(model.steps)
    return [running.read(name, model.arrays[name].shape) for name in model.outputs]


@dataclass
class _Running:
    """memory: the elements of each array that is no view. iterations: the number of the iteration of each loop."""

    model: Model
    memory: dict[str, np.ndarray]
    iterations: dict[str, int] = field(default_factory=dict)

    def steps(self, steps: Iterable[Step]) -> None:
        for step in steps:
            work = step.work
            if isinstance(work, Branch):
                self.steps(work.then if self.read(work.condition, ()) else work.otherwise)
            elif isinstance(work, Loop):
                self.loop(work)
            else:
                for name, (numbers, shape) in zip(step.outputs, self.results(step), strict=True):
                    self.write(name, numbers, shape)

    def loop(self, work: Loop) -> None:
        count = work.iterations if isinstance(work.iterations, int) else int(self.read(work.iterations, ()))
        for number in range(count):
            if work.going and not self.read(work.going, ()):
                break
            self.iterations[work.iteration] = number
            if work.counter:
                self.write(work.counter, np.array(number))
            self.steps(work.body)

    def results(self, step: Step) -> list[tuple[np.ndarray, tuple[int, ...]]]:
        """What a step gives, and the shape of the memory that it writes it into, which may have longer rows."""
        work = step.work
        if isinstance(work, Copy):
            numbers = self.read(step.inputs[0], self.model.arrays[step.inputs[0]].shape)
            return [(numbers, numbers.shape)]
        if isinstance(work, Sized):
            given = {a.name: self.read(name, a.shape) for a, name in zip(work.inputs, step.inputs, strict=True)}
            found = programs.evaluate(work, given)
            return [(found[array.name], array.shape) for array in work.assigned if array.name in work.outputs]
        assert isinstance(work, Problem)
        tensors = (*work.tensors[:2], *work.epilogue_arrays)
        given_ = (self.read(n, t.shape) for n, t in zip(step.inputs, tensors, strict=True))
        return [(reference(work, *given_), work.output.shape)]

    def begin(self, name: str) -> int:
        """Where an array begins in its memory. What is a part of another in a loop moves with its iterations."""
        found = 0
        for each in self.model.chain(name):
            found += self.model.begins.get(each, 0)
            if each in self.model.slices:
                part = self.model.slices[each]
                number = self.iterations[part.iteration]
                place = part.count - 1 - number if part.backward else number
                found += place * prod(self.model.arrays[each].shape)
        return found

    def read(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        begin = self.begin(name)
        found = self.memory[self.model.root(name)][begin : begin + prod(shape)]
        # The last row of columns ends beyond the memory: nobody may read that.
        return np.concatenate([found, np.full(prod(shape) - found.size, 77, found.dtype)]).reshape(shape)

    def write(self, name: str, numbers: np.ndarray, shape: tuple[int, ...] = ()) -> None:
        root, begin = self.model.root(name), self.begin(name)
        whole = self.memory.setdefault(root, np.zeros(prod(self.model.arrays[root].shape), numbers.dtype))
        around = shape if len(shape) == numbers.ndim else numbers.shape
        places = begin + np.ravel_multi_index(tuple(np.indices(numbers.shape)), around) if around else begin
        whole[places] = numbers
