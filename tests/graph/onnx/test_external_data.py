"""Weights in files of their own, beside the model's, which may be larger than protobuf's 2 GB."""

import numpy as np
import pytest

from graph import ModelError, compile_model
from tests.support.models.external_weights import saved
from tests.support.models.onnx_models import whole


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
