"""`python -m bench --models` against other libraries, where they are installed."""

from dataclasses import asdict

import pytest

from bench.command import main
from bench.studies.networks import models, trained
from bench.studies.networks.models import ModelRace, differences, head, row, summary
from tests.support.models.onnx_models import residual_network


def race(name, ours, **peers):
    return ModelRace(name, 1, ours, peers, dict.fromkeys(peers, 0.0), {})


def test_the_summary_names_the_models_on_which_a_peer_is_faster():
    results = [race("slow", 2.0, ort=1.0, openvino=3.0), race("fast", 1.0, ort=8.0), race("alone", 1.0)]
    assert summary(results).endswith("takes 2.00 times as long in the geometric mean, and is faster on 1 of 2: slow")
    assert summary(results[2:]) == "no peer could be compared"


def test_the_table_has_a_column_a_peer():
    peers = ["ort", "openvino"]
    assert head(peers).splitlines()[0] == "| model | threads | Tilewright | ort | openvino | fastest peer |"
    assert row(race("net", 0.002, ort=0.003), peers) == "| net | 1 | 2.00 | 3.00 | – | 1.50 |"


def test_differences_are_the_largest_of_each_peer():
    results = [
        ModelRace("a", 1, 1.0, {"ort": 1.0}, {"ort": 2e-6}, {}),
        ModelRace("b", 1, 1.0, {"ort": 1.0}, {"ort": 1e-7}, {}),
    ]
    assert differences(results).endswith("from ort by 2.0e-06")
    assert differences([race("alone", 1.0)]) == "no outputs were compared"


def test_each_row_is_printed_once_and_a_run_without_any_peer_fails(tmp_path, capsys, monkeypatch):
    path = tmp_path / "net.onnx"
    path.touch()
    found = [
        race("net", 0.002, ort=0.003),
        ModelRace("net", 1, 0.002, {}, {}, {"ort": "No module named 'onnxruntime'"}),
    ]
    monkeypatch.setattr(models, "_race", lambda *_: found.pop(0))
    assert main(["--models", str(path)]) == 0
    assert capsys.readouterr().out.count("| net | 1 | 2.00 |") == 1
    assert main(["--models", str(path)]) == 1
    shown = capsys.readouterr()
    assert shown.out.count("| net | 1 | 2.00 | – | – |") == 1
    assert "net: ort is left out" in shown.err and "net: none of ort can be timed" in shown.err


@pytest.mark.slow
def test_a_model_is_timed_beside_the_peers_that_are_installed(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    proto = residual_network()
    proto.ir_version = 8
    path.write_bytes(proto.SerializeToString())
    assert main(["--models", str(path), "--dim", "batch=1", "--peers", "ort", "inductor"]) == 0
    shown = capsys.readouterr()
    assert "| net | 1 | " in shown.out and "inductor is left out" in shown.err
    assert main(["--models", str(path)]) == 1  # an open dim
    assert "axis 0 is open" in capsys.readouterr().err


def test_libraries_that_crash_together_are_refused(capsys):
    assert main(["--models", "resnet18", "--peers", "openvino", "inductor"]) == 2
    assert capsys.readouterr().err == "openvino and inductor crash in one process: time one, then the other\n"


def test_help_stands_behind_the_option_that_asks_for_it(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--models", "--help"])
    assert ended.value.code == 0 and "--algorithm" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--budget", "5"], ["--algorithm", "auto"], ["--peers", "openvino"]])
def test_waiting_takes_no_option_that_it_would_ignore(words, capsys):
    assert main(["--models", "resnet18", "--waiting", *words]) == 2
    assert f"leave {words[0]} out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["vgg19"], "vgg19 is neither a file nor one of resnet18, "),
        (["resnet81"], "resnet81 (did you mean resnet18 or "),
        ([], "--models: give resnet18, "),
    ],
)
def test_models_that_nobody_knows_are_told_before_anything_is_timed(words, told, capsys):
    assert main(["--models", *words]) == 2
    assert (found := capsys.readouterr().err).startswith(told) and found.count("\n") == 1


def test_a_batch_is_for_networks_by_name(tmp_path, capsys, monkeypatch):
    path = tmp_path / "net.onnx"
    path.touch()
    assert main(["--models", str(path), "--batch", "4"]) == 2
    assert capsys.readouterr().err == (
        f"--batch is for networks by name, and {path} is a file: bind its open dims by --dim\n"
    )
    asked = []

    class Ended:
        """A worker that times whatever it is given."""

        def __init__(self, **_): ...

        def close(self): ...

        def call(self, function, timeout, **given):
            return asdict(race(given["name"], 0.002, ort=0.003))

    monkeypatch.setattr(models, "exported", lambda *given: asked.append(given) or path)
    monkeypatch.setattr(models, "Worker", Ended)
    assert main(["--models", "resnet50", "--batch", "4"]) == 0
    assert asked == [("resnet50", 4)] and "| resnet50-b4 | 1 | 2.00 | 3.00 |" in capsys.readouterr().out
    shown = []
    monkeypatch.setattr(models.waiting, "show", lambda named, *_: shown.extend(named) or 0)
    assert main(["--models", "resnet50", "--batch", "4", "--waiting"]) == 0
    assert shown == [("resnet50-b4", path)]


@pytest.mark.slow
def test_a_file_that_is_no_model_is_one_sentence(tmp_path, capsys):
    (tmp_path / "bad.onnx").write_text("garbage")
    assert main(["--models", str(tmp_path / "bad.onnx")]) == 1
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'bad.onnx'}: {tmp_path / 'bad.onnx'} is no ONNX file, ")


def test_what_is_not_there_is_one_sentence(capsys, monkeypatch):
    def without(name, batch):
        raise ModuleNotFoundError("No module named 'torch'")

    monkeypatch.setattr(models, "exported", without)
    assert main(["--models", "resnet18"]) == 1
    assert capsys.readouterr().err == "resnet18: No module named 'torch': pip install 'tilewright[peers,models]'\n"
    assert trained.main(["nonsense"]) == 2
    assert "no model has one of nonsense in its name; the wheels are magika, " in capsys.readouterr().err
