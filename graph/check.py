"""Compares a compiled model with onnx's reference, node by node in NumPy, on random inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from cpu.runtime.numbers import from_bits
from graph.calls.compiled import CompiledModel
from graph.calls.differences import apart
from graph.calls.turns import random_inputs


def reference_error(proto: onnx.ModelProto, known: Mapping[str, Any], model: CompiledModel) -> float | str:
    """The largest difference of an output, divided by that output's largest number; or a sentence where there is none.

    known: the inputs that the model was compiled with.
    """
    types = {each.name: each.type.tensor_type.elem_type for each in proto.graph.input}
    inputs = random_inputs(model, 0)
    given = {array.name: array.dtype for array in model.inputs}
    if not {*given} <= {*types} or len(model.outputs) != len(proto.graph.output):
        return "not made: sequences and optionals are not compared"
    if "bf16" in given.values():
        return "not made: NumPy has no bf16"
    feeds = dict(zip(given, inputs))
    for name, value in known.items():
        feeds[name] = np.asarray(value, onnx.helper.tensor_dtype_to_np_dtype(types[name]))
    try:
        with np.errstate(all="ignore"):
            wanted = ReferenceEvaluator(proto).run(None, feeds)
    except Exception as error:  # whatever the reference raises, it cannot compute this model
        return f"not made: onnx's reference fails: {' '.join(str(error).split()):.200}"
    pairs = zip(model.outputs, model(*inputs), wanted)
    found = {array.name: apart(_numbers(y, array.dtype), _numbers(z, array.dtype)) for array, y, z in pairs}
    for name, each in found.items():
        if each == np.inf:  # as of an index whose largest number has an equal elsewhere
            return f"whole numbers, or a NaN, of {name} differ from those of onnx's reference"
    return max(found.values(), default=0.0)


def _numbers(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers that can be compared: f16 as f32, whose differences do not overflow, and bf16 as f32."""
    if dtype == "bf16" and values.dtype == np.uint16:
        return from_bits(values, dtype)
    return values.astype(np.float32) if dtype in ("f16", "bf16") else np.asarray(values)
