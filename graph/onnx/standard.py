"""What onnx itself knows of an operator: its result for constants, and its definition by other operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graph.model.dtypes import DTYPES
from graph.model.language import ModelError
from graph.model.node import Unsupported
from tiling.program.infer import Array

_RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial")
# The operators that use only the shape and the dtype of some inputs, with the first of these inputs.
_UNREAD = {"Shape": 0, "Size": 0, "EyeLike": 0, "CastLike": 1}


# Operators that onnx's reference computes differently from the standard: its LRN walks as many channels as there are
# images.
MISTAKEN = ("LRN",)


def weight(tensor: onnx.TensorProto) -> np.ndarray:
    """The numbers of a tensor of a model. Raises ModelError where they are cut short, or lie in a file."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ModelError(f"{tensor.name}: its numbers lie in a file that is not loaded: give the path of the model")
    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:  # whatever onnx raises, the numbers cannot be had
        raise ModelError(f"{tensor.name}: its numbers cannot be read: {' '.join(str(error).split())}") from None


def is_random(proto: onnx.NodeProto) -> bool:
    """Whether a node gives different numbers at every call, so that it is never constant."""
    return proto.op_type in _RANDOM


def unread(proto: onnx.NodeProto) -> list[str]:
    """The inputs whose numbers are not read."""
    first = _UNREAD.get(proto.op_type)
    return [] if first is None else [name for name in list(proto.input)[first:] if name]


def unchanged(proto: onnx.NodeProto, versions: Mapping[str, int], oldest: int) -> bool:
    """Whether an operator of onnx's own, of a version before `oldest`, is still the same there."""
    version = versions.get("ai.onnx", oldest)
    if proto.domain not in ("", "ai.onnx") or version >= oldest:
        return True
    found = []
    for each in (version, oldest):
        try:
            found.append(onnx.defs.get_schema(proto.op_type, each).since_version)
        except onnx.defs.SchemaError:
            return False
    return found[0] == found[1]


def strange_attributes(proto: onnx.NodeProto, versions: Mapping[str, int]) -> list[str]:
    """The attributes of a node that its operator does not have; none where onnx does not know the operator."""
    try:
        schema = onnx.defs.get_schema(proto.op_type, versions.get(proto.domain or "ai.onnx", 1), proto.domain)
    except onnx.defs.SchemaError:
        return []
    if schema.deprecated:  # such a schema has no attributes
        return []
    return [attribute.name for attribute in proto.attribute if attribute.name not in schema.attributes]


def evaluated(proto: onnx.NodeProto, feeds: Mapping[str, Any], versions: Mapping[str, int]) -> list[np.ndarray]:
    """The result of a node for constants, by onnx's reference, for each output that has a name. Raises Unsupported."""
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()
    ]
    names = [name for name in proto.output if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    graph = helper.make_graph([proto], "constant", inputs, outputs)
    imports = [
        helper.make_opsetid("" if domain == "ai.onnx" else domain, version) for domain, version in versions.items()
    ]
    try:
        with np.errstate(all="ignore"):
            model = helper.make_model(graph, opset_imports=imports)
            found: Iterable[Any] = ReferenceEvaluator(model).run(names, dict(feeds))
            values = list(found)
    except Exception as error:  # whatever the reference raises, the node cannot be computed
        why = " ".join(str(error).split())
        raise Unsupported(f"node {proto.name or proto.op_type} ({proto.op_type}): {why}") from None
    if not all(isinstance(value, (np.ndarray, np.generic)) and value.dtype != object for value in values):
        raise Unsupported(f"node {proto.name or proto.op_type} ({proto.op_type}): it gives no tensor of numbers")
    return [np.asarray(value) for value in values]


def definition(
    proto: onnx.NodeProto, versions: Mapping[str, int], inputs: Sequence[Array | None]
) -> onnx.FunctionProto | None:
    """The nodes by which the standard defines an operator; None where it does not."""
    schema: Any  # onnx's types leave its functions out
    version = versions.get(proto.domain or "ai.onnx", 1)
    try:
        schema = onnx.defs.get_schema(proto.op_type, version, proto.domain)
    except onnx.defs.SchemaError:
        return None
    body = onnx.FunctionProto()
    if schema.has_function:
        body.CopyFrom(schema.function_body)
        return body
    if not schema.has_context_dependent_function:
        return None
    types = []
    kinds = {dtype: kind for kind, dtype in DTYPES.items()}
    for array in inputs:
        kind = onnx.TypeProto()
        if array is not None and array.dtype in kinds:
            kind = helper.make_tensor_type_proto(kinds[array.dtype], array.shape)
        types.append(kind.SerializeToString())
    try:
        body.ParseFromString(schema.get_context_dependent_function(proto.SerializeToString(), types))
    except Exception:  # the schema builds no body for these types
        return None
    return body if body.node else None


def defaults(proto: onnx.NodeProto, versions: Mapping[str, int]) -> dict[str, onnx.AttributeProto]:
    """The default attributes of an operator."""
    schema = onnx.defs.get_schema(proto.op_type, versions.get(proto.domain or "ai.onnx", 1), proto.domain)
    return {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type}


def with_attributes(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a definition, with the attributes of the operator that is defined in place of their names."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        value = onnx.AttributeProto()
        if not attribute.ref_attr_name:
            value.CopyFrom(attribute)
            if attribute.type == onnx.AttributeProto.GRAPH:
                del value.g.node[:]
                value.g.node.extend(with_attributes(each, given) for each in attribute.g.node)
        elif attribute.ref_attr_name in given:
            value.CopyFrom(given[attribute.ref_attr_name])
            value.name = attribute.name
        else:
            continue
        copy.attribute.append(value)
    return copy
