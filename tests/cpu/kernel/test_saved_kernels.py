"""Kernels that were saved: called from C, loaded again, and refused where a record does not fit."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cpu.kernel.export import ExportError
from cpu.kernel.saved import load
from cpu.reference.oracle import integers, reference
from cpu.runtime.compiler.toolchain import find_compiler
from search import load_kernel
from tests.support.kernels.cases import CASES, kernel_of
from tests.support.kernels.saved import LACKS, PROBLEM, TEXT, example, lacking
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.rewrite.pointwise import pointwise2d

OTHER = (
    "T(c,5) R(k) T(h,7) S(y) T(r,3) T(s,3) U(w,7) V(k,{v})"  # of the same problem; it reads weights in another order
)
WINOGRAD = conv2d(c=5, h=7, w=7, k=40, r=3, s=3, padding=1), "F(2x2,3x3) B(4,40) R(m) R(n) S(c) T(k,5) V(n,{v})"


def checksum(problem):
    """What the example of a saved kernel prints where the kernel is right."""
    x = (np.arange(problem.broadcast.elements) % 5 - 2).astype(np.float32).reshape(problem.broadcast.shape)
    w = (np.arange(problem.vector.elements) % 7 - 3).astype(np.float32).reshape(problem.vector.shape)
    y = reference(problem, x, w).ravel()
    return np.sum(y * (np.arange(y.size) % 3 + 1))


def test_a_saved_kernel_needs_no_python(saved):
    assert set(saved) == {".c", ".h", ".so", ".json", ".mk", ""}
    folder = saved[".so"].parent
    program = example(folder, saved[".so"])
    for arguments in ([], ["0.05"]):
        printed = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
        assert f"checksum {checksum(PROBLEM):.0f}" in printed


def make(folder, *words):
    """What `make` prints there; it must succeed."""
    return subprocess.run(["make", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("problem, text", [CASES["loops for cores"], WINOGRAD])
def test_make_builds_a_kernel_of_two_threads_without_a_warning(problem, text, tmp_path):
    """The makefile takes a warning for an error."""
    if not find_compiler().openmp:
        pytest.skip("the compiler has no OpenMP")
    kernel = kernel_of(problem, text, "portable", threads=2)
    kernel.save(tmp_path, "layer")
    assert kernel.emitted.threads == 2 and "-Wextra -Werror" in (tmp_path / "layer.mk").read_text()
    make(tmp_path)
    printed = subprocess.run(["./layer_example"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert f"checksum {checksum(problem):.0f}" in printed


@pytest.mark.slow
def test_make_builds_the_kernels_of_a_folder_again_where_flags_change(saved):
    """The saved library stays as it is, so that Python still loads it."""
    folder, library = saved[".so"].parent, saved[".so"].read_bytes()
    (beside,) = (
        path for path in kernel_of(*CASES["strided pointwise"], "portable").save(folder) if path.suffix == ".so"
    )
    assert [make(folder).count("compile"), make(folder).count("compile")] == [2, 0]
    for path in (saved[".so"], beside):
        program = f"./{path.stem}_example"
        assert "checksum" in subprocess.run(program, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert [make(folder, f"CFLAGS=-O1 -DTEXT='\"{n}\"'").count("compile") for n in (1, 1, 2)] == [2, 0, 2]
    make(folder, "clean")
    assert not list(folder.glob("*.o")) and saved[".so"].read_bytes() == library and load(saved[".json"])
    make(folder, "-f", saved[".mk"].name, saved[".so"].name)
    with pytest.raises(ExportError, match=r"built again by make\. load_kernel takes them only as they were"):
        load(saved[".json"])


def test_a_makefile_of_a_user_stays(tmp_path):
    (tmp_path / "Makefile").write_text("mine:")
    paths = kernel_of(PROBLEM, TEXT, "portable").save(tmp_path)
    assert (tmp_path / "Makefile").read_text() == "mine:" and tmp_path / "Makefile" not in paths


def test_a_file_beside_the_record_is_refused_with_what_to_give(saved):
    with pytest.raises(ExportError, match=r"give its folder, or the .json beside it"):
        load(saved[".so"])


def test_a_record_nested_without_end_is_refused(saved):
    saved[".json"].write_text("[" * 100_000)
    with pytest.raises(ExportError, match="is no record of a saved kernel"):
        load(saved[".json"])


def test_kernels_saved_side_by_side_keep_their_examples(saved):
    """A second kernel in the folder changes nothing of the first: each has its own example, which calls it."""
    before = {path.name: path.read_bytes() for path in saved[".so"].parent.iterdir()}
    folder = saved[".so"].parent
    others = kernel_of(*CASES["strided pointwise"], "portable").save(folder)
    assert not {path.name for path in others} & set(before)
    assert all((folder / name).read_bytes() == content for name, content in before.items())
    for library in (saved[".so"], next(path for path in others if path.suffix == ".so")):
        example(folder, library).rename(folder / library.stem)
        assert "checksum" in subprocess.run([folder / library.stem], check=True, capture_output=True, text=True).stdout


def test_a_saved_kernel_loads_without_a_compiler(saved, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    for path in (saved[".so"].parent, saved[".json"]):
        kernel = load_kernel(path)
        x, w = integers(PROBLEM)
        assert np.array_equal(kernel(x, kernel.pack(w)), reference(PROBLEM, x, w))
        assert (kernel.scheme.text, kernel.source) == (TEXT.format(v=4), saved[".c"].read_text())


def test_a_kernel_of_flattened_pixels_is_saved_with_the_original_shapes(tmp_path):
    original, text = CASES["pixels, rows of weights"]
    problem = pointwise2d(fused(original.original, "relu(y + b) + z"))
    header = next(
        path for path in kernel_of(problem, text, "portable").save(tmp_path) if path.suffix == ".h"
    ).read_text()
    assert "x: 2 x 12 x 9 x 11" in header and "y: 2 x 18 x 9 x 11" in header and "may be e_z itself" in header
    loaded, inputs = load(tmp_path), integers(problem)
    assert np.array_equal(loaded(*inputs), reference(problem, *inputs))
    assert np.array_equal(loaded(*inputs, out=inputs[-1]), reference(problem, *integers(problem)))


def resaved(saved):
    """The kernel in a folder, loaded before and after another scheme of the same problem is saved there."""
    first = load(saved[".json"])
    # The two schemes want different orders of the packed weights, so the code of one is wrong for the other.
    kernel_of(PROBLEM, OTHER, "portable").save(saved[".so"].parent)
    return first, load(saved[".json"])


def test_a_kernel_that_is_saved_over_another_is_the_one_that_is_loaded(saved):
    x, w = integers(PROBLEM)
    for kernel, text in zip(resaved(saved), (TEXT, OTHER)):
        assert kernel.scheme.text == text.format(v=4)
        assert np.array_equal(kernel(x, kernel.pack(w)), reference(PROBLEM, x, w))
    alone = kernel_of(PROBLEM, OTHER, "portable").pack(w).data
    assert np.array_equal(kernel.pack(w).data, alone)
    assert not np.array_equal(resaved(saved)[0].pack(w).data, kernel_of(PROBLEM, TEXT, "portable").pack(w).data)


def test_a_loaded_kernel_is_saved_as_it_was_loaded(saved, tmp_path):
    _, w = integers(PROBLEM)
    resaved(saved)[0].save(tmp_path / "again")
    kernel = load(tmp_path / "again")
    assert kernel.scheme.text == TEXT.format(v=4)
    assert np.array_equal(kernel.pack(w).data, kernel_of(PROBLEM, TEXT, "portable").pack(w).data)


@pytest.mark.parametrize("writable", range(5))
def test_a_folder_that_fills_up_keeps_the_kernel_that_is_in_it(saved, monkeypatch, writable):
    before = {path: path.read_bytes() for path in saved[".so"].parent.iterdir()}
    real, written = Path.write_bytes, []

    def write_bytes(path, content):
        if len(written) == writable:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return real(path, content)

    with monkeypatch.context() as patch, pytest.raises(ExportError, match="No space left"):
        patch.setattr(Path, "write_bytes", write_bytes)
        kernel_of(PROBLEM, OTHER, "portable").save(saved[".so"].parent)
    assert {path: path.read_bytes() for path in saved[".so"].parent.iterdir()} == before
    assert load(saved[".json"]).scheme.text == TEXT.format(v=4)


def test_kernels_load_where_no_program_may_be_loaded_from_memory(saved, monkeypatch):
    def refused(name):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "memfd_create", refused)
    x, w = integers(PROBLEM)
    for kernel in resaved(saved):
        assert np.array_equal(kernel(x, kernel.pack(w)), reference(PROBLEM, x, w))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda record: record | {"isa": "avx9"}, "unknown instruction set 'avx9'"),
        (lambda record: record | {"scheme": "T(h,7)"}, "no specifier is on dim k, which has 37 points"),
        (lambda record: record | {"shape": "c=0"}, "the shape lacks"),
        (lambda record: record | {"op": "sort"}, "there is no operator 'sort'"),
        (lambda record: record | {"symbol": "../other"}, "its symbol"),
        (lambda record: record | {"symbol": "x(void); int y"}, "its symbol"),
        (lambda record: record | {"threads": 0}, "its number of threads"),
        (lambda record: record | {"pack_threads": 2}, "pack_threads=2 cannot be"),
        (lambda record: record | {"threads": 2}, "its symbol is not"),
        (lambda record: record | {"shape": "c=5,h=7,w=7,k=40,r=3,s=3,pad=1"}, "its symbol is not"),
        (lambda record: record | {"scheme": record["scheme"].replace("V(k,4)", "V(k,16)")}, "its symbol is not"),
        (lambda record: record | {"threads": "2"}, "its fields are"),
        (lambda record: record | {"sha256": "0" * 64}, "was not written together with"),
        (lambda record: record | {"version": "0"}, "was not written together with"),
        (lambda record: record | {"scheme": OTHER.format(v=4)}, "was not written together with"),
        (lambda record: {key: value for key, value in record.items() if key != "isa"}, "its fields are"),
        (lambda record: [record], "its fields are"),
    ],
)
def test_a_record_that_does_not_validate_is_refused(saved, change, message):
    saved[".json"].write_text(json.dumps(change(json.loads(saved[".json"].read_text()))))
    with pytest.raises(ExportError, match=message):
        load(saved[".json"])


def test_a_library_that_is_not_the_saved_one_is_refused(saved, tmp_path):
    other = kernel_of(*CASES["single rows"], "portable").save(tmp_path / "other")
    saved[".so"].unlink()
    shutil.copyfile(next(path for path in other if path.suffix == ".so"), saved[".so"])
    with pytest.raises(ExportError, match="was not written together with"):
        load(saved[".json"])
    saved[".so"].unlink()
    with pytest.raises(ExportError, match="cannot be read"):
        load(saved[".json"])


@pytest.mark.parametrize("what", LACKS)
def test_a_library_that_the_system_refuses_says_what_it_lacks(saved, tmp_path, what):
    kernel = load(saved[".json"])
    kernel.saved = lacking(what, tmp_path)
    kernel.save(tmp_path / "again")
    with pytest.raises(ExportError) as caught:
        load(tmp_path / "again")
    advice = "install what it lacks, or generate the kernel on this machine"
    path = tmp_path / "again" / saved[".so"].name
    assert str(caught.value) == f"{path} cannot be loaded ({LACKS[what]}): {advice}"


def test_a_source_that_is_not_the_saved_one_is_refused(saved):
    saved[".c"].write_text(saved[".c"].read_text() + "/* changed */\n")
    with pytest.raises(ExportError, match="was not written together with"):
        load(saved[".json"])


def test_what_is_no_saved_kernel_is_refused(saved, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, message in [(tmp_path / "empty", "is not the folder of one"), (tmp_path / "nothing", "cannot be read")]:
        with pytest.raises(ExportError, match=message):
            load(path)
    (tmp_path / "empty" / "product.so").touch()
    with pytest.raises(ExportError, match="a library lies there without its record, as of a program"):
        load(tmp_path / "empty")
    (tmp_path / "empty" / "product.json").write_text('{"op": "mat')
    with pytest.raises(ExportError, match=r"product.json is no record of a saved kernel: "):
        load(tmp_path / "empty")
    (tmp_path / "empty" / "product.json").unlink()
    (tmp_path / "empty" / "model.json").write_text("{}")
    with pytest.raises(ExportError, match="not the folder of one saved kernel, but that of a whole model: load_model"):
        load(tmp_path / "empty")
    saved[".json"].write_text("{")
    with pytest.raises(ExportError, match="is no record"):
        load(saved[".json"])
    kernel_of(*CASES["single rows"], "portable").save(saved[".json"].parent)
    with pytest.raises(ExportError, match="but 2: conv2d"):
        load(saved[".json"].parent)
