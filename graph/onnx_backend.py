"""`onnx.backend.base.Backend`, by which onnx's own runner of tests, and tools that know it, call compiled models.

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

from graph.build import compile_model
from graph.compiled import CompiledModel
from graph.model.language import ModelError

# An input that decides shapes or loops is a small array of whole numbers; its numbers are then part of the model.
_DECIDES = 64  # elements at most


class NotCovered(ModelError, unittest.SkipTest):
    """A model that cannot be compiled. A runner of tests takes it for one that this backend need not run."""


class Representation(BackendRep):
    """A model that is ready to run."""

    def __init__(self, proto: onnx.ModelProto, threads: int):
        self.proto, self.threads = proto, threads
        weights = {tensor.name for tensor in proto.graph.initializer}
        self.inputs = [value.name for value in proto.graph.input if value.name not in weights]
        self.found: dict[object, CompiledModel] = {}

    def run(self, inputs: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        """The outputs in the model's order. inputs: arrays in the model's order, or by name. Raises ModelError."""
        if not isinstance(inputs, Mapping):
            given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
            if len(given) > len(self.inputs):
                raise ModelError(f"{len(given)} arrays are given for {len(self.inputs)} inputs")
            inputs = dict(zip(self.inputs, given))
        for name, value in inputs.items():
            if value is None or isinstance(value, (list, tuple, dict)):
                raise NotCovered(f"input {name} is a sequence or an optional: only tensors are supported")
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        key = tuple((name, array.dtype.str, array.shape) for name, array in arrays.items())
        if key not in self.found:
            model = self.compiled(arrays)
            if len(model.inputs) < len(arrays):  # it holds for these numbers alone
                return tuple(model({array.name: arrays[array.name] for array in model.inputs}))
            self.found[key] = model
        return tuple(self.found[key](arrays))

    def compiled(self, arrays: Mapping[str, np.ndarray]) -> CompiledModel:
        shapes = {name: array.shape for name, array in arrays.items() if array.ndim}
        small = {name: array for name, array in arrays.items() if array.size <= _DECIDES and array.dtype.kind in "iub"}
        try:
            return compile_model(self.proto, dims=shapes, threads=self.threads)
        except ModelError as error:
            if not small or len(small) == len(arrays):
                raise NotCovered(str(error)) from error
        try:
            rest = {name: shape for name, shape in shapes.items() if name not in small}
            return compile_model(self.proto, dims=rest, known=small, threads=self.threads)
        except ModelError as error:
            raise NotCovered(str(error)) from error


class Tilewright(Backend):
    """Compiles models to C for this CPU. What is not covered is found out in a run, when all shapes are known."""

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
        """The outputs of one node. opset_version: of its operator, the newest by default."""
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
