"""A model whose weights lie in a file of their own."""

from __future__ import annotations

from onnx import TensorProto, helper

from tests.support.models.onnx_models import model

node = helper.make_node


def saved(folder, weights_bytes, shape):
    """y = rows i of the weights w, which lie in w.bin. w.bin itself is not written."""
    made = model([node("Gather", ["w", "i"], ["y"], axis=0)], {}, ["y"])
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, shape[1]]))
    made.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, [2]))
    outside = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(weights_bytes))):
        outside.external_data.add(key=key, value=value)
    made.graph.initializer.append(outside)
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path
