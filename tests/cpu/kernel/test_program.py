"""The calls of a program's kernel: its arrays, by place and by name, and what it says of wrong ones."""

from __future__ import annotations

import pickle
import subprocess

import numpy as np
import pytest

from cpu.kernel.export import ExportError
from cpu.kernel.program import ProgramKernel, build_program
from microkernels.tile.isa import PORTABLE
from tiling.arguments import ArgumentError
from tiling.program.infer import sized
from tiling.program.read import read


@pytest.fixture(scope="module")
def add() -> ProgramKernel:
    return build_program(sized(read("y[i] = a[i] + b[i]"), {}, {"a": (3,), "b": (3,)}), PORTABLE)


@pytest.fixture(scope="module")
def look_up() -> ProgramKernel:
    text = "t: s32; s[] = sum[i] x[t[i]]; y[i] = x[t[i]]"
    return build_program(sized(read(text), {}, {"t": (3,), "x": (5,)}, outputs=("s", "y")), PORTABLE)


A, B = np.arange(3, dtype=np.float32), np.full(3, 10, np.float32)


def test_arrays_by_place_and_by_name(add):
    assert add(A, B).tolist() == add(b=B, a=A).tolist() == add(A, b=B).tolist() == [10, 11, 12]


def test_out_is_written_and_returned(add):
    out = np.empty(3, np.float32)
    assert add(A, B, out=out) is out and out.tolist() == [10, 11, 12]


def _locked(shape: tuple[int, ...]) -> np.ndarray:
    array = np.zeros(shape, np.float32)
    array.flags.writeable = False
    return array


_ROOM = np.zeros(8, np.float32)


@pytest.mark.parametrize(
    "out, message",
    [
        (_locked((3,)), "out is read-only"),
        (np.zeros(4, np.float32), "out has shape (4,)"),
        (np.zeros(3, np.int32), "out is int32"),
        (np.zeros(6, np.float32)[::2], "out is not C-contiguous"),
        (_ROOM[2:5], "out overlaps"),
        (_ROOM[:3], "out overlaps"),
        (_ROOM[4:7], "out overlaps"),
    ],
)
def test_an_out_that_does_not_fit_is_named(add, out, message):
    with pytest.raises(ArgumentError) as caught:
        add(A, _ROOM[2:5], out=out)
    assert str(caught.value).startswith(message)


def test_an_out_may_lie_beside_the_inputs(add):
    room = np.arange(9, dtype=np.float32)
    assert add(room[:3], room[6:], out=room[3:6]) is not None and room.tolist() == [0, 1, 2, 6, 8, 10, 6, 7, 8]


def test_several_outputs_are_a_dict(look_up):
    found = look_up(t=np.array([4, 0, 1], np.int32), x=np.arange(5, dtype=np.float32))
    assert found["s"].shape == () and found["s"] == 5 and found["y"].tolist() == [4, 0, 1]


@pytest.mark.parametrize(
    "arrays, named, message",
    [
        ((A,), {}, "b is missing: the program takes a, b"),
        ((A, B, A), {}, "the call gives 3 arrays, but the program takes a, b; outputs go into out=…"),
        ((A, B), {"a": A}, "a is given twice"),
        ((A, B), {"c": A}, "there is no input c: the program takes a, b"),
        ((A, B.astype(np.float64)), {}, "b is float64, but this kernel takes float32: convert it first"),
        ((A, B[:2]), {}, "b has shape (2,), but this kernel was made for (3,)"),
        ((A, [1, 2, 3]), {}, "b is list, not an array: pass a float32 array on the CPU"),
        ((A, B), {"out": A}, "out overlaps another array: pass memory of its own"),
        ((A, B), {"out": {"z": A}}, "out must be an array for y"),
        ((A, np.arange(6, dtype=np.float32)[::2]), {}, "b is not C-contiguous"),
    ],
)
def test_what_is_wrong_with_a_call(add, arrays, named, message):
    with pytest.raises(ArgumentError) as caught:
        add(*arrays, **named)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("index", [-1, 5, 2**31 - 1, -(2**31)])
def test_an_index_outside_is_an_error_and_reads_nothing(look_up, index):
    with pytest.raises(ArgumentError, match="an index that the program reads from an array lies outside"):
        look_up(t=np.array([0, index, 1], np.int32), x=np.ones(5, np.float32))


def test_a_program_without_weights_packs_nothing(add):
    with pytest.raises(ArgumentError, match=r"no array of this program is packed, .*: pass the array itself"):
        add.pack(np.ones(3, np.float32))


def test_a_kernel_may_travel(add):
    again = pickle.loads(pickle.dumps(add))
    assert again(A, B).tolist() == [10, 11, 12]


def test_a_function_may_have_the_name_of_a_local_variable(add, tmp_path):
    add.save(tmp_path, "a")
    assert {path.name for path in tmp_path.iterdir()} == {"a.c", "a.h", "a.so", "a.mk", "Makefile"}
    (tmp_path / "a.so").unlink()
    subprocess.run(["make"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "a.so").exists()


@pytest.mark.parametrize(
    ("text", "shapes", "says"),
    [
        ("y[i] = a[i] + b[i]", {"a": (3,), "b": (3,)}, ["Returns 0. */"]),
        ("t: s32; y[i] = x[t[i]]", {"t": (3,), "x": (5,)}, ["Returns 0, or 1 where an index"]),
        ("x: bf16; y[i] = x[i] > 0", {"x": (3,)}, ["Returns 0. */", "A bf16 is", "A bool is"]),
        ("y[i,j] = sum[c] x[i,c] * w[c,j]; z[i,j] = y[j,i]", {"x": (4, 3), "w": (3, 4)}, ["Returns 0. */"]),
    ],
)
def test_a_header_says_what_holds_of_its_program_and_no_more(text, shapes, says, tmp_path):
    build_program(sized(read(text), {}, shapes), PORTABLE).save(tmp_path, "layer")
    header = (tmp_path / "layer.h").read_text()
    remarks = ["Returns 0. */", "Returns 0, or 1 where an index", "A bf16 is", "An f16 is", "A bool is"]
    assert [remark for remark in remarks if remark in header] == says
    assert header.count("It tests no CPU. */") == 1


@pytest.mark.parametrize("name", ["bits", "choose", "constant", "arrays"])
def test_a_name_of_the_text_is_no_name_of_the_function(name, tmp_path):
    text = "y[i] = where(a[i] < b[i], a[i], 0.5) + abs(b[i])"
    kernel = build_program(sized(read(text), {}, {"a": (20,), "b": (20,)}), PORTABLE)
    with pytest.raises(ExportError, match="stands for something else"):
        kernel.save(tmp_path, name)


def test_a_name_that_the_text_has_no_use_for_is_a_name_of_the_function(add, tmp_path):
    add.save(tmp_path, "choose")
    assert "choose(" in (tmp_path / "choose.h").read_text()


def test_an_index_is_computed_in_64_bits():
    kernel = build_program(sized(read("t: s32; y[i] = x[2*t[i]]"), {}, {"t": (1,), "x": (5,)}), PORTABLE)
    with pytest.raises(ArgumentError):
        kernel(t=np.array([-(2**31)], np.int32), x=np.ones(5, np.float32))
