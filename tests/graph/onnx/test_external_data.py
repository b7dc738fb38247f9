"""Weights in files of their own, beside the model's, which may be larger than protobuf's 2 GB."""

import os

import numpy as np
import pytest
from onnx import TensorProto, helper

from graph import ModelError, compile_model
from tests.support.models.onnx_models import model, whole

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


def test_weights_are_read_from_their_file(tmp_path, monkeypatch):
    w = whole(0, 5, 3)
    path = saved(tmp_path, w.nbytes, w.shape)
    w.tofile(tmp_path / "w.bin")
    assert compile_model(path)(np.array([4, 1]))[0].tolist() == w[[4, 1]].tolist()
    monkeypatch.chdir(tmp_path)
    assert compile_model("model.onnx")(np.array([0, 2]))[0].tolist() == w[[0, 2]].tolist()


@pytest.mark.parametrize("kept", [None, 30])
def test_weights_that_are_missing_or_cut_short_are_one_sentence(tmp_path, kept):
    path = saved(tmp_path, 60, (5, 3))
    if kept:
        (tmp_path / "w.bin").write_bytes(bytes(kept))
    with pytest.raises(ModelError) as error:
        compile_model(path)
    assert str(path) in str(error.value) and "w" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.soak
def test_a_model_above_2_gb_is_compiled(tmp_path):
    rows, columns = 150_000, 4096
    size = 4 * rows * columns
    if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") < 6 * size:
        pytest.skip("there is too little memory")
    path = saved(tmp_path, size, (rows, columns))
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(size)  # zeros, which take no space
        file.seek(size - 4)
        file.write(np.float32(7).tobytes())
    (y,) = compile_model(path)(np.array([0, rows - 1]))
    assert y.sum() == 7 == y[1, -1]
