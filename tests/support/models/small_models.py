"""The smallest models, for tests of files, arrays and folders that are not as they should be."""

from functools import cache

import numpy as np
from onnx import TensorProto, helper

from graph import compile_model
from tests.support.models.onnx_models import model, whole

node = helper.make_node
X = whole(0, 2, 3)
WEIGHT = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
UNREAD = np.zeros(4, np.float32)


def relu(nodes=(), **how):
    return model([node("Relu", ["x"], ["y"], "r"), *nodes], {"x": [2, 3]}, ["y"], **how)


def with_weight(**fields):
    """x + w, where w may be as a file should not have it."""
    made = model([node("Add", ["x", "w"], ["y"], "a")], {"x": [2, 3]}, ["y"])
    facts = {"name": "w", "data_type": TensorProto.FLOAT, "dims": [2, 3], "raw_data": WEIGHT.tobytes()}
    made.graph.initializer.append(TensorProto(**{**facts, **fields}))
    return made


@cache
def tiny_model():
    """A compiled model of two outputs, with an input that nothing reads: pass UNREAD for it."""
    nodes = [node("Neg", ["x"], ["z"], "n")]
    given = model([node("Relu", ["x"], ["y"], "r"), *nodes], {"x": [2, 3], "unread": [4]}, ["y", "z"])
    return compile_model(given, name="tiny")
