"""The backend for onnx: what it prepares, runs and refuses. onnx's own runner drives it in `test_conformance.py`."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import graph.onnx_backend as backend
from graph import ModelError
from tests.support.models.onnx_models import residual_network, whole


@pytest.mark.slow
def test_a_model_is_compiled_for_each_shape():
    ready = backend.Tilewright.prepare(residual_network())
    for batch in (1, 2, 1):
        (y,) = ready.run([whole(0, batch, 3, 16, 16)])
        assert y.shape == (batch, 10)
    assert len(ready.found) == 2


def test_a_node_runs_by_itself():
    node = helper.make_node("Add", ["a", "b"], ["y"])
    a, b = whole(0, 2, 3), whole(1, 3)
    (y,) = backend.run_node(node, [a, b])
    assert y.tolist() == (a + b).tolist()


def test_numbers_that_decide_shapes_are_known_in_the_call():
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])]
    values.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [1]))
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    ready = backend.prepare(helper.make_model(helper.make_graph([node], "sum", values, [output])))
    x = whole(0, 3, 4)
    for axis in (0, 1):
        assert ready.run([x, np.array([axis])])[0].tolist() == x.sum(axis).tolist()


def test_other_devices_are_refused():
    assert backend.supports_device("CPU:0") and not backend.supports_device("CUDA")
    with pytest.raises(ModelError, match="device CUDA is not supported"):
        backend.prepare(residual_network(), "CUDA")
