"""What is known of a model's inputs: by the file, and by what a caller binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import index

import onnx

from graph.model.dtypes import DTYPES
from graph.model.language import ModelError
from tiling.program.infer import Array

_NAME = onnx.TensorProto.DataType.Name


@dataclass(frozen=True)
class Bound:
    """What a caller binds. extents: of dims, by their names. shapes: whole ones, by the names of inputs."""

    extents: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, dims: Mapping[str, int | Sequence[int]]) -> Bound:
        """Raises ModelError for what is no extent."""
        shapes = {name: extent for name, extent in dims.items() if isinstance(extent, (tuple, list))}
        extents = {name: _extent(name, extent) for name, extent in dims.items() if name not in shapes}
        whole = {name: tuple(_extent(name, extent) for extent in shape) for name, shape in shapes.items()}
        return cls(extents, whole)

    def check(self, graph: onnx.GraphProto, inputs: Sequence[str]) -> None:
        """Raises ModelError for what the model has no dim and no input of. inputs: those that a call gives."""
        used = {dim.dim_param for v in graph.input for dim in v.type.tensor_type.shape.dim if dim.dim_param}
        for dim in self.extents:
            if dim not in used:
                raise ModelError(f"the model has no open dim {dim!r}; it has {', '.join(sorted(used)) or 'none'}")
        for name in self.shapes:
            if name not in inputs:
                raise ModelError(f"dims: the model has no input {name!r}; it has {', '.join(inputs) or 'none'}")

    def declared(self, value: onnx.ValueInfoProto, given: tuple[int, ...] = ()) -> Array:
        """An input of the model. given: the shape of the array that a caller has for it."""
        type_ = value.type
        if type_.WhichOneof("value") == "optional_type":  # of which a caller always gives one
            type_ = type_.optional_type.elem_type
        kind = type_.WhichOneof("value")
        if kind != "tensor_type":
            raise ModelError(
                f"input {value.name} is a {(kind or 'value').removesuffix('_type')}: only tensors are supported"
            )
        tensor = type_.tensor_type
        if tensor.elem_type not in DTYPES:
            raise ModelError(f"input {value.name} is made of {_NAME(tensor.elem_type)}, which is not supported")
        if not tensor.HasField("shape") and given:
            return Array(value.name, DTYPES[tensor.elem_type], given)
        if not tensor.HasField("shape"):
            raise ModelError(f"input {value.name} has no shape in the file: bind it by exporting the model with shapes")
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            name = dim.dim_param
            if dim.HasField("dim_value") and dim.dim_value >= 0:  # some exporters write -1 for an open one
                shape.append(dim.dim_value)
            elif name in self.extents and value.name not in self.shapes:
                shape.append(self.extents[name])
            elif len(given) == len(tensor.shape.dim):
                shape.append(given[axis])
            else:
                raise ModelError(
                    f"input {value.name}: axis {axis} is open; give its extent, dims={{{name!r}: 1}} or --dim {name}=1"
                    if name
                    else f"input {value.name}: axis {axis} has no extent and no name in the file; give the shape, "
                    f"dims={{{value.name!r}: (…)}} or --dim {value.name}=…,…"
                )
        if value.name in self.shapes and tuple(shape) != self.shapes[value.name]:
            raise ModelError(f"dims: {value.name} has shape {shape} by the file, not {list(self.shapes[value.name])}")
        return Array(value.name, DTYPES[tensor.elem_type], tuple(shape))


def _extent(name: str, extent: object) -> int:
    """An extent that a caller gives."""
    try:
        found = index(extent)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if isinstance(extent, bool) or found < 0:
        raise ModelError(f"dims: {name}={extent!r} must be a whole number of at least 0")
    return int(found)
