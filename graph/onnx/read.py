"""Reads an ONNX model: known values are computed now, and every other node becomes a step.

    read(proto, {"batch": 1}) -> Model

The shapes of outputs follow from the inputs' by the programs themselves. A node with only constant inputs is computed
by onnx's own reference. So no node that computes shapes is left when kernels are compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import onnx
from onnx import helper

from graph.model.dtypes import is_computed
from graph.model.language import Model, ModelError
from graph.model.node import END_BEFORE, Node, Unknown, Unsupported
from graph.model.regions import needed
from graph.onnx.control import control
from graph.onnx.graphs import renamed
from graph.onnx.inputs import Bound, numbers_of
from graph.onnx.load import renewed, without_functions
from graph.onnx.reading import Reading
from graph.onnx.recurrent import recurrent
from graph.onnx.rewrites import rewritten
from graph.onnx.sequences import sequence
from graph.onnx.standard import (
    MISTAKEN,
    defaults,
    definition,
    evaluated,
    is_random,
    strange_attributes,
    unchanged,
    unread,
    weight,
    with_attributes,
)
from graph.onnx.steps import add
from graph.operators import MOVING, OPERATORS
from tiling.dtypes.formats import INTEGERS
from tiling.problem import ProblemError

_Found = TypeVar("_Found")
OLDEST = 7  # the first set of operators whose inputs broadcast as NumPy's do


def read(
    proto: onnx.ModelProto,
    dims: Mapping[str, int | Sequence[int]] | None = None,
    known: Mapping[str, Any] | None = None,
) -> Model:
    """The model with these extents of dims that the file leaves open. Raises ModelError.

    dims: the extent of each; for dims without names, the whole shape by the name of an input; for a sequence, its
    number of elements. known: the inputs with the same value at every call: an array, a list of arrays for a sequence,
    None for an optional without an element. They are no inputs of the compiled model.
    """
    for what, named in (("dims", dims), ("known", known)):
        if named is not None and not isinstance(named, Mapping):
            raise ModelError(f"{what} must be a dict by name, not a {type(named).__name__}")
    proto = without_functions(proto)
    versions, newest = _versions(proto), onnx.defs.onnx_opset_version()
    if versions.get("ai.onnx", 0) > newest:
        raise ModelError(
            f"the model is of version {versions['ai.onnx']} of the operators, and onnx {onnx.__version__} knows them "
            f"to version {newest}: install a newer onnx"
        )
    proto = renewed(proto, lambda node: not unchanged(node, versions, OLDEST), OLDEST)
    versions = _versions(proto)
    if not proto.graph.output:
        raise ModelError("the model has no graph, or a graph without outputs")
    bound = Bound.of(dims or {})
    reading = _Graph(versions)
    declared = {value.name: value for value in proto.graph.input}
    for name, value in (known or {}).items():
        if name not in declared:
            raise ModelError(f"the model has no input {name!r}")
        reading.bind(name, declared[name].type, value, bound)
    return reading.model(proto.graph, bound)


def _versions(proto: onnx.ModelProto) -> dict[str, int]:
    return {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}


def _made(operator: Callable[[Node], _Found], node: Node) -> _Found:
    """The result of an operator's function for a node. Raises ModelError."""
    try:
        return operator(node)
    except ModelError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError) as error:
        raise node.refuse(f"its inputs and attributes do not fit together ({error})") from None
    except ValueError as error:  # ProblemError too
        raise node.refuse(str(error)) from None


class _Graph(Reading):
    """The graph of a model."""

    def model(self, graph: onnx.GraphProto, bound: Bound) -> Model:
        if graph.sparse_initializer:
            raise ModelError(f"{graph.sparse_initializer[0].values.name}: sparse weights are not supported")
        for tensor in graph.initializer:
            if self.has(tensor.name):
                continue  # the caller knows other numbers
            self.know(tensor.name, weight(tensor))
        open_inputs = [value for value in graph.input if not self.has(value.name)]
        bound.check(graph, [value.name for value in open_inputs])
        inputs = self.given = tuple(leaf for value in open_inputs for leaf in self.input(value.name, value.type, bound))
        for number, node in enumerate(graph.node):
            for output in filter(None, node.output):
                if self.has(output):
                    raise ModelError(
                        f"node {node.name or number} ({node.op_type}) gives {output}, which is there already"
                    )
            self.node(node, node.name or f"{number}")
        for value in graph.output:
            if not self.has(value.name):
                raise ModelError(f"output {value.name} is computed by no node")
        outputs = tuple(leaf for value in graph.output for leaf in self.output(value.name))
        if not outputs:
            raise ModelError("the model's outputs are sequences and optionals without elements: nothing is computed")
        steps = tuple(self.steps)
        model = Model(
            graph.name, inputs, outputs, self.arrays, self.constants, self.views, steps, bound.extents, self.slices
        )
        return replace(model, steps=needed(steps, outputs, model.root))

    def input(self, name: str, type_: onnx.TypeProto, bound: Bound) -> tuple[str, ...]:
        """Declares an input. Returns the names of its arrays."""
        kind = type_.WhichOneof("value")
        if kind == "optional_type":  # of which a caller always gives one
            return self.input(name, type_.optional_type.elem_type, bound)
        if kind == "sequence_type":
            parts = self.sequences[name] = bound.elements(name)
            return tuple(leaf for part in parts for leaf in self.input(part, type_.sequence_type.elem_type, bound))
        array = self.arrays[name] = bound.declared(name, type_, bound.shapes.get(name, ()))
        if 0 in array.shape:
            self.empty(array.name, array.dtype, array.shape)
        return (name,)

    def bind(self, name: str, type_: onnx.TypeProto, value: Any, bound: Bound) -> None:
        """An input whose numbers are the same at every call."""
        kind = type_.WhichOneof("value")
        if kind == "optional_type" and value is None:
            self.absent |= {name}
        elif kind == "optional_type":
            self.bind(name, type_.optional_type.elem_type, value, bound)
        elif kind == "sequence_type":
            if not isinstance(value, (list, tuple)):
                raise ModelError(f"known: {name} is a sequence: give a list of arrays")
            parts = self.sequences[name] = tuple(f"{name}[{place}]" for place in range(len(value)))
            for part, each in zip(parts, value):
                self.bind(part, type_.sequence_type.elem_type, each, bound)
        else:
            numbers = numbers_of(name, type_, value)
            array = bound.declared(name, type_, numbers.shape)
            self.know(name, numbers)
            given = self.arrays[name]
            if given.shape != array.shape or given.dtype != array.dtype:
                raise ModelError(
                    f"known: {name} is {self.told(name)}, and the model's is {array.dtype}{list(array.shape)}"
                )

    def output(self, name: str) -> tuple[str, ...]:
        """The names of the arrays of an output; those of a sequence are `name[0]`, `name[1]` and so on."""
        if name not in self.sequences:
            return self.leaves(name)
        parts = []
        for place, each in enumerate(self.sequences[name]):
            parts.append(f"{name}[{place}]")
            self.alias(parts[-1], each)
        return tuple(leaf for part in parts for leaf in self.output(part))

    def node(self, proto: onnx.NodeProto, name: str) -> None:
        """Reads a node: it becomes constants, views, or a step."""
        try:
            self.translated(proto, name)
        except Unknown as error:
            given = [proto.input[place] for place in error.places if place < len(proto.input)]
            raise Unsupported(f"{error}{self.bindable(filter(None, given)) or END_BEFORE}") from None

    def translated(self, proto: onnx.NodeProto, name: str) -> None:
        """The translation of a node. Raises Unknown where an input must be known."""
        for given in proto.input:
            if given and not self.has(given):
                raise ModelError(f"node {name} ({proto.op_type}) reads {given}, which nothing computes")
        if strange := strange_attributes(proto, self.versions):
            raise Unsupported(f"node {name} ({proto.op_type}): there is no attribute {strange[0]}")
        if control(self, proto, name) or sequence(self, proto, name):
            return
        if recurrent(self, proto, name) or self.folded(proto):
            return
        node = self.seen(proto, name)
        if not unchanged(proto, self.versions, OLDEST):
            raise node.refuse(
                f"it is of version {self.version} of the operators, and differs from that of version {OLDEST}, the "
                "oldest that is supported: convert the model with onnx.version_converter"
            )
        if body := _made(rewritten, node):
            self.expanded(proto, node, body)
            return
        if node.op not in OPERATORS:
            self.expanded(proto, node, self.defined(proto, node))
            return
        strange = [array.dtype for array in node.inputs if array and not is_computed(array.dtype)]
        if strange and node.op not in MOVING:
            raise node.refuse(f"numbers of {strange[0]} are not computed with: cast them before")
        if any(array and 0 in array.shape for array in node.inputs) and self.emptied(proto):
            return
        made = _made(OPERATORS[node.op], node)
        try:
            add(self, proto, node, made)
        except ModelError:
            raise
        except ProblemError as error:
            raise node.refuse(str(error)) from None

    def seen(self, proto: onnx.NodeProto, name: str) -> Node:
        """The node as its operator sees it."""
        inputs = tuple(self.arrays[given] if given else None for given in proto.input)
        known = tuple(self.constants.get(given) for given in proto.input)
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        attributes |= {n: weight(value) for n, value in attributes.items() if isinstance(value, onnx.TensorProto)}
        return Node(self.called(proto), name, self.version, attributes, inputs, known, tuple(proto.output))

    @staticmethod
    def called(proto: onnx.NodeProto) -> str:
        """The name of an operator, with its domain where that is another than onnx's own."""
        return proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"

    def folded(self, proto: onnx.NodeProto) -> bool:
        """Whether the node's outputs are known now."""
        feeds = {name: self.constants.get(name) for name in proto.input if name}
        for name in unread(proto):
            feeds[name] = self.zeros(name)
        if is_random(proto) or proto.op_type in MISTAKEN or any(value is None for value in feeds.values()):
            return False
        try:
            values = evaluated(proto, feeds, self.versions)
        except Unsupported:
            if self.called(proto) in OPERATORS:
                return False  # where the reference fails, the operator's own program computes it
            raise
        for name, value in zip(filter(None, proto.output), values):
            self.know(name, value)
        return True

    def emptied(self, proto: onnx.NodeProto) -> bool:
        """Whether no output has elements. onnx's reference computes this with zeros for unknown inputs."""
        feeds = {name: self.constants.get(name, self.zeros(name)) for name in filter(None, proto.input)}
        # Whole numbers after the first input may decide shapes.
        rest = [name for name in list(proto.input)[1:] if name and name not in self.constants]
        if any(self.arrays[name].dtype in INTEGERS for name in rest):
            return False
        try:
            found = evaluated(proto, feeds, self.versions)
        except Unsupported:
            return False  # zeros may be no valid input
        if any(value.size for value in found):
            return False
        for name, value in zip(filter(None, proto.output), found):
            self.know(name, value)
        return True

    def defined(self, proto: onnx.NodeProto, node: Node) -> onnx.FunctionProto:
        """The nodes that the standard defines an operator by."""
        body = definition(proto, self.versions, node.inputs)
        if body is None:
            theirs = proto.domain.partition(".")[0] not in ("", "ai")
            why = f"no operator of {proto.domain} is supported" if theirs else "it is not supported"
            raise node.refuse(f"{why}{END_BEFORE}")
        return body

    def expanded(self, proto: onnx.NodeProto, node: Node, body: onnx.FunctionProto) -> None:
        """Reads other nodes in place of an operator."""
        names = {each: f"\0{proto.output[0]}.{each}" for one in body.node for each in one.output if each}
        names |= (
            dict.fromkeys(body.input, "") | dict(zip(body.input, proto.input)) | dict(zip(body.output, proto.output))
        )
        given = defaults(proto, self.versions) | {a.name: a for a in proto.attribute}
        versions = self.versions
        self.versions = versions | {entry.domain or "ai.onnx": entry.version for entry in body.opset_import}
        try:
            for number, each in enumerate(body.node):
                self.node(with_attributes(renamed(each, names), given), f"{node.name}.{each.op_type}{number}")
        finally:
            self.versions = versions
