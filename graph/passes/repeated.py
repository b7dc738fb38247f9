"""Removes steps that repeat an earlier one, and has steps read each array by its own name.

a = relu(x);  b = relu(x);  c = identity(b);  y = a + c        a = relu(x);  y = a + a
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from graph.model.language import Model, Step
from tiling.problem import Problem
from tiling.program.infer import Sized

# Known numbers are compared where they are few. More of them are weights, which a file names once.
_FEW = 64


def without_repetitions(model: Model) -> Model:
    """The model without steps that do what an earlier one did with the same arrays.

    Steps in blocks stay: an array that a loop keeps differs in each iteration.
    """
    first: dict[Hashable, Step] = {}
    steps: list[Step] = []
    for step in model.steps:
        if isinstance(step.work, (Sized, Problem)):
            same = first.setdefault((step.work, *(_read(model, name) for name in step.inputs)), step)
            if same is not step:
                model = replace(model, views={**model.views, **dict(zip(step.outputs, same.outputs))})
                continue
        steps.append(replace(step, inputs=tuple(_own(model, name) for name in step.inputs)))
    return replace(model, steps=tuple(steps))


def _own(model: Model, name: str) -> str:
    """The first name of an array that has several ones."""
    array = model.arrays[name]
    while name in model.views and name not in model.slices and name not in model.begins:
        other = model.arrays[model.views[name]]
        if (other.dtype, other.shape) != (array.dtype, array.shape):
            break
        name = model.views[name]
    return name


def _read(model: Model, name: str) -> Hashable:
    """A key of the numbers that a name reads: equal for two names of the same numbers in the same memory."""
    numbers = model.known(name)
    if numbers is not None and numbers.size <= _FEW:
        return numbers.dtype.str, numbers.tobytes()
    while name in model.views and name not in model.slices and name not in model.begins:
        name = model.views[name]
    return name
