"""The names and folders that kernels are saved under."""

from __future__ import annotations

import json
import re
import subprocess

import numpy as np
import pytest

from cpu.kernel.export import ExportError
from cpu.kernel.saved import load
from cpu.reference.oracle import integers, reference
from search.conv import main as conv_command
from tests.support.kernels.cases import CASES, kernel_of
from tests.support.kernels.saved import PROBLEM, TEXT, example


def test_a_kernel_is_saved_under_a_name(tmp_path, monkeypatch):
    """Its file names, its C functions and its macro; loaded by its folder, and saved again as it was."""
    paths = kernel_of(PROBLEM, TEXT, "portable").save(tmp_path / "saved", name="my_conv")
    (tmp_path / "saved" / "package.json").write_text('{"other": "program"}')
    names = [f"my_conv{end}" for end in (".c", ".h", "_example.c", ".so", ".mk", ".json")]
    assert [path.name for path in paths] == [*names[:-1], "Makefile", names[-1]]
    header = paths[1].read_text()
    assert "void my_conv_pack(" in header and "MY_CONV_PACKED" in header and "conv2d_f32" not in header
    assert (
        "checksum"
        in subprocess.run([example(tmp_path / "saved", paths[3])], check=True, capture_output=True, text=True).stdout
    )
    monkeypatch.setenv("CC", "no-such-compiler")
    again = load(tmp_path / "saved").save(tmp_path / "again")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    x, w = integers(PROBLEM)
    assert np.array_equal(load(tmp_path / "again")(x, w), reference(PROBLEM, x, w))
    record = json.loads(again[-1].read_text())
    again[-1].write_text(json.dumps(record | {"name": "other"}))
    with pytest.raises(ExportError, match=r"other.c cannot be read"):
        load(again[-1])


NO_NAMES = ["", "1x", "a-b", "int", "my conv", "x" * 101, "a\nb", "é", "class", "main", 7]


TAKEN_NAMES = ["memcpy", "printf", "uint8_t", "size_t", "sinf", "index", "stderr", "NULL", "omp_go", "array"]


@pytest.mark.parametrize("name", [*NO_NAMES, *TAKEN_NAMES])
def test_a_name_that_no_function_can_have_is_refused(name, tmp_path):
    with pytest.raises(ExportError, match="cannot be the name of a C function of yours"):
        kernel_of(PROBLEM, TEXT, "portable").save(tmp_path / "saved", name=name)
    assert not (tmp_path / "saved").exists()


def test_a_name_that_the_c_text_uses_is_refused(tmp_path):
    kernel = kernel_of(PROBLEM, TEXT, "portable")
    (function,) = set(re.findall(r"^static void (\w+)\(", kernel.source, re.MULTILINE)[:1])
    for name in (function, "X"):
        with pytest.raises(ExportError, match=f"name='{name}' stands for something else in the kernel's C text"):
            kernel.save(tmp_path / "saved", name=name)


@pytest.mark.slow
def test_the_command_line_names_what_it_emits(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)  # name does not depend on the scheme
    words = ["--shape", "c=4,h=5,w=5,k=4,r=1,s=1", "--isa", "portable", "--model-only"]
    assert conv_command([*words, "--emit", str(tmp_path), "--name", "first"]) == 0
    assert (tmp_path / "first.so").exists()
    assert conv_command([*words, "--name", "first"]) == 2
    assert "give --emit DIR too" in capsys.readouterr().err
    for option, value, said in [
        ("--name", "a b", "name of a C function"),
        ("--emit", "", "folder to save into is empty"),
    ]:
        with pytest.raises(SystemExit, match="2"):
            conv_command([*words, option, value])
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("folder", [3, None, b"kernel"])
def test_what_is_no_path_is_refused(folder):
    problem, text = CASES["single rows"]
    with pytest.raises(ExportError, match="is not the name of a folder"):
        kernel_of(problem, text, "portable").save(folder)
    with pytest.raises(ExportError, match="is not the name of a folder"):
        load(folder)


@pytest.mark.parametrize("folder, said", [("", "is empty: give one"), ("a\0b", "has a NUL in it")])
def test_a_folder_that_cannot_be_is_refused(folder, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExportError, match=said):
        kernel_of(PROBLEM, TEXT, "portable").save(folder)
    assert not list(tmp_path.iterdir())


def test_no_kernel_is_loaded_by_a_name_with_a_nul():
    with pytest.raises(ExportError, match=r"'a\\x00b' cannot be the name of a folder: it has a NUL in it"):
        load("a\0b")
