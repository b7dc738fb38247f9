"""Models that others have trained, as their wheels carry them, beside ONNX Runtime."""

from __future__ import annotations

import pytest

import bench.studies.networks.trained as trained


@pytest.mark.parametrize("model", trained.TRAINED, ids=lambda model: f"{model.wheel}:{model.file}")
def test_a_trained_model_agrees_with_onnx_runtime(model, tmp_path_factory):
    pytest.importorskip("onnxruntime")
    try:
        ((agrees, line),) = trained.checked([model], tmp_path_factory.getbasetemp() / "trained", 1)
    except trained.Unavailable as error:
        pytest.skip(str(error))
    assert agrees, line
