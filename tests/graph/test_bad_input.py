"""Files, names and arrays that are not as they should be: one sentence, and nothing half-written."""

import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from graph import ModelError, compile_model, load_model
from graph.compile import main as compile_command
from graph.model.node import BEGIN_BEHIND, END_BEFORE
from graph.run import file_names
from graph.run import main as run_command
from microkernels.tile.isa import PORTABLE
from tests.support.models.onnx_models import model
from tests.support.models.small_models import UNREAD, X, relu, tiny_model, with_weight

node = helper.make_node


@pytest.mark.parametrize("kind", ["plain", "weighty"])
def test_a_file_that_is_cut_short_is_one_sentence(tmp_path, kind):
    whole_file = (relu() if kind == "plain" else with_weight()).SerializeToString()
    path = tmp_path / "cut.onnx"
    for length in range(0, len(whole_file), 5):
        path.write_bytes(whole_file[:length])
        with pytest.raises(ModelError) as error:
            compile_model(path)
        assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (node("Odd", ["x"], ["y"], "n"), r"node n \(Odd\): No Op registered for Odd"),
        (node("Relu", ["x"], ["y"], alpha=1.0), r"node without a name \(Relu\): Unrecognized attribute: alpha"),
        (node("Odd", ["x"], ["y"], "n", domain="com.acme"), r"node n \(com.acme.Odd\): no operator of com.acme"),
        (
            node("Add", ["x", "q"], ["y"], "n"),
            r"node n \(Add\): Nodes .* input 'q' is not output of any previous nodes\.$",
        ),
        (node("Add", ["x", "y"], ["y"]), r"node without a name \(Add\): Nodes .* input 'y' is not output of any prev"),
    ],
)
def test_a_file_with_an_unknown_operator_or_attribute_names_the_node(tmp_path, made, why):
    proto = model([made], {"x": [2, 3]}, ["y"])
    proto.graph.output[0].type.tensor_type.shape.SetInParent()
    proto.opset_import.append(helper.make_opsetid("com.acme", 1))
    path = tmp_path / "odd.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match=why) as error:
        compile_model(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (node("Relu", ["x"], ["y"], "n", alpha=1.0), r"node n \(Relu\): there is no attribute alpha"),
        (node("Resize", ["x", "", "s"], ["y"], "n", mode="odd"), r"node n \(Resize\): mode odd is not supported"),
        (node("LpNormalization", ["x"], ["y"], "n", p=3), r"node n \(LpNormalization\): p=3 is not supported"),
        (node("GlobalLpPool", ["x"], ["y"], "n", p=0), r"node n \(GlobalLpPool\): p=0 is no norm"),
        (
            node("NonZero", ["x"], ["y"], "n"),
            rf"node n \(NonZero\): how many elements .* when the model runs{END_BEFORE}$",
        ),
        (
            node("RandomUniformLike", ["x"], ["y"], "n"),
            rf"node n \(RandomUniformLike\): it .* every call{BEGIN_BEHIND}$",
        ),
        (
            node("SVMRegressor", ["x"], ["y"], "n", domain="ai.onnx.ml"),
            rf"node n \(ai.onnx.ml.SVMRegressor\): it is not supported{END_BEFORE}$",
        ),
        (node("Cast", ["x"], ["y"], "n", to=99), r"node n \(Cast\): a cast to ONNX's type 99 is not supported"),
        (node("Add", ["x", "s"], ["y"], "n"), r"node n \(Add\): shapes \(2, 3\), \(2,\) do not broadcast"),
        (
            node("ConvTranspose", ["x4", "w"], ["y"], "n"),
            r"x has 5 channels, and the weights are for 4 in 1",
        ),
    ],
)
def test_attributes_and_shapes_that_do_not_fit_are_one_sentence(made, why):
    constants = {"s": np.array([2, 2], np.float32), "w": np.zeros((4, 2, 1, 1), np.float32)}
    with pytest.raises(ModelError, match=why):
        compile_model(model([made], {"x": [2, 3], "x4": [1, 5, 2, 2]}, ["y"], constants))


@pytest.mark.parametrize(
    ("op", "attributes", "why"),
    [
        (
            "ConvTranspose",
            {"strides": [0, 0]},
            r"strides=\[0, 0\] must be whole numbers of at least 1, one for each spat",
        ),
        (
            "ConvTranspose",
            {"strides": [2]},
            r"strides=\[2\] must be whole numbers of .*, one for each spatial axis of x \(2\)",
        ),
        ("ConvTranspose", {"dilations": [1, 0]}, r"dilations=\[1, 0\] must be whole numbers of at least 1"),
        ("ConvTranspose", {"output_padding": [-1, 0]}, r"output_padding=\[-1, 0\] must be whole numbers of at least 0"),
        ("ConvTranspose", {"output_shape": [0, 7]}, r"output_shape=\[0, 7\] must be whole numbers of at least 1"),
        (
            "ConvTranspose",
            {"output_shape": [7]},
            r"output_shape=\[7\] must be whole numbers of at least 1, one for each",
        ),
        ("ConvTranspose", {"pads": [9, 9, 9, 9]}, r"pads=\[9, 9, 9, 9\] take away all of the \[7, 7\] points"),
        (
            "ConvTranspose",
            {"pads": [1, 1]},
            r"pads=\[1, 1\] must be whole numbers, two for each spatial axis of x \(4\)",
        ),
        ("ConvTranspose", {"group": 0}, "group=0 must be at least 1"),
        ("ConvTranspose", {"auto_pad": "SOME"}, "auto_pad=SOME is not supported; there are NOTSET, SAME_UPPER"),
        ("Conv", {"strides": [0, 1]}, r"strides=\[0, 1\] must be whole numbers of at least 1"),
        ("Conv", {"strides": [-1, 1]}, r"strides=\[-1, 1\] must be whole numbers of at least 1"),
        ("Conv", {"pads": [1, 1]}, r"pads=\[1, 1\] must be whole numbers, two for each"),
        ("Conv", {"group": -1}, "group=-1 must be at least 1"),
        ("MaxPool", {"kernel_shape": [0, 2]}, r"windows of \[0, 2\] taps must be whole numbers of at least 1"),
        ("MaxPool", {"kernel_shape": [2]}, r"windows of \[2\] taps must be .*, one for each spatial axis of x \(2\)"),
        (
            "MaxPool",
            {"kernel_shape": [2, 2], "dilations": [0, 1]},
            r"dilations=\[0, 1\] must be whole numbers of at least 1",
        ),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [1]}, r"strides=\[1\] must be whole numbers of at least 1"),
        ("AveragePool", {"kernel_shape": [2, 2], "auto_pad": "SOME"}, "auto_pad=SOME is not supported"),
    ],
)
def test_windows_that_are_none_are_one_sentence(op, attributes, why):
    made = node(op, ["x", "w"] if op.startswith("Conv") else ["x"], ["y"], "n", **attributes)
    with pytest.raises(ModelError, match=rf"node n \({op}\): {why}"):
        compile_model(model([made], {"x": [1, 4, 5, 5]}, ["y"], {"w": np.zeros((4, 4, 3, 3), np.float32)}))


def of_kind(number):
    made = relu()
    made.graph.input[0].type.tensor_type.elem_type = number
    return made


@pytest.mark.parametrize(
    ("proto", "why"),
    [
        (relu([node("Neg", ["x"], ["y"], "n")]), r"node n \(Neg\) gives y, which is there already"),
        (with_weight(raw_data=bytes(8)), "w: its numbers cannot be read"),
        (with_weight(dims=[1 << 40, 1 << 40]), "w: its numbers cannot be read"),
        (with_weight(data_type=77), "w: its numbers cannot be read"),
        (with_weight(data_location=TensorProto.EXTERNAL), "w: its numbers lie in a file that is not loaded"),
        (of_kind(99), f"input x is made of dtype 99, which is not supported{BEGIN_BEHIND}$"),
    ],
)
def test_a_damaged_model_is_one_sentence(proto, why):
    with pytest.raises(ModelError, match=why):
        compile_model(proto)


def test_operators_newer_than_onnx_knows_are_refused():
    newest = onnx.defs.onnx_opset_version()
    relus = [node("Relu", ["x"], ["y"])]
    assert compile_model(model(relus, {"x": [2, 3]}, ["y"], opset=newest))(X)[0].tolist() == np.maximum(X, 0).tolist()
    with pytest.raises(ModelError, match=f"is of version {newest + 1} of .* to version {newest}: install a newer onnx"):
        compile_model(model(relus, {"x": [2, 3]}, ["y"], opset=newest + 1))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"dims": 3}, "dims must be a dict by name, not a int"),
        ({"known": [X]}, "known must be a dict by name, not a list"),
        ({"known": {"x": [[1], [1, 2]]}}, "known: x is no array"),
        ({"budget": float("nan")}, "budget=nan must be a number of seconds above 0"),
        ({"budget": "a minute"}, "budget='a minute' must be"),
        ({"budget": 5}, "budget=5 means nothing to tune='model': leave it out, or give tune='measure' too"),
        ({"threads": 1.5}, "threads=1.5 must be a whole number from 1 to 1024"),
        ({"threads": 9999}, "threads=9999 must be a whole number from 1 to 1024"),
        ({"name": 3}, "3 is no name in C"),
        *[({"name": name}, f"'{name}' is taken") for name in ("lap", "steps", "arena", "zeros", "output_0", "example")],
    ],
)
def test_a_wrong_option_is_one_sentence(options, why):
    with pytest.raises(ModelError, match=why):
        compile_model(relu(), **options)


@pytest.fixture
def tiny():
    return tiny_model()


@pytest.mark.slow
def test_numbers_of_arrays_are_said_in_english(tiny):
    with pytest.raises(ModelError, match="1 array is given for 2 inputs: x, unread"):
        tiny(X)
    one = compile_model(relu())
    with pytest.raises(ModelError, match="2 arrays are given for 1 input: x"):
        one(X, X)
    with pytest.raises(ModelError, match="out must be a list of 1 array, in the order of the outputs: y"):
        one(X, out=[])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--dim", "batch=2", "--dim", "batch=3"], "--dim gives batch twice: leave one out"),
        (["--known", "x=2", "--known", "x=3"], "--known gives x twice: leave one out"),
        ([], "the name of the model's file is empty: give the path of an ONNX file"),
    ],
)
def test_a_wrong_command_is_one_sentence(words, why, capsys):
    for command in (compile_command, run_command)[: 1 if "--known" in words else 2]:
        assert command(["model.onnx" if words else "", *words]) == 2
        assert capsys.readouterr().err == f"{why}\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "No data left in file"),
        (b"PK\x03\x04 no archive", "File is not a zip file"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'", "EOF: reading array header"),
        (b"127.0.0.1 localhost", "it is no .npy file: write one with numpy.save"),
        (None, "it is no regular file"),
    ],
    ids=["empty", "archive", "cut", "text", "pipe"],
)
def test_an_input_that_is_no_array_is_one_sentence(tiny, tmp_path, content, why, capsys):
    path = tmp_path / "x.npy"
    os.mkfifo(path) if content is None else path.write_bytes(content)
    tiny.save(tmp_path / "saved")
    assert run_command([str(tmp_path / "saved"), "--input", str(path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{path} cannot be read as an array: {why}") and told.count("\n") == 1


@pytest.mark.parametrize("words", [["--dim", "batch=1"], ["--threads", "2"]])
def test_options_of_compiling_mean_nothing_to_a_saved_model(tiny, tmp_path, words, capsys):
    tiny.save(tmp_path)
    assert run_command([str(tmp_path), *words]) == 2
    told = f"{words[0]} belongs to a model that is compiled now: this one is compiled already\n"
    assert capsys.readouterr().err == told


def read_only(shape):
    found = np.empty(shape, np.float32)
    found.flags.writeable = False
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("out", "why"),
    [
        ([np.empty((2, 3), np.float32)], "out must be a list of 2 arrays, in the order of the outputs: y, z"),
        (np.empty((2, 2, 3), np.float32), "out must be a list of 2 arrays"),
        ([[[0.0] * 3] * 2] * 2, "y: an array for an output must be one of NumPy, not a list"),
        ([np.empty((2, 3))] * 2, "y is float64"),
        ([np.empty((2, 3), np.float32)[:, ::-1]] * 2, "y: an array for an output must be contiguous and writable"),
        ([read_only((2, 3))] * 2, "y: an array for an output must be contiguous and writable"),
        ([X, np.empty((2, 3), np.float32)], "overlaps an input or another output"),
    ],
)
def test_wrong_arrays_for_outputs_are_one_sentence(tiny, out, why):
    with pytest.raises(ModelError, match=why):
        tiny(X, UNREAD, out=out)


def test_inputs_may_lie_anyhow(tiny):
    frozen = X.copy()
    frozen.flags.writeable = False
    crooked = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3)
    for x in (frozen, crooked, np.asfortranarray(X), X[::-1].copy()[::-1]):
        assert tiny(x, UNREAD)[1].tolist() == (-X).tolist()
    for x, why in (
        ([[1], [1, 2]], "x cannot be read as an array"),
        (X.astype(">f4"), "x is >f4"),
        (None, "x is object"),
        (
            np.ma.masked_array(X, X > 5),
            r"x is a masked array, and a kernel knows no mask: pass x.filled\(0\) or x.data",
        ),
    ):
        with pytest.raises(ModelError, match=why):
            tiny(x, UNREAD)


@pytest.mark.slow
def test_a_model_with_an_input_that_nothing_reads_builds_without_python(tiny, tmp_path):
    tiny.save(tmp_path)
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a*/ evil /*", "\u202eabc", "a\\\nb", "{{ name }}", "\0", "é漢字🙂", "int", "%n"])
def test_names_of_any_characters_build(tmp_path, name, monkeypatch):
    nodes = [node("Neg", [name], [f"{name}!"], name), node("MatMul", [f"{name}!", "w"], ["y"], name)]
    # Portable C has no header of intrinsics, which takes longer to compile than all else.
    monkeypatch.setattr("search.evaluator.cpu.target.best_isa", lambda *_: PORTABLE)
    found = compile_model(model(nodes, {name: [2, 3]}, ["y"], {"w": np.eye(3, dtype=np.float32)}))
    found.save(tmp_path)
    assert load_model(tmp_path)({name: X})[0].tolist() == (-X).tolist()
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True, capture_output=True)


def test_outputs_have_files_of_their_own():
    assert file_names(["a", "b.c"]) == ["a.npy", "b.c.npy"]
    assert file_names(["a/b", "a_b"]) == ["0_a_b.npy", "1_a_b.npy"]
    assert file_names(["..", "x"]) == ["0_.npy", "1_x.npy"]
    assert max(map(len, file_names(["é" * 5000, "y"]))) < 80
