"""The view of a node that an operator's function gets, and its possible results: a text, a view, or a product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graph.model.language import ModelError
from tiling.problem import Problem
from tiling.program.infer import Array

Shape = tuple[int, ...]
# The dims of a program of arrays with so many axes.
DIMS = "ijklpqtu"


# The advice in messages on nodes that are not covered, and on inputs that must be known.
END_BEFORE = "; end the model before it, as onnx.utils.extract_model does"
BEGIN_BEHIND = "; begin the model behind it, as onnx.utils.extract_model does"


class Unsupported(ModelError):
    """A node that cannot be compiled. The message says which, and why."""


class Unknown(Unsupported):
    """A node whose inputs at these places must be known now, but are computed when the model runs."""

    def __init__(self, why: str, places: tuple[int, ...]):
        super().__init__(why)
        self.places = places


@dataclass(frozen=True)
class Node:
    """A node with the shapes of its inputs. An input that is left out is None.

    version: the number of the operators' set. known: the numbers of inputs that are constant.
    """

    op: str
    name: str
    version: int
    attributes: Mapping[str, Any]
    inputs: tuple[Array | None, ...]
    known: tuple[np.ndarray | None, ...]
    outputs: tuple[str, ...]

    @property
    def told(self) -> str:
        """The node as messages name it. In many models a node's name is only a number."""
        return f"node {self.name} ({self.op})"

    def refuse(self, why: str) -> Unsupported:
        """The error that says why this node is not covered."""
        return Unsupported(f"{self.told}: {why}")

    def has(self, place: int) -> bool:
        """Whether an input is given."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def array(self, place: int) -> Array:
        """An input that must be given."""
        array = self.inputs[place] if place < len(self.inputs) else None
        if array is None:
            raise self.refuse(f"input {place} is missing")
        return array

    def shape(self, place: int = 0) -> Shape:
        """The shape of an input."""
        return self.array(place).shape

    def dtype(self, place: int = 0) -> str:
        """The dtype of an input."""
        return self.array(place).dtype

    def constant(self, place: int, what: str) -> np.ndarray:
        """The numbers of an input that decides shapes or loops and must be known now."""
        found = self.known[place] if place < len(self.known) else None
        if found is None:
            why = f"{what} (input {place}) are computed when the model runs, and must be constant"
            raise Unknown(str(self.refuse(why)), (place,))
        return found

    def whole(self, place: int, what: str) -> Shape:
        """A constant input as a tuple of whole numbers."""
        return tuple(int(number) for number in np.ravel(self.constant(place, what)))

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, or its default."""
        return self.attributes.get(name, default)

    def given(self, place: int, attribute: str, what: str) -> Shape | None:
        """Whole numbers that newer models give as an input and older ones as an attribute; None where neither does."""
        if self.has(place):
            return self.whole(place, what)
        found = self.attribute(attribute)
        return None if found is None else tuple(map(int, np.ravel(found)))

    def axis(self, number: int, axes: int) -> int:
        """An axis counted from the front."""
        if not -axes <= number < axes:
            raise self.refuse(f"there is no axis {number} of {axes}")
        return number % axes

    def dims(self, axes: int) -> list[str]:
        """A dim for each of so many axes."""
        if axes > len(DIMS):
            raise self.refuse(f"{axes} axes are more than the {len(DIMS)} that are supported")
        return list(DIMS[:axes])


@dataclass(frozen=True)
class Text:
    """A program. inputs: names of arrays in the text, and which input of the node each is.

    outputs, dtypes, shapes: for each output of the node, the array's name in the text, its dtype, and its shape where
    the program gives another. made: further inputs with known numbers. extents: the dims that no shape gives, with
    their sizes.
    """

    text: str
    inputs: Mapping[str, int]
    extents: Mapping[str, int] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    outputs: tuple[str, ...] = ("y",)
    made: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """The first input in another shape, or its bytes as another dtype: no number moves."""

    shape: Shape
    dtype: str = ""


@dataclass(frozen=True)
class Product:
    """A sum of products of f32. inputs: places of x, w and the epilogue's arrays among the node's inputs.

    shape: that of the output. It has as many elements as the problem's output.
    """

    problem: Problem
    inputs: tuple[int, ...]
    shape: Shape


Made = Text | View | Product


def at(dims: list[str]) -> str:
    """Indices in brackets."""
    return f"[{','.join(dims)}]"


def broadcast(node: Node, shape: Shape, whole: Shape) -> str:
    """Where an input of `shape` is read at a point of an output of shape `whole`, as NumPy broadcasts."""
    dims = node.dims(len(whole))[len(whole) - len(shape) :]
    return at([dim if extent > 1 else "0" for dim, extent in zip(dims, shape)])
