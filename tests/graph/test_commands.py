"""The commands `graph.compile` and `graph.run` on whole models: what they print, write and refuse."""

import json
import os

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from graph import ModelError, compile_model, load_model
from tests.support.models.onnx_models import model, residual_network, whole
from tilewright_entry import TilewrightWarning

node = helper.make_node


def test_files_that_are_no_models_are_one_sentence(tmp_path, capsys):
    from graph.compile import main

    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff\xfe not protobuf")
    none = tmp_path / "none.onnx"
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    for path, why in ((broken, "is no"), (none, f"there is no file {none}\n"), (pipe, "is no regular file")):
        assert main([str(path)]) == 2
        told = capsys.readouterr().err
        assert why in told and told.count("\n") == 1 and told.count(str(path)) == 1
    with pytest.raises(ModelError, match=r"^'a\\x00b' cannot be the name of a file: it has a NUL in it$"):
        compile_model("a\0b")
    with pytest.raises(ModelError, match=r"holds no saved model: model\.json: No such file or directory$"):
        load_model(tmp_path)
    (tmp_path / "layer_example.c").touch()
    with pytest.raises(ModelError, match=r"No such file or directory, but a kernel: load_kernel of the package search"):
        load_model(tmp_path)


@pytest.mark.slow
def test_the_command_says_how_far_outputs_are_from_the_reference(tmp_path, capsys, monkeypatch):
    from graph.calls.compiled import CompiledModel
    from graph.compile import main

    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    path = tmp_path / "net.onnx"
    path.write_bytes(residual_network().SerializeToString())
    words = [str(path), "--dim", "batch=2"]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert 0 <= facts["reference_error"] < 1e-5 and facts["unchecked"] == ""
    monkeypatch.setattr("graph.compile.CHECKED", 0)
    assert main(words) == 0
    assert "check     not made: --check compares the outputs" in capsys.readouterr().out
    right = CompiledModel.__call__
    monkeypatch.setattr(CompiledModel, "__call__", lambda self, *x, **y: [each * 2 for each in right(self, *x, **y)])
    assert main([*words, "--check"]) == 0
    assert "outputs differ from those of onnx's reference by 1.0e+00 of the largest" in capsys.readouterr().out


@pytest.mark.slow
def test_a_library_is_written_before_it_is_compared(tmp_path, capsys, monkeypatch):
    from graph.compile import main

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    monkeypatch.setattr("graph.check.reference_error", interrupted)
    path, folder = tmp_path / "net.onnx", tmp_path / "folder"
    path.write_bytes(residual_network().SerializeToString())
    assert main([str(path), "--dim", "batch=2", "--check", "--emit", str(folder)]) == 130
    assert load_model(folder).name == "net"


def test_a_step_is_told_with_the_size_of_its_arrays(tmp_path, capsys):
    """A gather is told as with its whole table, whose rows it reads few of: these are the arrays, not what moves."""
    from graph.compile import main

    gather = [node("Gather", ["table", "i"], ["y"])]
    rows = {"i": np.array([5, 1, 700, 3])}
    made, path = model(gather, {"table": [1000, 64]}, ["y"], rows), tmp_path / "rows.onnx"
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64]))
    path.write_bytes(made.SerializeToString())
    assert main([str(path), "--explain"]) == 0
    (step,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step")]
    assert 1000 * 64 * 4 + 4 * 8 + 4 * 64 * 4 == 257_056 and ", arrays of 257 KB: " in step


@pytest.mark.slow
def test_the_commands_compile_and_run(tmp_path, capsys, monkeypatch):
    from graph.compile import main as compile_main
    from graph.run import main as run_main

    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    path, folder = tmp_path / "net.onnx", tmp_path / "folder"
    path.write_bytes(residual_network().SerializeToString())
    assert compile_main([str(path), "--dim", "batch=1", "--emit", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    # How many conversions of layouts there are hangs on the machine.
    computing = [step for step in facts["steps"] if step["node"] != "layout"]
    assert len(facts["steps"]) == facts["kernels"] and len(computing) == 6 and facts["products"] == 4
    image, first = 4 * 3 * 16 * 16, next(step for step in computing if step["product"])
    assert first["bytes"] > image and all(step["bytes"] > 0 for step in computing)
    assert facts["seconds"] > 0 and facts["arena_bytes"] >= facts["arena_least"]
    x = whole(0, 1, 3, 16, 16)
    np.save(tmp_path / "x.npy", x)
    assert run_main([str(folder)]) == 2
    assert capsys.readouterr().err == "0 arrays are given for 1 input: x: give --input FILE.npy for each\n"
    assert run_main([str(folder), "--input", str(tmp_path / "x.npy"), "--save", str(tmp_path / "out")]) == 0
    (wanted,) = ReferenceEvaluator(residual_network()).run(None, {"x": x})
    assert np.load(tmp_path / "out" / "y.npy").tolist() == wanted.tolist()
    assert "y: f32[1, 10]" in capsys.readouterr().out


def test_a_model_compiles_where_nothing_can_be_kept(tmp_path, capsys, monkeypatch):
    from graph.compile import main

    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    (tmp_path / "net.onnx").write_bytes(residual_network().SerializeToString())
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "file" / "below"))
    command = [str(tmp_path / "net.onnx"), "--dim", "batch=1"]
    with pytest.warns(TilewrightWarning, match="now nothing is kept"):
        assert main(command) == 0
    assert "y: f32[1, 10]" in capsys.readouterr().out
    assert main([*command, "--budget", "1"]) == 1
    assert capsys.readouterr().err.startswith("measurements cannot be kept in ")


def test_what_is_kept_after_a_ctrl_c_is_told(tmp_path, capsys, monkeypatch):
    from graph.compile import main as compile_main

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("graph.compile.told", interrupted)
    assert compile_main(["net.onnx"]) == 130
    assert capsys.readouterr().err == (
        "interrupted: the kernels that are compiled are kept, and the next run goes on from there\n"
    )
    assert compile_main(["net.onnx", "--budget", "5"]) == 130
    assert capsys.readouterr().err == "interrupted: what was tuned is kept, and the next run goes on from there\n"


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_compiled(tmp_path, capsys, monkeypatch):
    from graph.compile import main as compile_main

    def too_late(*_):
        raise AssertionError("the model is compiled first")

    monkeypatch.setattr("search.flow.ranked.rank_first", too_late)
    path = tmp_path / "net.onnx"
    path.write_bytes(residual_network().SerializeToString())
    assert compile_main([str(path), "--dim", "batch=1", "--emit", str(path / "inside")]) == 1
    assert "inside" in (told := capsys.readouterr().err) and told.count("\n") == 1
