"""A model as data: steps that compute arrays from arrays.

    Model(inputs, outputs, arrays, constants, views, steps)

A step is a program (`tiling.program`) or a product (`tiling.problem`). All shapes are known. Every array has a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tiling.problem import Problem
from tiling.program.infer import Array, Sized


class ModelError(ValueError):
    """A model that cannot be compiled or called so: which node, input or option is wrong, and why."""


@dataclass(frozen=True)
class Step:
    """What one kernel computes.

    node: the name of the model's node, for readers. work: a program, or a product of f32. inputs: arrays in the order
    of the work's own; of a product x, w, and those of its epilogue. outputs: arrays in the order in which the work
    writes them. unfused: what keeps the next step out of a product's epilogue; "" for a program.
    """

    node: str
    work: Sized | Problem
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    unfused: str = ""


@dataclass(frozen=True, eq=False)
class Model:
    """A model with sizes.

    inputs, outputs: names, in the order of a call. arrays: every array that is read or written, by name. constants:
    arrays whose numbers are known. views: arrays that share the memory of another one, in the same order of elements.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    arrays: Mapping[str, Array]
    constants: Mapping[str, np.ndarray]
    views: Mapping[str, str]
    steps: tuple[Step, ...]
    # Dims that had no extent in the file, and what they were bound to.
    dims: Mapping[str, int] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """The array whose memory an array lies in."""
        while name in self.views:
            name = self.views[name]
        return name
