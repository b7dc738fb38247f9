"""Folders of models that are not as they should be: one sentence, and nothing lost or half-written."""

import json
import multiprocessing
import os
import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper

from cpu.runtime.compiler.toolchain import ToolchainError, find_compiler
from graph import ModelError, compile_model, load_model
from microkernels.tile.isa import ISAS
from tests.support.kernels.saved import LACKS, lacking
from tests.support.models.onnx_models import model
from tests.support.models.small_models import UNREAD, WEIGHT, X, relu, tiny_model, with_weight
from tilewright_entry import TilewrightWarning

node = helper.make_node


@pytest.fixture
def tiny():
    return tiny_model()


def weighty():
    return compile_model(model([node("Add", ["x", "k"], ["y"], "a")], {"x": [2, 3]}, ["y"], {"k": X}), name="tiny")


@pytest.mark.parametrize("file", ["tiny.so", "tiny.bin", "tiny.c", "model.json", "Makefile"])
def test_a_folder_without_a_file_is_one_sentence(tiny, tmp_path, file):
    weighty().save(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(ModelError, match="holds no saved model"):
        load_model(tmp_path)


@pytest.mark.parametrize("text", ["", "3", "[]", "{}", "[" * 100_000, '{"name": 3, "files": [], "weight_bytes": 0}'])
def test_a_folder_with_another_record_is_one_sentence(tiny, tmp_path, text):
    tiny.save(tmp_path)
    (tmp_path / "model.json").write_text(text, encoding="utf-8")
    cut = ": model.json is cut short or damaged .* save the model again" if text == "" else ""
    with pytest.raises(ModelError, match=f"holds no saved model{cut}"):
        load_model(tmp_path)


def test_a_record_that_was_changed_is_refused(tiny, tmp_path):
    """The library would be called with other arrays than it takes."""
    tiny.save(tmp_path)
    record = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    for change in ({"outputs": []}, {"inputs": [["x", "f32", [1 << 30]]]}, {"arena_bytes": -1}):
        (tmp_path / "model.json").write_text(json.dumps(record | change), encoding="utf-8")
        with pytest.raises(ModelError, match=r"model\.json was changed"):
            load_model(tmp_path)


@pytest.mark.parametrize("other", ["shape", "dtype", "operator"])
def test_a_library_of_another_model_is_refused(tmp_path, other):
    """It would read and write arrays of its own shapes, whatever the record says."""
    made = {"": relu(), "shape": model([node("Relu", ["x"], ["y"])], {"x": [64, 64]}, ["y"])}
    made |= {"dtype": relu(), "operator": model([node("Neg", ["x"], ["y"])], {"x": [2, 3]}, ["y"])}
    made["dtype"].graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    made["dtype"].graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    for folder in ("", other):
        compile_model(made[folder], name="same").save(tmp_path / f"of{folder}")
    (tmp_path / "of" / "same.so").write_bytes((tmp_path / f"of{other}" / "same.so").read_bytes())
    with pytest.raises(ModelError, match=r"same\.so is not the library of the model that model\.json describes"):
        load_model(tmp_path / "of")


def test_a_library_without_a_fingerprint_is_refused(tiny, tmp_path):
    tiny.save(tmp_path)
    (tmp_path / "other.c").write_text("int tiny_supported(void) { return 1; }")
    command = [*find_compiler().command, "-shared", "-fPIC", "other.c", "-o", "tiny.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with pytest.raises(ModelError, match=r"tiny\.so is not the library of the model"):
        load_model(tmp_path)


@pytest.mark.slow
def test_a_library_that_make_built_is_the_models_own(tiny, tmp_path):
    tiny.save(tmp_path)
    before = (tmp_path / "tiny.so").read_bytes()
    (tmp_path / "tiny.so").unlink()
    subprocess.run(["make", "-s", "tiny.so"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "tiny.so").read_bytes() != before
    assert load_model(tmp_path)(X, UNREAD)[1].tolist() == (-X).tolist()


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, r"holds no saved model: tiny\.so: No such file or directory: make builds it"),
        (b"x", r"a damaged model: tiny\.so cannot be loaded \(file too short\): delete it and run make, or save"),
    ],
)
def test_a_library_that_is_missing_or_cut_short_is_one_sentence_that_says_what_to_do(tiny, tmp_path, left, said):
    tiny.save(tmp_path)
    library = tmp_path / "tiny.so"
    library.write_bytes(left) if left else library.unlink()
    with pytest.raises(ModelError, match=said) as caught:
        load_model(tmp_path)
    assert "tilewright-" not in str(caught.value)


@pytest.mark.parametrize("what", LACKS)
def test_a_library_that_the_system_refuses_says_what_it_lacks(tiny, tmp_path, what):
    tiny.save(tmp_path / "saved")
    (tmp_path / "saved" / "tiny.so").write_bytes(lacking(what, tmp_path))
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "saved")
    assert str(caught.value).endswith(
        f" holds a model that this system does not load: tiny.so cannot be loaded ({LACKS[what]}): install what it "
        "lacks, or compile the model on this machine"
    )


@pytest.mark.slow
def test_make_builds_a_model_again_where_flags_change(tiny, tmp_path):
    tiny.save(tmp_path)
    texts = len(list(tmp_path.glob("*.c"))) - 1  # the example is compiled as it is linked
    for flags, compiled in (("-O1", texts), ("-O1", 0), ("-O1 -DTEXT='\"x\"'", texts)):
        ended = subprocess.run(["make", f"CFLAGS={flags}"], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert [ended.stdout.count(word) for word in ("compile", "link")] == [compiled, 2 if compiled else 0]


@pytest.mark.slow
def test_the_example_finds_its_weights_from_anywhere_or_says_where_it_sought_them(tmp_path, monkeypatch):
    # Portable C has no header of intrinsics, which takes longer to compile than all else.
    monkeypatch.setattr("search.evaluator.cpu.target.best_isa", lambda *_: ISAS["portable"])
    folder = tmp_path / "saved"
    weighty().save(folder)
    subprocess.run(["make", "-s"], cwd=folder, check=True, capture_output=True)

    def ran(*words: str) -> str:
        ended = subprocess.run(["saved/example", *words], cwd=tmp_path, capture_output=True, text=True)
        return ended.stdout if ended.returncode == 0 else ended.stderr

    assert "checksum" in ran() and ran() == ran("saved/tiny.bin")
    usage = "usage: saved/example [FILE], where FILE holds the weights, such as tiny.bin\n"
    assert ran("7") == f"the weights cannot be read from 7: No such file or directory\n{usage}"
    size = (folder / "tiny.bin").stat().st_size
    (folder / "tiny.bin").write_bytes(b"short")
    assert ran() == f"saved/tiny.bin has 5 bytes, and the weights of tiny have {size}\n"
    (folder / "tiny.bin").unlink()
    assert ran().startswith("the weights cannot be read from saved/tiny.bin: No such file or directory\n")


def test_a_folder_that_cannot_be_written_stays_as_it_was(tiny, tmp_path, monkeypatch):
    tiny.save(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    for place in (tmp_path / "model.json", "/dev/full", "a\0b", ""):
        with pytest.raises(ModelError, match="cannot be written"):
            tiny.save(place)
    for place in (None, 3, b"folder"):
        with pytest.raises(ModelError, match=f"{place!r} is not the name of a folder"):
            tiny.save(place)
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(ModelError, match="cannot be written: No space left on device"):
        tiny.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert load_model(tmp_path)(X, UNREAD)[1].tolist() == (-X).tolist()


def test_a_model_that_no_temporary_folder_has_room_for_is_one_sentence(monkeypatch):
    given = model([node("Neg", ["x"], ["y"], "n")], {"x": [2, 3]}, ["y"])
    whole = compile_model(given)
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(ToolchainError, match=r"temporary files \(No space left on device\).* set TMPDIR to another"):
        compile_model(given)
    assert whole(X)[0].tolist() == (-X).tolist()


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        (None, "None is not the name of a folder"),
        ("a\0b", r"'a\\x00b' holds no saved model: no folder has such a name"),
    ],
)
def test_what_is_no_name_of_a_folder_is_not_loaded(folder, why):
    with pytest.raises(ModelError, match=why):
        load_model(folder)


def test_a_pipe_in_a_models_folder_is_refused_and_not_waited_for(tmp_path):
    for path in compile_model(with_weight(), name="weighty").save(tmp_path / "saved"):
        kept = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(ModelError, match=f"holds no saved model: {path.name}: it is no regular file"):
            load_model(tmp_path / "saved")
        path.unlink()
        path.write_bytes(kept)
    assert load_model(tmp_path / "saved")(X)[0].tolist() == (X + WEIGHT).tolist()


def test_others_who_may_have_written_a_models_folder_are_told(tiny, tmp_path):
    tiny.save(tmp_path)
    tmp_path.chmod(0o777)
    with pytest.warns(TilewrightWarning, match=f"everybody may write into {tmp_path}: a saved .* only what you trust"):
        load_model(tmp_path)


def full(path, content):
    raise OSError(28, "No space left on device")


def saved_often(folder, number):
    """A model that adds a number of its own, saved again and again."""
    given = model(
        [node("Add", ["x", "k"], ["y"], "a")], {"x": [2, 3]}, ["y"], {"k": np.full((2, 3), number, np.float32)}
    )
    found = compile_model(given, name="same")
    for _ in range(30):
        found.save(folder)


@pytest.mark.slow
def test_two_processes_that_save_to_one_folder_leave_one_model(tmp_path):
    start = multiprocessing.get_context("spawn")
    both = [start.Process(target=saved_often, args=(tmp_path, number)) for number in (1, 2)]
    for each in both:
        each.start()
    found = set()
    while any(each.is_alive() for each in both):
        try:
            found.add(float(load_model(tmp_path)(np.zeros((2, 3), np.float32))[0][0, 0]))
        except ModelError as error:
            assert "holds no saved model" in str(error)
    for each in both:
        each.join()
        assert each.exitcode == 0
    assert found | {float(load_model(tmp_path)(np.zeros((2, 3), np.float32))[0][0, 0])} <= {1.0, 2.0}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".saving")]
