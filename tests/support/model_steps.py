"""The steps of a model one after the other by the references of programs and of problems: no compiler, no text.

It shows what reading, fusing, grouping and layouts make of a model, and what they must not change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cpu.reference import programs
from cpu.reference.oracle import reference
from graph.model.language import Model
from tiling.problem import Problem
from tiling.program.infer import Sized


def outputs_of(model: Model, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a model without regions, floats as float64."""
    memory = {name: numbers.reshape(-1) for name, numbers in (*model.constants.items(), *feeds.items())}

    def seen(name: str, shape: tuple[int, ...]) -> np.ndarray:
        return memory[model.root(name)].reshape(shape)

    for step in model.steps:
        work = step.work
        if isinstance(work, Sized):
            given = {a.name: seen(name, a.shape) for a, name in zip(work.inputs, step.inputs, strict=True)}
            found = programs.evaluate(work, given)
            written = [a.name for a in work.assigned if a.name in work.outputs]
            results = [found[name] for name in written]
        else:
            assert isinstance(work, Problem)
            tensors = (*work.tensors[:2], *work.epilogue_arrays)
            results = [reference(work, *(seen(n, t.shape) for n, t in zip(step.inputs, tensors, strict=True)))]
        for name, numbers in zip(step.outputs, results, strict=True):
            memory[model.root(name)] = np.ascontiguousarray(numbers).reshape(-1)
    return [seen(name, model.arrays[name].shape) for name in model.outputs]
