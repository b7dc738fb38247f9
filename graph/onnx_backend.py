"""`onnx.backend.base.Backend`: onnx's own test runner, and other tools, call compiled models through this interface.

    from graph.onnx_backend import Tilewright
    outputs = Tilewright.run_model(proto, [x])

A model is compiled at the first call of each shape of its inputs.
"""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from graph.calls.arguments import given_for
from graph.calls.compiled import CompiledModel
from graph.model.language import ModelError
from graph.onnx.inputs import bound_by, flattened, gathered
from graph.plan import Plan

# An input that decides shapes or loops is a small array of whole numbers; its numbers are then part of the model.
_DECIDES = 64  # elements at most


class NotCovered(ModelError, unittest.SkipTest):
    """A model that cannot be compiled. A test runner takes this to mean that the backend does not have to run it."""


class Representation(BackendRep):
    """A model that is ready to run."""

    def __init__(self, proto: onnx.ModelProto, threads: int):
        self.proto, self.threads = proto, threads
        weights = {tensor.name for tensor in proto.graph.initializer}
        self.inputs = [value.name for value in proto.graph.input if value.name not in weights]
        self.found: dict[object, CompiledModel] = {}

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the model's order. inputs: in the model's order, or by name. Raises ModelError.

        A value is an array, a list of arrays for a sequence, or None for an optional without an element.
        """
        if not isinstance(inputs, Mapping):
            given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
            if len(given) > len(self.inputs):
                raise ModelError(given_for(len(given), len(self.inputs)))
            inputs = dict(zip(self.inputs, given))
        for name, value in inputs.items():
            if isinstance(value, dict):
                raise NotCovered(f"input {name} is a map: only tensors, sequences and optionals are supported")
        values = {name: _value(value) for name, value in inputs.items()}
        arrays = {leaf: array for name, value in values.items() for leaf, array in flattened(name, value).items()}
        key = (*values, *((name, array.dtype.str, array.shape) for name, array in arrays.items()))
        model = self.found.get(key) or self.compiled(values)
        if len(model.inputs) == len(arrays):  # else the compiled model is for these numbers only
            self.found[key] = model
        found = model.run({array.name: arrays[array.name] for array in model.inputs})
        return tuple(gathered(value, found) for value in self.proto.graph.output)

    def compiled(self, given: Mapping[str, Any]) -> CompiledModel:
        absent = {name: None for name, value in given.items() if value is None}
        arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
        small = {name: array for name, array in arrays.items() if array.size <= _DECIDES and array.dtype.kind in "iub"}
        dims: dict[str, Any] = {}
        for name, value in given.items():
            dims |= bound_by(name, value)
        dims = {name: bound for name, bound in dims.items() if bound != ()}
        try:
            return Plan(self.proto, absent, self.threads).compiled(dims)
        except ModelError as error:
            if not small or len(small) == len(given):
                raise NotCovered(str(error)) from error
        try:
            rest = {name: bound for name, bound in dims.items() if name not in small}
            return Plan(self.proto, absent | small, self.threads).compiled(rest)
        except ModelError as error:
            raise NotCovered(str(error)) from error


def _value(value: Any) -> Any:
    """A value of a call: an array, a list of such, or None."""
    if value is None:
        return None
    return [_value(each) for each in value] if isinstance(value, (list, tuple)) else np.asarray(value)


class Tilewright(Backend):
    """Compiles models to C for this CPU. Nodes that are not covered are found in a run, when all shapes are known."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", threads: int = 1, **kwargs: Any) -> Representation:
        """The model, ready to run. Raises what onnx's checker raises, and ModelError for another device."""
        if not cls.supports_device(device):
            raise ModelError(f"device {device} is not supported: tilewright computes on the CPU")
        super().prepare(model, device, **kwargs)
        return Representation(model, threads)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """The outputs of a model."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The outputs of one node. opset_version: that of its operator, by default the newest."""
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        arrays = inputs if isinstance(inputs, Mapping) else dict(zip([each for each in node.input if each], inputs))
        values = []
        for name, array in arrays.items():
            kind = helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
            values.append(helper.make_tensor_value_info(name, kind, np.shape(array)))
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        opset = helper.make_opsetid(node.domain, kwargs.get("opset_version", onnx.defs.onnx_opset_version()))
        proto = helper.make_model(helper.make_graph([node], "node", values, outputs), opset_imports=[opset])
        return Representation(proto, 1).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device, such as "CPU" or "CUDA:0", is the CPU."""
        return device.partition(":")[0] == "CPU"


# What `onnx.backend.test.BackendTest` takes: a module with these functions, or the class.
prepare, run_model, run_node = Tilewright.prepare, Tilewright.run_model, Tilewright.run_node
supports_device = Tilewright.supports_device
