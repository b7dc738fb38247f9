"""What is known of a model's inputs, from the file and from the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
import onnx

from graph.model.dtypes import DTYPES
from graph.model.errors import not_open
from graph.model.language import ModelError
from graph.model.node import BEGIN_BEHIND
from tiling.program.infer import Array


@dataclass(frozen=True)
class Bound:
    """What a caller binds.

    extents: sizes by the names of dims; for a sequence its number of elements, by the name of the input. shapes: whole
    shapes by the names of inputs; an element of a sequence has the name `input[0]`.
    """

    extents: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, dims: Mapping[str, int | Sequence[int]]) -> Bound:
        """The bindings of `dims`. Raises ModelError for a value that is no extent."""
        shapes = {name: extent for name, extent in dims.items() if isinstance(extent, (tuple, list))}
        extents = {name: _extent(name, extent) for name, extent in dims.items() if name not in shapes}
        whole = {name: tuple(_extent(name, extent) for extent in shape) for name, shape in shapes.items()}
        return cls(extents, whole)

    def check(self, graph: onnx.GraphProto, inputs: Sequence[str]) -> None:
        """Raises ModelError for a name that is neither a dim nor an input of the model. inputs: given by a call."""
        used = {dim.dim_param for v in graph.input for dim in _tensor(v.type).shape.dim if dim.dim_param}
        sequences = {v.name for v in graph.input if _is_sequence(v.type)}
        for dim in self.extents:
            if dim not in used and dim not in sequences:
                raise not_open(dim, used)
        for name in self.shapes:
            if name not in inputs and name.partition("[")[0] not in sequences:
                raise ModelError(f"dims: the model has no input {name!r}; it has {', '.join(inputs) or 'none'}")

    def elements(self, name: str) -> tuple[str, ...]:
        """The names of the elements of an input that is a sequence."""
        if name not in self.extents:
            raise ModelError(
                f"input {name} is a sequence: say how many elements it has, dims={{{name!r}: 2}} or --dim {name}=2"
            )
        return tuple(f"{name}[{place}]" for place in range(self.extents[name]))

    def declared(self, own: str, type_: onnx.TypeProto, given: tuple[int, ...] = ()) -> Array:
        """An input that is a tensor. given: the shape of the caller's array for it."""
        kind = type_.WhichOneof("value")
        if kind != "tensor_type":
            raise ModelError(
                f"input {own} is a {(kind or 'value').removesuffix('_type')}: tensors, sequences and optionals of them "
                "are supported"
            )
        tensor = type_.tensor_type
        if tensor.elem_type not in DTYPES:
            kinds = {number: name for name, number in onnx.TensorProto.DataType.items()}
            made_of = kinds.get(tensor.elem_type, f"dtype {tensor.elem_type}")
            raise ModelError(f"input {own} is made of {made_of}, which is not supported{BEGIN_BEHIND}")
        if not tensor.HasField("shape") and given:
            return Array(own, DTYPES[tensor.elem_type], given)
        if not tensor.HasField("shape"):
            raise ModelError(f"input {own} has no shape in the file: bind it by exporting the model with shapes")
        shape = []
        axes = len(tensor.shape.dim)
        if given and len(given) != axes:
            raise ModelError(f"input {own} has {axes} axes by the file, and {len(given)} extents are given")
        for axis, dim in enumerate(tensor.shape.dim):
            name = dim.dim_param
            if dim.HasField("dim_value") and dim.dim_value >= 0:  # some exporters write -1 for an open one
                shape.append(dim.dim_value)
            elif name in self.extents and own not in self.shapes:
                shape.append(self.extents[name])
            elif len(given) == len(tensor.shape.dim):
                shape.append(given[axis])
            else:
                raise ModelError(
                    f"input {own}: axis {axis} is open; give its extent, dims={{{name!r}: 1}} or --dim {name}=1"
                    if name
                    else f"input {own}: axis {axis} has no extent and no name in the file; give the shape, "
                    f"dims={{{own!r}: (…)}} or --dim {own}=…,…"
                )
        if own in self.shapes and tuple(shape) != self.shapes[own]:
            raise ModelError(f"dims: {own} has shape {shape} by the file, not {list(self.shapes[own])}")
        return Array(own, DTYPES[tensor.elem_type], tuple(shape))


def _tensor(type_: onnx.TypeProto) -> onnx.TypeProto.Tensor:
    """The type of the tensors that an input is or holds."""
    kind = type_.WhichOneof("value")
    if kind in ("optional_type", "sequence_type"):
        return _tensor(getattr(type_, kind).elem_type)
    return type_.tensor_type


def _is_sequence(type_: onnx.TypeProto) -> bool:
    if type_.WhichOneof("value") == "optional_type":
        return _is_sequence(type_.optional_type.elem_type)
    return bool(type_.WhichOneof("value") == "sequence_type")


def _extent(name: str, extent: object) -> int:
    """An extent that a caller gives."""
    try:
        found = index(extent)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if isinstance(extent, bool) or found < 0:
        raise ModelError(f"dims: {name}={extent!r} must be a whole number of at least 0")
    return int(found)


def numbers_of(name: str, type_: onnx.TypeProto, value: Any) -> np.ndarray:
    """The numbers that a caller gives for an input, as an array. Raises ModelError.

    Python numbers get the dtype of the input, and a single number its axes.
    """
    try:
        numbers = np.asarray(value)
    except ValueError as error:
        raise ModelError(f"known: {name} is no array: {error}") from None
    kind, tensor = type_.WhichOneof("value"), type_.tensor_type
    if not isinstance(value, (int, float, list, tuple)) or kind != "tensor_type" or tensor.elem_type not in DTYPES:
        return numbers
    if numbers.ndim == 0:
        numbers = numbers.reshape((1,) * len(tensor.shape.dim))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    try:
        with np.errstate(all="ignore"):  # numbers that do not fit are refused below
            found = numbers.astype(dtype)
            if dtype.kind in "iub":
                exact = np.array_equal(found.astype(numbers.dtype), numbers)
            else:  # too large a number would become infinite
                exact = np.array_equal(np.isfinite(found), np.isfinite(numbers))
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise ModelError(f"known: {name}={value!r} is not made of {DTYPES[tensor.elem_type]}, as the model's is")
    return found


def flattened(name: str, value: Any) -> dict[str, Any]:
    """The arrays of a value, by the names of inputs or outputs. None is an optional without an element."""
    if value is None:
        return {}
    if not isinstance(value, (list, tuple)):
        return {name: value}
    found: dict[str, Any] = {}
    for place, each in enumerate(value):
        found |= flattened(f"{name}[{place}]", each)
    return found


def bound_by(name: str, value: Any) -> dict[str, int | tuple[int, ...]]:
    """The bindings with which an input takes a value like this one: shapes, and numbers of elements of sequences."""
    if not isinstance(value, (list, tuple)):
        return {} if value is None else {name: np.shape(value)}
    found: dict[str, int | tuple[int, ...]] = {name: len(value)}
    for place, each in enumerate(value):
        found |= bound_by(f"{name}[{place}]", each)
    return found


def gathered(value: onnx.ValueInfoProto, arrays: Mapping[str, np.ndarray]) -> Any:
    """An output of a model from its arrays by name: an array, a list, or None for an optional without an element."""
    if value.name in arrays:
        return arrays[value.name]
    places = range(len(arrays))
    elements = [arrays[f"{value.name}[{place}]"] for place in places if f"{value.name}[{place}]" in arrays]
    return elements if elements or value.type.WhichOneof("value") == "sequence_type" else None
