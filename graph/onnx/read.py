"""Reads an ONNX model: what is known now is computed now, and every other node becomes a step.

    read(proto, {"batch": 1}) -> Model

Shapes follow from the inputs' by the programs themselves. A node whose inputs are all constant is computed by onnx's
own reference. So whatever computes shapes is gone before anything is compiled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from operator import index

import numpy as np
import onnx
import onnx.inliner
from onnx import helper

from graph.model.dtypes import DTYPES, OF_NUMPY, is_computed, stored
from graph.model.language import Model, ModelError, Slice, Step
from graph.model.node import Made, Node, Product, Text, Unsupported, View
from graph.model.regions import needed
from graph.onnx.control import control, renamed
from graph.onnx.recurrent import recurrent
from graph.onnx.standard import defaults, definition, evaluated, is_random, unchanged, unread, weight, with_attributes
from graph.operators import MOVING, OPERATORS
from tiling.problem import ProblemError
from tiling.program.dtypes import INTEGERS
from tiling.program.infer import Array, sized
from tiling.program.language import Program
from tiling.program.read import read as read_program

_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
OLDEST = 7  # the first set of operators whose inputs broadcast as NumPy's do


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
    proto: onnx.ModelProto,
    dims: Mapping[str, int | Sequence[int]] | None = None,
    known: Mapping[str, np.ndarray] | None = None,
) -> Model:
    """The model with these extents of dims that the file leaves open. Raises ModelError.

    dims: the extent of each, or by the name of an input its whole shape, for dims without names. known: the
    numbers of inputs that are the same at every call. They are no inputs of the compiled model.
    """
    for what, named in (("dims", dims), ("known", known)):
        if named is not None and not isinstance(named, Mapping):
            raise ModelError(f"{what} must be a dict by name, not a {type(named).__name__}")
    if proto.functions:
        proto = onnx.inliner.inline_local_functions(proto)
    versions = _versions(proto)
    if not proto.graph.output:
        raise ModelError("the model has no graph, or a graph without outputs")
    shapes = {name: extent for name, extent in (dims or {}).items() if isinstance(extent, (tuple, list))}
    extents = {name: _extent(name, extent) for name, extent in (dims or {}).items() if name not in shapes}
    reading = _Reading(extents, versions)
    for name, shape in shapes.items():
        reading.shapes[name] = tuple(_extent(name, extent) for extent in shape)
    declared = {value.name: value for value in proto.graph.input}
    for name, numbers in (known or {}).items():
        if name not in declared:
            raise ModelError(f"the model has no input {name!r}")
        try:
            numbers = np.asarray(numbers)
        except ValueError as error:
            raise ModelError(f"known: {name} is no array: {error}") from None
        array = reading.declared(declared[name], numbers.shape)
        reading.know(name, numbers)
        given = reading.arrays[name]
        if given.shape != array.shape or given.dtype != array.dtype:
            raise ModelError(
                f"known: {name} is {given.dtype}{list(given.shape)}, "
                f"and the model's is {array.dtype}{list(array.shape)}"
            )
    return reading.model(proto.graph)


def _extent(name: str, extent: object) -> int:
    """An extent that a caller gives."""
    try:
        found = index(extent)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if isinstance(extent, bool) or found < 0:
        raise ModelError(f"dims: {name}={extent!r} must be a whole number of at least 0")
    return int(found)


def _versions(proto: onnx.ModelProto) -> dict[str, int]:
    return {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}


@dataclass
class _Reading:
    """What is known of a graph so far."""

    dims: dict[str, int]
    versions: dict[str, int]
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs, where a caller says them
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
            self.know(tensor.name, weight(tensor))
        inputs = tuple(value.name for value in graph.input if value.name not in self.constants)
        used = {dim.dim_param for v in graph.input for dim in v.type.tensor_type.shape.dim if dim.dim_param}
        for dim in self.dims:
            if dim not in used:
                raise ModelError(f"the model has no open dim {dim!r}; it has {', '.join(sorted(used)) or 'none'}")
        for name in self.shapes:
            if name not in inputs:
                raise ModelError(f"dims: the model has no input {name!r}; it has {', '.join(inputs) or 'none'}")
        for value in graph.input:
            if value.name in inputs:
                array = self.arrays[value.name] = self.declared(value, self.shapes.get(value.name, ()))
                if 0 in array.shape:
                    self.empty(array.name, array.dtype, array.shape)
        for number, node in enumerate(graph.node):
            for output in filter(None, node.output):
                if output in self.arrays:
                    raise ModelError(
                        f"node {node.name or number} ({node.op_type}) gives {output}, which is there already"
                    )
            self.node(node, node.name or f"{number}")
        outputs = tuple(value.name for value in graph.output)
        for name in outputs:
            if name not in self.arrays:
                raise ModelError(f"output {name} is computed by no node")
        steps = tuple(self.steps)
        model = Model(
            graph.name, inputs, outputs, self.arrays, self.constants, self.views, steps, self.dims, self.slices
        )
        return replace(model, steps=needed(steps, outputs, model.root))

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
            kinds = {number: name for name, number in onnx.TensorProto.DataType.items()}
            kind = kinds.get(tensor.elem_type, f"dtype {tensor.elem_type}")
            raise ModelError(f"input {value.name} is made of {kind}, which is not supported")
        if not tensor.HasField("shape") and given:
            return Array(value.name, DTYPES[tensor.elem_type], given)
        if not tensor.HasField("shape"):
            raise ModelError(f"input {value.name} has no shape in the file: bind it by exporting the model with shapes")
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            name = dim.dim_param
            if dim.HasField("dim_value") and dim.dim_value >= 0:  # some exporters write -1 for an open one
                shape.append(dim.dim_value)
            elif name in self.dims and value.name not in self.shapes:
                shape.append(self.dims[name])
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

    def know(self, name: str, numbers: np.ndarray) -> None:
        """An array whose numbers are known. One of another kind than ours may still decide a shape."""
        numbers = np.asarray(numbers)
        self.constants[name] = numbers
        dtype = OF_NUMPY.get(numbers.dtype.name, numbers.dtype.name)
        self.arrays[name] = Array(name, dtype, numbers.shape)

    def empty(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        """An array without elements: so all its numbers are known."""
        self.know(name, np.zeros(shape, helper.tensor_dtype_to_np_dtype(_NUMBERS[dtype])))

    def node(self, proto: onnx.NodeProto, name: str) -> None:
        """A node becomes constants, views, or a step."""
        for given in proto.input:
            if given and given not in self.arrays:
                raise ModelError(f"node {name} ({proto.op_type}) reads {given}, which nothing computes")
        if control(self, proto, name) or recurrent(self, proto, name) or self.folded(proto):
            return
        node = self.seen(proto, name)
        if not unchanged(proto, self.versions, OLDEST):
            raise node.refuse(
                f"it is of version {self.version} of the operators, and differs from that of version {OLDEST}, the "
                "oldest that is supported: convert the model with onnx.version_converter"
            )
        if node.op not in OPERATORS:
            self.expanded(proto, node)
            return
        strange = [array.dtype for array in node.inputs if array and not is_computed(array.dtype)]
        if strange and node.op not in MOVING:
            raise node.refuse(f"numbers of {strange[0]} are not computed with: cast them before")
        if any(array and 0 in array.shape for array in node.inputs) and self.emptied(proto):
            return
        try:
            made = OPERATORS[node.op](node)
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
        return Node(self.called(proto), name, self.version, attributes, inputs, known, tuple(proto.output))

    @staticmethod
    def called(proto: onnx.NodeProto) -> str:
        """The name of an operator, with its domain where that is another than onnx's own."""
        return proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"

    @property
    def version(self) -> int:
        return self.versions.get("ai.onnx", 1)

    def folded(self, proto: onnx.NodeProto) -> bool:
        """Whether the node's outputs are known now."""
        feeds = {name: self.constants.get(name) for name in proto.input if name}
        for name in unread(proto):
            feeds[name] = self.zeros(name)
        if is_random(proto) or any(value is None for value in feeds.values()):
            return False
        try:
            values = evaluated(proto, feeds, self.versions)
        except Unsupported:
            if proto.op_type in OPERATORS:
                return False  # where the reference fails, the operator's own program computes it
            raise
        for name, value in zip(filter(None, proto.output), values):
            self.know(name, value)
        return True

    def zeros(self, name: str) -> np.ndarray:
        """An array of zeros in place of one whose numbers are not read."""
        array = self.arrays[name]
        kind = helper.tensor_dtype_to_np_dtype(_NUMBERS[array.dtype]) if array.dtype in _NUMBERS else np.float32
        return np.broadcast_to(np.zeros((), kind), array.shape)

    def emptied(self, proto: onnx.NodeProto) -> bool:
        """Whether no output has elements, as onnx's reference finds out with zeros for what is not known."""
        feeds = {name: self.constants.get(name, self.zeros(name)) for name in filter(None, proto.input)}
        # Whole numbers after the first input may decide shapes.
        rest = [name for name in list(proto.input)[1:] if name and name not in self.constants]
        if any(self.arrays[name].dtype in INTEGERS for name in rest):
            return False
        try:
            found = evaluated(proto, feeds, self.versions)
        except Unsupported:
            return False  # zeros may be no such input as it needs
        if any(value.size for value in found):
            return False
        for name, value in zip(filter(None, proto.output), found):
            self.know(name, value)
        return True

    def expanded(self, proto: onnx.NodeProto, node: Node) -> None:
        """The nodes that the standard defines an operator by, in place of it."""
        body = definition(proto, self.versions, node.inputs)
        if body is None:
            theirs = proto.domain.partition(".")[0] not in ("", "ai")
            raise node.refuse(f"no operator of {proto.domain} is supported" if theirs else "it is not supported")
        names = {each: f"\0{proto.output[0]}.{each}" for one in body.node for each in one.output if each}
        names |= (
            dict.fromkeys(body.input, "") | dict(zip(body.input, proto.input)) | dict(zip(body.output, proto.output))
        )
        given = defaults(proto, self.versions) | {a.name: a for a in proto.attribute}
        versions = self.versions
        self.versions = versions | {entry.domain or "ai.onnx": entry.version for entry in body.opset_import}
        for number, each in enumerate(body.node):
            self.node(with_attributes(renamed(each, names), given), f"{node.name}.{each.op_type}{number}")
        self.versions = versions

    def made(self, proto: onnx.NodeProto, node: Node, made: Made) -> None:
        """What an operator made of its node."""
        if isinstance(made, View):
            self.view(proto.output[0], proto.input[0], made.shape, made.dtype)
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
        declared |= {name: OF_NUMPY[numbers.dtype.name] for name, numbers in made.made.items()}
        declared |= dict(zip(made.outputs, made.dtypes))
        for name, dtype in declared.items():
            if dtype not in DTYPES.values():
                raise node.refuse(f"its array {name} is made of {dtype}, which is not supported")
        text = "; ".join([*(f"{name}: {stored(dtype)}" for name, dtype in declared.items()), made.text])
        shapes = {name: node.shape(place) for name, place in made.inputs.items()}
        shapes |= {name: numbers.shape for name, numbers in made.made.items()}
        wanted = [(mine, theirs) for mine, theirs in zip(made.outputs, proto.output) if theirs]
        program, wanted = self.without_empty(read_program(text), made, wanted, declared)
        if not wanted:
            return
        unread = [name for name in shapes if name not in program.inputs]
        program = replace(program, declarations=tuple(d for d in program.declarations if d.array not in unread))
        shapes = {name: shape for name, shape in shapes.items() if name not in unread}
        extents = {dim: extent for dim, extent in made.extents.items() if dim in program.dims}
        work = sized(program, extents, shapes, outputs=tuple(mine for mine, _ in wanted))
        sources = {name: proto.input[place] for name, place in made.inputs.items()}
        for name, numbers in made.made.items():
            sources[name] = f"\0{proto.output[0]}.{name}"
            self.know(sources[name], numbers)
        # A kernel writes its outputs in the order in which the program assigns them.
        written = [array for array in work.assigned if array.name in work.outputs]
        outer = dict(wanted)
        given = dict(zip(made.outputs, made.shapes))
        for array in written:
            self.array(outer[array.name], declared[array.name], array.shape, given.get(array.name, array.shape))
        inputs = tuple(sources[array.name] for array in work.inputs)
        outputs = tuple(self.own(outer[array.name]) for array in written)
        self.steps.append(Step(node.name, work, inputs, outputs))

    def without_empty(
        self, program: Program, made: Text, wanted: list[tuple[str, str]], dtypes: Mapping[str, str]
    ) -> tuple[Program, list[tuple[str, str]]]:
        """The program and the outputs without what has no elements, which is known then."""
        none = {dim for dim, extent in made.extents.items() if not extent}
        shapes = dict(zip(made.outputs, made.shapes))
        outer, rest = dict(wanted), []
        for statement in program.statements:
            name = statement.array
            if none.isdisjoint(statement.dims):
                rest.append(statement)
            elif name in outer:
                own = shapes.get(name) or tuple(made.extents[dim] for dim in statement.dims)
                self.empty(outer.pop(name), dtypes[name], own)
        left = {statement.array for statement in rest}
        return replace(program, statements=tuple(rest)), [pair for pair in wanted if pair[0] in left]

    def array(self, name: str, dtype: str, own: tuple[int, ...], shape: tuple[int, ...]) -> None:
        """An array that a step writes in its own shape, and that the model reads in another one."""
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
