"""Compares a compiled model with onnx's reference, node by node in NumPy, on random inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, prod
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from cpu.runtime.numbers import ELEMENTS, from_bits, in_memory
from graph.calls.compiled import CompiledModel
from graph.calls.differences import apart
from graph.calls.random_inputs import random_inputs
from graph.model.language import Branch, Copy, Loop, Step
from tiling.problem import Problem
from tiling.program.language import Statement

# What onnx 1.23.2's reference takes, counted in operations of a product: it makes 2e9 of them a second on a Zen 5.
_NODE = 1 << 15  # 20 µs for a node, as 60,000 iterations of a small loop take
_POINT = 16  # 8 ns a number of a map
_REDUCED = 1 << 10  # 0.6 µs a number of a MaxPool, in Python; sums are faster, and AveragePool is slower, 2 µs


def reference_work(steps: Iterable[Step]) -> float:
    """About what the reference takes for these steps, in operations of products; infinite for an open loop."""
    return sum(map(_work, steps))


def _work(step: Step) -> float:
    work = step.work
    if isinstance(work, Loop):
        return (work.iterations if isinstance(work.iterations, int) else inf) * reference_work(work.body)
    if isinstance(work, Branch):
        return max(reference_work(work.then), reference_work(work.otherwise))
    if isinstance(work, Copy):
        return _NODE
    if isinstance(work, Problem):
        return _NODE + work.flops
    return sum(_NODE + _points(statement, work.extents) for statement in work.program.statements)


def _points(statement: Statement, extents: Mapping[str, int]) -> int:
    """About what the reference takes for a statement: each is a node of its own there."""
    points = prod(extents[dim] for dim in (*statement.dims, *statement.reduced))
    return points * (_REDUCED if statement.reduced else _POINT)


def reference_error(proto: onnx.ModelProto, known: Mapping[str, Any], model: CompiledModel) -> float | str:
    """The largest difference of an output, divided by that output's largest number; or a sentence where there is none.

    known: the inputs that the model was compiled with.
    """
    if any(each.type.WhichOneof("value") != "tensor_type" for each in (*proto.graph.input, *proto.graph.output)):
        return "not made: sequences and optionals are not compared"
    types = {
        each.name: onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type) for each in proto.graph.input
    }
    inputs = random_inputs(model, 0)
    if any(array.dtype == "bf16" for array in model.inputs):
        return "not made: NumPy has no bf16"
    feeds = {array.name: _typed(x, array.dtype, types[array.name]) for array, x in zip(model.inputs, inputs)}
    for name, value in known.items():
        feeds[name] = np.asarray(value, types[name])
    try:
        with np.errstate(all="ignore"):
            wanted = ReferenceEvaluator(proto).run(None, feeds)
    except Exception as error:  # whatever the reference raises, it cannot compute this model
        return f"not made: onnx's reference fails: {' '.join(str(error).split()):.200}"
    found = 0.0
    for array, y, other in zip(model.outputs, model(*inputs), wanted, strict=True):
        here, there = _numbers(y, array.dtype), _numbers(in_memory(np.asarray(other), array.dtype), array.dtype)
        difference = apart(here, there)
        if difference == inf:
            return f"{array.name} differs from that of onnx's reference: {_told(here, there)}"
        found = max(found, difference)
    return found


def _typed(bits: np.ndarray, dtype: str, wanted: np.dtype) -> np.ndarray:
    """An input as the reference takes it: the inverse of `in_memory`."""
    if bits.dtype == wanted:
        return bits
    return bits.astype(wanted) if "int" in ELEMENTS[dtype].named else bits.view(wanted)


def _numbers(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers that can be compared: f16 and bf16 as f32, whose differences do not overflow; f8 and f4 as their bits."""
    if dtype == "bf16":
        return from_bits(values, dtype)
    return values.astype(np.float32) if dtype == "f16" else values


def _told(here: np.ndarray, there: np.ndarray) -> str:
    """Why two arrays have no relative difference."""
    if here.shape != there.shape:
        return f"its shape is {here.shape}, and not {there.shape}"
    if here.dtype.kind == "f":
        return "other numbers of it are NaN or infinite"
    far = np.abs(here.astype(np.float64) - there.astype(np.float64))
    return f"{np.count_nonzero(here != there):,} of {here.size:,} whole numbers, by at most {np.max(far):g}"
