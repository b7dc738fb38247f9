"""What is known of a graph while its nodes are read, one after the other.

A value is an array, a sequence of values, or nothing, for an optional without an element. Sequences exist only while
reading: a compiled model has only arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from math import prod

import numpy as np
import onnx
from onnx import helper

from graph.model.dtypes import DTYPES, OF_NUMPY
from graph.model.language import ModelError, Slice, Step
from tiling.program.infer import Array

_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
# The words of a message before inputs that could be bound.
BINDABLE = "; where "
_FEW = 16  # the most numbers of an input that holds sizes, axes or a shape


@dataclass
class Reading(ABC):
    """What is known of a graph so far, and a way to read one more node."""

    versions: dict[str, int]
    arrays: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    slices: dict[str, Slice] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    sequences: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the names of the elements
    absent: frozenset[str] = frozenset()  # optionals without an element
    given: tuple[str, ...] = ()  # the arrays of a call

    @abstractmethod
    def node(self, proto: onnx.NodeProto, name: str) -> None:
        """Reads a node: it becomes constants, views, or steps. Raises ModelError."""

    @property
    def version(self) -> int:
        return self.versions.get("ai.onnx", 1)

    def has(self, name: str) -> bool:
        """Whether a value is known by this name."""
        return name in self.arrays or name in self.sequences or name in self.absent

    def leaves(self, name: str) -> tuple[str, ...]:
        """The arrays of a value."""
        if name in self.absent:
            return ()
        if name in self.sequences:
            return tuple(leaf for each in self.sequences[name] for leaf in self.leaves(each))
        return (name,)

    def bindable(self, names: Iterable[str]) -> str:
        """The part of a message on inputs that decide arrays and that a caller could bind; "" where there are none."""
        wanted = set(map(self.root, names))
        for step in reversed(self.steps):
            if wanted.intersection(map(self.root, step.outputs)):
                wanted |= set(map(self.root, step.inputs))
        shapes = {name: self.arrays[name].shape for name in self.given if name in wanted}
        few = [name for name, shape in shapes.items() if len(shape) < 2 and prod(shape) <= _FEW]
        if not few:
            return ""
        one, them = len(few) == 1, "it" if len(few) == 1 else "them"
        by_name, options = ", ".join(f"{name!r}: …" for name in few), " ".join(f"--known {name}=…" for name in few)
        return (
            f"{BINDABLE}{' and '.join(few)} {'is' if one else 'are'} the same at every call, bind {them}: "
            f"known={{{by_name}}}, or {options}"
        )

    def told(self, name: str) -> str:
        """What a value is, for a reader."""
        if name in self.absent:
            return "nothing"
        if name in self.sequences:
            return f"a sequence of [{', '.join(map(self.told, self.sequences[name]))}]"
        return f"{self.arrays[name].dtype}{list(self.arrays[name].shape)}"

    def alias(self, name: str, of: str) -> None:
        """Another name for a value; "" for none."""
        if not name or name == of:
            return
        if of in self.absent:
            self.absent |= {name}
        elif of in self.sequences:
            self.sequences[name] = self.sequences[of]
        else:
            self.view(name, of, self.arrays[of].shape)

    def kept(self) -> Callable[[], None]:
        """A function that restores the current state, whatever is read in between."""
        fields = {name: copy(value) for name, value in vars(self).items()}

        def restored() -> None:
            vars(self).update(fields)

        return restored

    def know(self, name: str, numbers: np.ndarray) -> None:
        """Declares an array with known numbers. An array of a dtype that no kernel has may still decide a shape."""
        numbers = np.asarray(numbers)
        self.constants[name] = numbers
        dtype = OF_NUMPY.get(numbers.dtype.name, numbers.dtype.name)
        self.arrays[name] = Array(name, dtype, numbers.shape)

    def empty(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        """Declares an array without elements."""
        self.know(name, np.zeros(shape, helper.tensor_dtype_to_np_dtype(_NUMBERS[dtype])))

    def zeros(self, name: str) -> np.ndarray:
        """Declares an array of zeros in place of one whose numbers are not read."""
        array = self.arrays[name]
        kind = helper.tensor_dtype_to_np_dtype(_NUMBERS[array.dtype]) if array.dtype in _NUMBERS else np.float32
        return np.broadcast_to(np.zeros((), kind), array.shape)

    def array(self, name: str, dtype: str, own: tuple[int, ...], shape: tuple[int, ...]) -> None:
        """Declares an array that a step writes in its own shape, and that the model reads in another shape."""
        if own == shape:
            self.arrays[name] = Array(name, dtype, own)
            return
        self.arrays[f"\0{name}.own"] = Array(f"\0{name}.own", dtype, own)
        self.view(name, f"\0{name}.own", shape)

    def own(self, name: str) -> str:
        """The name of the array that a step writes."""
        return f"\0{name}.own" if f"\0{name}.own" in self.arrays else name

    def view(self, name: str, of: str, shape: tuple[int, ...], dtype: str = "") -> None:
        """An array in another shape, or its bytes as another dtype."""
        source = self.arrays[of]
        if dtype and of in self.constants:
            self.know(name, self.constants[of].view(helper.tensor_dtype_to_np_dtype(_NUMBERS[dtype])).reshape(shape))
            return
        if np.prod(source.shape, dtype=object) != np.prod(shape, dtype=object):
            raise ModelError(f"{name}: {source.shape} elements cannot be seen as {shape}")
        if of in self.constants:
            self.know(name, self.constants[of].reshape(shape))
            return
        self.arrays[name] = Array(name, dtype or source.dtype, shape)
        self.views[name] = of

    def root(self, name: str) -> str:
        """The array whose memory an array lies in."""
        while name in self.views:
            name = self.views[name]
        return name
