"""The state of a random model while operators are drawn, and the parts that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random

import numpy as np
import onnx
from onnx import TensorProto, helper

BITS = 22  # of f32's 24: the sums of a product's parts may be larger than its result
OPSET = 18
TYPES = {"f32": TensorProto.FLOAT, "s64": TensorProto.INT64, "bool": TensorProto.BOOL, "s32": TensorProto.INT32}
KINDS = {"f32": np.float32, "s64": np.int64, "bool": np.bool_, "s32": np.int32}


@dataclass(frozen=True)
class Value:
    """An array of the model. most: the largest magnitude. halves: whole numbers of 2 ** -halves."""

    name: str
    shape: tuple[int, ...]
    most: int = 2
    halves: int = 0
    dtype: str = "f32"

    @property
    def axes(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return prod(self.shape)


class Impossible(Exception):
    """No such operator here: another one is drawn."""


@dataclass
class Drawing:
    """What is drawn so far."""

    random: Random
    values: list[Value] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    weights: dict[tuple[int, ...], str] = field(default_factory=dict)
    count: int = 0

    @staticmethod
    def declared(value: Value) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(value.name, TYPES[value.dtype], value.shape)

    def constant_value(self, name: str) -> onnx.ValueInfoProto:
        numbers = self.constants[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numbers.dtype), numbers.shape)

    # --- parts

    def numbers(self, shape: tuple[int, ...], most: int = 2) -> np.ndarray:
        drawn = np.random.default_rng(self.random.randrange(2**32))
        return drawn.integers(-most, most + 1, shape).astype(np.float32)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, numbers: np.ndarray, stem: str = "c") -> str:
        name = self.fresh(stem)
        self.constants[name] = numbers
        return name

    def value(self, wanted: Callable[[Value], bool] = lambda value: True) -> Value:
        """A value for an operator, most often one of the last."""
        found = [value for value in self.values if value.dtype == "f32" and wanted(value)]
        if not found:
            raise Impossible
        draw = self.random.random()
        return found[-1] if draw < 0.4 else self.random.choice(found[-3:] if draw < 0.75 else found)

    def node(self, op: str, inputs: list[str], *outputs: Value, **attributes: object) -> None:
        for value in outputs:
            if value.most << value.halves >= 1 << BITS or value.elements > 20000 or 0 in value.shape:
                raise Impossible
        self.nodes.append(helper.make_node(op, inputs, [v.name for v in outputs], self.fresh("n"), **attributes))
        self.values += outputs

    def made(self, shape: tuple[int, ...], like: Value, **changed: int | str) -> Value:
        facts: dict[str, object] = {"most": like.most, "halves": like.halves, "dtype": like.dtype} | changed
        return Value(self.fresh("v"), tuple(int(extent) for extent in shape), **facts)  # type: ignore[arg-type]
