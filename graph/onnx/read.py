"""Reads an ONNX model: what is known now is computed now, and every other node becomes a step.

    read(proto, {"batch": 1}) -> Model

Shapes follow from the inputs' by the programs themselves. A node whose inputs are all constant is computed by onnx's
own reference. So whatever computes shapes is gone before anything is compiled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graph.model.language import Model, ModelError, Slice, Step
from graph.model.node import Made, Node, Product, Text, Unsupported, View
from graph.onnx.control import control
from graph.operators import OPERATORS
from tiling.problem import ProblemError
from tiling.program.infer import Array, sized
from tiling.program.read import read as read_program

_DTYPES: dict[int, str] = {
    onnx.TensorProto.FLOAT: "f32",
    onnx.TensorProto.DOUBLE: "f64",
    onnx.TensorProto.FLOAT16: "f16",
    onnx.TensorProto.INT64: "s64",
    onnx.TensorProto.INT32: "s32",
    onnx.TensorProto.INT8: "s8",
    onnx.TensorProto.UINT8: "u8",
    onnx.TensorProto.BOOL: "bool",
}
_NAME = onnx.TensorProto.DataType.Name
_OF_NUMPY = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "s64", "int32": "s32"} | {
    "int8": "s8",
    "uint8": "u8",
    "bool": "bool",
}
# A node that gives other numbers at every call is no constant, whatever its inputs are.
_RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial")


def load(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model in a file, with external weights. Raises ModelError."""
    try:
        model = onnx.load(str(path))
        onnx.checker.check_model(model, full_check=False)
        return model
    except FileNotFoundError as error:
        raise ModelError(f"{path}: {error.filename or path} is missing") from None
    except (OSError, onnx.checker.ValidationError) as error:
        raise ModelError(f"{path} is no valid ONNX model: {str(error).strip().splitlines()[0]}") from None
    except Exception as error:  # protobuf's own error has no public name
        raise ModelError(f"{path} is no ONNX file, or it is cut short: {error}") from None


def read(
    proto: onnx.ModelProto, dims: Mapping[str, int] | None = None, known: Mapping[str, np.ndarray] | None = None
) -> Model:
    """The model with these extents of dims that the file leaves open. Raises ModelError.

    known: the numbers of inputs that are the same at every call. They are no inputs of the compiled model.
    """
    if proto.functions:
        proto = onnx.inliner.inline_local_functions(proto)
    reading = _Reading(dict(dims or {}), _versions(proto))
    for name, numbers in (known or {}).items():
        if name not in {value.name for value in proto.graph.input}:
            raise ModelError(f"the model has no input {name!r}")
        reading.know(name, numbers)
    return reading.model(proto.graph)


def _versions(proto: onnx.ModelProto) -> dict[str, int]:
    return {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}


@dataclass
class _Reading:
    """What is known of a graph so far."""

    dims: dict[str, int]
    versions: dict[str, int]
    arrays: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    slices: dict[str, Slice] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def model(self, graph: onnx.GraphProto) -> Model:
        if graph.sparse_initializer:
            raise ModelError(f"{graph.sparse_initializer[0].values.name}: sparse weights are not supported")
        for tensor in graph.initializer:
            if tensor.name in self.constants:
                continue  # the caller knows other numbers
            self.know(tensor.name, numpy_helper.to_array(tensor))
        inputs = tuple(value.name for value in graph.input if value.name not in self.constants)
        used = {dim.dim_param for v in graph.input for dim in v.type.tensor_type.shape.dim if dim.dim_param}
        for dim in self.dims:
            if dim not in used:
                raise ModelError(f"the model has no open dim {dim!r}; it has {', '.join(sorted(used)) or 'none'}")
        for value in graph.input:
            if value.name in inputs:
                self.arrays[value.name] = self.declared(value)
        for number, node in enumerate(graph.node):
            self.node(node, node.name or f"{number}")
        outputs = tuple(value.name for value in graph.output)
        for name in outputs:
            if name not in self.arrays:
                raise ModelError(f"output {name} is computed by no node")
        steps = tuple(self.steps)
        model = Model(
            graph.name, inputs, outputs, self.arrays, self.constants, self.views, steps, self.dims, self.slices
        )
        return _needed(model)

    def declared(self, value: onnx.ValueInfoProto) -> Array:
        """An input of the model."""
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise ModelError(
                f"input {value.name} is a {(kind or 'value').removesuffix('_type')}: only tensors are supported"
            )
        tensor = value.type.tensor_type
        if tensor.elem_type not in _DTYPES:
            raise ModelError(f"input {value.name} is made of {_NAME(tensor.elem_type)}, which is not supported")
        if not tensor.HasField("shape"):
            raise ModelError(f"input {value.name} has no shape in the file: bind it by exporting the model with shapes")
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            name = dim.dim_param
            if dim.HasField("dim_value"):
                shape.append(dim.dim_value)
            elif name in self.dims:
                shape.append(self.dims[name])
            else:
                raise ModelError(
                    f"input {value.name}: axis {axis} is open; give its extent, dims={{{name!r}: 1}} or --dim {name}=1"
                    if name
                    else f"input {value.name}: axis {axis} has no extent and no name in the file"
                )
        return self.sane(Array(value.name, _DTYPES[tensor.elem_type], tuple(shape)))

    def sane(self, array: Array) -> Array:
        """The array, if it has elements."""
        if min(array.shape, default=1) < 1:
            raise ModelError(f"{array.name} has no elements ({' x '.join(map(str, array.shape))}): not supported")
        return array

    def know(self, name: str, numbers: np.ndarray) -> None:
        """An array whose numbers are known. One of another kind than ours may still decide a shape."""
        numbers = np.asarray(numbers)
        self.constants[name] = numbers
        dtype = _OF_NUMPY.get(numbers.dtype.name, numbers.dtype.name)
        self.arrays[name] = Array(name, dtype, numbers.shape)

    def node(self, proto: onnx.NodeProto, name: str) -> None:
        """A node becomes constants, views, or a step."""
        if proto.domain not in ("", "ai.onnx"):
            raise Unsupported(
                f"node {name} ({proto.domain}.{proto.op_type}): no operator of {proto.domain} is supported"
            )
        for given in proto.input:
            if given and given not in self.arrays:
                raise ModelError(f"node {name} ({proto.op_type}) reads {given}, which nothing computes")
        if control(self, proto, name) or self.folded(proto):
            return
        node = self.seen(proto, name)
        if proto.op_type not in OPERATORS:
            self.expanded(proto, node)
            return
        try:
            made = OPERATORS[proto.op_type](node)
        except ModelError:
            raise
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError) as error:
            raise node.refuse(f"its inputs and attributes do not fit together ({error})") from None
        except ValueError as error:  # ProblemError too
            raise node.refuse(str(error)) from None
        try:
            self.made(proto, node, made)
        except ModelError:
            raise
        except ProblemError as error:
            raise node.refuse(str(error)) from None

    def seen(self, proto: onnx.NodeProto, name: str) -> Node:
        """The node as its operator sees it."""
        inputs = tuple(self.arrays[given] if given else None for given in proto.input)
        known = tuple(self.constants.get(given) for given in proto.input)
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        return Node(proto.op_type, name, self.version, attributes, inputs, known, tuple(proto.output))

    @property
    def version(self) -> int:
        return self.versions.get("ai.onnx", 1)

    def folded(self, proto: onnx.NodeProto) -> bool:
        """Whether the node's outputs are known now."""
        shapes = proto.op_type in ("Shape", "Size")
        known = all(not given or given in self.constants for given in proto.input)
        if not (known or shapes) or proto.op_type in _RANDOM:
            return False
        feeds = {name: self.constants.get(name) for name in proto.input if name}
        if shapes:  # of the numbers nothing is read
            feeds = {name: np.broadcast_to(np.float32(0), self.arrays[name].shape) for name in feeds}
        if any(not isinstance(value, np.ndarray) for value in feeds.values()):
            return False
        try:
            values = _evaluated(proto, feeds, self.version)
        except Unsupported:
            if proto.op_type in OPERATORS:
                return False  # where the reference fails, the operator's own program computes it
            raise
        for name, value in zip([n for n in proto.output if n], values):
            self.know(name, value)
        return True

    def expanded(self, proto: onnx.NodeProto, node: Node) -> None:
        """The nodes that the standard defines an operator by, in place of it."""
        body = _body(proto, self.version, [a.dtype if a else None for a in node.inputs])
        if body is None:
            raise node.refuse("this operator is not supported")
        inner = {inside: outside for inside, outside in zip(body.input, proto.input)}
        inner |= dict(zip(body.output, proto.output))
        schema = onnx.defs.get_schema(proto.op_type, self.version)
        defaults = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type}
        given = defaults | {a.name: a for a in proto.attribute}

        def named(inside: str) -> str:
            return inner.setdefault(inside, f"\0{proto.output[0]}.{inside}") if inside else ""

        for number, each in enumerate(body.node):
            copy = onnx.NodeProto()
            copy.CopyFrom(each)
            del copy.input[:], copy.output[:], copy.attribute[:]
            copy.input.extend(named(one) for one in each.input)
            copy.output.extend(named(one) for one in each.output)
            for attribute in each.attribute:
                if not attribute.ref_attr_name:
                    copy.attribute.append(attribute)
                elif attribute.ref_attr_name in given:
                    value = onnx.AttributeProto()
                    value.CopyFrom(given[attribute.ref_attr_name])
                    value.name = attribute.name
                    copy.attribute.append(value)
            self.node(copy, f"{node.name}.{each.op_type}{number}")

    def made(self, proto: onnx.NodeProto, node: Node, made: Made) -> None:
        """What an operator made of its node."""
        if isinstance(made, View):
            self.view(proto.output[0], proto.input[0], made.shape)
            return
        if isinstance(made, Product):
            problem = made.problem
            # A kernel reads as many numbers as the problem has, whatever was handed over.
            for place, tensor in zip(made.inputs, (*problem.tensors[:2], *problem.epilogue_arrays), strict=True):
                if prod(node.shape(place)) != tensor.elements:
                    raise node.refuse(f"input {place} has shape {node.shape(place)}, and {tensor.elements} are needed")
            shape = problem.output.shape
            self.array(proto.output[0], "f32", shape, made.shape)
            inputs = tuple(proto.input[place] for place in made.inputs)
            self.steps.append(Step(node.name, made.problem, inputs, (self.own(proto.output[0]),)))
            return
        self.text(proto, node, made)

    def text(self, proto: onnx.NodeProto, node: Node, made: Text) -> None:
        """A program."""
        declared = {name: node.dtype(place) for name, place in made.inputs.items()}
        declared |= {name: _OF_NUMPY[numbers.dtype.name] for name, numbers in made.made.items()}
        declared |= dict(zip(made.outputs, made.dtypes))
        for name, dtype in declared.items():
            if dtype not in _DTYPES.values():
                raise node.refuse(f"its array {name} is made of {dtype}, which is not supported")
        text = "; ".join([*(f"{name}: {dtype}" for name, dtype in declared.items()), made.text])
        shapes = {name: node.shape(place) for name, place in made.inputs.items()}
        shapes |= {name: numbers.shape for name, numbers in made.made.items()}
        wanted = [(mine, theirs) for mine, theirs in zip(made.outputs, proto.output) if theirs]
        program = read_program(text)
        unread = [name for name in shapes if name not in program.inputs]
        program = replace(program, declarations=tuple(d for d in program.declarations if d.array not in unread))
        shapes = {name: shape for name, shape in shapes.items() if name not in unread}
        work = sized(program, made.extents, shapes, outputs=tuple(mine for mine, _ in wanted))
        sources = {name: proto.input[place] for name, place in made.inputs.items()}
        for name, numbers in made.made.items():
            sources[name] = f"\0{proto.output[0]}.{name}"
            self.know(sources[name], numbers)
        # A kernel writes its outputs in the order in which the program assigns them.
        written = [array for array in work.assigned if array.name in work.outputs]
        outer = dict(wanted)
        given = dict(zip(made.outputs, made.shapes))
        for array in written:
            self.array(outer[array.name], array.dtype, array.shape, given.get(array.name, array.shape))
        inputs = tuple(sources[array.name] for array in work.inputs)
        outputs = tuple(self.own(outer[array.name]) for array in written)
        self.steps.append(Step(node.name, work, inputs, outputs))

    def array(self, name: str, dtype: str, own: tuple[int, ...], shape: tuple[int, ...]) -> None:
        """An array that a step writes in its own shape, and that the model reads in another one."""
        self.sane(Array(name, dtype, own))
        if own == shape:
            self.arrays[name] = Array(name, dtype, own)
            return
        self.arrays[f"\0{name}.own"] = Array(f"\0{name}.own", dtype, own)
        self.view(name, f"\0{name}.own", shape)

    def own(self, name: str) -> str:
        """The name of the array that a step writes."""
        return f"\0{name}.own" if f"\0{name}.own" in self.arrays else name

    def view(self, name: str, of: str, shape: tuple[int, ...]) -> None:
        source = self.arrays[of]
        if np.prod(source.shape, dtype=object) != np.prod(shape, dtype=object):
            raise ModelError(f"{name}: {source.shape} elements cannot be seen as {shape}")
        if of in self.constants:
            self.know(name, self.constants[of].reshape(shape))
            return
        self.arrays[name] = Array(name, source.dtype, shape)
        self.views[name] = of


def _needed(model: Model) -> Model:
    """The model without steps that no output needs."""
    wanted = {model.root(name) for name in model.outputs}
    kept: list[Step] = []
    for step in reversed(model.steps):
        if wanted.intersection(map(model.root, step.outputs)):
            kept.append(step)
            wanted |= set(map(model.root, step.inputs))
    return replace(model, steps=tuple(reversed(kept)))


def _evaluated(proto: onnx.NodeProto, feeds: Mapping[str, Any], version: int) -> list[np.ndarray]:
    """What a node gives for constants, by onnx's reference."""
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()
    ]
    names = [name for name in proto.output if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    graph = helper.make_graph([proto], "constant", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    try:
        found: Iterable[Any] = ReferenceEvaluator(model).run(names, dict(feeds))
    except Exception as error:  # whatever the reference raises, the node cannot be computed
        raise Unsupported(f"node {proto.name or proto.op_type} ({proto.op_type}): {error}") from None
    values = list(found)
    if not all(isinstance(value, (np.ndarray, np.generic)) for value in values):
        raise Unsupported(f"node {proto.name or proto.op_type} ({proto.op_type}): it gives no tensor")
    return [np.asarray(value) for value in values]


def _body(proto: onnx.NodeProto, version: int, dtypes: list[str | None]) -> onnx.FunctionProto | None:
    """The nodes that the standard defines an operator by, where it does."""
    schema: Any  # onnx's types leave its functions out
    try:
        schema = onnx.defs.get_schema(proto.op_type, version)
    except onnx.defs.SchemaError:
        return None
    body = onnx.FunctionProto()
    if schema.has_function:
        body.CopyFrom(schema.function_body)
        return body
    if not schema.has_context_dependent_function:
        return None
    types = []
    kinds = {dtype: kind for kind, dtype in _DTYPES.items()}
    for dtype in dtypes:
        kind = onnx.TypeProto()
        if dtype in kinds:
            kind.tensor_type.elem_type = kinds[dtype]
        types.append(kind.SerializeToString())
    try:
        body.ParseFromString(schema.get_context_dependent_function(proto.SerializeToString(), types))
    except Exception:  # the schema builds no body for these types
        return None
    return body
