"""`python -m bench.models` against ONNX Runtime, where that is installed."""

import pytest

from bench.studies.models import Race, main, summary
from tests.support.onnx_models import residual_network


def test_the_summary_names_the_models_on_which_the_peer_is_faster():
    results = [Race("slow", 1, 2.0, 1.0, 0.0), Race("fast", 1, 1.0, 8.0, 0.0)]
    assert summary(results).endswith("takes 2.00 times as long in the geometric mean, and is faster on 1 of 2: slow")


@pytest.mark.slow
def test_a_model_is_timed_beside_onnx_runtime(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    proto = residual_network()
    proto.ir_version = 8
    path.write_bytes(proto.SerializeToString())
    assert main([str(path), "--dim", "batch=1"]) == 0
    assert "net " in capsys.readouterr().out
    assert main([str(path)]) == 1  # an open dim
    assert "axis 0 is open" in capsys.readouterr().err
