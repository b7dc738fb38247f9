"""A model with open dims: a call binds them to the shapes of its arrays, and compiles for these once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any  # an ONNX model: onnx is not always installed

import numpy as np

from graph.calls.arguments import as_array, given_arrays
from graph.calls.compiled import CompiledModel
from graph.model.errors import not_open
from graph.model.language import ModelError

# An axis of an input: None where its extent is known, else the name of its open dim, "" where it has none.
Axis = str | None
Dims = dict[str, int | tuple[int, ...]]


class OpenModel:
    """`model(x)` and `model.run({"x": x})` call a `CompiledModel` for the shapes of these arrays."""

    def __init__(self, inputs: Mapping[str, tuple[Axis, ...] | None], bind: Callable[[Dims], CompiledModel]):
        """inputs: the axes of each, None where even their number is open. bind: compiles with these dims."""
        self.inputs, self._bind = dict(inputs), bind
        self._found: dict[tuple[tuple[str, int | tuple[int, ...]], ...], CompiledModel] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<OpenModel of {', '.join(self.inputs)}, compiled for {len(self._found)} shapes>"

    def __call__(self, *arrays: object, out: list[np.ndarray] | None = None) -> list[np.ndarray]:
        """The outputs, in the model's order. The first call with such shapes compiles. Raises ModelError."""
        return self.at(*arrays)(*arrays, out=out)

    def run(self, inputs: Mapping[str, object]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        return self.at(inputs).run(inputs)

    def at(self, *arrays: object) -> CompiledModel:
        """The model for arrays of these shapes, given as in a call: kept from an earlier call, or compiled now."""
        given = zip(given_arrays(arrays, tuple(self.inputs)), self.inputs)
        dims = self._dims([as_array(array, name).shape for array, name in given])
        key = tuple(sorted(dims.items()))
        with self._lock:
            if key not in self._found:
                self._found[key] = self._bind(dims)
            return self._found[key]

    def _dims(self, shapes: Sequence[tuple[int, ...]]) -> Dims:
        """The extents of open dims by name, and the whole shapes of inputs that have open dims without names."""
        found: dict[str, tuple[int, str]] = {}
        whole: Dims = {}
        for (name, axes), shape in zip(self.inputs.items(), shapes, strict=True):
            if axes is None:
                whole[name] = tuple(shape)
                continue
            if axes and len(shape) != len(axes):
                raise ModelError(f"{name} has {len(shape)} axes, and the model takes {len(axes)}")
            for axis, extent in zip(axes, shape):
                if axis == "":
                    whole[name] = tuple(shape)
                elif axis is not None:
                    known, where = found.setdefault(axis, (extent, name))
                    if known != extent:
                        raise ModelError(f"dim {axis!r} is {known} in {where} and {extent} in {name}")
        return {**{dim: extent for dim, (extent, _) in found.items()}, **whole}


def axes_of(proto: Any, dims: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, tuple[Axis, ...] | None]:
    """The axes of each input that a caller gives; axes that `dims` binds are known. Empty for a model with sequences.

    Raises ModelError.
    """
    if not (isinstance(dims, Mapping) and isinstance(known, Mapping)):
        return {}  # reading the model raises the error about them
    constant = {tensor.name for tensor in proto.graph.initializer} | set(known)
    named: set[str] = set()
    found: dict[str, tuple[Axis, ...] | None] = {}
    for value in proto.graph.input:
        type_ = value.type.optional_type.elem_type if value.type.HasField("optional_type") else value.type
        shape = type_.tensor_type.shape.dim
        named |= {dim.dim_param for dim in shape if dim.dim_param}
        if value.name in constant:
            continue
        if not type_.HasField("tensor_type"):
            return {}  # for a model with sequences, reading it says what must be bound
        if isinstance(dims.get(value.name), (tuple, list)):
            found[value.name] = ()
        elif not type_.tensor_type.HasField("shape"):
            found[value.name] = None
        else:
            found[value.name] = tuple(_axis(dim, dims) for dim in shape)
    for dim in dims:
        if dim not in named and dim not in found:
            raise not_open(dim, named)
    return found


def is_open(axes: Mapping[str, tuple[Axis, ...] | None]) -> bool:
    """Whether an input has an open dim."""
    return any(each is None or any(axis is not None for axis in each) for each in axes.values())


def _axis(dim: Any, dims: Mapping[str, Any]) -> Axis:
    # Some exporters write -1 for an open extent.
    is_known = (dim.HasField("dim_value") and dim.dim_value >= 0) or dim.dim_param in dims
    return None if is_known else str(dim.dim_param)
