"""What a user of a model waits for, measured."""

import pytest
from onnx import helper, shape_inference

from bench.command import main
from bench.studies.networks.waiting import Waiting
from tests.support.models.onnx_models import model, whole


def test_what_is_more_than_it_may_be_is_told():
    small = Waiting("net", 1, 10.0, 2.0, 0.01, 0.12, 0.03, 1_500_000, 3_000_000)
    assert not small.missed
    assert small.row == "| net | 1 | 10.0 | 2.0 | 10.0 | 120.0 | 30.0 | 1.50 | 3.0 |"
    large = Waiting("net", 1, 61.0, 2.0, 0.3, 0.14, 0.03, 2_100_000, 30_000_000)
    assert [each.partition(",")[0] for each in large.missed] == [
        "61 s to compile",
        "0.3 s to load",
        "0.11 s from the start to the end of a call",
        "2.1 MB of library",
        "30 MB beside weights and arena",
    ]


@pytest.mark.slow
def test_the_command_measures_processes_that_start_afresh(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bench.studies.networks.waiting._TIMES", 3)  # of each kind
    path = tmp_path / "net.onnx"
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], "conv"), helper.make_node("Softmax", ["a"], ["y"], "softmax")]
    made = model(nodes, {"x": ["batch", 3, 8, 8]}, ["y"], {"w": whole(1, 8, 3, 3, 3)})
    path.write_bytes(shape_inference.infer_shapes(made).SerializeToString())
    main(["--models", str(path), "--dim", "batch=1", "--waiting"])
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| net "))
    cold, kept, loaded, first, reading, library, beside = (float(each) for each in row.split("|")[3:-1])
    assert cold >= kept > 0 and loaded > 0 and first > reading >= 0
    assert 0 < library < 2 and 0 < beside < 20
    assert main(["--models", str(path), "--waiting"]) == 1  # an open dim
    shown = capsys.readouterr()
    assert shown.err.startswith("net: input x: axis 0 is open") and "nothing is more" not in shown.out
