"""A model as data: steps that compute arrays from arrays.

    Model(inputs, outputs, arrays, constants, views, steps)

A step is a program (`tiling.program`), a product (`tiling.problem`), a copy, or a region: a branch or a loop with steps
of its own. All shapes are known. Every array has a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

import numpy as np

from graph.model.errors import ModelError as ModelError
from tiling.problem import Problem
from tiling.program.infer import Array, Sized


@dataclass(frozen=True)
class Copy:
    """Copies the input's bytes. What outlives the block of a region is written by copies, or as slices."""


@dataclass(frozen=True)
class Branch:
    """Two blocks. A call computes one of them. condition: an array of one bool."""

    condition: str
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]


@dataclass(frozen=True)
class Loop:
    """A block that is computed again and again.

    iteration: the name of this loop's counter from 0, which slices use. iterations: their number, or the array of one
    s64 that holds it. going: an array of one bool, false where no further iteration begins; "" where nothing ends the
    loop early. counter: an array of one s64 that counts the iterations; "" where no step reads it. kept: the arrays
    that outlive an iteration: copies write them, or steps that each write the slice of an iteration.
    """

    iteration: str
    body: tuple[Step, ...]
    iterations: int | str
    going: str
    counter: str
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Slice:
    """One of `count` equal parts of an array: the part of the loop's current iteration, from the end if backward."""

    iteration: str
    count: int
    backward: bool = False


@dataclass(frozen=True)
class Step:
    """What one kernel, copy or region computes.

    node: the name of the model's node, for readers; all names where there are several. inputs: arrays in the order that
    the work has; for a product x, w and the epilogue's arrays; for a region all arrays that it reads from outside.
    outputs: arrays in the order in which the work writes them; for a region the arrays that outlive it. unfused: why
    the next step is not in a product's epilogue; else "". last: the last of its nodes, with the operator; "" where the
    step comes from no node.
    """

    node: str
    work: Sized | Problem | Copy | Branch | Loop
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    unfused: str = ""
    last: str = ""

    @property
    def told(self) -> str:
        """The step as messages name it."""
        return self.last or self.node

    @property
    def text(self) -> str:
        """What it computes."""
        return str(self.work.program if isinstance(self.work, Sized) else self.work)


@dataclass(frozen=True, eq=False)
class Model:
    """A model with sizes.

    inputs, outputs: names, in the order of a call. arrays: every array that is read or written, by name. constants:
    arrays whose numbers are known. views: for an array, the one whose memory it shares, elements in the
    same order.
    slices: the views that are one part of the other array. begins: the element at which a view begins; a view with
    shorter rows is some columns of the other array.
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
    slices: Mapping[str, Slice] = field(default_factory=dict)
    begins: Mapping[str, int] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """The array whose memory an array lies in."""
        return self.chain(name)[-1]

    def chain(self, name: str) -> tuple[str, ...]:
        """The array, the array that it is a view of, and so on to its root."""
        found = [name]
        while found[-1] in self.views:
            found.append(self.views[found[-1]])
        return tuple(found)

    def memory(self, name: str) -> tuple[int, ...]:
        """The shape of the memory that an array lies in: its own, but for columns of an array with longer rows."""
        chain = self.chain(name)
        shape = self.arrays[name].shape
        for part, whole in pairwise(chain):
            outer = self.arrays[whole].shape
            if outer == shape:
                continue
            if part not in self.begins or outer[:-1] != shape[:-1] or prod(shape[:-1]) == 1:
                break
            shape = outer
        return shape

    def known(self, name: str) -> np.ndarray | None:
        """The numbers that an array's memory holds; None if unknown, or if the array is a part of a known one."""
        sliced = any(each in self.slices for each in self.chain(name))
        return None if sliced else self.constants.get(self.root(name))
